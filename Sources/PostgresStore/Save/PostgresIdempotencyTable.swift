// Responses of idempotent saves, stored in the database:
//
//     livefetch.answer(key, at, fingerprint, answer)
//
// A row is written in the transaction of its save, so that neither exists without the other. Of two
// transactions that insert the same key, the second one waits for the first and then fails.

import FetchModel

/// The stored responses of a database.
enum PostgresIdempotencyTable {
  static let creation = """
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

  /// Stores a response, and deletes some that have expired.
  static func keep(
    _ answer: [UInt8], _ once: IdempotentSave, on connection: PostgresConnection
  ) throws(PostgresError) {
    try connection.query(
      """
      DELETE FROM livefetch.answer WHERE key IN (
        SELECT key FROM livefetch.answer WHERE at <= \(expiry) ORDER BY at LIMIT 100
        FOR UPDATE SKIP LOCKED) OR key = $1 AND at <= \(expiry)
      """, [.text(once.key)])
    try connection.query(
      "INSERT INTO livefetch.answer (key, fingerprint, answer) VALUES ($1, $2, $3)",
      [.text(once.key), .text(once.fingerprint), .bytes(answer)])
  }
}
