// The API keys of a store, which may be served meanwhile.

import FetchModel
import PostgresStore
import SQLiteStore

extension StoreLocation {
  /// Every key, oldest first; none if the file does not exist.
  func apiKeys() throws -> [APIKeyRecord] {
    try reportingErrors(of: name) {
      switch self {
      case .file(let path): try isFile(path) ? SQLiteStore.apiKeys(path: path) : []
      case .database(let target): try PostgresStore.apiKeys(target.text)
      }
    }
  }

  /// Returns false if a key that is not revoked has the same name.
  func addAPIKey(_ key: APIKeyRecord) throws -> Bool {
    try reportingErrors(of: name) {
      switch self {
      case .file(let path): try SQLiteStore.addAPIKey(key, path: path)
      case .database(let target): try PostgresStore.addAPIKey(key, to: target.text)
      }
    }
  }

  /// Returns the revoked key; nil if none that is not revoked has the name or the id.
  func revokeAPIKey(_ key: String) throws -> APIKeyRecord? {
    try reportingErrors(of: name) {
      switch self {
      case .file(let path): try SQLiteStore.revokeAPIKey(key, path: path)
      case .database(let target): try PostgresStore.revokeAPIKey(key, in: target.text)
      }
    }
  }
}
