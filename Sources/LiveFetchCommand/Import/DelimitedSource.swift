// CSV (RFC 4180) and TSV → records whose fields point into the file's bytes.
//
// Supports quotes, doubled quotes, line breaks inside quotes, and lines that end with LF, CRLF or
// CR. An empty field is nil; an empty quoted field is an empty text. Blank lines are skipped.

import FetchModel

/// Reads a file with a header line and one record per line.
final class DelimitedSource: RecordSource {
  private struct Field {
    var start: Int
    var count: Int
    /// True if the field is text even if it is empty.
    var isQuoted = false
    /// True if it contains doubled quotes.
    var isEscaped = false
  }

  private enum Scan {
    case complete(end: Int)
    case incomplete
    case bad(String, end: Int)
  }

  private let buffer: SlidingBuffer
  private let delimiter: UInt8
  private var found: [Field] = []
  /// Holds the unescaped text of fields with doubled quotes.
  private var scratch = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: 1 << 12)
  private var used = 0
  private var nextLine = 1
  /// The lines of the records that are read again, from the last to the first.
  private var linesAgain: [Int] = []
  private var rawCount = 0

  private(set) var names: [String] = []
  private(set) var fields: [ImportedField] = []
  private(set) var line = 0
  private(set) var heading: [UInt8] = []

  /// Reads the header.
  init(_ buffer: SlidingBuffer, delimiter: UInt8) throws(ReadError) {
    self.buffer = buffer
    self.delimiter = delimiter
    try buffer.skipMark()
    switch try next() {
    case .end: throw ReadError(detail: "it is empty: a header line with names is needed")
    case .bad(let detail): throw ReadError(detail: detail)
    case .record: break
    }
    names = fields.map { field in
      switch field {
      case .text(let utf8), .quoted(let utf8): String(decoding: utf8, as: UTF8.self)
      default: ""
      }
    }
    heading = raw
  }

  deinit { scratch.deallocate() }

  var raw: [UInt8] { Array(buffer.bytes.prefix(rawCount)) }

  func next() throws(ReadError) -> RecordOutcome {
    while true {
      buffer.drop(rawCount)
      rawCount = 0
      if buffer.bytes.isEmpty, try !buffer.grow() { return .end }
      switch try scanWhole() {
      case .incomplete: return .end
      case .bad(let detail, let end):
        advance(end)
        return .bad(detail)
      case .complete(let end):
        advance(end)
        if found.count == 1, found[0].count == 0, !found[0].isQuoted { continue }
        return collect()
      }
    }
  }

  func readAgain(_ records: [(line: Int, raw: [UInt8])]) {
    linesAgain = records.reversed().map(\.line)
    // The last record of a file may lack a line break.
    let lines = records.map { record in
      [0x0A, 0x0D].contains(record.raw.last) ? record.raw : record.raw + [0x0A]
    }
    buffer.replace(by: Array(lines.joined()))
    rawCount = 0
  }

  private func advance(_ end: Int) {
    line = linesAgain.popLast() ?? nextLine
    rawCount = end
    nextLine += Self.lineBreaks(in: buffer.bytes.prefix(end))
  }

  /// Counts LF, CRLF and CR.
  private static func lineBreaks(in bytes: Slice<UnsafeBufferPointer<UInt8>>) -> Int {
    var count = 0
    var previous: UInt8 = 0
    for byte in bytes {
      if byte == 0x0D || byte == 0x0A && previous != 0x0D { count += 1 }
      previous = byte
    }
    return count
  }

  private func scanWhole() throws(ReadError) -> Scan {
    while true {
      let result = scan(buffer.bytes)
      guard case .incomplete = result else { return result }
      // With twice the bytes before each scan, the scans of a long record together take linear time.
      let wanted = min(buffer.bytes.count * 2, SlidingBuffer.longest)
      repeat {
        guard try buffer.grow() else { return scan(buffer.bytes) }
      } while buffer.bytes.count < wanted
    }
  }

  /// True if no bytes follow. The last line may then lack a line break, but not the last one of a sample,
  /// which may be incomplete.
  private var isComplete: Bool { buffer.isAtEnd && !buffer.isCut }

  private func collect() -> RecordOutcome {
    guard names.isEmpty || found.count == names.count else {
      return .bad("\(found.count) fields, where the heading has \(names.count)")
    }
    let bytes = buffer.bytes
    used = 0
    reserveScratch(rawCount)
    fields.removeAll(keepingCapacity: true)
    for field in found {
      if field.count == 0, !field.isQuoted {
        fields.append(.null)
      } else if field.isEscaped {
        fields.append(.quoted(unescaped(field, in: bytes)))
      } else {
        let text = UnsafeBufferPointer(
          rebasing: bytes[field.start..<(field.start + field.count)])
        fields.append(field.isQuoted ? .quoted(text) : .text(text))
      }
    }
    return .record
  }

  private func reserveScratch(_ count: Int) {
    guard scratch.count < count else { return }
    scratch.deallocate()
    scratch = .allocate(capacity: count * 2)
  }

  private func unescaped(
    _ field: Field, in bytes: UnsafeBufferPointer<UInt8>
  ) -> UnsafeBufferPointer<UInt8> {
    let start = used
    var index = field.start
    while index < field.start + field.count {
      scratch[used] = bytes[index]
      used += 1
      index += bytes[index] == 0x22 ? 2 : 1
    }
    return UnsafeBufferPointer(rebasing: scratch[start..<used])
  }
}

// MARK: - Scanning

extension DelimitedSource {
  /// Finds the fields of the record at the start of `bytes`.
  private func scan(_ bytes: UnsafeBufferPointer<UInt8>) -> Scan {
    found.removeAll(keepingCapacity: true)
    var index = 0
    while true {
      let isQuoted = index < bytes.count && bytes[index] == 0x22
      guard let end = isQuoted ? scanQuoted(bytes, index) : scanPlain(bytes, index) else {
        guard isComplete else { return .incomplete }
        return .bad("a quote is not closed", end: bytes.count)
      }
      guard end < bytes.count else {
        return isComplete ? .complete(end: bytes.count) : .incomplete
      }
      switch bytes[end] {
      case delimiter: index = end + 1
      case 0x0A: return .complete(end: end + 1)
      case 0x0D:
        guard end + 1 < bytes.count || isComplete else { return .incomplete }
        let isPair = end + 1 < bytes.count && bytes[end + 1] == 0x0A
        return .complete(end: end + (isPair ? 2 : 1))
      default: return readAfterQuote(bytes, end)
      }
    }
  }

  /// Skips the rest of an invalid line.
  private func readAfterQuote(_ bytes: UnsafeBufferPointer<UInt8>, _ start: Int) -> Scan {
    let end = bytes[start...].firstIndex { $0 == 0x0A || $0 == 0x0D } ?? bytes.count
    // The next byte may be the second half of CRLF.
    guard end + 1 < bytes.count || isComplete else { return .incomplete }
    let isPair = end + 1 < bytes.count && bytes[end] == 0x0D && bytes[end + 1] == 0x0A
    return .bad("text after a closing quote", end: min(bytes.count, end + (isPair ? 2 : 1)))
  }

  private func scanPlain(_ bytes: UnsafeBufferPointer<UInt8>, _ start: Int) -> Int? {
    var index = start
    while index < bytes.count {
      let byte = bytes[index]
      if byte == delimiter || byte == 0x0A || byte == 0x0D { break }
      index += 1
    }
    found.append(Field(start: start, count: index - start))
    return index
  }

  /// Returns nil if the closing quote is missing.
  private func scanQuoted(_ bytes: UnsafeBufferPointer<UInt8>, _ start: Int) -> Int? {
    var field = Field(start: start + 1, count: 0, isQuoted: true)
    var index = start + 1
    while index < bytes.count {
      guard bytes[index] == 0x22 else {
        index += 1
        continue
      }
      if index + 1 < bytes.count, bytes[index + 1] == 0x22 {
        field.isEscaped = true
        index += 2
        continue
      }
      // The next byte may be the second half of a doubled quote.
      if index + 1 == bytes.count, !isComplete { return nil }
      field.count = index - field.start
      found.append(field)
      return index + 1
    }
    return nil
  }
}
