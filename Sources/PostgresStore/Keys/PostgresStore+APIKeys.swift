// The API keys of a database, for the servers that serve it and for other programs. A running server
// reads the table again every few seconds.

import FetchModel

extension PostgresStore {
  /// Returns every stored API key, revoked and expired ones included. O(keys).
  public func apiKeys() throws(StoreError) -> [APIKeyRecord] {
    try withStoreErrors { () throws(PostgresError) in
      try pool.withConnection { connection throws(PostgresError) in
        try PostgresAPIKeyTable.all(on: connection)
      }
    }
  }

  /// Returns the API keys of a database, oldest first, without changing it.
  ///
  /// - Parameter target: as for ``init(_:options:)``.
  public static func apiKeys(_ target: String) throws(StoreError) -> [APIKeyRecord] {
    try connected(target) { connection throws(PostgresError) in
      try PostgresAPIKeyTable.all(on: connection)
    }
  }

  /// Stores `key` in a database; returns false if an active key already has its name.
  ///
  /// - Parameter target: as for ``init(_:options:)``.
  public static func addAPIKey(
    _ key: APIKeyRecord, to target: String
  ) throws(StoreError) -> Bool {
    try changeAPIKeys(target) { connection throws(PostgresError) in
      try connection.execute(PostgresAPIKeyTable.creation)
      let keys = try PostgresAPIKeyTable.all(on: connection)
      guard key.mayBeAdded(to: keys) else { return false }
      try PostgresAPIKeyTable.insert(key, on: connection)
      return true
    }
  }

  /// Revokes the active key with the name or the id `name` in a database, and returns it; nil if there is none.
  ///
  /// - Parameter target: as for ``init(_:options:)``.
  public static func revokeAPIKey(
    _ name: String, in target: String
  ) throws(StoreError) -> APIKeyRecord? {
    try changeAPIKeys(target) { connection throws(PostgresError) in
      let key = APIKeyRecord.active(name, in: try PostgresAPIKeyTable.all(on: connection))
      if let key { try PostgresAPIKeyTable.revoke(id: key.id, on: connection) }
      return key
    }
  }

  /// Runs `change` in one transaction. A second caller waits until the first one commits.
  private static func changeAPIKeys<Result>(
    _ target: String, _ change: (PostgresConnection) throws(PostgresError) -> Result
  ) throws(StoreError) -> Result {
    try connected(target) { connection throws(PostgresError) in
      try connection.withTransaction { () throws(PostgresError) in
        try connection.execute("SELECT pg_advisory_xact_lock(\(PostgresHistory.lockNumber))")
        return try change(connection)
      }
    }
  }
}
