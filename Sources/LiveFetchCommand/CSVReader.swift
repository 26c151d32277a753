// CSV (RFC 4180) → rows of fields. Quotes, doubled quotes, line breaks inside quotes; bytes in,
// UTF-8 text out.

/// Reads the rows of a CSV text one after the other.
struct CSVReader: Sequence, IteratorProtocol {
  private let bytes: [UInt8]
  private var offset = 0

  init(_ bytes: [UInt8]) {
    self.bytes = bytes
    if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { offset = 3 }
  }

  /// The fields of the next row; nil at the end.
  mutating func next() -> [String]? {
    guard offset < bytes.count else { return nil }
    var fields: [String] = []
    while true {
      fields.append(nextField())
      guard offset < bytes.count, bytes[offset] == 0x2C else { break }
      offset += 1
    }
    skipLineBreak()
    return fields
  }

  private mutating func nextField() -> String {
    if offset < bytes.count, bytes[offset] == 0x22 { return nextQuoted() }
    let start = offset
    while offset < bytes.count, ![0x2C, 0x0A, 0x0D].contains(bytes[offset]) { offset += 1 }
    return String(decoding: bytes[start..<offset], as: UTF8.self)
  }

  private mutating func nextQuoted() -> String {
    offset += 1
    var field: [UInt8] = []
    while offset < bytes.count {
      let byte = bytes[offset]
      offset += 1
      if byte != 0x22 {
        field.append(byte)
      } else if offset < bytes.count, bytes[offset] == 0x22 {
        field.append(0x22)
        offset += 1
      } else {
        break
      }
    }
    return String(decoding: field, as: UTF8.self)
  }

  private mutating func skipLineBreak() {
    if offset < bytes.count, bytes[offset] == 0x0D { offset += 1 }
    if offset < bytes.count, bytes[offset] == 0x0A { offset += 1 }
  }
}
