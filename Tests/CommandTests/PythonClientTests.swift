// The Python programs in this repository, run against the built server.

import Foundation
import TestSupport
import Testing

/// Python's programs over the built server.
@Suite(
  "The Python client", .mayBlock,
  .enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/python3")))
struct PythonClientTests {
  /// Runs Python in the repository's root; returns its status and what it printed.
  private func python(_ arguments: [String]) throws -> (status: Int32, output: String) {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/python3")
    process.arguments = arguments
    process.currentDirectoryURL = ManualPage.root
    process.environment = ProcessInfo.processInfo.environment.merging(
      ["PYTHONPATH": ManualPage.root.path + "/Public", "PYTHONDONTWRITEBYTECODE": "1"]) { $1 }
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

  @Test(
    "Its result equals the server's after restarts and lost connections",
    arguments: [[], ["--async"]] as [[String]])
  func conformance(options: [String]) throws {
    let program = BuiltProgram.named("livefetch").path
    let result = try python(
      [
        "Public/conformance.py", "--livefetch", program, "--rounds", "3", "--",
        "/usr/bin/python3", "Tests/Conformance/python_client.py",
      ] + options)
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
    let example = try #require(
      try ManualPage("Public/docs/python.md").blocks.first { $0.language == "python" })
    let result = try python(["-c", example.text.replacing("http://127.0.0.1:8080", with: address)])
    #expect(result.status == 0, "\(result.output)")
    let lines = result.output.split(separator: "\n")
    #expect(lines.count == 3 && lines[0] == "['Shanghai']" && lines[1].hasSuffix(" ['Tokyo']"))
    #expect(lines.last == "1", "\(result.output)")
  }
}
