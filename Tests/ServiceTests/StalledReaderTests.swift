import Foundation
import Testing

#if canImport(Glibc)
  import Glibc
#endif

/// A client that opens a stream over a socket and takes no bytes until it is told to.
private final class StalledReader {
  private let descriptor: Int32

  init(port: UInt16, _ request: String) throws {
    descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    // The kernel is to hold little, so that what is not read waits in the server.
    var size: Int32 = 4_096
    setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &size, 4)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = inet_addr("127.0.0.1")
    let code = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    try #require(code == 0)
    let bytes = Array(request.utf8)
    try #require(write(descriptor, bytes, bytes.count) == bytes.count)
  }

  deinit { close(descriptor) }

  /// How many events of that kind come until none has come for half a second.
  func count(_ line: String) -> Int {
    var patience = timeval(tv_sec: 0, tv_usec: 500_000)
    setsockopt(
      descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
    var text: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 1 << 16)
    while true {
      let count = read(descriptor, &buffer, buffer.count)
      guard count > 0 else { break }
      text += buffer[..<count]
    }
    return String(decoding: text, as: UTF8.self).components(separatedBy: line).count - 1
  }
}

@Suite("Readers that take nothing", .serialized)
struct StalledReaderTests {
  private static let world = """
    CREATE TABLE note(id INTEGER PRIMARY KEY, text TEXT);
    INSERT INTO note VALUES (1, 'a'), (2, 'b');
    """

  /// Forty streams that are not read, each of which 200 diffs of 100 KB are for: 800 MB if they
  /// were kept.
  @Test func theyCostWhatTheirFetchShowsOnceAndGetOneDiffAtTheEnd() throws {
    let program = try ServedProgram(Self.world)
    let live = #"{"fetches":{"a":{"entity":"note","since":"now"}}}"#
    let one = "GET /v1/objects/note?since=now HTTP/1.1\r\nHost: x\r\n"
    let many =
      "POST /v1/live HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
      + "Content-Length: \(live.utf8.count)\r\n"
    let accept = "Accept: text/event-stream\r\n\r\n"
    let readers = try (0..<40).map { index in
      try StalledReader(
        port: program.port, index < 20 ? one + accept : many + accept + live)
    }
    Thread.sleep(forTimeInterval: 0.5)
    let before = try program.figure("process_resident_memory_bytes")
    #expect(try program.figure("livefetch_streams_open") == 40)
    for round in 0..<200 {
      let text = String(repeating: "\(round % 10)", count: 100_000)
      let answer = try program.send(
        "PATCH", "/v1/objects/note/\(1 + round % 2)", "{\"text\":\"\(text)\"}")
      #expect(answer.status == 200)
    }
    let after = try program.figure("process_resident_memory_bytes")
    #expect(after - before < 80e6, "\(before) → \(after)")
    for reader in [readers[0], readers[39]] {
      #expect((1...4).contains(reader.count("event: diff")))
    }
  }
}

/// The program itself, serving a file of a test's own.
private final class ServedProgram {
  private let process = Process()
  private let directory = NSTemporaryDirectory() + "livefetch-" + UUID().uuidString
  private(set) var port: UInt16 = 0

  init(_ sql: String) throws {
    try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
    let path = directory + "/store.sqlite"
    try SQLiteShell.run(sql, path: path)
    let build = Bundle.allBundles.first { $0.bundlePath.hasSuffix(".xctest") }
    let folder =
      build?.bundleURL.deletingLastPathComponent()
      ?? URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
    process.executableURL = folder.appendingPathComponent("livefetch")
    process.arguments = ["serve", path, "--port", "0"]
    let output = Pipe()
    process.standardOutput = output
    process.standardError = FileHandle.nullDevice
    try process.run()
    var line = ""
    while let byte = try output.fileHandleForReading.read(upToCount: 1), byte != Data([10]) {
      guard !byte.isEmpty else { break }
      line += String(decoding: byte, as: UTF8.self)
    }
    port = try #require(line.split(separator: ":").last.flatMap { UInt16($0) })
  }

  deinit {
    process.terminate()
    process.waitUntilExit()
    try? FileManager.default.removeItem(atPath: directory)
  }

  func send(_ method: String, _ target: String, _ body: String? = nil) throws -> Answer {
    // A body of 100 KB is more than one argument may have.
    let file = directory + "/body.json"
    try body.map { try Data($0.utf8).write(to: URL(fileURLWithPath: file)) }
    return try Curl.send(
      method, "http://127.0.0.1:\(port)\(target)", body == nil ? nil : "@" + file)
  }

  func figure(_ name: String) throws -> Double {
    try #require(MetricsText(send("GET", "/metrics").text)[name])
  }
}
