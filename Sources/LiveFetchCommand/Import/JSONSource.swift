// A JSON array of objects, or one object per line (NDJSON) → records.
//
// The array is split into its elements without reading it as a whole. The field names are those of
// the first records; later records may omit some. An array that is not closed, that has a bracket too
// many, or that is followed by more data, is refused as a whole, because the file may be damaged.

import FetchModel

/// Reads objects.
final class JSONSource: RecordSource {
  private let buffer: SlidingBuffer
  private let isArray: Bool
  /// Records that were read in advance to find the field names.
  private var ahead: [(line: Int, raw: [UInt8])] = []
  private var aheadIndex = 0
  private var nextLine = 1
  /// True after the array's opening bracket and before the closing one.
  private var isOpen = false
  private var isAtEnd = false
  /// True after the first record.
  private var hasRecord = false
  private var places: [String: Int] = [:]

  private(set) var names: [String] = []
  private(set) var fields: [ImportedField] = []
  private(set) var line = 0
  private(set) var raw: [UInt8] = []
  let heading: [UInt8] = []

  /// The number of records that determine the field names.
  private static let sampleSize = 1_000

  init(_ buffer: SlidingBuffer, isArray: Bool) throws(ReadError) {
    self.buffer = buffer
    self.isArray = isArray
    try buffer.skipMark()
    if isArray { try readOpeningBracket() }
    while ahead.count < Self.sampleSize, try readRecord() {
      ahead.append((line, raw))
      guard case .object(let members)? = try? JSON(result: raw) else { continue }
      for member in members where places[member.name] == nil {
        places[member.name] = names.count
        names.append(member.name)
      }
    }
  }

  func next() throws(ReadError) -> RecordOutcome {
    if aheadIndex < ahead.count {
      (line, raw) = ahead[aheadIndex]
      aheadIndex += 1
      if aheadIndex == ahead.count { (ahead, aheadIndex) = ([], 0) }
    } else if try !readRecord() {
      return .end
    }
    return collect()
  }

  func readAgain(_ records: [(line: Int, raw: [UInt8])]) { (ahead, aheadIndex) = (records, 0) }

  /// Returns an element of an array on one line, as in NDJSON. A line break in a string stays: JSON does
  /// not allow it.
  func rejectedForm(of raw: [UInt8]) -> [UInt8] {
    guard isArray else { return raw }
    var scan = ElementScan()
    return raw.map { byte in
      _ = scan.isEnd(byte)
      return !scan.isInString && (byte == 0x0A || byte == 0x0D) ? 0x20 : byte
    }
  }

  private func collect() -> RecordOutcome {
    let json: JSON
    do {
      // A value of a JSON column may repeat a member, as the store may hold it.
      json = try JSON(result: raw)
    } catch {
      return .bad("expected \(error.expected) at byte \(error.offset) of the record")
    }
    guard case .object(let members) = json else {
      return .bad("an object is expected, not \(json.kind)")
    }
    fields = Array(repeating: .missing, count: names.count)
    for member in members {
      guard let place = places[member.name] else {
        return .bad("'\(member.name)' is in none of the first records")
      }
      guard case .missing = fields[place] else {
        return .bad("`\(member.name)` is repeated")
      }
      fields[place] = .json(member.value)
    }
    return .record
  }
}

// MARK: - Cutting

extension JSONSource {
  /// Reads the bracket that begins the array. A sample may end before it.
  private func readOpeningBracket() throws(ReadError) {
    guard let first = try skipSpace() else {
      if buffer.isCut { return }
      throw ReadError(detail: "it is empty: a JSON array is expected")
    }
    guard first == 0x5B else {
      throw ReadError(
        detail: "a JSON array begins with `[`; --format ndjson reads one object per line")
    }
    advance(1)
    isOpen = true
  }

  /// Reads the next record's bytes into `raw`; returns false at the end.
  private func readRecord() throws(ReadError) -> Bool {
    guard !isAtEnd else { return false }
    var first = try skipSpace()
    if isArray, hasRecord, first == 0x2C {
      advance(1)
      first = try skipSpace()
      if first == 0x5D { throw Self.missingElement(before: "]") }
    }
    if isArray, first == 0x2C { throw Self.missingElement(before: ",") }
    if first == nil || isArray && first == 0x5D {
      try end(at: first)
      return false
    }
    // Elements end in front of a bracket that was not opened.
    if isArray, first == 0x7D {
      throw ReadError(detail: "`,` or `]` is expected, not `}`")
    }
    line = nextLine
    let end = isArray ? try endOfElement() : try endOfLine()
    raw = Array(buffer.bytes.prefix(end))
    hasRecord = true
    advance(end)
    return true
  }

  /// - Parameter bracket: The array's closing bracket; nil at the end of the file.
  private func end(at bracket: UInt8?) throws(ReadError) {
    isAtEnd = true
    guard bracket != nil else {
      guard isOpen, buffer.isWhole else { return }
      throw ReadError(detail: "the array is not closed: is the file whole?")
    }
    advance(1)
    guard try skipSpace() != nil else { return }
    throw ReadError(detail: "there is more data after the end of the array")
  }

  private func advance(_ count: Int) {
    for byte in buffer.bytes.prefix(count) where byte == 0x0A { nextLine += 1 }
    buffer.drop(count)
  }

  /// Returns the next byte that is not a space; nil at the end.
  private func skipSpace() throws(ReadError) -> UInt8? {
    while true {
      let bytes = buffer.bytes
      if let place = bytes.firstIndex(where: { ![0x20, 0x09, 0x0A, 0x0D].contains($0) }) {
        let byte = bytes[place]
        advance(place)
        return byte
      }
      advance(bytes.count)
      guard try buffer.grow() else { return nil }
    }
  }

  private static func missingElement(before mark: String) -> ReadError {
    ReadError(detail: "an object is expected before `\(mark)`")
  }

  private func endOfLine() throws(ReadError) -> Int {
    var from = 0
    while true {
      let bytes = buffer.bytes
      if let feed = bytes[from...].firstIndex(of: 0x0A) { return feed }
      from = bytes.count
      guard try buffer.grow() else { return buffer.bytes.count }
    }
  }

  /// Returns the offset of the comma or bracket after an element.
  private func endOfElement() throws(ReadError) -> Int {
    var scan = ElementScan()
    var index = 0
    while true {
      let bytes = buffer.bytes
      while index < bytes.count {
        if scan.isEnd(bytes[index]) { return index }
        index += 1
      }
      guard try buffer.grow() else { return buffer.bytes.count }
    }
  }
}

/// Finds the end of an array element. Tracks only strings and nesting depth.
private struct ElementScan {
  private var depth = 0
  private(set) var isInString = false
  private var isEscaped = false

  mutating func isEnd(_ byte: UInt8) -> Bool {
    if isInString {
      if isEscaped {
        isEscaped = false
      } else if byte == 0x5C {
        isEscaped = true
      } else if byte == 0x22 {
        isInString = false
      }
      return false
    }
    switch byte {
    case 0x22: isInString = true
    case 0x7B, 0x5B: depth += 1
    case 0x7D, 0x5D:
      if depth == 0 { return true }
      depth -= 1
    case 0x2C: return depth == 0
    default: break
    }
    return false
  }
}
