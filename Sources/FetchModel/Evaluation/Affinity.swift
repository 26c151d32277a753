// What a column makes of values, and of what it is compared with. SQLite's rules: a comparison with
// a column that counts turns text that is a number into that number, one with a column of text
// turns numbers into text.

/// What SQLite makes of a value that a column is given.
public enum Affinity: String, Sendable, Hashable {
  case integer, real, text, blob, numeric

  /// Whether text that is a number becomes that number.
  public var isNumeric: Bool {
    switch self {
    case .integer, .real, .numeric: true
    case .text, .blob: false
    }
  }

  /// What both sides are turned into before they are compared; nil where each stays as it is.
  ///
  /// - Parameters: the affinities of the sides; nil for what is no column.
  public static func ofComparison(_ left: Affinity?, _ right: Affinity?) -> Affinity? {
    if left?.isNumeric == true || right?.isNumeric == true { return .numeric }
    guard left == .text || right == .text else { return nil }
    // Between two columns neither of which counts nothing is converted.
    return left == nil || right == nil ? .text : nil
  }
}

extension StoredValue {
  /// This value as a comparison under `affinity` takes it; nil where only the store can tell,
  /// because digits and doubles would have to be converted as exactly as it does.
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

/// What text is to SQLite where a number is wanted.
enum NumericText: Equatable {
  /// No number as a whole.
  case none
  case integer(Int64)
  /// A number with a fraction or an exponent, or beyond 64 bits.
  case other

  init(_ text: String) {
    var scanner = NumberScanner(Array(text.utf8))
    self = scanner.scan()
  }
}

/// Reads `12`, `-1.5e3`, with white space around it, and nothing else.
private struct NumberScanner {
  let bytes: [UInt8]
  var place = 0

  init(_ bytes: [UInt8]) { self.bytes = bytes }

  mutating func scan() -> NumericText {
    skipSpace()
    let start = place
    if !take(0x2D) { _ = take(0x2B) }
    let whole = digits()
    var isInteger = true
    var fraction = 0
    if take(0x2E) {
      isInteger = false
      fraction = digits()
    }
    guard whole + fraction > 0 else { return .none }
    let end = place
    if take(0x65) || take(0x45) {
      isInteger = false
      if !take(0x2D) { _ = take(0x2B) }
      guard digits() > 0 else { return .none }
    }
    skipSpace()
    guard place == bytes.count else { return .none }
    guard isInteger, let value = Int64(String(decoding: bytes[start..<end], as: UTF8.self)) else {
      return .other
    }
    return .integer(value)
  }

  private mutating func take(_ byte: UInt8) -> Bool {
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
