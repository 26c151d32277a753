// A STORE argument → the API keys in it, of a file or of a database.

import FetchModel
import PostgresStore
import SQLiteStore

/// The API keys of a store. The store may be served meanwhile.
enum KeyStore {
  case file(path: String)
  case database(DatabaseTarget)

  /// - Parameter store: the path of a file, which need not exist, or the address of a database.
  init(_ store: String) {
    self = DatabaseTarget(store).map(Self.database) ?? .file(path: store)
  }

  /// The name in messages.
  var name: String {
    switch self {
    case .file(let path): path
    case .database(let target): target.name
    }
  }

  /// Ends the command if the store is a file that does not exist.
  func check() throws { if case .file(let path) = self { try requireFile(path) } }

  /// Every key, oldest first; none if the file does not exist.
  func keys() throws -> [APIKeyRecord] {
    try reportingErrors(of: name) {
      switch self {
      case .file(let path): try isFile(path) ? SQLiteStore.apiKeys(path: path) : []
      case .database(let target): try PostgresStore.apiKeys(target.text)
      }
    }
  }

  /// Returns false if a key that is not revoked has the same name.
  func add(_ key: APIKeyRecord) throws -> Bool {
    try reportingErrors(of: name) {
      switch self {
      case .file(let path): try SQLiteStore.addAPIKey(key, path: path)
      case .database(let target): try PostgresStore.addAPIKey(key, to: target.text)
      }
    }
  }

  /// Returns the revoked key; nil if none that is not revoked has the name or the id.
  func revoke(_ key: String) throws -> APIKeyRecord? {
    try reportingErrors(of: name) {
      switch self {
      case .file(let path): try SQLiteStore.revokeAPIKey(key, path: path)
      case .database(let target): try PostgresStore.revokeAPIKey(key, in: target.text)
      }
    }
  }
}
