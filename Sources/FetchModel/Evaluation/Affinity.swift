// SQLite's type affinity and its effect on comparisons: a comparison with a numeric column converts
// numeric text to numbers, one with a text column converts numbers to text.

/// A column's type affinity.
public enum Affinity: String, Sendable, Hashable {
  case integer, real, text, blob, numeric

  /// True if numeric text is converted to a number.
  public var isNumeric: Bool {
    switch self {
    case .integer, .real, .numeric: true
    case .text, .blob: false
    }
  }

  /// The affinity applied to both operands of a comparison; nil for none.
  ///
  /// - Parameters: the affinities of the operands; nil for an operand that is not a column.
  public static func ofComparison(_ left: Affinity?, _ right: Affinity?) -> Affinity? {
    if left?.isNumeric == true || right?.isNumeric == true { return .numeric }
    guard left == .text || right == .text else { return nil }
    // Two text columns are compared without conversion.
    return left == nil || right == nil ? .text : nil
  }
}

extension StoredValue {
  /// This value converted by `affinity`; nil if only the store can convert it exactly, between
  /// decimal digits and doubles.
  public func converted(by affinity: Affinity?) -> StoredValue? {
    switch (affinity, self) {
    case (.text, .integer(let integer)): .text(String(integer))
    case (.text, .double): nil
    case (.integer, .text(let text)), (.real, .text(let text)), (.numeric, .text(let text)):
      switch NumericText(text) {
      case .none: self
      case .integer(let integer): .integer(integer)
      case .other: nil
      }
    default: self
    }
  }
}

/// Text classified as SQLite does when it needs a number.
enum NumericText: Equatable {
  /// Not a number as a whole.
  case none
  case integer(Int64)
  /// Perhaps a number with a fraction or an exponent, or beyond 64 bits.
  case other

  init(_ text: String) {
    var number = text.utf8.drop(while: Self.isBlank)
    while let last = number.last, Self.isBlank(last) { number.removeLast() }
    if let integer = Int64(Substring(number)) {
      self = .integer(integer)
    } else {
      let isNumeric = number.allSatisfy { "0123456789.eE+-".utf8.contains($0) }
      self = isNumeric && !number.isEmpty ? .other : .none
    }
  }

  private static func isBlank(_ byte: UInt8) -> Bool {
    byte == 0x20 || (0x09...0x0D).contains(byte)
  }
}
