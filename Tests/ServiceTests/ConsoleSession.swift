// The console blocks of a page → the differences between the shown and the actual output.
//
// `$ ` begins a command, which continues on the next lines until the shell finds it complete; the
// lines below it are its output. `…` represents any text, line breaks and indentation do not count,
// and a token represents the one that the server really gives, the same one everywhere on the page.
// A command that ends with `&` runs in the background; the next `json` block is its output.
// `make run &` starts the server of the sample cities again, `livefetch serve … &` another server in
// its place, and `kill %%` ends the server.

import Foundation
import TestSupport

/// A shell in a directory of its own, next to a server of the sample cities on the usual address.
///
/// Blocks its thread while a command runs.
final class ConsoleSession {
  private let directory: TemporaryDirectory
  private var server: RunningProgram
  private var background: (process: Process, output: String)?
  /// Shell functions that earlier commands defined.
  private var definitions: [String] = []
  /// The real token of each token that the page shows.
  private var tokens: [String: String] = [:]
  private(set) var differences: [String] = []
  private(set) var commandCount = 0

  /// - Parameter sample: a file with the sample cities, which is copied.
  init(sample: String) throws {
    directory = try TemporaryDirectory()
    try FileManager.default.copyItem(atPath: sample, toPath: directory.file(Self.storeName))
    server = try Self.serve(directory)
  }

  deinit {
    background?.process.terminate()
    endServer()
  }

  private static let storeName = "livefetch-demo.sqlite"
  /// A token; under access rules it has a fourth part.
  private static var token: Regex<Substring> {
    /[a-z0-9]{6}-[0-9]+-[0-9a-f]{8}(?:-[0-9a-f]{8})?/
  }

  private static func serve(_ directory: TemporaryDirectory) throws -> RunningProgram {
    try RunningProgram([
      "demo", "--data", directory.file(storeName), "--port", "0", "--explain",
    ])
  }

  private var address: String { String(server.line.dropFirst("LiveFetch listening on ".count)) }

  /// Runs the page's blocks in their order.
  func run(_ page: ManualPage) throws {
    for block in page.blocks {
      switch block.language {
      case "console": try run(block)
      case "json": try endBackground(shown: block.lines)
      default: break
      }
    }
  }

  private func endServer() {
    if server.process.isRunning { server.process.terminate() }
    _ = server.end()
  }

  private func run(_ block: ManualPage.Block) throws {
    let restarts = block.lines.contains("$ make run &")
    if restarts { endServer() }
    for (command, shown) in try commands(of: block.lines) {
      commandCount += 1
      if command == "make run &" {
        server = try Self.serve(directory)
      } else if command == "kill %%" {
        endServer()
      } else if let match = command.wholeMatch(of: /livefetch (serve [^'"]+) &/) {
        endServer()
        let arguments = match.1.replacing("\\", with: " ").split(whereSeparator: \.isWhitespace)
        server = try RunningProgram(
          arguments.map(String.init) + ["--port", "0"], in: directory.path)
      } else if let match = command.wholeMatch(of: /sqlite3 (\S+) "([^"]*)"/) {
        try sqlite(directory.file(String(match.1)), String(match.2))
      } else if command.wholeMatch(of: /\w+\(\) \{.*/.dotMatchesNewlines()) != nil {
        definitions.append(command)
      } else if command.hasSuffix(" &") {
        let output = directory.file(UUID().uuidString)
        background = (try start(String(command.dropLast(2)), output), output)
      } else {
        let output = directory.file(UUID().uuidString)
        try start(command, output).waitUntilExit()
        try compare(shown, with: output, of: command)
      }
    }
  }

  private func endBackground(shown: [String]) throws {
    guard let (process, output) = background else { return }
    background = nil
    process.waitUntilExit()
    try compare(shown, with: output, of: "the command in the background")
  }

  // MARK: Commands

  private func commands(of lines: [String]) throws -> [(command: String, shown: [String])] {
    var commands: [(command: String, shown: [String])] = []
    var isComplete = true
    for line in lines {
      if isComplete, !line.hasPrefix("$ ") {
        commands[commands.endIndex - 1].shown.append(line)
        continue
      }
      if isComplete {
        commands.append((String(line.dropFirst(2)), []))
      } else {
        commands[commands.endIndex - 1].command += "\n" + line
      }
      isComplete = try isWhole(commands[commands.endIndex - 1].command)
    }
    return commands
  }

  /// True if the shell finds the command complete. Of a here-document without its end it only warns.
  private func isWhole(_ command: String) throws -> Bool {
    guard !command.hasSuffix("\\") else { return false }
    let check = Process()
    let messages = Pipe()
    check.executableURL = URL(fileURLWithPath: "/bin/bash")
    check.arguments = ["-n", "-c", command]
    check.environment = ["LC_ALL": "C"]
    check.standardError = messages
    try check.run()
    let text = try messages.fileHandleForReading.readToEnd() ?? Data()
    check.waitUntilExit()
    return check.terminationStatus == 0 && text.isEmpty
  }

  private func start(_ command: String, _ output: String) throws -> Process {
    var command = command.replacingOccurrences(of: "http://127.0.0.1:8080", with: address)
    for (shown, real) in tokens { command = command.replacingOccurrences(of: shown, with: real) }
    _ = FileManager.default.createFile(atPath: output, contents: nil)
    let handle = try FileHandle(forWritingTo: URL(fileURLWithPath: output))
    let shell = Process()
    shell.executableURL = URL(fileURLWithPath: "/bin/bash")
    let functions = definitions.map { definition in
      definition.replacingOccurrences(of: "http://127.0.0.1:8080", with: address)
    }
    shell.arguments = ["-c", (functions + [command]).joined(separator: "\n")]
    shell.currentDirectoryURL = URL(fileURLWithPath: directory.path)
    let path = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin"
    shell.environment = ["PATH": BuiltProgram.directory.path + ":" + path, "LANG": "C.UTF-8"]
    shell.standardInput = FileHandle.nullDevice
    shell.standardOutput = handle
    shell.standardError = handle
    try shell.run()
    return shell
  }

  // MARK: Outputs

  private func compare(_ shown: [String], with output: String, of command: String) throws {
    let bytes = try Data(contentsOf: URL(fileURLWithPath: output))
    let real = Self.joined(String(decoding: bytes, as: UTF8.self).components(separatedBy: "\n"))
    let shown = Self.joined(shown)
    let names = shown.matches(of: Self.token).map { String($0.output) }
    guard let match = try Regex(Self.pattern(for: shown)).wholeMatch(in: real) else {
      differences.append("\(command)\nshown: \(shown)\nreal:  \(real)")
      return
    }
    for (name, value) in zip(names, match.output.dropFirst()) {
      let value = String(value.substring ?? "")
      if let known = tokens[name], known != value {
        differences.append("\(command)\n\(name) is \(known) and \(value)")
      }
      tokens[name] = value
    }
  }

  private static func joined(_ lines: [String]) -> String {
    lines.map { $0.trimmingCharacters(in: .whitespaces) }.joined()
  }

  /// A regular expression for a text that is shown: a group for each token, `…` for any text.
  private static func pattern(for shown: String) -> String {
    let parts = shown.split(separator: token, omittingEmptySubsequences: false).map { part in
      part.components(separatedBy: "…").map(NSRegularExpression.escapedPattern)
        .joined(separator: ".*?")
    }
    return "(?s)" + parts.joined(separator: "([a-z0-9]+-[0-9]+-[0-9a-f]{8}(?:-[0-9a-f]{8})?)")
  }
}
