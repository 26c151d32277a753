// A STORE argument → a file or a PostgreSQL database.

import FetchModel
import PostgresStore
import SQLiteStore

/// The file or the database of a command.
enum StoreLocation: Sendable {
  case file(path: String)
  case database(DatabaseTarget)

  /// - Parameter store: The path of a file, which need not exist, or the address of a database.
  init(_ store: String) {
    self = DatabaseTarget(store).map { .database($0) } ?? .file(path: store)
  }

  /// The name in messages, without credentials.
  var name: String {
    switch self {
    case .file(let path): path
    case .database(let target): target.name
    }
  }

  /// The STORE argument.
  var argument: String {
    switch self {
    case .file(let path): path
    case .database(let target): target.text
    }
  }

  /// The path of a file; nil for a database.
  var path: String? { if case .file(let path) = self { path } else { nil } }

  /// The database; nil for a file.
  var database: DatabaseTarget? { if case .database(let target) = self { target } else { nil } }

  /// Ends the command if the store is a file that does not exist.
  func check() throws { if let path { try requireFile(path) } }

  /// Returns the model of the store, which may be served meanwhile.
  func model() throws -> Model {
    guard let path else {
      let opened = try openToRead()
      defer { opened.close() }
      return opened.model
    }
    return try reportingErrors(of: path) { try SQLiteStore.model(path: path) }
  }

  /// Opens the store for reading only, which does not disturb processes that serve or write it.
  func openToRead(timeout: Double = 600) throws -> any ReopenableStore {
    switch self {
    case .file(let path):
      try requireFile(path)
      var options = SQLiteStoreOptions()
      options.isReadOnly = true
      options.queryTimeout = timeout
      options.readers = 2
      return try reportingErrors(of: path) { try SQLiteStore(path: path, options: options) }
    case .database(let target):
      var options = PostgresStoreOptions()
      options.isReadOnly = true
      options.queryTimeout = timeout
      return try reportingErrors(of: name) { try PostgresStore(target.text, options: options) }
    }
  }
}
