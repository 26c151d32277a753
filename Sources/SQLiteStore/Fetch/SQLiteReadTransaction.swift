// One read transaction: all its queries see the same state of the file.

import FetchModel
import LiveFetchThreads
import SQLComposer
import SQLResults

/// A connection inside a read transaction, and the state that it sees.
struct SQLiteReadTransaction: ResultTransaction {
  let connection: Connection
  let composer: FetchComposer
  let history: History
  let objectStatements: ComposedStatements<ItemKind>
  let token: Token
  var maxResponseBytes: Int { connection.responseLimit.maxBytes }

  /// The time limit of each query, in nanoseconds; nil for none.
  var timeLimit: UInt64?

  func withTimeLimit<Result>(
    _ limit: Duration?, _ body: () throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    guard let timeLimit else { return try body() }
    let asked = limit.map { UInt64(max(0, min($0 / .nanoseconds(1), 1e18))) } ?? timeLimit
    return try connection.withDeadline(after: min(asked, timeLimit), body)
  }

  func validity(of token: Token) throws(StoreError) -> TokenValidity {
    try history.validity(of: token, on: connection)
  }

  func mapError(_ error: StoreError) -> StoreError { error.asSchemaChange }

  /// The limit of a response does not apply: a large row that changed may be one that the caller does not
  /// see.
  func changes(after position: HistoryPosition) throws(StoreError) -> ChangeSet {
    try connection.withResponseLimit(.max) { () throws(StoreError) in
      try history.changeSet(after: position.number, upTo: token.position.number, on: connection)
    }
  }

  func checkResponse(_ size: Int) throws(StoreError) { try connection.checkResponse(size) }

  func withResponseLimit<Result>(
    _ bytes: Int, overflow: StoreError?, _ body: () throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    try connection.withResponseLimit(bytes, overflow: overflow, body)
  }

  func run(
    _ statement: FetchStatement, _ body: (RowReader) throws(StoreError) -> Bool
  ) throws(StoreError) {
    // A count of a whole table is one step of SQLite's virtual machine, which a deadline does not end.
    let isOneStep =
      statement.sql.hasPrefix("SELECT count(*) FROM ") && !statement.sql.contains(" WHERE ")
    guard isOneStep, connection.deadline > 0 else { return try connection.run(statement, body) }
    let now = monotonicNanoseconds()
    let rest = connection.deadline > now ? connection.deadline - now : 0
    try connection.interrupted(after: Double(rest) / 1e9) { () throws(StoreError) in
      try connection.run(statement, body)
    }
  }
}

extension SQLiteReadTransaction {
  /// True if no object of `entities` changed after `token`.
  func isUnchanged(_ entities: Set<Int>, since token: Token) throws(StoreError) -> Bool {
    if token == self.token { return true }
    guard try validity(of: token) == .known else { return false }
    let changeSet = try changes(after: token.position)
    return changeSet.objects.keys.allSatisfy { !entities.contains($0) }
      && changeSet.members.keys.allSatisfy { !entities.contains($0.entity) }
  }
}
