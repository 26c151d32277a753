// The Python programs in this repository, run against the built server.

import Foundation
import TestSupport
import Testing

/// Python's programs over the built server. They end by themselves.
@Suite(
  "The Python client", .mayBlock,
  .enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/python3")))
struct PythonClientTests {
  private static let root = URL(fileURLWithPath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent().path

  /// Runs Python in the repository's root; returns its status and what it printed.
  private func python(_ arguments: [String]) throws -> (status: Int32, output: String) {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/python3")
    process.arguments = arguments
    process.currentDirectoryURL = URL(fileURLWithPath: Self.root)
    process.environment = ProcessInfo.processInfo.environment.merging(
      ["PYTHONPATH": "\(Self.root)/Public", "PYTHONDONTWRITEBYTECODE": "1"]) { $1 }
    let pipe = Pipe()
    process.standardOutput = pipe
    process.standardError = pipe
    try process.run()
    let output = pipe.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    return (process.terminationStatus, String(decoding: output, as: UTF8.self))
  }

  @Test("Its functions and requests do what they promise")
  func units() throws {
    let result = try python(["Tests/Conformance/test_livefetch.py"])
    #expect(result.status == 0, "\(result.output)")
  }

  @Test("It holds what the server holds, whatever happens to server and connection")
  func conformance() throws {
    let program = BuiltProgram.named("livefetch").path
    let result = try python([
      "Public/conformance.py", "--livefetch", program, "--rounds", "10", "--",
      "/usr/bin/python3", "Tests/Conformance/python_client.py",
    ])
    #expect(result.status == 0, "\(result.output)")
    #expect(result.output.hasSuffix("all passed\n"))
  }

  @Test("The example of the manual runs")
  func example() throws {
    let folder = try Folder()
    try folder.sql(
      smallFixture + """
        ;
        INSERT INTO Country VALUES (3, 'JP', 'Japan'), (4, 'CN', 'China');
        INSERT INTO City VALUES (4, 'Tokyo', 3, 9733276, NULL, 1),
          (5, 'Shanghai', 4, 24874500, NULL, 0);
        """, on: "w.sqlite")
    let (_, address) = try folder.serve("w.sqlite")
    let page = try String(contentsOfFile: "\(Self.root)/Public/docs/python.md", encoding: .utf8)
    let start = try #require(page.range(of: "```python\n")?.upperBound)
    let end = try #require(page.range(of: "\n```", range: start..<page.endIndex)?.lowerBound)
    let example = page[start..<end].replacing("http://127.0.0.1:8080", with: address)
    let result = try python(["-c", String(example)])
    #expect(result.status == 0, "\(result.output)")
    let lines = result.output.split(separator: "\n")
    #expect(lines.count == 3 && lines[0] == "['Shanghai']" && lines[1].hasSuffix(" ['Tokyo']"))
    #expect(lines.last == "1", "\(result.output)")
  }
}
