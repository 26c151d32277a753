// One read transaction: all its queries see the same state of the file.

import FetchModel

/// A connection inside a read transaction, and the state that it sees.
struct SQLiteReadTransaction: StoreReadTransaction {
  let connection: Connection
  let composer: FetchComposer
  let history: History
  let objectStatements: ObjectStatements
  let token: Token
  var maxAnswerBytes: Int { connection.answerLimit.most }

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

  func mapError(_ error: StoreError) -> StoreError { error.ofPlan }

  func changes(after position: Int64) throws(StoreError) -> ChangeSet {
    try history.changeSet(after: position, upTo: token.position, on: connection)
  }

  func keys(
    of definition: ResultDefinition, after: OrderKey?, limit: Int?
  ) throws(StoreError) -> [OrderKey] {
    var keys: [OrderKey] = []
    try run(composer.keys(of: definition, after: after, limit: limit)) {
      reader throws(StoreError) in
      try connection.checkAnswer(0)
      keys.append(reader.key())
      return true
    }
    return keys
  }

  func total(of definition: ResultDefinition) throws(StoreError) -> Int {
    let statement = composer.total(of: definition)
    return try connection.first(statement.sql, statement.bindings) { Int($0.integer(0)) } ?? 0
  }

  func rows(
    of plan: FetchPlan, ids: Set<ObjectID>, at position: ReadPosition
  ) throws(StoreError) -> [ObjectID: Row] {
    // A diff is computed from more rows than it shows. If they are too large, the client starts
    // again with a snapshot, as after a timeout.
    let most = max(connection.answerLimit.most, Self.mostRowBytes)
    return try connection.withAnswerLimit(most, overflow: .queryTimeout) {
      () throws(StoreError) in
      try limitedRows(of: plan, ids: ids, at: position)
    }
  }

  /// The most bytes of the rows from which a diff is computed, unless the limit of a response is
  /// larger.
  static let mostRowBytes = 64 << 20

  /// Reads rows. Throws if they have more bytes than the limit of the connection's response.
  func limitedRows(
    of plan: FetchPlan, ids: Set<ObjectID>, at position: ReadPosition
  ) throws(StoreError) -> [ObjectID: Row] {
    guard !ids.isEmpty else { return [:] }
    let position = normalized(position)
    var rows: [ObjectID: Row] = [:]
    var size = 0
    let statement = try rowStatement(of: plan, ids: ids, at: position)
    try run(statement) { reader throws(StoreError) in
      let row = reader.row()
      size += row.json.count
      try connection.checkAnswer(size)
      rows[reader.id()] = row
      return true
    }
    return rows
  }

  /// Runs a statement and passes each row to `body` until it returns false.
  func run(
    _ statement: FetchStatement, _ body: (RowReader) throws(StoreError) -> Bool
  ) throws(StoreError) {
    try connection.run(statement, body)
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
