// A stored value → JSON, by its storage class and the attribute's type.

import Bytes
import FetchModel
import SQLComposer

extension ResultRow {
  @inlinable
  public func append(integer: Int64, _ format: ValueFormat, to bytes: inout [UInt8]) {
    switch format {
    case .boolean where integer == 0: bytes.append(json: "false")
    case .boolean where integer == 1: bytes.append(json: "true")
    case .date(.unixSeconds): bytes.append(json: Instant(seconds: integer))
    case .transformable: appendNoValue(to: &bytes)
    case .largeNumberAsString where integer.magnitude > 1 << 53,
      .largeIDAsString where integer.magnitude > 1 << 53:
      bytes.append(0x22)
      bytes.append(json: integer)
      bytes.append(0x22)
    default: bytes.append(json: integer)
    }
  }

  @inlinable
  public func append(double: Double, _ format: ValueFormat, to bytes: inout [UInt8]) {
    if format == .date(.unixSeconds), let instant = Instant(secondsSince1970: double) {
      bytes.append(json: instant)
    } else if case .transformable = format {
      appendNoValue(to: &bytes)
    } else if format == .id || format == .largeIDAsString {
      bytes.append(jsonString: double.description)
    } else {
      bytes.append(json: double)
    }
  }

  /// Appends the error of a transformable attribute whose stored value is a number.
  @usableFromInline
  func appendNoValue(to bytes: inout [UInt8]) {
    TransformableReader.append(error: "the stored value is a number", to: &bytes)
  }

  @inlinable
  public func append(
    text: UnsafeBufferPointer<UInt8>, _ format: ValueFormat, to bytes: inout [UInt8]
  ) {
    switch format {
    case .date(let dateFormat) where dateFormat != .unixSeconds:
      if let instant = Instant(stored: text, as: dateFormat) {
        bytes.append(json: instant)
      } else {
        bytes.append(jsonString: text)
      }
    case .json:
      if JSON.isValid(text, isCancelled: { hasToEnd }) {
        bytes.append(contentsOf: text)
      } else {
        bytes.append(jsonString: text)
      }
    case .transformable(let index): layout.readers[index].append(text, to: &bytes)
    case .ids: bytes.append(ids: text)
    case .largeIDsAsStrings: bytes.append(idsWithLargeOnesAsStrings: text)
    default: bytes.append(jsonString: text)
    }
  }

  /// The bytes of a long value that are written at once: whole groups of base64.
  private static var piece: Int { 48 << 10 }

  @inline(never)
  public func append(
    longText text: UnsafeBufferPointer<UInt8>, _ format: ValueFormat, to bytes: inout [UInt8]
  ) {
    guard admits(text.count, after: bytes.count) else {
      return bytes.append(json: "null")
    }
    switch format {
    case .date, .json, .transformable, .ids, .largeIDsAsStrings:
      return append(text: text, format, to: &bytes)
    default: break
    }
    bytes.append(0x22)
    var start = 0
    while start < text.count, admits(0, after: bytes.count) {
      let end = Self.characterBorder(in: text, before: start + Self.piece)
      bytes.append(jsonStringPart: UnsafeBufferPointer(rebasing: text[start..<end]))
      start = end
    }
    bytes.append(0x22)
  }

  /// An offset at most three bytes before `end`, or `end` itself, that is not within a character.
  private static func characterBorder(
    in text: UnsafeBufferPointer<UInt8>, before end: Int
  ) -> Int {
    guard end < text.count else { return text.count }
    // A character has at most three bytes after its first.
    return (end - 3...end).last { text[$0] & 0xC0 != 0x80 } ?? end
  }

  @inline(never)
  public func append(
    longBlob blob: UnsafeBufferPointer<UInt8>, _ format: ValueFormat, to bytes: inout [UInt8]
  ) {
    // Base64 writes four characters for three bytes.
    guard admits(blob.count / 3 * 4, after: bytes.count) else {
      return bytes.append(json: "null")
    }
    if case .transformable = format { return append(blob: blob, format, to: &bytes) }
    if case .date = format { return append(blob: blob, format, to: &bytes) }
    bytes.append(0x22)
    for start in stride(from: 0, to: blob.count, by: Self.piece)
    where admits(0, after: bytes.count) {
      let end = min(start + Self.piece, blob.count)
      bytes.append(base64: UnsafeBufferPointer(rebasing: blob[start..<end]), .standard)
    }
    bytes.append(0x22)
  }

  @inlinable
  public func append(
    blob: UnsafeBufferPointer<UInt8>, _ format: ValueFormat, to bytes: inout [UInt8]
  ) {
    if format == .uuid, blob.count == 16 {
      bytes.append(uuid: blob)
    } else if case .transformable(let index) = format {
      layout.readers[index].append(blob, to: &bytes)
    } else {
      bytes.append(0x22)
      bytes.append(base64: blob, .standard)
      bytes.append(0x22)
    }
  }
}

extension [UInt8] {
  /// Appends a JSON array of ids that the database has written. Bytes of text ids that are not UTF-8
  /// become U+FFFD, as in the ids of items.
  @usableFromInline
  mutating func append(ids array: UnsafeBufferPointer<UInt8>) {
    if array.allSatisfy({ $0 < 0x80 }) {
      append(contentsOf: array)
    } else {
      append(contentsOf: String(decoding: array, as: UTF8.self).utf8)
    }
  }

  /// Appends a JSON array of ids, its integers beyond ±2^53 as strings.
  @usableFromInline
  mutating func append(idsWithLargeOnesAsStrings array: UnsafeBufferPointer<UInt8>) {
    var rest = array[...]
    while let byte = rest.first {
      // A text with its escapes, the digits of a number, or one of the other bytes.
      var length = 1
      if byte == 0x22 {
        while length < rest.count, rest[rest.startIndex + length] != 0x22 {
          length += rest[rest.startIndex + length] == 0x5C ? 2 : 1
        }
        length = Swift.min(length + 1, rest.count)
      } else if byte == 0x2D || byte &- 0x30 < 10 {
        length = rest.prefix { ![0x2C, 0x5D].contains($0) }.count
      }
      let part = rest.prefix(length)
      let id = byte == 0x22 ? nil : Int64(String(decoding: part, as: UTF8.self))
      let isLarge = id.map { $0.magnitude > 1 << 53 } ?? false
      if isLarge { append(0x22) }
      append(ids: UnsafeBufferPointer(rebasing: part))
      if isLarge { append(0x22) }
      rest = rest.dropFirst(length)
    }
  }

  @usableFromInline
  mutating func append(uuid blob: UnsafeBufferPointer<UInt8>) {
    append(0x22)
    for (index, byte) in blob.enumerated() {
      if [4, 6, 8, 10].contains(index) { append(0x2D) }
      append(Hexadecimal.digit(byte >> 4, uppercase: true))
      append(Hexadecimal.digit(byte & 15, uppercase: true))
    }
    append(0x22)
  }
}
