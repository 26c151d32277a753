// Reads and changes the API keys of a file, which a server may have open. A running server reads the table again
// every few seconds.

import FetchModel
import SQLComposer

extension SQLiteStore {
  /// Returns every stored API key, oldest first, revoked and expired ones included. O(keys).
  public func apiKeys() throws(StoreError) -> [APIKeyRecord] {
    try read(.full) { transaction throws(StoreError) in
      try APIKeyTable.all(on: transaction.connection)
    }
  }

  /// Returns what ``apiKeys()`` returns, from the file at `path`, without changing it. O(keys).
  public static func apiKeys(path: String) throws(StoreError) -> [APIKeyRecord] {
    let (connection, _) = try OpenFile.openForReading(path)
    defer { connection.close() }
    return try APIKeyTable.all(on: connection)
  }

  /// Stores `key` in the file at `path`. Returns false if another key that is not revoked has its name, or has it as
  /// its id.
  public static func addAPIKey(_ key: APIKeyRecord, path: String) throws(StoreError) -> Bool {
    try changeAPIKeys(path) { keys, connection throws(StoreError) in
      guard key.mayBeAdded(to: keys) else { return false }
      try connection.execute(APIKeyTable.tables)
      try APIKeyTable.insert(key, on: connection)
      return true
    }
  }

  /// Revokes a key in the file at `path`. Returns the key as it was before; nil if there is no such key, or
  /// only revoked ones.
  ///
  /// - Parameter name: The name or the id of the key.
  public static func revokeAPIKey(
    _ name: String, path: String
  ) throws(StoreError) -> APIKeyRecord? {
    try changeAPIKeys(path) { keys, connection throws(StoreError) in
      let key = APIKeyRecord.active(name, in: keys)
      if let key { try APIKeyTable.revoke(id: key.id, on: connection) }
      return key
    }
  }

  /// Passes the keys of a file to `change`, in one write transaction. Throws if a later version of LiveFetch wrote
  /// the history of the file. While a server has the file open, closing this connection makes no checkpoint.
  private static func changeAPIKeys<Result>(
    _ path: String, _ change: ([APIKeyRecord], Connection) throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    let connection = try Connection(path: path, access: .write)
    defer { connection.close() }
    return try connection.transaction { () throws(StoreError) -> Result in
      if try History.isPresent(on: connection) { try History.checkFormat(on: connection) }
      return try change(try APIKeyTable.all(on: connection), connection)
    }
  }
}
