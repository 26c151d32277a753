// The store of a command: a file, a PostgreSQL database, or the address of a server.

import ArgumentParser
import Foundation

/// The argument STORE of the commands that take all of them.
struct StoreArgument: ParsableArguments {
  @Argument(
    help: ArgumentHelp(
      "The SQLite file, the URL of a PostgreSQL database (postgres://…), or the address of a server "
        + "(http://127.0.0.1:8080)."),
    completion: .file(extensions: ["sqlite", "db"]))
  var store: String

  @Option(
    help: ArgumentHelp(
      "The bearer token that the server requires. "
        + "[env: LIVEFETCH_TOKEN, or LIVEFETCH_TOKEN_FILE for a file with it]"))
  var token: String?

  /// The file or the database; the address of a server is none of them.
  var location: StoreLocation { StoreLocation(store) }

  /// The database that is named; nil for a file or a server.
  var database: DatabaseTarget? { location.database }

  /// True for the address of a server.
  var isAddress: Bool { database == nil && store.contains("://") }

  /// The name in messages, without credentials.
  var name: String { location.name }

  /// Ends the command if the store is a file that does not exist.
  func check() throws { if !isAddress { try location.check() } }

  func remote() throws -> ServerClient {
    try ServerClient(address: store, token: credential())
  }

  /// The option, or what the variables of the server's token say; nil if there is none.
  private func credential() throws -> String? {
    let environment = ProcessInfo.processInfo.environment
    guard token != "" else { throw failure("--token is empty", .usage) }
    if let given = token ?? environment[Setting.token.variable], !given.isEmpty { return given }
    guard token == nil, let path = environment[Setting.tokenFile.variable], !path.isEmpty else {
      return nil
    }
    return try TokenSource.file(path).token()
  }
}

/// Ends the command if `path` does not exist, may not be read, is a directory, or names a database.
func requireFile(_ path: String) throws {
  if let target = DatabaseTarget(path) {
    throw failure(
      "\(target.name): this command takes an SQLite file, not a PostgreSQL database", .usage)
  }
  try refuseServer(path)
  try checkMayBeRead(path)
  var isDirectory: ObjCBool = false
  guard FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory) else {
    throw failure("\(withoutCredentials(path)): there is no such file", .noInput)
  }
  guard !isDirectory.boolValue else {
    throw failure("\(path): is a directory, not a file", .noInput)
  }
}

/// Ends the command if `path` is the address of a server.
private func refuseServer(_ path: String) throws {
  guard path.hasPrefix("http://") || path.hasPrefix("https://") else { return }
  throw failure(
    "\(withoutCredentials(path)): this command takes the store itself, not the address of a server",
    .usage)
}

/// Ends the command if this user may not read `path`, or search a directory on the way to it.
private func checkMayBeRead(_ path: String) throws {
  guard access(path, R_OK) != 0, errno == EACCES else { return }
  throw failure("\(path): may not be read by this user", .noInput)
}

/// True if a file exists at `path`. Ends the command if it is a directory or may not be read.
func isFile(_ path: String) throws -> Bool {
  try refuseServer(path)
  guard DatabaseTarget(path) != nil || FileManager.default.fileExists(atPath: path) else {
    try checkMayBeRead(path)
    return false
  }
  try requireFile(path)
  return true
}
