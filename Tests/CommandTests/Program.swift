// The built program in a temporary folder: runs, output and exit status.

import Foundation
import TestSupport
import Testing

@testable import LiveFetchCommand

/// The result of a run of the program.
struct Outcome {
  let status: Int32
  let output: String
  let errors: String
}

/// The working directory of the program. It is deleted with this object.
final class Folder {
  private let directory: TemporaryDirectory
  private var running: [Process] = []

  var path: String { directory.path }

  init() throws { directory = try TemporaryDirectory() }

  /// Ends the programs that still run. One that crashed before fails the test.
  deinit {
    for process in running {
      if process.isRunning {
        kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
      } else if process.terminationReason == .uncaughtSignal,
        [SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV].contains(process.terminationStatus)
      {
        Issue.record("a program ended by the signal \(process.terminationStatus)")
      }
    }
  }

  func file(_ name: String) -> String { directory.file(name) }

  @discardableResult
  func write(_ text: String, to name: String) throws -> String {
    try Data(text.utf8).write(to: URL(fileURLWithPath: file(name)))
    return name
  }

  func read(_ name: String) throws -> String {
    String(decoding: try Data(contentsOf: URL(fileURLWithPath: file(name))), as: UTF8.self)
  }

  func has(_ name: String) -> Bool { FileManager.default.fileExists(atPath: file(name)) }

  // MARK: The program

  private static let program = BuiltProgram.named("livefetch")

  private func process(_ arguments: [String], _ environment: [String: String]) -> Process {
    let process = Process()
    process.executableURL = Self.program
    process.arguments = arguments
    process.currentDirectoryURL = URL(fileURLWithPath: path)
    let inherited = ProcessInfo.processInfo.environment.filter { !$0.key.hasPrefix("LIVEFETCH") }
    process.environment = inherited.merging(environment) { $1 }
    return process
  }

  private func handle(_ name: String) throws -> FileHandle {
    _ = FileManager.default.createFile(atPath: file(name), contents: nil)
    return try FileHandle(forWritingTo: URL(fileURLWithPath: file(name)))
  }

  func run(
    _ arguments: [String], input: String = "", environment: [String: String] = [:]
  ) throws -> Outcome {
    try end(arguments, input, environment)
  }

  func run(
    _ arguments: String..., input: String = "", environment: [String: String] = [:]
  ) throws -> Outcome {
    try end(arguments, input, environment)
  }

  /// Runs the program to its end. Its outputs are files, so that no pipe can fill.
  private func end(
    _ arguments: [String], _ input: String, _ environment: [String: String]
  ) throws -> Outcome {
    let process = process(arguments, environment)
    let id = UUID().uuidString
    try write(input, to: id + ".in")
    process.standardInput = try FileHandle(
      forReadingFrom: URL(fileURLWithPath: file(id + ".in")))
    process.standardOutput = try handle(id + ".out")
    process.standardError = try handle(id + ".err")
    try process.run()
    process.waitUntilExit()
    return Outcome(
      status: process.terminationStatus, output: try read(id + ".out"),
      errors: try read(id + ".err"))
  }

  /// Runs the program in a shell with redirected output: `>/dev/full`.
  func run(_ arguments: [String], redirected redirection: String) throws -> Outcome {
    let process = process([], [:])
    process.executableURL = URL(fileURLWithPath: "/bin/sh")
    process.arguments =
      ["-c", "exec \"$0\" \"$@\" \(redirection)", Self.program.path] + arguments
    process.standardOutput = try handle("run.out")
    process.standardError = try handle("run.err")
    try process.run()
    process.waitUntilExit()
    return Outcome(
      status: process.terminationStatus, output: try read("run.out"), errors: try read("run.err"))
  }

  /// Starts the program; its standard output is the file `name`.
  ///
  /// - Parameters:
  ///   - input: the descriptor of its standard input; nil for this process's.
  ///   - limits: shell commands to run first in its process.
  func start(
    _ arguments: [String], output name: String, environment: [String: String] = [:],
    input: Int32? = nil, limits: String? = nil
  ) throws -> Process {
    let process = process(arguments, environment)
    if let input { process.standardInput = FileHandle(fileDescriptor: input) }
    if let limits {
      process.executableURL = URL(fileURLWithPath: "/bin/sh")
      process.arguments = ["-c", "\(limits); exec \"$0\" \"$@\"", Self.program.path] + arguments
    }
    process.standardOutput = try handle(name)
    process.standardError = try handle(name + ".err")
    try process.run()
    running.append(process)
    return process
  }

  /// Serves `name` and returns the server's address.
  func serve(
    _ name: String, _ flags: [String] = [], environment: [String: String] = [:],
    limits: String? = nil
  ) throws -> (process: Process, address: String) {
    let process = try start(
      ["serve", name, "--port", "0"] + flags, output: "serve.log", environment: environment,
      limits: limits)
    let line = try wait(for: "serve.log") { $0.hasSuffix("\n") || !process.isRunning }
    let (start, errors) = ("LiveFetch listening on ", try read("serve.log.err"))
    try #require(line.hasPrefix(start) && line.hasSuffix("\n"), "\(line)\(errors)")
    return (process, String(line.dropFirst(start.count).dropLast()))
  }

  /// Serves `name` until it is ready, then ends the server.
  func serveOnce(_ name: String, _ flags: [String] = []) throws {
    stop(try serve(name, flags).process)
  }

  /// Returns the content of `name` once it is as expected. Fails after five minutes.
  func wait(
    for name: String, sourceLocation: SourceLocation = #_sourceLocation,
    _ isDone: (String) -> Bool
  ) throws -> String {
    var text = ""
    let isInTime = try eventually(within: .seconds(300)) {
      text = try read(name)
      return isDone(text)
    }
    #expect(isInTime, "\(name): \(text)", sourceLocation: sourceLocation)
    return text
  }

  // MARK: SQLite

  /// Runs `sql` on the database `name` and returns its rows, with `|` between the values.
  @discardableResult
  func sql(_ sql: String, on name: String) throws -> [String] { try sqlite(file(name), sql) }
}

/// Ends a server by SIGTERM. Its exit status has to be 0.
func stop(_ server: Process, sourceLocation: SourceLocation = #_sourceLocation) {
  server.terminate()
  server.waitUntilExit()
  #expect(server.terminationStatus == 0, sourceLocation: sourceLocation)
}

/// The exit status and the message with which `serve` refuses its flags before it starts; nil if it takes
/// them. Takes less time than the program itself.
func refusal(of flags: [String]) -> (status: Int32, message: String)? {
  do {
    _ = try ServeOptions.parse(flags)
    return nil
  } catch {
    return (ServeOptions.exitCode(for: error).rawValue, ServeOptions.message(for: error))
  }
}

/// The port of a server's address.
func portNumber(of address: String) throws -> Int {
  try #require(address.split(separator: ":").last.flatMap { Int($0) })
}

/// Two countries and three cities.
let smallFixture = """
  CREATE TABLE Country(id INTEGER PRIMARY KEY, code TEXT NOT NULL UNIQUE, name TEXT NOT NULL);
  CREATE TABLE City(id INTEGER PRIMARY KEY, name TEXT NOT NULL,
    country_id INTEGER REFERENCES Country(id), population INTEGER, founded DATE, capital BOOLEAN);
  CREATE INDEX City_population ON City(population);
  INSERT INTO Country VALUES (1, 'PE', 'Peru'), (2, 'NO', 'Norway');
  INSERT INTO City VALUES (1, 'Lima', 1, 7737002, '1535-01-18', 1), (2, 'Oslo', 2, 580000, NULL, 1),
    (3, 'Bergen', 2, 213585, NULL, 0);
  """

/// A folder with `w.sqlite`, which has the countries and cities of `smallFixture`.
func smallFolder() throws -> Folder {
  let folder = try Folder()
  try folder.sql(smallFixture, on: "w.sqlite")
  return folder
}
