// API keys, stored in the served file:
//
//     livefetch_key(id, name, digest, scopes, roles, user, created, expires, revoked)
//
// A key itself is never stored, only its SHA-256. Revoked keys stay, so that a server whose last key
// was revoked still requires a credential.

import FetchModel

/// The API keys of a file.
enum APIKeyTable {
  static let tables = """
    CREATE TABLE IF NOT EXISTS livefetch_key(id TEXT PRIMARY KEY, name TEXT NOT NULL, \
    digest BLOB NOT NULL, scopes TEXT NOT NULL, roles TEXT NOT NULL, user TEXT, \
    created REAL NOT NULL, expires REAL, revoked REAL) WITHOUT ROWID;
    CREATE UNIQUE INDEX IF NOT EXISTS livefetch_key_name ON livefetch_key(name) \
    WHERE revoked IS NULL;
    """

  static let removal = "DROP TABLE IF EXISTS livefetch_key;"

  static func isPresent(on connection: Connection) throws(StoreError) -> Bool {
    try connection.first(
      "SELECT 1 FROM main.sqlite_schema WHERE type = 'table' AND name = 'livefetch_key'"
    ) { _ in true } ?? false
  }

  /// Returns every key, oldest first. O(keys).
  static func all(on connection: Connection) throws(StoreError) -> [APIKeyRecord] {
    guard try isPresent(on: connection) else { return [] }
    return try connection.all(
      """
      SELECT id, name, digest, scopes, roles, user, created, expires, revoked
      FROM main.livefetch_key ORDER BY created, id
      """, [], record)
  }

  private static func record(_ row: Statement) -> APIKeyRecord {
    var digest: [UInt8] = []
    if case .blob(let bytes) = row.value(2) { digest = bytes }
    return APIKeyRecord(
      id: row.text(0), name: row.text(1), digest: digest, scopes: APIKeyRecord.texts(row.text(3)),
      roles: APIKeyRecord.texts(row.text(4)), userID: row.isNull(5) ? nil : row.text(5),
      created: row.double(6), expires: row.isNull(7) ? nil : row.double(7),
      revoked: row.isNull(8) ? nil : row.double(8))
  }

  static func insert(_ key: APIKeyRecord, on connection: Connection) throws(StoreError) {
    try connection.run(
      """
      INSERT INTO main.livefetch_key(id, name, digest, scopes, roles, user, created, expires,
        revoked)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
      """,
      [
        .text(key.id), .text(key.name), .blob(key.digest), .text(APIKeyRecord.json(key.scopes)),
        .text(APIKeyRecord.json(key.roles)), key.userID.map { .text($0) } ?? .null,
        .double(key.created), key.expires.map { .double($0) } ?? .null,
        key.revoked.map { .double($0) } ?? .null,
      ])
  }

  static func revoke(id: String, on connection: Connection) throws(StoreError) {
    try connection.run(
      "UPDATE main.livefetch_key SET revoked = ? WHERE id = ?",
      [.double(currentSeconds()), .text(id)])
  }
}
