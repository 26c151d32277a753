// An HTTP/1.1 answer, as the network cuts it → its head, and its body without what frames it.

/// Reads one answer.
package struct AnswerReader {
  /// A status line and what follows it, up to the blank line.
  package struct Head: Sendable, Equatable {
    package let status: Int
    /// By lower-case names, without the blanks around them; of several with one name the last.
    package let headers: [String: String]
  }

  /// Why it is no answer.
  package struct Fault: Error {
    package let reason: String
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

  package private(set) var head: Head?
  private var part = Part.head
  private var line: [UInt8] = []
  private var lines: [String] = []

  package init() {}

  /// Whether the body has come to its end. One without a length ends with the connection.
  package var isOver: Bool { if case .over = part { true } else { false } }

  /// Whether the connection may end here.
  package var mayEnd: Bool { if case .untilEnd = part { true } else { isOver } }

  /// The bytes of the body among `bytes`. O(bytes).
  package mutating func read(_ bytes: [UInt8]) throws(Fault) -> [UInt8] {
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
      guard let size = Int(text.prefix { $0 != ";" }.withoutBlanks, radix: 16), size >= 0 else {
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
    guard let head = Head(lines) else { throw Fault(reason: "an answer that is no HTTP") }
    // An interim answer: the one that counts follows.
    guard head.status >= 200 else { return }
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

extension AnswerReader.Head {
  /// Reads a status line and headers; nil if they are no HTTP.
  package init?(_ lines: [some StringProtocol]) {
    let words = lines.first?.split(separator: " ") ?? []
    guard words.count >= 2, words[0].hasPrefix("HTTP/1."), let status = Int(words[1]) else {
      return nil
    }
    var headers: [String: String] = [:]
    for line in lines.dropFirst() {
      let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
      guard parts.count == 2 else { continue }
      headers[parts[0].lowercased()] = String(parts[1].withoutBlanks)
    }
    self.init(status: status, headers: headers)
  }
}

extension StringProtocol {
  /// Without the spaces and tabs that may stand around a value.
  fileprivate var withoutBlanks: SubSequence {
    func isBlank(_ character: Character) -> Bool { character == " " || character == "\t" }
    guard let end = lastIndex(where: { !isBlank($0) }) else { return prefix(0) }
    return self[...end].drop(while: isBlank)
  }
}
