// Requests over https, through the program curl: it has the system's certificates, proxies and
// TLS, and whoever never gives an https address needs none of them.

import Foundation
import HTTPAnswers

/// What sends requests to one server.
protocol HTTPSender: AnyObject {
  /// Sends a request and waits for its answer.
  func send(
    _ method: String, _ target: String, headers: [(String, String)], body: [UInt8]
  ) throws(HTTPClientError) -> HTTPAnswer
}

/// Runs curl for each request. Everything goes through its standard input: a token in its arguments
/// would be seen by every user of the machine.
final class CurlClient: HTTPSender {
  private let origin: String

  /// - Parameter origin: `https://HOST:PORT`, without a path.
  init(origin: String) {
    self.origin = origin
    // A curl that ends early must not end this process.
    signal(SIGPIPE, SIG_IGN)
  }

  func send(
    _ method: String, _ target: String, headers: [(String, String)], body: [UInt8]
  ) throws(HTTPClientError) -> HTTPAnswer {
    var lines = [
      "silent", "show-error", "include", "http1.1", "suppress-connect-headers",
      "connect-timeout = 20", "speed-limit = 1", "speed-time = 90",
      "request = \(Self.quoted(method))", "url = \(Self.quoted(origin + target))",
      "header = \"Expect:\"",
    ]
    lines += headers.map { "header = \(Self.quoted("\($0): \($1)"))" }
    if !body.isEmpty {
      lines.append("data-raw = \(Self.quoted(String(decoding: body, as: UTF8.self)))")
    }
    return try Self.answer(try run(lines.joined(separator: "\n") + "\n"))
  }

  private func run(_ settings: String) throws(HTTPClientError) -> [UInt8] {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    // `-q` leaves the user's own settings out, as they could change what is sent.
    process.arguments = ["curl", "-q", "--config", "-"]
    let (input, output, errors) = (Pipe(), Pipe(), Pipe())
    (process.standardInput, process.standardOutput, process.standardError) = (input, output, errors)
    do { try process.run() } catch { throw HTTPClientError(detail: "curl cannot be run: \(error)") }
    // curl reads all of its settings before it writes anything.
    try? input.fileHandleForWriting.write(contentsOf: Data(settings.utf8))
    try? input.fileHandleForWriting.close()
    let answer = output.fileHandleForReading.readDataToEndOfFile()
    let complaint = errors.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    guard process.terminationStatus == 0 else {
      throw HTTPClientError(detail: Self.reason(process.terminationStatus, complaint))
    }
    return [UInt8](answer)
  }

  private static func reason(_ status: Int32, _ complaint: Data) -> String {
    guard status != 127 else { return "https goes through the program curl, which is not there" }
    let text = String(decoding: complaint, as: UTF8.self)
      .trimmingCharacters(in: .whitespacesAndNewlines)
    return text.isEmpty ? "curl ended with \(status)" : text.components(separatedBy: "\n")[0]
  }

  /// As curl's settings have it.
  private static func quoted(_ text: String) -> String {
    var result = "\""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\\": result += "\\\\"
      case "\"": result += "\\\""
      case "\n": result += "\\n"
      case "\r": result += "\\r"
      case "\t": result += "\\t"
      default: result.unicodeScalars.append(scalar)
      }
    }
    return result + "\""
  }

  /// The last answer of what curl wrote: interim ones may stand before it. Its body is out of its
  /// frame already.
  private static func answer(_ bytes: [UInt8]) throws(HTTPClientError) -> HTTPAnswer {
    var rest = bytes[...]
    while let end = rest.firstRange(of: [0x0D, 0x0A, 0x0D, 0x0A]) {
      let text = String(decoding: rest[..<end.lowerBound], as: UTF8.self)
      let head = AnswerReader.Head(text.components(separatedBy: "\r\n"))
      rest = rest[end.upperBound...]
      guard let head else { break }
      guard head.status >= 200 else { continue }
      return HTTPAnswer(status: head.status, headers: head.headers, body: Array(rest))
    }
    throw HTTPClientError(detail: "the server sent an answer that is no HTTP")
  }
}
