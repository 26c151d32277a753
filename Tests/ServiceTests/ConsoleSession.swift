// Runs the console blocks of a page of the manual, and compares the shown with the actual output.
//
// `$ ` begins a command, which continues on the next lines until the shell finds it complete; the
// lines below it are its output. `…` matches any text, line breaks and indentation are ignored, and a
// token matches the server's actual token, which must be the same one everywhere on the page.
// A command that ends with `&` runs in the background; the next `json` block is its output.
// `make run &` starts the server of the sample cities again, `livefetch serve … &` another server in
// its place, and `kill %%; wait %%` ends the server.

import Foundation
import TestSupport

/// A shell in a temporary directory, with a server of the sample cities. Commands name the server by the
/// default address, `http://127.0.0.1:8080`, which is replaced by the actual one.
///
/// Blocks its thread while a command runs.
final class ConsoleSession {
  private let directory: TemporaryDirectory
  private var server: RunningProgram
  private var background: (process: Process, output: String)?
  /// Shell functions that earlier commands defined.
  private var definitions: [String] = []
  /// The actual token for each token that the page shows.
  private var tokens: [String: String] = [:]
  /// A description of each command whose output differs.
  private(set) var differences: [String] = []
  private(set) var commandCount = 0

  /// Starts the server.
  ///
  /// - Parameter sample: The path of a file with the sample cities, which is copied.
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
    // The commands before `make run &` in its block change the file that it serves.
    if block.lines.contains("$ make run &") { endServer() }
    for (command, shown) in try commands(of: block.lines) {
      commandCount += 1
      if try !runServerCommand(command) { try runInShell(command, shown: shown) }
    }
  }

  /// Runs a command that starts or ends the server. Returns false for other commands.
  private func runServerCommand(_ command: String) throws -> Bool {
    if command == "make run &" {
      server = try Self.serve(directory)
    } else if command == "kill %%; wait %%" {
      endServer()
    } else if let match = command.wholeMatch(of: /livefetch (serve [^'"]+) &/) {
      endServer()
      let arguments = match.1.replacing("\\", with: " ").split(whereSeparator: \.isWhitespace)
      server = try RunningProgram(
        arguments.map(String.init) + ["--port", "0"], in: directory.path)
    } else {
      return false
    }
    return true
  }

  private func runInShell(_ command: String, shown: [String]) throws {
    let output = directory.file(UUID().uuidString)
    if let match = command.wholeMatch(of: /sqlite3 (\S+) "([^"]*)"/) {
      try sqlite(directory.file(String(match.1)), String(match.2))
    } else if command.wholeMatch(of: /\w+\(\) \{.*/.dotMatchesNewlines()) != nil {
      definitions.append(command)
    } else if command.hasSuffix(" &") {
      background = (try start(String(command.dropLast(2)), output: output), output)
    } else {
      try start(command, output: output).waitUntilExit()
      try compare(shown, with: output, of: command)
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
      isComplete = try isCompleteCommand(commands[commands.endIndex - 1].command)
    }
    return commands
  }

  /// True if the shell parses the command without a message. For a here-document without its end it prints
  /// a warning only.
  private func isCompleteCommand(_ command: String) throws -> Bool {
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

  /// Starts a command in the shell.
  ///
  /// - Parameter output: The path of the file that receives its output and errors.
  private func start(_ command: String, output: String) throws -> Process {
    var command = command.replacingOccurrences(of: "http://127.0.0.1:8080", with: address)
    for (shown, actual) in tokens {
      command = command.replacingOccurrences(of: shown, with: actual)
    }
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
    let actual = Self.joined(String(decoding: bytes, as: UTF8.self).components(separatedBy: "\n"))
    let shown = Self.joined(shown)
    let names = shown.matches(of: Self.token).map { String($0.output) }
    guard let match = try Regex(Self.pattern(for: shown)).wholeMatch(in: actual) else {
      differences.append("\(command)\nshown: \(shown)\nactual: \(actual)")
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

  /// The regular expression that the shown text stands for: `…` is any text, and each token a group.
  private static func pattern(for shown: String) -> String {
    let parts = shown.split(separator: token, omittingEmptySubsequences: false).map { part in
      part.components(separatedBy: "…").map(NSRegularExpression.escapedPattern)
        .joined(separator: ".*?")
    }
    return "(?s)" + parts.joined(separator: "([a-z0-9]+-[0-9]+-[0-9a-f]{8}(?:-[0-9a-f]{8})?)")
  }
}
