// Responses of idempotent saves, stored in the database:
//
//     livefetch.answer(key, at, fingerprint, answer)
//
// A row is written in the transaction of its save, so that neither exists without the other. Of two
// transactions that insert the same key, the second one waits for the first and then fails. The history's
// pruning deletes what has expired.

import FetchModel

/// The stored responses of a database.
enum PostgresIdempotencyTable {
  static let creationSQL = """
    CREATE TABLE IF NOT EXISTS livefetch.answer (
      key text PRIMARY KEY, at timestamptz NOT NULL DEFAULT clock_timestamp(),
      fingerprint text NOT NULL, answer bytea NOT NULL);
    CREATE INDEX IF NOT EXISTS answer_at ON livefetch.answer (at);
    """

  private static let expiry =
    "clock_timestamp() - interval '\(Int(IdempotentSave.keptSeconds)) seconds'"

  /// Returns the response that was stored under the key; nil if there is none.
  static func find(
    _ key: String, _ fingerprint: String, on connection: PostgresConnection
  ) throws(PostgresError) -> Result<StoredResponse?, SaveError> {
    let rows = try connection.query(
      "SELECT fingerprint, answer FROM livefetch.answer WHERE key = $1 AND at > \(expiry)",
      [.text(key)]
    ).rows()
    guard let row = rows.first else { return .success(nil) }
    guard row[0] == .text(fingerprint) else { return .failure(.keyReused) }
    guard case .bytes(let bytes) = row[1] else { return .success(nil) }
    return .success(StoredResponse(bytes: bytes, isRepeated: true))
  }

  /// Every stored response, oldest first.
  static func all(
    on connection: PostgresConnection
  ) throws(PostgresError) -> [IdempotencyRecord] {
    let exists = try connection.query("SELECT to_regclass('livefetch.answer') IS NOT NULL")
    guard try exists.bool(0, 0) else { return [] }
    let rows = try connection.query(
      """
      SELECT key, extract(epoch FROM at)::float8, fingerprint, answer FROM livefetch.answer
      ORDER BY at, key
      """
    ).rows()
    return rows.compactMap { row in
      guard let key = row[0].string, case .double(let at) = row[1],
        let fingerprint = row[2].string, case .bytes(let bytes) = row[3]
      else { return nil }
      return IdempotencyRecord(key: key, at: at, fingerprint: fingerprint, bytes: bytes)
    }
  }

  static func insert(
    _ record: IdempotencyRecord, on connection: PostgresConnection
  ) throws(PostgresError) {
    try connection.query(
      """
      INSERT INTO livefetch.answer (key, at, fingerprint, answer)
      VALUES ($1, to_timestamp($2::float8), $3, $4)
      """,
      [
        .text(record.key), .double(record.at), .text(record.fingerprint), .bytes(record.bytes),
      ])
  }

  /// Stores a response, in place of one that has expired. Returns false if the key has one.
  static func store(
    _ response: [UInt8], _ once: IdempotentSave, on connection: PostgresConnection
  ) throws(PostgresError) -> Bool {
    try connection.query(
      """
      INSERT INTO livefetch.answer AS a (key, fingerprint, answer) VALUES ($1, $2, $3)
      ON CONFLICT (key) DO UPDATE
        SET at = excluded.at, fingerprint = excluded.fingerprint, answer = excluded.answer
        WHERE a.at <= \(expiry)
      """, [.text(once.key), .text(once.fingerprint), .bytes(response)]
    ).affectedRows > 0
  }

  /// Deletes at most `limit` responses that have expired. Returns their number.
  static func prune(
    limit: Int, on connection: PostgresConnection
  ) throws(PostgresError) -> Int {
    try connection.query(
      """
      DELETE FROM livefetch.answer WHERE key IN (
        SELECT key FROM livefetch.answer WHERE at <= \(expiry) ORDER BY at LIMIT $1::bigint
        FOR UPDATE SKIP LOCKED)
      """, [.integer(Int64(limit))]
    ).affectedRows
  }
}
