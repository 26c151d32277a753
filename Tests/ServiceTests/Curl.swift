// Requests through the `curl` program.

import Foundation

/// `curl`: a client that is not part of LiveFetch.
enum Curl {
  struct Failed: Error {
    let status: Int32
  }

  static func get(_ url: String, _ headers: [String: String] = [:]) throws -> Answer {
    try send("GET", url, nil, headers)
  }

  static func send(
    _ method: String, _ url: String, _ body: String?, _ headers: [String: String] = [:],
    seconds: Int = 20
  ) throws -> Answer {
    let process = Process()
    let output = Pipe()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/curl")
    process.arguments =
      ["-s", "-i", "-m", "\(seconds)", "-X", method, url]
      + headers.flatMap { ["-H", "\($0.key): \($0.value)"] }
      + (body.map { ["-H", "Content-Type: application/json", "-d", $0] } ?? [])
    process.standardOutput = output
    try process.run()
    let bytes = output.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    guard process.terminationStatus == 0 else { throw Failed(status: process.terminationStatus) }
    return answer(bytes)
  }

  private static func answer(_ bytes: Data) -> Answer {
    let end = bytes.range(of: Data("\r\n\r\n".utf8)) ?? bytes.endIndex..<bytes.endIndex
    let head = String(decoding: bytes[..<end.lowerBound], as: UTF8.self)
      .components(separatedBy: "\r\n")
    let status = head.first?.split(separator: " ").dropFirst().first.flatMap { Int($0) }
    let headers = head.dropFirst().compactMap { line -> (name: String, value: String)? in
      let parts = line.split(separator: ":", maxSplits: 1)
      return parts.count == 2 ? (String(parts[0]), String(parts[1].dropFirst())) : nil
    }
    return Answer(status: status ?? 0, headers: headers, bytes: Array(bytes[end.upperBound...]))
  }
}
