// The path of a file that a command is about to write → nothing, or a refusal: the file is one of the
// command's inputs, a store (`check`), or a store that a server has open (`checkIsNotServed`).

import ArgumentParser
import Foundation
import LiveFetchThreads
import SQLiteStore

/// A file that a command is about to write. It may exist. `-` is standard output.
struct OutputFile {
  let path: String

  /// Refuses a path that is one of `inputs` under whatever name, or an SQLite file.
  func check(apartFrom inputs: [String]) throws {
    try checkIsNoInput(inputs)
    if isStore(path) { throw failure("\(path): is a store, which would be lost", .usage) }
  }

  /// Refuses a path that is one of `inputs` under whatever name, or that a server has open.
  func checkIsNotServed(apartFrom inputs: [String]) throws {
    try checkIsNoInput(inputs)
    guard let server = SQLiteStore.server(of: path) else { return }
    throw failure("\(path): is being served by process \(server.process)", .unusableStore)
  }

  /// Creates the file, or empties an existing one. The caller closes the descriptor.
  private func create() throws -> Terminal {
    let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o666)
    guard descriptor >= 0 else { throw unwritable() }
    return Terminal(descriptor)
  }

  /// A file that gets the name of the output once it is complete.
  struct Draft {
    let path: String
    /// The output's path, without links.
    let finalPath: String

    /// Gives the file its name. Returns false and sets `errno` if that fails.
    func complete() -> Bool {
      defer { UnfinishedFiles.remove(path) }
      return rename(path, finalPath) == 0
    }

    func delete() {
      unlink(path)
      UnfinishedFiles.remove(path)
    }
  }

  /// Creates a draft of the file. The caller closes its descriptor. Standard output, a device or a pipe
  /// has no draft: it is written itself.
  func createDraft() throws -> (output: Terminal, draft: Draft?) {
    if isStandardOutput { return (.output, nil) }
    guard let finalPath = replaceablePath else { return (try create(), nil) }
    var draft = Draft(path: finalPath + ".partial", finalPath: finalPath)
    var number = 1
    while true {
      let descriptor = UnfinishedFiles.creating(draft.path) {
        let descriptor = open(draft.path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o666)
        return descriptor >= 0 ? descriptor : nil
      }
      if let descriptor {
        // As the file that it replaces, which may not be for everybody to read.
        var status = stat()
        if stat(finalPath, &status) == 0 { fchmod(descriptor, status.st_mode & 0o777) }
        return (Terminal(descriptor), draft)
      }
      guard errno == EEXIST else {
        guard errno == EACCES else { throw unwritable() }
        throw failure("\(path): cannot be written: its folder may not be written", .failed)
      }
      number += 1
      draft = Draft(path: "\(finalPath).partial-\(number)", finalPath: finalPath)
    }
  }

  /// The path that another file may take without harm; nil for a device or a pipe.
  private var replaceablePath: String? {
    guard access(path, F_OK) == 0 else { return path }
    return isRegularFile(path) ? realPath(path) : nil
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

  private var isStandardOutput: Bool {
    if path == "-" { return true }
    var status = stat()
    guard fstat(STDOUT_FILENO, &status) == 0 else { return false }
    return Self.identity(path) == [UInt64(status.st_dev), UInt64(status.st_ino)]
  }

  /// Identifies the file; nil if there is none.
  private static func identity(_ path: String) -> [UInt64]? {
    var status = stat()
    guard stat(path, &status) == 0 else { return nil }
    return [UInt64(status.st_dev), UInt64(status.st_ino)]
  }
}

/// True for an SQLite database. A pipe or a device is not read.
func isStore(_ path: String) -> Bool {
  guard isRegularFile(path), let file = FileHandle(forReadingAtPath: path) else { return false }
  defer { try? file.close() }
  let head = try? file.read(upToCount: 16)
  return head == Data("SQLite format 3\0".utf8)
}

/// The path of a file without links; nil if there is none.
func realPath(_ path: String) -> String? {
  guard let real = realpath(path, nil) else { return nil }
  defer { free(real) }
  return String(cString: real)
}

/// True for a file, or a link to one, that is no directory, device or pipe.
private func isRegularFile(_ path: String) -> Bool {
  var status = stat()
  return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
}
