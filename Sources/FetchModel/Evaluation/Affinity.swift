// SQLite's type affinity and its effect on comparisons: a comparison with a numeric column converts
// numeric text to numbers; one of a text column with a value that is no column converts numbers to text.

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
  /// - Parameters:
  ///   - left: The affinity of the left operand; nil if it is not a column.
  ///   - right: The same of the right operand.
  public static func ofComparison(_ left: Affinity?, _ right: Affinity?) -> Affinity? {
    if left?.isNumeric == true || right?.isNumeric == true { return .numeric }
    guard left == .text || right == .text else { return nil }
    // SQLite converts nothing if both are columns and neither is numeric.
    return left == nil || right == nil ? .text : nil
  }
}

extension StoredValue {
  /// Returns this value as `affinity` converts it; nil if the conversion is one between text and a double,
  /// which only the store does exactly.
  public func converted(by affinity: Affinity?) -> StoredValue? {
    switch (affinity, self) {
    case (.text, .integer(let integer)): .text(String(integer))
    case (.text, .double): nil
    case (.integer, .text(let text)), (.real, .text(let text)), (.numeric, .text(let text)):
      switch NumericText(text) {
      case .notNumeric: self
      case .integer(let integer): .integer(integer)
      case .undecided: nil
      }
    default: self
    }
  }
}

/// A text, classified by the number to which SQLite's numeric affinity converts it.
enum NumericText: Equatable {
  /// The text as a whole is not a number.
  case notNumeric
  case integer(Int64)
  /// The text may be a number with a fraction or an exponent, or an integer beyond 64 bits.
  case undecided

  init(_ text: String) {
    var number = text.utf8.drop(while: Self.isBlank)
    while let last = number.last, Self.isBlank(last) { number.removeLast() }
    if let integer = Int64(Substring(number)) {
      self = .integer(integer)
    } else {
      let mayBeNumber = number.allSatisfy { "0123456789.eE+-".utf8.contains($0) }
      self = mayBeNumber && !number.isEmpty ? .undecided : .notNumeric
    }
  }

  private static func isBlank(_ byte: UInt8) -> Bool {
    byte == 0x20 || (0x09...0x0D).contains(byte)
  }
}
