// Clients of streams that read nothing: the server's memory, and the diff that they get at the end.

import Foundation
import TestSupport
import Testing

#if canImport(Glibc)
  import Glibc
#endif

/// A client that opens a stream over a socket and reads no bytes until the test lets it.
private final class StalledReader {
  private let descriptor: Int32

  init(port: Int, _ request: String) throws {
    // The kernel's buffers are small, so that unread bytes wait in the server.
    descriptor = try LoopbackSocket.connect(to: port, receiveBuffer: 4_096)
    let bytes = Array(request.utf8)
    try #require(write(descriptor, bytes, bytes.count) == bytes.count)
  }

  deinit { close(descriptor) }

  /// Reads up to `end`. Returns how many times `line` comes before it; nil if `end` does not come.
  func count(_ line: String, until end: String) -> Int? {
    LoopbackSocket.setTimeout(60, of: descriptor)
    var text = Data()
    var buffer = [UInt8](repeating: 0, count: 1 << 16)
    while text.range(of: Data(end.utf8)) == nil {
      let count = read(descriptor, &buffer, buffer.count)
      guard count > 0 else { return nil }
      text += buffer[..<count]
    }
    return String(decoding: text, as: UTF8.self).components(separatedBy: line).count - 1
  }
}

@Suite("Stalled readers", .mayBlock, .serialized)
struct StalledReaderTests {
  private static let fixture = """
    CREATE TABLE note(id INTEGER PRIMARY KEY, text TEXT);
    INSERT INTO note VALUES (1, 'a'), (2, 'b');
    """

  /// Forty streams that are not read, with 60 diffs of 100 KB each: 240 MB if they were buffered.
  @Test func theyCostOneSnapshotAndGetOneDiffAtTheEnd() throws {
    let program = try ServedProgram(Self.fixture)
    let live = #"{"fetches":{"a":{"entity":"note","since":"now"}}}"#
    let one = "GET /v1/objects/note?since=now HTTP/1.1\r\nHost: localhost\r\n"
    let many =
      "POST /v1/live HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
      + "Content-Length: \(live.utf8.count)\r\n"
    let accept = "Accept: text/event-stream\r\n\r\n"
    let readers = try (0..<40).map { index in
      try StalledReader(
        port: program.port, index < 20 ? one + accept : many + accept + live)
    }
    let areOpen = try eventually(within: .seconds(120)) {
      try program.figure("livefetch_streams_open") == 40
    }
    #expect(areOpen)
    let before = try program.figure("process_resident_memory_bytes")
    for round in 0...60 {
      let text = round == 60 ? "END" : String(repeating: "\(round % 10)", count: 100_000)
      let answer = try program.send(
        "PATCH", "/v1/objects/note/\(1 + round % 2)", "{\"text\":\"\(text)\"}")
      #expect(answer.status == 200)
    }
    let after = try program.figure("process_resident_memory_bytes")
    #expect(after - before < 80e6, "\(before) → \(after)")
    for reader in [readers[0], readers[39]] {
      let count = try #require(reader.count("event: diff", until: "END"))
      #expect((1...4).contains(count))
    }
  }
}

/// The program, serving a file of one test.
private final class ServedProgram {
  private let program: RunningProgram
  private let directory: TemporaryDirectory
  let port: Int

  init(_ sql: String) throws {
    directory = try TemporaryDirectory()
    let path = directory.file("store.sqlite")
    try sqlite(path, sql)
    program = try RunningProgram(["serve", path, "--port", "0"])
    port = try #require(program.line.split(separator: ":").last.flatMap { Int($0) })
  }

  deinit {
    program.process.terminate()
    _ = program.end()
  }

  func send(_ method: String, _ target: String, _ body: String? = nil) throws -> Answer {
    // A body of 100 KB exceeds the limit of one command-line argument.
    let file = directory.file("body.json")
    try body.map { try Data($0.utf8).write(to: URL(fileURLWithPath: file)) }
    return try Curl.send(
      method, "http://127.0.0.1:\(port)\(target)", body == nil ? nil : "@" + file)
  }

  func figure(_ name: String) throws -> Double {
    try #require(MetricsText(send("GET", "/metrics").text)[name])
  }
}
