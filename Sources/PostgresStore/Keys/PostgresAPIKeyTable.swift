// API keys, stored in the served database:
//
//     livefetch.key(id, name, digest, scopes, roles, user, created, expires, revoked)
//
// A key itself is never stored, only its SHA-256. Revoked keys stay, so that a server whose last key
// was revoked still requires a credential. `created`, `expires` and `revoked` are seconds since 1970.

import FetchModel
import SQLComposer

/// The API keys of a database.
enum PostgresAPIKeyTable {
  static let creation = "CREATE SCHEMA IF NOT EXISTS livefetch; DO \(literal(creationBlock))"

  /// Creates the table if it does not exist, without the privileges that new tables have by default: who
  /// writes to it can add a key.
  private static let creationBlock = """
    BEGIN
      IF to_regclass('livefetch.key') IS NULL THEN
        CREATE TABLE livefetch.key (
          id text PRIMARY KEY, name text NOT NULL, digest bytea NOT NULL, scopes text NOT NULL,
          roles text NOT NULL, "user" text, created float8 NOT NULL, expires float8, revoked float8);
        CREATE UNIQUE INDEX key_name ON livefetch.key (name) WHERE revoked IS NULL;
        \(PostgresHistory.revocationBlock(of: ["key"]));
      END IF;
    END
    """

  /// Returns every key, oldest first. O(keys).
  static func all(on connection: PostgresConnection) throws(PostgresError) -> [APIKeyRecord] {
    let exists = try connection.query("SELECT to_regclass('livefetch.key') IS NOT NULL")
    guard try exists.bool(0, 0) else { return [] }
    let rows = try connection.query(
      """
      SELECT id, name, digest, scopes, roles, "user", created, expires, revoked
      FROM livefetch.key ORDER BY created, id
      """
    ).rows()
    return try rows.map(record)
  }

  /// Throws for a value of another type: a key must not become valid by it.
  private static func record(_ row: [PostgresValue]) throws(PostgresError) -> APIKeyRecord {
    func seconds(_ value: PostgresValue) throws(PostgresError) -> Double? {
      switch value {
      case .null: return nil
      case .double(let seconds): return seconds
      default: throw .malformed("a time in livefetch.key")
      }
    }
    guard let id = row[0].string, let name = row[1].string, case .bytes(let digest) = row[2],
      let scopes = row[3].string, let roles = row[4].string, let created = try seconds(row[6])
    else { throw .malformed("a row of livefetch.key") }
    return APIKeyRecord(
      id: id, name: name, digest: digest, scopes: APIKeyRecord.texts(scopes),
      roles: APIKeyRecord.texts(roles), userID: row[5].string, created: created,
      expires: try seconds(row[7]), revoked: try seconds(row[8]))
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

  /// Revokes the key now, by the server's clock.
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
