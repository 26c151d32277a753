// One read transaction: all its statements see the same state of the database.

import FetchModel
import SQLComposer
import SQLResults

/// A read transaction, or a single statement, which is its own transaction.
struct PostgresReadTransaction: ResultTransaction {
  let connection: PostgresConnection
  let composer: FetchComposer
  let objectStatements: ComposedStatements<ItemKind>
  let changeQueries: ChangeQueries
  /// The token of the transaction; nil if the first statement reads it.
  let initialToken: Token?
  /// The read, if it has only one statement; nil for a transaction.
  let singleRead: SingleRead?
  /// The history's part of the transaction; nil without a history.
  let history: HistoryTransaction?
  /// The tables that a statement has to lock before it reads them; nil for a read of one statement, and in
  /// the transaction of a save.
  let locks: TableLocks?
  /// True if a failed statement leaves the connection usable: a transaction returns to its savepoint, and a
  /// single read has no transaction. False in a save, which would lose its changes.
  let recoversFromErrors: Bool
  let limit: ResponseLimit
  /// The time limit of each query.
  let timeLimit: Duration

  var maxResponseBytes: Int { limit.maxBytes }

  var token: Token { initialToken ?? singleRead?.token ?? .untracked }

  func withTimeLimit<Result>(
    _ limit: Duration?, _ body: () throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    let outer = connection.deadline
    connection.deadline = .now + min(limit ?? timeLimit, timeLimit)
    defer { connection.deadline = outer }
    return try body()
  }

  func validity(of token: Token) throws(StoreError) -> TokenValidity {
    guard let history else { return token == self.token ? .known : .expired }
    guard token.nonce == 0 else { return .expired }
    let position = PostgresPosition(
      epoch: token.epoch, snapshot: PostgresSnapshot(token.position))
    return history.contains(position) ? .known : .expired
  }

  func changes(after position: HistoryPosition) throws(StoreError) -> ChangeSet {
    guard position < token.position else { return ChangeSet(start: position) }
    return try recordedChanges(after: position)
  }

  /// Returns the changes of the transactions that `position` does not show, also if the snapshot of this
  /// transaction is no later one.
  func recordedChanges(after position: HistoryPosition) throws(StoreError) -> ChangeSet {
    var changes = ChangeSet(start: position)
    for table in try changeQueries.changed(after: position, in: self) {
      changes.hasStatesBetween = true
      try run(table.query.statement(after: position)) { row in
        table.query.add(row, to: &changes)
        return true
      }
    }
    return changes
  }

  func mapError(_ error: StoreError) -> StoreError { error }

  func checkResponse(_ size: Int) throws(StoreError) { try limit.check(size) }

  func withResponseLimit<Result>(
    _ bytes: Int, overflow: StoreError?, _ body: () throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    try limit.with(bytes, overflow: overflow, body)
  }

  func writeItems(
    of plan: FetchPlan, with writer: inout SnapshotWriter
  ) throws(StoreError) {
    let window = composer.window(
      of: plan, extra: plan.isCapped ? 1 : 0, hasSpareColumn: singleRead != nil)
    try write(window, with: &writer)
  }

  func run(
    _ statement: FetchStatement, _ body: (PostgresRow) throws(StoreError) -> Bool
  ) throws(StoreError) {
    let context = RowContext(layout: statement.layout, limit: limit)
    let statement = PostgresStatement(statement)
    let isCancelled = connection.isCancelled
    defer {
      connection.isCancelled = isCancelled
      // The live engine continues with other fetches after one that takes too long.
      if recoversFromErrors { connection.recover() }
    }
    var failure: StoreError?
    func receive(_ result: QueryResult, _ number: Int) -> Bool {
      do throws(StoreError) {
        let row = PostgresRow(result: result, number: number, context: context)
        let wantsMore = try body(row)
        try limit.check(0)
        return wantsMore
      } catch {
        failure = error
        // Cancels the statement: receiving the remaining rows could take long.
        if recoversFromErrors { connection.isCancelled = { true } }
        return false
      }
    }
    do throws(StoreError) {
      if let singleRead {
        try singleRead.run(
          statement, columnCount: context.layout.columnCount, on: connection, receive)
      } else {
        try withReadErrors { () throws(PostgresError) in
          try locks?.lock(for: statement.sql)
          try connection.stream(statement.sql, statement.parameters, receive)
        }
      }
    } catch {
      throw failure ?? error
    }
    if let failure { throw failure }
  }
}

/// Runs `body`. Its errors become those of a store.
func withStoreErrors<Result>(
  _ body: () throws(PostgresError) -> Result
) throws(StoreError) -> Result {
  do {
    return try body()
  } catch {
    throw StoreError(error)
  }
}

/// Runs `body`, which only reads. Its errors become those of a store.
func withReadErrors<Result>(
  _ body: () throws(PostgresError) -> Result
) throws(StoreError) -> Result {
  do {
    return try body()
  } catch {
    throw StoreError(reading: error)
  }
}

extension Token {
  init(_ position: PostgresPosition) {
    self.init(
      epoch: position.epoch, position: HistoryPosition(position.snapshot), nonce: 0)
  }
}

extension HistoryPosition {
  init(_ snapshot: PostgresSnapshot) {
    self.init(
      Int64(clamping: snapshot.end), inProgress: snapshot.inProgress.map { Int64(clamping: $0) })
  }
}

extension PostgresSnapshot {
  init(_ position: HistoryPosition) {
    self.init(
      end: UInt64(clamping: position.number),
      inProgress: position.inProgress.map { UInt64(clamping: $0) })
  }
}
