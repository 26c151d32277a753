// The store of a command: a file, or the address of a server.

import ArgumentParser
import FetchModel
import Foundation
import SQLiteStore

/// The argument STORE of the commands that take both.
struct StoreArgument: ParsableArguments {
  @Argument(
    help: "The SQLite file, or the address of a server: http://127.0.0.1:8080.",
    completion: .file(extensions: ["sqlite", "db"]))
  var store: String

  @Option(help: "The bearer token that the server requires. [env: LIVEFETCH_TOKEN]")
  var token: String?

  var isAddress: Bool { store.contains("://") }

  func remote() throws -> RemoteStore {
    let given = token ?? ProcessInfo.processInfo.environment[Setting.token.variable]
    return try RemoteStore(address: store, token: given.flatMap { $0.isEmpty ? nil : $0 })
  }

  /// Opens the file for reading only, which does not disturb processes that serve or write it.
  func openToRead(timeout: Double = 600) throws -> SQLiteStore {
    try requireFile(store)
    var options = SQLiteStoreOptions()
    options.isReadOnly = true
    options.queryTimeout = timeout
    options.readers = 2
    return try reportingErrors(of: store) { try SQLiteStore(path: store, options: options) }
  }
}

/// Ends the command if `path` does not exist or is a directory.
func requireFile(_ path: String) throws {
  var isDirectory: ObjCBool = false
  guard FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory) else {
    throw failure("\(path): there is no such file", .noInput)
  }
  guard !isDirectory.boolValue else {
    throw failure("\(path): is a directory, not a file", .noInput)
  }
}

/// True if a file exists at `path`. Ends the command if it is a directory.
func isFile(_ path: String) throws -> Bool {
  guard FileManager.default.fileExists(atPath: path) else { return false }
  try requireFile(path)
  return true
}
