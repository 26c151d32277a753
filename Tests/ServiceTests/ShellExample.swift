// A block of the manual → a folder with files and a server, the commands that run there, and what they
// print.

import Foundation
import TestSupport

/// A block that a shell runs, or whose text a shell prints.
struct ShellExample: Sendable {
  /// A page in `Public/docs`, or the README.
  let page: String
  /// The beginning of the block, which no other block of the page has.
  let start: String
  /// Other blocks of the page that are files of the folder: beginnings by names of files.
  var files: [String: String] = [:]
  /// The name of the file that the block is, if it is not run.
  var file: String?
  /// True if the variable `DATABASE` names a new PostgreSQL database.
  var needsDatabase = false
  /// Shell commands that prepare the folder.
  var prepare = ""
  /// The arguments of `livefetch serve`; `http://127.0.0.1:8080` stands for this server. Empty for none.
  var serve: [String] = []
  /// Texts of the block that are replaced before it is run or compared.
  var replace: [(text: String, with: String)] = []
  /// True if the block runs until it is ended, once it has printed the output.
  var isEndless = false
  /// Shell commands to run after the block.
  var check = ""
  /// The output of the block and `check`; nil if `check` prints the block. `…` stands for any text. Line
  /// breaks and indentation do not count, and neither do the values of tokens and times.
  var output: String?

  var path: String { page == "README.md" ? page : "Public/docs/" + page }

  /// The block of the page that begins with `start`.
  func block(_ start: String) throws -> String {
    let found = try ManualPage(path).blocks.map(\.text).filter { $0.hasPrefix(start) }
    guard found.count == 1 else { throw Missing(page: page, start: start, count: found.count) }
    return found[0]
  }

  struct Missing: Error {
    let page: String
    let start: String
    let count: Int
  }

  /// Runs it; nil if the output is as expected, otherwise the output.
  func difference(sample: String) throws -> String? {
    var text = try block(start)
    for (old, new) in replace { text = text.replacingOccurrences(of: old, with: new) }
    let run = try ShellExampleRun(self, text, sample: sample)
    defer { run.end() }
    let expected = try Self.pattern(output ?? text)
    if file == nil, output != nil {
      try run.run(text, until: isEndless ? expected : nil)
    }
    if !check.isEmpty { try run.run(check) }
    let printed = try run.output()
    return Self.matches(printed, expected) ? nil : printed
  }

  static func matches(_ text: String, _ expected: Regex<AnyRegexOutput>) -> Bool {
    (try? expected.wholeMatch(in: joined(text))) != nil
  }

  private static func joined(_ text: String) -> String {
    text.components(separatedBy: "\n").map { $0.trimmingCharacters(in: .whitespaces) }.joined()
  }

  private static func pattern(_ text: String) throws -> Regex<AnyRegexOutput> {
    let changing =
      /[a-z0-9]{2,6}-[0-9]+-[0-9a-f]{4,8}|[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+Z/
    let parts = joined(text).replacing(changing, with: "…").components(separatedBy: "…")
    return try Regex(
      "(?s)" + parts.map(NSRegularExpression.escapedPattern).joined(separator: ".*?"))
  }
}

/// The folder of an example, with a small shop, a token and the server.
private final class ShellExampleRun {
  struct Failed: Error {
    let status: Int32
    let output: String
  }

  private static let shop = """
    CREATE TABLE invoice(id INTEGER PRIMARY KEY, total REAL, paid BOOLEAN NOT NULL DEFAULT 0);
    INSERT INTO invoice VALUES (1, 40, 1), (2, 25.5, 0), (3, 99, 0);
    CREATE TABLE Product(id INTEGER PRIMARY KEY, sku TEXT UNIQUE, price REAL);
    INSERT INTO Product VALUES (7, 'A1', 4.2);
    CREATE TABLE Country(id INTEGER PRIMARY KEY, code TEXT);
    INSERT INTO Country VALUES (1, 'NO'), (2, 'PE');
    CREATE TABLE City(id INTEGER PRIMARY KEY, population INTEGER);
    INSERT INTO City VALUES (1, 7737002), (2, 580000), (3, 213585), (4, 13386);
    """

  private let directory: TemporaryDirectory
  private let printed: FileHandle
  private let database: String?
  private var server: RunningProgram?

  /// - Parameter text: the block, which `file` names.
  init(_ example: ShellExample, _ text: String, sample: String) throws {
    directory = try TemporaryDirectory()
    _ = FileManager.default.createFile(atPath: directory.file("output"), contents: nil)
    printed = try FileHandle(forWritingTo: URL(fileURLWithPath: directory.file("output")))
    database = try example.needsDatabase ? PostgresServer.shared().newDatabase() : nil
    try sqlite(directory.file("shop.sqlite"), Self.shop)
    try write("secret", to: "token.txt")
    if example.serve.first == "sample.sqlite" {
      try FileManager.default.copyItem(atPath: sample, toPath: directory.file("sample.sqlite"))
    }
    if let file = example.file { try write(text, to: file) }
    for (name, start) in example.files { try write(example.block(start), to: name) }
    if !example.prepare.isEmpty { try run(example.prepare) }
    guard !example.serve.isEmpty else { return }
    server = try RunningProgram(
      ["serve"] + example.serve + ["--port", "0"], in: directory.path)
  }

  func write(_ text: String, to name: String) throws {
    try Data((text + "\n").utf8).write(to: URL(fileURLWithPath: directory.file(name)))
  }

  func output() throws -> String {
    try String(contentsOfFile: directory.file("output"), encoding: .utf8)
  }

  /// Runs `script` to its end, or until everything that was printed matches `expected`.
  ///
  /// - Throws: ``Failed`` if the last command of a script that ends by itself fails.
  func run(_ script: String, until expected: Regex<AnyRegexOutput>? = nil) throws {
    let shell = Process()
    shell.executableURL = URL(fileURLWithPath: "/bin/bash")
    let address = server.map { String($0.line.dropFirst("LiveFetch listening on ".count)) }
    shell.arguments = [
      "-c",
      script.replacingOccurrences(of: "http://127.0.0.1:8080", with: address ?? "no server"),
    ]
    shell.currentDirectoryURL = URL(fileURLWithPath: directory.path)
    let path = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin"
    shell.environment = [
      "PATH": "\(directory.path)/bin:\(BuiltProgram.directory.path):\(path)", "LANG": "C.UTF-8",
      // For servers that the script starts.
      "LIVEFETCH_PORT": "0",
    ]
    shell.environment?["DATABASE"] = database
    shell.standardInput = FileHandle.nullDevice
    shell.standardOutput = printed
    shell.standardError = printed
    try shell.run()
    try wait(for: shell, until: expected)
  }

  private func wait(for shell: Process, until expected: Regex<AnyRegexOutput>?) throws {
    if let expected {
      let end = ContinuousClock.now + .seconds(300)
      while shell.isRunning, ContinuousClock.now < end,
        !ShellExample.matches(try output(), expected)
      { usleep(50_000) }
      // Foundation gives each process a group of its own: the shell and what it has started. They may
      // have SIGTERM blocked, as the thread that started them has.
      kill(-shell.processIdentifier, SIGKILL)
    }
    shell.waitUntilExit()
    guard expected == nil, shell.terminationStatus != 0 else { return }
    throw Failed(status: shell.terminationStatus, output: try output())
  }

  func end() {
    guard let server else { return }
    if server.process.isRunning { server.process.terminate() }
    _ = server.end()
  }
}
