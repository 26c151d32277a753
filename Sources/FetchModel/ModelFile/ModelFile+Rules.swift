// A value and its attribute's rules → the rules that it violates.

import Patterns

extension ModelFile.Attribute {
  /// A rule that a value violates.
  public struct Violation: Sendable, Hashable {
    /// The code of the violated rule.
    public let code: ChangeProblem.Code
    /// The end of a sentence about the property: `may not be less than 0`.
    public let predicate: String
  }

  /// The corresponding type of stored attributes.
  public var storedType: AttributeType {
    switch type {
    case .integer16, .integer32, .integer64: .integer
    case .decimal: .decimal
    case .double, .float: .double
    case .string: .string
    case .boolean: .boolean
    case .date: .date
    case .binary: .binary
    case .uuid: .uuid
    case .uri: .uri
    case .transformable: .json
    }
  }

  /// Returns every rule that `value` violates. Nil values violate no rule here.
  ///
  /// - Parameter expression: The compiled ``pattern``.
  public func violations(
    of value: Value, expression: RegularExpression? = nil
  ) -> [Violation] {
    if value == .null { return [] }
    return [
      rangeViolation(of: value), boundViolation(of: value), lengthViolation(of: value),
      patternViolation(of: value, expression),
    ].compactMap { $0 }
  }

  private func rangeViolation(of value: Value) -> Violation? {
    if type == .float, case .double(let double) = value, double.isFinite,
      !Float(double).isFinite
    {
      return Violation(code: .outOfRange, predicate: "is beyond what a Float holds")
    }
    guard case .integer(let integer) = value else { return nil }
    let fits =
      switch type {
      case .integer16: Int16(exactly: integer) != nil
      case .integer32: Int32(exactly: integer) != nil
      default: true
      }
    return fits
      ? nil : Violation(code: .outOfRange, predicate: "holds integers of \(bits) bits alone")
  }

  private var bits: Int { type == .integer16 ? 16 : 32 }

  private func boundViolation(of value: Value) -> Violation? {
    // A Float is compared as it is stored.
    let value = value.asHeld(by: type)
    if let minimum, let least = Value(minimum, as: storedType)?.asHeld(by: type),
      value.isLess(than: least)
    {
      return Violation(code: .tooSmall, predicate: "may not be less than \(minimum.plain)")
    }
    if let maximum, let most = Value(maximum, as: storedType)?.asHeld(by: type),
      most.isLess(than: value)
    {
      return Violation(code: .tooLarge, predicate: "may not be more than \(maximum.plain)")
    }
    return nil
  }

  private func lengthViolation(of value: Value) -> Violation? {
    let (length, unit): (Int, String) =
      switch value {
      case .string(let text): (text.utf16.count, "character")
      case .binary(let bytes): (bytes.count, "byte")
      default: (0, "")
      }
    guard !unit.isEmpty else { return nil }
    func units(_ count: Int) -> String { "\(count) \(unit)\(count == 1 ? "" : "s")" }
    if let minimumLength, length < minimumLength {
      return Violation(
        code: .tooShort, predicate: "needs at least \(units(minimumLength)), not \(length)")
    }
    if let maximumLength, length > maximumLength {
      return Violation(
        code: .tooLong, predicate: "holds at most \(units(maximumLength)), not \(length)")
    }
    return nil
  }

  private func patternViolation(
    of value: Value, _ expression: RegularExpression?
  ) -> Violation? {
    guard let pattern, case .string(var text) = value,
      let expression = expression ?? (try? RegularExpression(pattern))
    else { return nil }
    guard !text.withUTF8({ expression.matches($0) }) else { return nil }
    return Violation(code: .patternMismatch, predicate: "does not match `\(pattern)`")
  }
}

extension Value {
  /// True if it precedes `other`; false for values without an order.
  fileprivate func isLess(than other: Value) -> Bool {
    switch (self, other) {
    case (.integer(let left), .integer(let right)): left < right
    case (.double(let left), .double(let right)): left < right
    case (.date(let left), .date(let right)): left < right
    default:
      if let left = decimal, let right = other.decimal {
        left.calculated(.subtract, right)?.isNegative ?? false
      } else if let left = number, let right = other.number {
        left < right
      } else {
        false
      }
    }
  }

  /// The number with every digit, including numbers stored as text; nil for infinities and for other
  /// values.
  private var decimal: ExactDecimal? { ExactDecimal(StoredValue(self, nil)) }

  /// The nearest double; nil for values that are no numbers.
  private var number: Double? {
    switch self {
    case .integer(let integer): Double(integer)
    case .double(let double): double
    case .string(let digits): Double(digits)
    default: nil
    }
  }
}

extension JSON {
  /// The value as text for a message.
  fileprivate var plain: String { string ?? text }
}
