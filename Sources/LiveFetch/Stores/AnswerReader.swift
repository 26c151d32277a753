// An HTTP/1.1 answer, as the network cuts it → its head, and its body without what frames it.

/// Reads one answer.
struct AnswerReader {
  struct Head: Sendable, Equatable {
    let status: Int
    /// By lower-case names; of several with one name the last.
    var headers: [String: String] = [:]
  }

  /// Why it is no answer.
  struct Fault: Error {
    let reason: String
  }

  private enum Part {
    case head
    case sized(Int)
    case untilEnd
    case chunkSize
    case chunk(Int)
    case chunkEnd
    case trailer
    case over
  }

  private(set) var head: Head?
  private var part = Part.head
  private var line: [UInt8] = []
  private var lines: [String] = []

  /// Whether the body has come to its end. One without a length ends with the connection.
  var isOver: Bool { if case .over = part { true } else { false } }

  /// Whether the connection may end here.
  var mayEnd: Bool { if case .untilEnd = part { true } else { isOver } }

  /// The bytes of the body among `bytes`. O(bytes).
  mutating func read(_ bytes: [UInt8]) throws(Fault) -> [UInt8] {
    var rest = bytes[...]
    var body: [UInt8] = []
    while !rest.isEmpty {
      switch part {
      case .over: return body
      case .untilEnd:
        body += rest
        return body
      case .sized(let left):
        let count = Self.move(left, from: &rest, to: &body)
        part = count < left ? .sized(left - count) : .over
      case .chunk(let left):
        let count = Self.move(left, from: &rest, to: &body)
        part = count < left ? .chunk(left - count) : .chunkEnd
      case .head, .chunkSize, .chunkEnd, .trailer:
        guard let text = try takeLine(&rest) else { return body }
        try take(text)
      }
    }
    return body
  }

  private static func move(
    _ most: Int, from rest: inout ArraySlice<UInt8>, to body: inout [UInt8]
  ) -> Int {
    let piece = rest.prefix(most)
    body += piece
    rest = rest.dropFirst(piece.count)
    return piece.count
  }

  /// The line that ends in `rest`; nil if none does.
  private mutating func takeLine(_ rest: inout ArraySlice<UInt8>) throws(Fault) -> String? {
    let end = rest.firstIndex(of: 0x0A)
    line += rest[..<(end ?? rest.endIndex)]
    guard line.count < 1 << 16, lines.count < 1 << 10 else {
      throw Fault(reason: "endless headers")
    }
    rest = rest[(end.map { $0 + 1 } ?? rest.endIndex)...]
    guard end != nil else { return nil }
    if line.last == 0x0D { line.removeLast() }
    defer { line = [] }
    return String(decoding: line, as: UTF8.self)
  }

  private mutating func take(_ text: String) throws(Fault) {
    switch part {
    case .head where !text.isEmpty: lines.append(text)
    case .head: try takeHead()
    case .chunkSize:
      let word = text.prefix { $0 != ";" }.filter { $0 != " " && $0 != "\t" }
      guard let size = Int(word, radix: 16), size >= 0 else {
        throw Fault(reason: "an answer that is cut badly into chunks")
      }
      part = size > 0 ? .chunk(size) : .trailer
    case .chunkEnd: part = .chunkSize
    case .trailer: if text.isEmpty { part = .over }
    case .sized, .untilEnd, .chunk, .over: break
    }
  }

  private mutating func takeHead() throws(Fault) {
    defer { lines = [] }
    let words = lines.first?.split(separator: " ") ?? []
    guard words.count >= 2, words[0].hasPrefix("HTTP/1."), let status = Int(words[1]) else {
      throw Fault(reason: "an answer that is no HTTP")
    }
    // An interim answer: the one that counts follows.
    guard status >= 200 else { return }
    var head = Head(status: status)
    for line in lines.dropFirst() {
      let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
      guard parts.count == 2 else { continue }
      let value = parts[1].drop { $0 == " " || $0 == "\t" }
      head.headers[parts[0].lowercased()] = String(value)
    }
    self.head = head
    part = try Self.body(of: head)
  }

  private static func body(of head: Head) throws(Fault) -> Part {
    if head.status == 204 || head.status == 304 { return .over }
    if head.headers["transfer-encoding"]?.lowercased().contains("chunked") == true {
      return .chunkSize
    }
    guard let text = head.headers["content-length"] else { return .untilEnd }
    guard let length = Int(text), length >= 0 else {
      throw Fault(reason: "an answer without a proper length")
    }
    return length == 0 ? .over : .sized(length)
  }
}
