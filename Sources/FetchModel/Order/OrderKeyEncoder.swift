// Values ↔ components of an order key.
//
// A component is a tag byte and a payload: nil 0x01 (0xFE where nil comes last), numbers 0x10, text
// 0x20, binary 0x30, which is SQLite's order of storage classes. A number consists of the
// order-preserving bits of its double, rounded down, and the remainder of an integer beyond 2^53
// (11 bytes in all). Text and binary escape 0x00 as 0x00 0xFF and end with 0x00 0x01. In descending
// components every bit is inverted, including the tag's.

/// The position of nil before or after all values, in reading order.
public enum NilPlace: Sendable, Hashable { case first, last }

/// The direction of a sort term.
public enum Direction: Sendable, Hashable { case ascending, descending }

/// Encodes the components of an order key.
public struct OrderKeyEncoder {
  /// The encoded components.
  public private(set) var bytes: [UInt8] = []

  /// Makes an encoder without bytes.
  public init() { bytes.reserveCapacity(48) }

  /// Continues after existing components.
  init(bytes: [UInt8]) { self.bytes = bytes }

  /// Appends nil at the given place. It is never inverted, because the place is in reading order.
  public mutating func appendNil(_ place: NilPlace) {
    bytes.append(place == .first ? 0x01 : 0xFE)
  }

  /// Appends an integer.
  public mutating func append(_ integer: Int64, _ direction: Direction) {
    var floor = Double(integer)
    // Double(Int64.max) rounds up to 2^63, which Int64 cannot represent.
    if floor >= 0x1p63 || Int64(floor) > integer { floor = floor.nextDown }
    let rest = integer &- Int64(floor)
    appendNumber(floor, rest: UInt16(truncatingIfNeeded: rest), direction)
  }

  /// Appends a double.
  public mutating func append(_ double: Double, _ direction: Direction) {
    appendNumber(double == 0 ? 0 : double, rest: 0, direction)
  }

  /// Appends text, given as UTF-8. O(length).
  public mutating func append(text utf8: UnsafeBufferPointer<UInt8>, _ direction: Direction) {
    appendBytes(utf8, tag: 0x20, direction)
  }

  /// Appends binary. O(length).
  public mutating func append(binary: UnsafeBufferPointer<UInt8>, _ direction: Direction) {
    appendBytes(binary, tag: 0x30, direction)
  }

  /// Appends an object's id, ascending.
  public mutating func append(_ id: ObjectID) {
    switch id {
    case .integer(let id): append(id, .ascending)
    case .text(var id): id.withUTF8 { append(text: $0, .ascending) }
    }
  }

  private mutating func appendNumber(_ double: Double, rest: UInt16, _ direction: Direction) {
    let start = bytes.count
    let bits = double.bitPattern
    let ordered = bits >> 63 == 0 ? bits ^ (1 << 63) : ~bits
    bytes.append(0x10)
    withUnsafeBytes(of: ordered.bigEndian) { bytes.append(contentsOf: $0) }
    withUnsafeBytes(of: rest.bigEndian) { bytes.append(contentsOf: $0) }
    invert(from: start, direction)
  }

  private mutating func appendBytes(
    _ payload: UnsafeBufferPointer<UInt8>, tag: UInt8, _ direction: Direction
  ) {
    let start = bytes.count
    bytes.append(tag)
    for byte in payload {
      bytes.append(byte)
      if byte == 0 { bytes.append(0xFF) }
    }
    bytes.append(0x00)
    bytes.append(0x01)
    invert(from: start, direction)
  }

  private mutating func invert(from start: Int, _ direction: Direction) {
    guard direction == .descending else { return }
    for index in start..<bytes.count { bytes[index] = ~bytes[index] }
  }
}

/// Decodes the components of an order key in sequence.
public struct OrderKeyDecoder {
  /// The content of a component.
  public enum Component: Sendable, Hashable {
    case null
    case integer(Int64)
    case double(Double)
    case text([UInt8])
    case binary([UInt8])
  }

  private let bytes: [UInt8]
  /// The offset of the next component.
  public private(set) var offset: Int

  /// Makes a decoder of a key, from `offset`.
  public init(bytes: [UInt8], offset: Int = 0) {
    self.bytes = bytes
    self.offset = offset
  }

  /// True if all bytes have been read.
  public var isAtEnd: Bool { offset >= bytes.count }

  /// Returns the next component; nil if the bytes are not a valid key, as in a forged cursor.
  public mutating func decode() -> Component? {
    guard let first = nextByte(0) else { return nil }
    if first == 0x01 || first == 0xFE { return .null }
    let mask: UInt8 = first >= 0x80 ? 0xFF : 0
    switch first ^ mask {
    case 0x10: return decodeNumber(mask)
    case 0x20: return decodeBytes(mask).map { .text($0) }
    case 0x30: return decodeBytes(mask).map { .binary($0) }
    default: return nil
    }
  }

  /// Returns the id at the offset, which the encoder wrote there.
  mutating func decodeID() -> ObjectID {
    switch decode() {
    case .integer(let id): .integer(id)
    case .text(let utf8): .text(String(decoding: utf8, as: UTF8.self))
    case .double(let id): .text(id.description)
    case .binary, .null, nil: .text("")
    }
  }

  private mutating func nextByte(_ mask: UInt8) -> UInt8? {
    guard offset < bytes.count else { return nil }
    defer { offset += 1 }
    return bytes[offset] ^ mask
  }

  private mutating func decodeNumber(_ mask: UInt8) -> Component? {
    guard bytes.count - offset >= 10 else { return nil }
    var ordered: UInt64 = 0
    for _ in 0..<8 { ordered = ordered << 8 | UInt64(nextByte(mask) ?? 0) }
    let rest = UInt16(nextByte(mask) ?? 0) << 8 | UInt16(nextByte(mask) ?? 0)
    let bits = ordered >> 63 == 1 ? ordered ^ (1 << 63) : ~ordered
    let double = Double(bitPattern: bits)
    guard let floor = Int64(exactly: double) else { return .double(double) }
    let (integer, overflow) = floor.addingReportingOverflow(Int64(rest))
    return overflow ? nil : .integer(integer)
  }

  private mutating func decodeBytes(_ mask: UInt8) -> [UInt8]? {
    var payload: [UInt8] = []
    while let byte = nextByte(mask) {
      if byte != 0 {
        payload.append(byte)
      } else {
        guard let marker = nextByte(mask) else { return nil }
        if marker == 0x01 { return payload }
        guard marker == 0xFF else { return nil }
        payload.append(0)
      }
    }
    return nil
  }
}
