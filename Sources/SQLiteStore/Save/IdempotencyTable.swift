// Responses of idempotent saves, stored in the same file:
//
//     livefetch_answer(key, at, fingerprint, answer)
//
// A row is written in the transaction of its save, so that neither exists without the other.

import FetchModel
import LiveFetchThreads
import SQLComposer

/// The stored responses of a file.
enum IdempotencyTable {
  static let creationSQL = """
    CREATE TABLE IF NOT EXISTS livefetch_answer(key TEXT PRIMARY KEY, at REAL NOT NULL, \
    fingerprint TEXT NOT NULL, answer BLOB NOT NULL);
    CREATE INDEX IF NOT EXISTS livefetch_answer_at ON livefetch_answer(at);
    """

  static let dropSQL = "DROP TABLE IF EXISTS livefetch_answer;"

  /// Returns the response that was stored under the key.
  static func find(
    _ key: String, _ fingerprint: String, on connection: Connection
  ) throws(SaveError) -> [UInt8]? {
    let found = try storing { () throws(StoreError) in
      try connection.first(
        "SELECT fingerprint, answer FROM main.livefetch_answer WHERE key = ? AND at > ?",
        [.text(key), .double(steadySeconds() - IdempotentSave.keptSeconds)]
      ) { (fingerprint: $0.text(0), response: bytes($0.value(1))) }
    }
    guard let found else { return nil }
    guard found.fingerprint == fingerprint else { throw .keyReused }
    return found.response
  }

  private static func bytes(_ value: SQLValue) -> [UInt8] {
    if case .blob(let bytes) = value { bytes } else { [] }
  }

  /// Every stored response, oldest first.
  static func all(on connection: Connection) throws(StoreError) -> [IdempotencyRecord] {
    let exists = try connection.first(
      "SELECT count(*) FROM main.sqlite_schema WHERE name = 'livefetch_answer'"
    ) { $0.integer(0) }
    guard exists == 1 else { return [] }
    return try connection.all(
      "SELECT key, at, fingerprint, answer FROM main.livefetch_answer ORDER BY at, key"
    ) { row in
      IdempotencyRecord(
        key: row.text(0), at: row.double(1), fingerprint: row.text(2), bytes: bytes(row.value(3)))
    }
  }

  static func insert(_ record: IdempotencyRecord, on connection: Connection) throws(StoreError) {
    try connection.run(
      """
      INSERT OR REPLACE INTO main.livefetch_answer(key, at, fingerprint, answer)
      VALUES (?, ?, ?, ?)
      """,
      [
        .text(record.key), .double(record.at), .text(record.fingerprint), .blob(record.bytes),
      ])
  }

  /// Deletes at most `limit` responses that are past their retention time.
  static func prune(limit: Int64, on connection: Connection) throws(StoreError) {
    try connection.run(
      """
      DELETE FROM main.livefetch_answer WHERE rowid IN
      (SELECT rowid FROM main.livefetch_answer WHERE at <= ? ORDER BY at LIMIT ?)
      """, [.double(steadySeconds() - IdempotentSave.keptSeconds), .integer(limit)])
  }
}

extension SQLiteStore {
  public func storedResponse(
    under key: String, fingerprint: String
  ) throws(SaveError) -> StoredResponse? {
    guard writer != nil else { return nil }
    let found: Result<[UInt8]?, SaveError>
    do throws(StoreError) {
      found = try read(.full) { transaction throws(StoreError) in
        Result { () throws(SaveError) in
          try IdempotencyTable.find(key, fingerprint, on: transaction.connection)
        }
      }
    } catch {
      throw .store(error)
    }
    return try found.get().map { StoredResponse(bytes: $0, isRepeated: true) }
  }

  public func save(
    _ request: SaveRequest, once: IdempotentSave,
    completion: @escaping @Sendable (Result<StoredResponse, SaveError>) -> Void
  ) {
    guard let writer else { return completion(.failure(.store(.readOnly))) }
    // Passes the response from the transaction, which may run more than once, to the caller.
    let slot = SharedValue<StoredResponse?>(nil)
    let arrival = monotonicNanoseconds()
    let body: Writer.Body = { [executor] connection, token throws(SaveError) in
      slot.value = nil
      if let known = try IdempotencyTable.find(once.key, once.fingerprint, on: connection) {
        slot.value = StoredResponse(bytes: known, isRepeated: true)
        return SaveResult(token: token)
      }
      return try executor.execute(request, on: connection, token: token, since: arrival)
    }
    let finish: Writer.Finish = { [self] connection, result throws(StoreError) in
      guard slot.value == nil else { return }
      let response = try once.makeResponse(
        result, readTransaction(of: connection, at: result.token))
      try IdempotencyTable.insert(
        IdempotencyRecord(
          key: once.key, at: currentSeconds(), fingerprint: once.fingerprint, bytes: response),
        on: connection)
      slot.value = StoredResponse(bytes: response, isRepeated: false)
    }
    writer.save(body, finish: finish, cost: WriterQueue.SaveCost(request)) { result in
      completion(result.map { _ in slot.value ?? StoredResponse(bytes: [], isRepeated: false) })
    }
  }
}
