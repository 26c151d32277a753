// The bytes of a value in PostgreSQL's binary form → numbers and text. Lengths are checked.

import Bytes

/// Reads one value from its first byte to its last.
struct BinaryReader {
  private let bytes: UnsafeRawBufferPointer
  private var offset = 0

  init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

  var isAtEnd: Bool { offset == bytes.count }

  /// Reads an integer in network byte order.
  mutating func integer<Number: FixedWidthInteger>(
    _ type: Number.Type
  ) throws(PostgresError) -> Number {
    let size = MemoryLayout<Number>.size
    guard bytes.count - offset >= size else { throw .malformed("a value is too short") }
    defer { offset += size }
    return Number(bigEndian: bytes.loadUnaligned(fromByteOffset: offset, as: Number.self))
  }

  /// Reads everything that is left.
  mutating func rest() -> UnsafeRawBufferPointer {
    defer { offset = bytes.count }
    return UnsafeRawBufferPointer(rebasing: bytes[offset...])
  }

  mutating func text() -> String { String(decoding: rest(), as: UTF8.self) }

  mutating func uuid() throws(PostgresError) -> String {
    guard bytes.count - offset == 16 else { throw .malformed("a uuid has 16 bytes") }
    var text: [UInt8] = []
    for (index, byte) in rest().enumerated() {
      if [4, 6, 8, 10].contains(index) { text.append(UInt8(ascii: "-")) }
      text.append(Hexadecimal.digit(byte >> 4))
      text.append(Hexadecimal.digit(byte & 15))
    }
    return String(decoding: text, as: UTF8.self)
  }

  /// Reads a `numeric`: groups of four decimal digits, a weight, a sign and a scale.
  mutating func numeric() throws(PostgresError) -> String {
    let count = Int(try integer(UInt16.self))
    let weight = Int(try integer(Int16.self))
    let sign = try integer(UInt16.self)
    let scale = Int(try integer(UInt16.self))
    switch sign {
    case 0xC000: return "NaN"
    case 0xD000: return "Infinity"
    case 0xF000: return "-Infinity"
    default: break
    }
    var groups: [UInt16] = []
    for _ in 0..<count {
      let group = try integer(UInt16.self)
      guard group < 10_000 else { throw .malformed("a digit of a numeric") }
      groups.append(group)
    }
    let magnitude = Self.decimal(groups, weight: weight, scale: scale)
    return sign == 0x4000 ? "-" + magnitude : magnitude
  }

  /// The decimal text of groups, the first of which counts 10000 to the power of `weight`.
  private static func decimal(_ groups: [UInt16], weight: Int, scale: Int) -> String {
    func digits(_ power: Int) -> String {
      let index = weight - power
      let group = groups.indices.contains(index) ? groups[index] : 0
      let text = String(group)
      return String(repeating: "0", count: 4 - text.utf8.count) + text
    }
    let whole = weight < 0 ? "" : (0...weight).map { digits(weight - $0) }.joined()
    let significant = whole.drop { $0 == "0" }
    let text = significant.isEmpty ? "0" : String(significant)
    guard scale > 0 else { return text }
    let fraction = (1...((scale + 3) / 4)).map { digits(-$0) }.joined().prefix(scale)
    return text + "." + fraction
  }
}
