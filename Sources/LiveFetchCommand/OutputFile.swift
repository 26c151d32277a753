// The path of a file that a command is about to write → nothing, or a refusal: the file is one of the
// command's inputs, a store (`check`), or a store that a server has open (`checkIsNotServed`).

import ArgumentParser
import Foundation
import SQLiteStore

/// A file that a command is about to write. It may exist.
struct OutputFile {
  let path: String

  /// Refuses a path that is one of `inputs` under whatever name, or an SQLite file.
  func check(apartFrom inputs: [String]) throws {
    try checkIsNoInput(inputs)
    if isStore { throw failure("\(path): is a store, which would be lost", .usage) }
  }

  /// Refuses a path that is one of `inputs` under whatever name, or that a server has open.
  func checkIsNotServed(apartFrom inputs: [String]) throws {
    try checkIsNoInput(inputs)
    guard let server = SQLiteStore.server(of: path) else { return }
    throw failure("\(path): is being served by process \(server.process)", .unusableStore)
  }

  /// Creates the file, or empties an existing one. The caller closes the descriptor.
  ///
  /// - Parameter temporaryPath: The path until the file is complete; nil for its own.
  func create(at temporaryPath: String? = nil) throws -> Terminal {
    let descriptor = open(
      temporaryPath ?? path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o666)
    guard descriptor >= 0 else { throw unwritable() }
    return Terminal(descriptor)
  }

  /// Prints the error in `errno`.
  func unwritable() -> ExitCode {
    failure("\(path): cannot be written: \(String(cString: strerror(errno)))", .failed)
  }

  private func checkIsNoInput(_ inputs: [String]) throws {
    for input in inputs where isSame(as: input) {
      throw failure("\(path): is what this command reads, and would be lost", .usage)
    }
  }

  /// True if both paths name one file that exists.
  func isSame(as other: String) -> Bool {
    guard let own = Self.identity(path) else { return false }
    return Self.identity(other) == own
  }

  private var isStore: Bool {
    guard let file = FileHandle(forReadingAtPath: path) else { return false }
    defer { try? file.close() }
    let head = try? file.read(upToCount: 16)
    return head == Data("SQLite format 3\0".utf8)
  }

  /// Identifies the file; nil if there is none.
  private static func identity(_ path: String) -> [UInt64]? {
    var status = stat()
    guard stat(path, &status) == 0 else { return nil }
    return [UInt64(status.st_dev), UInt64(status.st_ino)]
  }
}
