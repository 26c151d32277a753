// API keys, stored in the served database:
//
//     livefetch.key(id, name, digest, scopes, roles, user, created, expires, revoked)
//
// A key itself is never stored, only its SHA-256. Revoked keys stay, so that a server whose last key
// was revoked still requires a credential.

import FetchModel

/// The API keys of a database.
enum PostgresAPIKeyTable {
  static let creation = """
    CREATE SCHEMA IF NOT EXISTS livefetch;
    CREATE TABLE IF NOT EXISTS livefetch.key (
      id text PRIMARY KEY, name text NOT NULL, digest bytea NOT NULL, scopes text NOT NULL,
      roles text NOT NULL, "user" text, created float8 NOT NULL, expires float8, revoked float8);
    CREATE UNIQUE INDEX IF NOT EXISTS key_name ON livefetch.key (name) WHERE revoked IS NULL;
    """

  /// Returns every key, oldest first. O(keys).
  static func all(on connection: PostgresConnection) throws(PostgresError) -> [APIKeyRecord] {
    let exists = try connection.query("SELECT to_regclass('livefetch.key') IS NOT NULL")
    guard try exists.bool(0, 0) else { return [] }
    return try connection.query(
      """
      SELECT id, name, digest, scopes, roles, "user", created, expires, revoked
      FROM livefetch.key ORDER BY created, id
      """
    ).rows().map(record)
  }

  private static func record(_ row: [PostgresValue]) -> APIKeyRecord {
    func text(_ column: Int) -> String? { row[column].string }
    func seconds(_ column: Int) -> Double? {
      if case .double(let seconds) = row[column] { seconds } else { nil }
    }
    var digest: [UInt8] = []
    if case .bytes(let bytes) = row[2] { digest = bytes }
    return APIKeyRecord(
      id: text(0) ?? "", name: text(1) ?? "", digest: digest,
      scopes: APIKeyRecord.texts(text(3) ?? ""), roles: APIKeyRecord.texts(text(4) ?? ""),
      userID: text(5), created: seconds(6) ?? 0, expires: seconds(7), revoked: seconds(8))
  }

  static func insert(
    _ key: APIKeyRecord, on connection: PostgresConnection
  ) throws(PostgresError) {
    try connection.query(
      """
      INSERT INTO livefetch.key (id, name, digest, scopes, roles, "user", created, expires,
        revoked)
      VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
      """,
      [
        .text(key.id), .text(key.name), .bytes(key.digest), .text(APIKeyRecord.json(key.scopes)),
        .text(APIKeyRecord.json(key.roles)), key.userID.map { .text($0) } ?? .null,
        .double(key.created), key.expires.map { .double($0) } ?? .null,
        key.revoked.map { .double($0) } ?? .null,
      ])
  }

  /// Revokes the key at the present time.
  static func revoke(
    id: String, on connection: PostgresConnection
  ) throws(PostgresError) {
    try connection.query(
      """
      UPDATE livefetch.key SET revoked = extract(epoch FROM clock_timestamp())::float8
      WHERE id = $1
      """, [.text(id)])
  }
}
