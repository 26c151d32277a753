// A statement of a save → its rows, or the constraint that refused it.
//
// An error aborts a transaction of PostgreSQL, and savepoints cost time. So a save first runs without
// savepoints. If the server refuses a statement, the transaction is repeated with a savepoint around each
// statement, and only then are the reasons collected.

import FetchModel
import SQLComposer
import SQLResults
import SaveExecution

/// A connection inside the transaction of a save.
final class PostgresSaveConnection: SaveConnection {
  /// The reason why the transaction has to be repeated.
  enum Repetition {
    /// A statement was refused.
    case withSavepoints
    /// Another transaction was in conflict with this one, or a prepared statement was stale.
    case unchanged
  }

  let connection: PostgresConnection
  private let hasSavepoints: Bool
  private let limit: ResponseLimit
  /// Reads the changes that this transaction has recorded in the history; nil for an import.
  private let reader: PostgresReadTransaction?
  /// Locks a table before the first statement that names it; nil for an import.
  private let locks: TableLocks?
  /// Nil if the transaction need not be repeated.
  private(set) var repetition: Repetition?
  private(set) var changedRows = 0
  /// The id in the first column that the last attempted statement returned; nil without one.
  private var returnedID: ObjectID?
  /// The server's error for the last constraint that was found.
  var constraintError: ServerError?

  init(
    _ connection: PostgresConnection, hasSavepoints: Bool, maxResponseBytes: Int,
    reader: PostgresReadTransaction? = nil, locks: TableLocks? = nil
  ) {
    self.locks = locks
    self.reader = reader
    self.connection = connection
    self.hasSavepoints = hasSavepoints
    limit = ResponseLimit(connection, maxBytes: maxResponseBytes)
  }

  /// False: triggers may change the id.
  var storesGivenIDs: Bool { false }

  var locksRows: Bool { true }

  var isTransactionOver: Bool { !connection.isInTransaction }

  func insertedID(in table: SaveTable) -> ObjectID? { returnedID }

  func run(_ command: String) throws(StoreError) {
    try recordingErrors { () throws(PostgresError) in _ = try connection.execute(command) }
  }

  /// Returns 0. ``changes(after:)`` ignores it: it finds the changes by the id of this transaction.
  func historyPosition() throws(StoreError) -> Int64? { 0 }

  func changes(after start: Int64) throws(StoreError) -> ChangeSet {
    let own = try recordingErrors { () throws(PostgresError) in
      try connection.query("SELECT pg_current_xact_id()::text").text(0, 0)
    }
    guard let reader, let own = UInt64(own) else { return ChangeSet() }
    return try reader.recordedChanges(after: HistoryPosition(.before(own)))
  }

  /// Records an error after which the transaction has to be repeated.
  func record(_ error: PostgresError) {
    if error.isRetryable || error.isStaleStatement {
      repetition = .unchanged
    } else if error.isDataError, !hasSavepoints {
      repetition = repetition ?? .withSavepoints
    }
  }

  /// Requires the executor to repeat the transaction as it is.
  func repeatUnchanged() { repetition = .unchanged }

  private func recordingErrors<Result>(
    _ body: () throws(PostgresError) -> Result
  ) throws(StoreError) -> Result {
    do {
      return try body()
    } catch {
      record(error)
      throw StoreError(composed: error)
    }
  }

  /// Runs `body`. Records its errors, and throws them as ``SaveError/store(_:)``.
  func withSaveErrors<Result>(
    _ body: () throws(PostgresError) -> Result
  ) throws(SaveError) -> Result {
    do { return try recordingErrors(body) } catch { throw .store(error) }
  }
}

// MARK: - Statements

extension PostgresSaveConnection {
  private static let savepoint = "livefetch_statement"

  /// Runs a statement. If the server refuses it, the transaction can continue only with savepoints.
  private func query(_ statement: PostgresStatement) throws(PostgresError) -> QueryResult {
    try locks?.lock(for: statement.sql)
    guard hasSavepoints else { return try connection.query(statement.sql, statement.parameters) }
    try connection.execute("SAVEPOINT \(Self.savepoint)")
    do {
      let result = try connection.query(statement.sql, statement.parameters)
      try connection.execute("RELEASE \(Self.savepoint)")
      return result
    } catch {
      if connection.isInTransaction {
        try connection.execute("ROLLBACK TO \(Self.savepoint); RELEASE \(Self.savepoint)")
      }
      throw error
    }
  }

  /// Runs a query. With savepoints, returns nil if a value does not fit the column that it is compared with.
  private func read(_ statement: PostgresStatement) throws(StoreError) -> QueryResult? {
    do {
      return try query(statement)
    } catch {
      record(error)
      if hasSavepoints, error.isDataError { return nil }
      throw StoreError(composed: error)
    }
  }

  /// Locks rows. If that is refused, the save is repeated with savepoints, and then continues without the
  /// lock: a value does not fit its column, which the change then reports, or the role may delete rows but
  /// not update them.
  func lock(_ statement: SQLFragment) throws(StoreError) {
    do {
      _ = try query(PostgresStatement(statement))
    } catch {
      if error.isDataError || error.isPrivilegeError {
        if hasSavepoints, connection.isInTransaction { return }
        repetition = repetition ?? .withSavepoints
      }
      record(error)
      throw StoreError(composed: error)
    }
  }

  func attempt(
    _ sql: String, _ values: [SQLValue], then more: [SQLValue]
  ) throws(StoreError) -> Constraint? {
    try attempt(
      PostgresStatement(
        SQLFragment(sql, bindings: values + more), assigned: values.count, comparesColumns: true))
  }

  func attempt(
    _ sql: String, _ values: [SQLValue], where condition: SQLFragment
  ) throws(StoreError) -> Constraint? {
    try attempt(
      PostgresStatement(
        SQLFragment(sql + condition.text, bindings: values + condition.values),
        assigned: values.count))
  }

  private func attempt(_ statement: PostgresStatement) throws(StoreError) -> Constraint? {
    changedRows = 0
    returnedID = nil
    do {
      let result = try query(statement)
      changedRows = result.affectedRows
      if result.rowCount > 0, result.columnCount > 0 { returnedID = id(result, row: 0, column: 0) }
      return nil
    } catch {
      record(error)
      guard hasSavepoints, connection.isInTransaction, case .server(let refused) = error,
        let constraint = try constraint(refused)
      else { throw StoreError(composed: error) }
      return constraint
    }
  }

  /// Checks the deferred constraints now. Without savepoints this is false, and the commit reports the violations.
  func mayChangeAtCommit() throws(StoreError) -> Bool {
    try hasRow(
      SQLFragment(
        "SELECT 1 FROM pg_catalog.pg_trigger WHERE tginitdeferred AND NOT tgisinternal LIMIT 1"))
  }

  var hasDeferredViolations: Bool {
    guard hasSavepoints, connection.isInTransaction else { return false }
    do throws(PostgresError) {
      _ = try query(PostgresStatement(SQLFragment("SET CONSTRAINTS ALL IMMEDIATE")))
      return false
    } catch {
      record(error)
      return error.isDataError
    }
  }
}

// MARK: - Rows

extension PostgresSaveConnection {
  private func row(_ result: QueryResult, at number: Int, _ layout: RowLayout) -> PostgresRow {
    PostgresRow(
      result: result, number: number, context: RowContext(layout: layout, limit: limit))
  }

  private func id(_ result: QueryResult, row number: Int, column: Int32) -> ObjectID? {
    row(result, at: number, RowLayout()).id(at: column)
  }

  private func comparison(_ sql: String, _ values: [SQLValue]) -> PostgresStatement {
    PostgresStatement(SQLFragment(sql, bindings: values), comparesColumns: true)
  }

  func row(_ sql: String, _ values: [SQLValue]) throws(StoreError) -> [SQLValue]? {
    guard let result = try read(comparison(sql, values)), result.rowCount > 0 else { return nil }
    return try withStoreErrors { () throws(PostgresError) in
      try result.values(0).map { SQLValue($0) }
    }
  }

  func places(
    _ sql: String, _ values: [SQLValue]
  ) throws(StoreError) -> [(id: ObjectID, place: Int64?)] {
    guard let result = try read(comparison(sql, values)) else { return [] }
    return (0..<result.rowCount).compactMap { number in
      let hasPlace = result.columnCount > 1 && !result.isNull(number, 1)
      let place = hasPlace ? row(result, at: number, RowLayout()).integer(1) : nil
      return id(result, row: number, column: 0).map { ($0, place) }
    }
  }

  func ids(_ query: SQLFragment) throws(StoreError) -> [ObjectID] {
    guard let result = try read(PostgresStatement(query)) else { return [] }
    return (0..<result.rowCount).compactMap { id(result, row: $0, column: 0) }
  }

  func integer(_ query: SQLFragment) throws(StoreError) -> Int64 {
    guard let result = try read(PostgresStatement(query)), result.rowCount > 0 else { return 0 }
    return try withStoreErrors { () throws(PostgresError) in try result.integer(0, 0) }
  }

  func hasRow(_ query: SQLFragment) throws(StoreError) -> Bool {
    try read(PostgresStatement(query)).map { $0.rowCount > 0 } ?? false
  }

  func hasRow(candidate query: SQLFragment) throws(StoreError) -> Bool {
    let statement = PostgresStatement(query, assigned: query.bindings.count)
    return try read(statement).map { $0.rowCount > 0 } ?? false
  }

  func ids(of statement: FetchStatement) throws(StoreError) -> Set<ObjectID> {
    guard let result = try read(PostgresStatement(statement)) else { return [] }
    return Set(
      (0..<result.rowCount).compactMap { id(result, row: $0, column: statement.layout.id) })
  }

  func rows(of statement: FetchStatement) throws(StoreError) -> [(id: ObjectID, row: Row)] {
    guard let result = try read(PostgresStatement(statement)) else { return [] }
    var rows: [(id: ObjectID, row: Row)] = []
    for number in 0..<result.rowCount {
      let reader = row(result, at: number, statement.layout)
      let row = reader.row()
      try limit.check(row.json.count)
      rows.append((reader.id(), row))
    }
    return rows
  }
}
