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
  /// A number with a fraction or an exponent, or beyond 64 bits.
  case other

  init(_ text: String) {
    var scanner = NumberScanner(Array(text.utf8))
    self = scanner.scan()
  }
}

/// Reads `12` or `-1.5e3` with surrounding white space, and nothing else.
private struct NumberScanner {
  let bytes: [UInt8]
  var place = 0

  init(_ bytes: [UInt8]) { self.bytes = bytes }

  mutating func scan() -> NumericText {
    skipSpace()
    let start = place
    if !consume(0x2D) { _ = consume(0x2B) }
    let whole = digits()
    var isInteger = true
    var fraction = 0
    if consume(0x2E) {
      isInteger = false
      fraction = digits()
    }
    guard whole + fraction > 0 else { return .none }
    let end = place
    if consume(0x65) || consume(0x45) {
      isInteger = false
      if !consume(0x2D) { _ = consume(0x2B) }
      guard digits() > 0 else { return .none }
    }
    skipSpace()
    guard place == bytes.count else { return .none }
    guard isInteger, let value = Int64(String(decoding: bytes[start..<end], as: UTF8.self)) else {
      return .other
    }
    return .integer(value)
  }

  private mutating func consume(_ byte: UInt8) -> Bool {
    guard place < bytes.count, bytes[place] == byte else { return false }
    place += 1
    return true
  }

  private mutating func digits() -> Int {
    let start = place
    while place < bytes.count, bytes[place] >= 0x30, bytes[place] <= 0x39 { place += 1 }
    return place - start
  }

  private mutating func skipSpace() {
    while place < bytes.count, bytes[place] == 0x20 || (0x09...0x0D).contains(bytes[place]) {
      place += 1
    }
  }
}
