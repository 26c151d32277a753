// Writes by another program: through a plain connection, or through the `sqlite3` program.

import Foundation
import TestSupport

/// Another program that writes the same file, without foreign keys and LiveFetch's functions.
enum SQLiteShell {
  static func run(_ sql: String, path: String) throws { try sqlite(path, sql) }

  /// Returns the integer that `sql` selects.
  static func integer(_ sql: String, path: String) throws -> Int64? {
    try sqlite(path, sql).first.flatMap { Int64($0) }
  }
}

/// The `sqlite3` program: a second process that writes the same file.
enum Sqlite3 {
  /// True if the program is installed; otherwise tests with other processes are skipped.
  static let isInstalled = FileManager.default.isExecutableFile(atPath: "/usr/bin/sqlite3")

  /// The program's output for `script`: SQL, and its own commands on separate lines.
  @discardableResult
  static func run(_ script: String, _ path: String) throws -> String {
    let process = Process()
    let input = Pipe()
    let output = Pipe()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/sqlite3")
    process.arguments = ["-batch", path]
    process.standardInput = input
    process.standardOutput = output
    process.standardError = output
    try process.run()
    input.fileHandleForWriting.write(Data((".timeout 10000\n" + script + "\n").utf8))
    try input.fileHandleForWriting.close()
    let text = output.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    return String(decoding: text, as: UTF8.self)
  }
}
