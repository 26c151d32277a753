// Bytes → JSON value, strictly by RFC 8259, with a maximum depth, in one pass.

import Bytes

/// A syntax error in a JSON text.
public struct JSONError: Error, Sendable, Hashable {
  /// The byte offset of the error.
  public let offset: Int
  /// The end of the sentence "expected …", for people.
  public let expected: String
}

extension JSON {
  /// The maximum nesting depth of arrays and objects.
  public static let maxDepth = 64
  /// The maximum number of combining marks in succession in a string of a request.
  public static let maxMarks = 256

  /// Parses JSON that a user or this project wrote, such as a setting, a model file or a stored record.
  /// O(length), except for strings with many combining marks after one letter.
  ///
  /// - Throws: ``JSONError`` for a violation of RFC 8259, for bytes that are not UTF-8, for a
  ///   repeated member name, and for nesting deeper than ``maxDepth``.
  public init(parsing bytes: [UInt8]) throws(JSONError) {
    try self.init(parsing: bytes, allowsRepetition: false)
  }

  /// Parses JSON that a client sent. O(length).
  ///
  /// - Throws: ``JSONError`` as ``init(parsing:)``, and for a string with more than ``maxMarks``
  ///   combining marks in succession: to compare such strings takes quadratic time.
  public init(request bytes: [UInt8]) throws(JSONError) {
    try self.init(parsing: bytes, allowsRepetition: false, limitsMarks: true)
  }

  /// Parses JSON that a database contains. Keeps repeated members, as SQLite and
  /// PostgreSQL's `json` do. O(length).
  ///
  /// - Throws: ``JSONError`` as ``init(parsing:)``, except for repeated names.
  public init(stored bytes: [UInt8]) throws(JSONError) {
    try self.init(parsing: bytes, allowsRepetition: true)
  }

  /// Parses JSON of this project's own: a snapshot, a diff or an item, which contains stored values. Such a
  /// value may nest as deep as ``maxDepth`` within the arrays and objects around it. O(length).
  ///
  /// - Throws: ``JSONError`` as ``init(stored:)``, for nesting that is 16 levels deeper.
  public init(result bytes: [UInt8]) throws(JSONError) {
    try self.init(parsing: bytes, allowsRepetition: true, maxDepth: Self.maxDepth + 16)
  }

  private init(
    parsing bytes: [UInt8], allowsRepetition: Bool, limitsMarks: Bool = false,
    maxDepth: Int = Self.maxDepth
  ) throws(JSONError) {
    self = try bytes.withUnsafeBufferPointer { buffer throws(JSONError) in
      var reader = JSONReader(
        bytes: buffer, allowsRepetition: allowsRepetition, limitsMarks: limitsMarks)
      reader.maxDepth = maxDepth
      return try reader.readText()
    }
  }
}

extension JSON {
  /// True if ``init(stored:)`` can read `bytes`. Builds no values.
  ///
  /// - Parameter isCancelled: called after every 32,768 values of the text; if it returns true, the
  ///   result is false.
  public static func isValid(
    _ bytes: UnsafeBufferPointer<UInt8>, isCancelled: () -> Bool = { false }
  ) -> Bool {
    withoutActuallyEscaping(isCancelled) { isCancelled in
      var reader = JSONReader(
        bytes: bytes, keepsValues: false, allowsRepetition: true, Interruption(isCancelled))
      return (try? reader.readText()) != nil
    }
  }
}

private struct JSONReader {
  let bytes: UnsafeBufferPointer<UInt8>
  /// True if elements and members are stored; otherwise arrays and objects are read as empty.
  let keepsValues: Bool
  let allowsRepetition: Bool
  /// True if a string with too many combining marks in succession is refused.
  let limitsMarks: Bool
  var interruption: Interruption
  var maxDepth = JSON.maxDepth
  var offset = 0
  var depth = 0

  init(
    bytes: UnsafeBufferPointer<UInt8>, keepsValues: Bool = true, allowsRepetition: Bool,
    limitsMarks: Bool = false, _ interruption: Interruption = Interruption { false }
  ) {
    self.bytes = bytes
    self.keepsValues = keepsValues
    self.allowsRepetition = allowsRepetition
    self.limitsMarks = limitsMarks
    self.interruption = interruption
  }

  mutating func readText() throws(JSONError) -> JSON {
    let value = try readValue()
    skipSpace()
    guard offset == bytes.count else { throw failure("the end of the text") }
    return value
  }

  private func failure(_ expected: String) -> JSONError {
    JSONError(offset: offset, expected: expected)
  }

  private var next: UInt8? { offset < bytes.count ? bytes[offset] : nil }

  private mutating func skipSpace() {
    while let byte = next, byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 {
      offset += 1
    }
  }

  private mutating func consume(_ byte: UInt8) -> Bool {
    skipSpace()
    guard next == byte else { return false }
    offset += 1
    return true
  }

  private mutating func readValue() throws(JSONError) -> JSON {
    skipSpace()
    // Only `isValid` cancels, and it discards the error.
    if interruption.ends() { throw failure("cancellation") }
    switch next {
    case 0x7B: return try readObject()
    case 0x5B: return try readArray()
    case 0x22: return .string(try readString())
    case 0x74: return try readWord("true", .boolean(true))
    case 0x66: return try readWord("false", .boolean(false))
    case 0x6E: return try readWord("null", .null)
    case .some(0x2D), .some(0x30...0x39): return try readNumber()
    default: throw failure("a JSON value")
    }
  }

  private mutating func readWord(_ word: StaticString, _ value: JSON) throws(JSONError) -> JSON {
    let count = word.utf8CodeUnitCount
    guard bytes.count - offset >= count,
      (0..<count).allSatisfy({ bytes[offset + $0] == word.utf8Start[$0] })
    else { throw failure("a JSON value") }
    offset += count
    return value
  }

  private mutating func enter() throws(JSONError) {
    depth += 1
    guard depth <= maxDepth else { throw failure("at most \(maxDepth) nested values") }
    offset += 1
  }

  private mutating func readArray() throws(JSONError) -> JSON {
    try enter()
    var elements: [JSON] = []
    if !consume(0x5D) {
      repeat {
        let value = try readValue()
        if keepsValues { elements.append(value) }
      } while consume(0x2C)
      guard consume(0x5D) else { throw failure("`,` or `]`") }
    }
    depth -= 1
    return .array(elements)
  }

  private mutating func readObject() throws(JSONError) -> JSON {
    try enter()
    var members: [JSON.Member] = []
    if !consume(0x7D) {
      repeat {
        let member = try readMember()
        if keepsValues { members.append(member) }
      } while consume(0x2C)
      guard consume(0x7D) else { throw failure("`,` or `}`") }
    }
    depth -= 1
    if !allowsRepetition { try refuseRepetition(members) }
    return .object(members)
  }

  private mutating func readMember() throws(JSONError) -> JSON.Member {
    skipSpace()
    guard next == 0x22 else { throw failure("a member name in double quotes") }
    let name = try readString()
    guard consume(0x3A) else { throw failure("`:`") }
    return JSON.Member(name: name, value: try readValue())
  }

  /// Compares names as `JSON`'s subscript does, so `é` and its decomposition are the same name.
  private func refuseRepetition(_ members: [JSON.Member]) throws(JSONError) {
    guard let name = Self.repeatedName(in: members) else { return }
    throw failure("each member once; `\(name)` is repeated")
  }

  /// The first name that an earlier member has. Few members are compared with each other, which
  /// allocates no memory.
  private static func repeatedName(in members: [JSON.Member]) -> String? {
    if members.count <= 8 {
      return members.indices.first { index in
        members[..<index].contains { $0.name == members[index].name }
      }.map { members[$0].name }
    }
    var names: Set<String> = []
    return members.first { !names.insert($0.name).inserted }?.name
  }

  private mutating func skipDigits() throws(JSONError) {
    let start = offset
    while let byte = next, byte >= 0x30, byte <= 0x39 { offset += 1 }
    guard offset > start else { throw failure("a digit") }
  }

  private mutating func readNumber() throws(JSONError) -> JSON {
    let start = offset
    if next == 0x2D { offset += 1 }
    if next == 0x30 { offset += 1 } else { try skipDigits() }
    if next == 0x2E {
      offset += 1
      try skipDigits()
    }
    if next == 0x65 || next == 0x45 {
      offset += 1
      if next == 0x2B || next == 0x2D { offset += 1 }
      try skipDigits()
    }
    return .number(String(decoding: bytes[start..<offset], as: UTF8.self))
  }

  private mutating func readString() throws(JSONError) -> String {
    offset += 1
    let start = offset
    while let byte = next, byte != 0x22, byte != 0x5C, byte >= 0x20 { offset += 1 }
    if next == 0x22 {
      defer { offset += 1 }
      return try text(of: UnsafeBufferPointer(rebasing: bytes[start..<offset]))
    }
    return try readEscapedString(from: start)
  }

  private func text(of utf8: UnsafeBufferPointer<UInt8>) throws(JSONError) -> String {
    guard let text = String(validating: utf8, as: UTF8.self) else { throw failure("UTF-8") }
    guard !limitsMarks || !text.hasMarks(moreThan: JSON.maxMarks) else {
      throw failure("at most \(JSON.maxMarks) combining marks in succession")
    }
    return text
  }

  private mutating func readEscapedString(from start: Int) throws(JSONError) -> String {
    var unescaped = Array(bytes[start..<offset])
    while let byte = next {
      switch byte {
      case 0x22:
        offset += 1
        return try unescaped.withUnsafeBufferPointer { utf8 throws(JSONError) in
          try text(of: utf8)
        }
      case 0x5C: try readEscape(into: &unescaped)
      case 0..<0x20: throw failure("no control character in a string")
      default:
        unescaped.append(byte)
        offset += 1
      }
    }
    throw failure("the end of the string")
  }

  private mutating func readEscape(into unescaped: inout [UInt8]) throws(JSONError) {
    offset += 1
    guard let byte = next else { throw failure("an escape") }
    offset += 1
    switch byte {
    case 0x22, 0x5C, 0x2F: unescaped.append(byte)
    case 0x62: unescaped.append(0x08)
    case 0x66: unescaped.append(0x0C)
    case 0x6E: unescaped.append(0x0A)
    case 0x72: unescaped.append(0x0D)
    case 0x74: unescaped.append(0x09)
    case 0x75: unescaped.append(contentsOf: String(Character(try readScalar())).utf8)
    default:
      offset -= 1
      throw failure("one of the escapes \" \\ / b f n r t u")
    }
  }

  private mutating func readScalar() throws(JSONError) -> Unicode.Scalar {
    let first = try readHexUnit()
    if let scalar = Unicode.Scalar(first) { return scalar }
    guard first < 0xDC00, next == 0x5C, offset + 1 < bytes.count, bytes[offset + 1] == 0x75 else {
      throw failure("a pair of surrogates")
    }
    offset += 2
    let second = try readHexUnit()
    guard (0xDC00...0xDFFF).contains(second),
      let scalar = Unicode.Scalar(0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00))
    else { throw failure("a pair of surrogates") }
    return scalar
  }

  private mutating func readHexUnit() throws(JSONError) -> UInt32 {
    var unit: UInt32 = 0
    for _ in 0..<4 {
      guard let byte = next, let digit = Hexadecimal.value(of: byte) else {
        throw failure("four hexadecimal digits")
      }
      unit = unit << 4 | UInt32(digit)
      offset += 1
    }
    return unit
  }
}
