// The head of an HTTP response, and a complete response.

/// The status line and the headers of a response.
package struct ResponseHead: Sendable, Equatable {
  package let status: Int
  /// By lower-case name, without blanks around the value; the last one of several with one name.
  package let headers: [String: String]

  package init(status: Int, headers: [String: String]) {
    self.status = status
    self.headers = headers
  }

  /// Reads the lines of a head; nil if they are not HTTP.
  init?(_ lines: [String]) {
    let words = lines.first?.split(separator: " ") ?? []
    guard words.count >= 2, words[0].hasPrefix("HTTP/"), let status = Int(words[1]) else {
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

/// A whole response.
package struct ClientResponse: Sendable, Equatable {
  package let head: ResponseHead
  package let body: [UInt8]

  package init(head: ResponseHead, body: [UInt8]) {
    self.head = head
    self.body = body
  }

  package var status: Int { head.status }
  /// By lower-case name.
  package var headers: [String: String] { head.headers }
}

extension StringProtocol {
  /// The text without the spaces and tabs at its ends.
  fileprivate var withoutBlanks: SubSequence {
    func isBlank(_ character: Character) -> Bool { character == " " || character == "\t" }
    guard let end = lastIndex(where: { !isBlank($0) }) else { return prefix(0) }
    return self[...end].drop(while: isBlank)
  }
}
