// A single save to a file that no server has open, for short-lived programs.

import FetchModel
import SQLComposer
import SaveExecution

extension SQLiteStore {
  /// Executes `body`, the JSON of `POST /v1/save`, on the file at `path`.
  ///
  /// The file is not changed otherwise. An untracked file stays untracked, and the token in the
  /// result is then meaningless.
  public static func save(
    _ body: JSON, to path: String
  ) throws(SaveError) -> (result: SaveResult, isTracked: Bool) {
    let file = try storing { () throws(StoreError) in try FileToSave(path) }
    defer { file.close() }
    let request = try SaveResolver(model: file.model).resolve(body)
    try storing { () throws(StoreError) in try file.connection.run("BEGIN IMMEDIATE") }
    do {
      let result = try file.save(request)
      try storing { () throws(StoreError) in try file.connection.run("COMMIT") }
      return (result, file.isTracked)
    } catch {
      if !file.connection.isInAutocommit { try? file.connection.run("ROLLBACK") }
      throw error
    }
  }
}

/// Runs `body`. Its errors become those of a save.
func storing<Result>(
  _ body: () throws(StoreError) -> Result
) throws(SaveError) -> Result {
  do { return try body() } catch { throw .store(error) }
}

/// A file that is open for one save.
private struct FileToSave {
  let lock: FileLock
  let connection: Connection
  let model: Model
  let history: History
  let executor: SQLiteSaveExecutor
  let isTracked: Bool

  init(_ path: String) throws(StoreError) {
    lock = try FileLock(beside: path)
    connection = try Connection(path: path, access: .write)
    isTracked = try History.isPresent(on: connection)
    let introspection = try Introspection(of: connection)
    model = introspection.model
    history = History(model: introspection.model, schema: introspection.schema)
    executor = SQLiteSaveExecutor(model: introspection.model, schema: introspection.schema)
    if isTracked { _ = try history.setUp(on: connection, journalMode: "wal") }
  }

  func save(_ request: SaveRequest) throws(SaveError) -> SaveResult {
    var result = try executor.execute(request, on: connection)
    guard !connection.hasDeferredViolations else { throw .danglingReference }
    guard isTracked else { return result }
    result.token = try storing { () throws(StoreError) in
      let token = try history.newestToken(on: connection)
      try History.stamp(position: token.position.number, on: connection)
      return token
    }
    return result
  }

  func close() { connection.close() }
}
