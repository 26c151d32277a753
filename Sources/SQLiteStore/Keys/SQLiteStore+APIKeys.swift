// The API keys of a file, for the server that has it open and for other programs. A running server
// reads the table again every few seconds.

import FetchModel
import SQLComposer

extension SQLiteStore {
  /// Returns every stored API key, revoked and expired ones included. O(keys).
  public func apiKeys() throws(StoreError) -> [APIKeyRecord] {
    try read(.full) { transaction throws(StoreError) in
      try APIKeyTable.all(on: transaction.connection)
    }
  }

  /// Returns the API keys of the file at `path`, oldest first, without changing it.
  public static func apiKeys(path: String) throws(StoreError) -> [APIKeyRecord] {
    let (connection, _) = try OpenFile.openForReading(path)
    defer { connection.close() }
    return try APIKeyTable.all(on: connection)
  }

  /// Stores `key` in the file at `path`; returns false if an active key already has its name.
  public static func addAPIKey(_ key: APIKeyRecord, path: String) throws(StoreError) -> Bool {
    try changeAPIKeys(path) { keys, connection throws(StoreError) in
      guard key.mayBeAdded(to: keys) else { return false }
      try connection.execute(APIKeyTable.tables)
      try APIKeyTable.insert(key, on: connection)
      return true
    }
  }

  /// Revokes the key with the name or the id `name` in the file at `path`, and returns it; nil if
  /// there is none that is not revoked.
  public static func revokeAPIKey(
    _ name: String, path: String
  ) throws(StoreError) -> APIKeyRecord? {
    try changeAPIKeys(path) { keys, connection throws(StoreError) in
      let key = APIKeyRecord.active(name, in: keys)
      if let key { try APIKeyTable.revoke(id: key.id, on: connection) }
      return key
    }
  }

  /// Runs `change` on the keys of a file in one transaction. A running server keeps the file open,
  /// so this connection never checkpoints then. A file with a history of a later version is refused.
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
