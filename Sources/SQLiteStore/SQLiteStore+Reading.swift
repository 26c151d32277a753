// The reading half of the store: plans enter; snapshots, objects and history leave. Each read borrows
// a connection of the pool for one read transaction. The protocol `Store` documents the public methods.

import FetchModel
import LiveFetchCLibrary

extension SQLiteStore {
  /// The time limit of ``QueryClass/quick`` queries, in nanoseconds. They run on HTTP workers, which must
  /// not wait.
  private static let quickLimit: UInt64 = 3_000_000

  public func read<Result>(
    cancelledWhen isCancelled: @escaping @Sendable () -> Bool,
    _ body: (any ReadTransaction) throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    for _ in 0..<Self.maxSchemaChecks {
      if let result = try readCompared(cancelledWhen: isCancelled, body) { return result }
      if isCancelled() { throw .queryTimeout }
      writer?.hint()
      usleep(Self.schemaCheckPause)
    }
    throw .busy
  }

  /// Returns nil, without calling `body`, if the writer has yet to compare the schema. So it has if a table
  /// of the history is gone: it makes the table again, in a new epoch.
  private func readCompared<Result>(
    cancelledWhen isCancelled: @escaping @Sendable () -> Bool,
    _ body: (any ReadTransaction) throws(StoreError) -> Result
  ) throws(StoreError) -> Result? {
    var hasBegun = false
    do throws(StoreError) {
      return try read(.full) { transaction throws(StoreError) -> Result? in
        guard try writer?.hasComparedSchema(of: transaction.connection) ?? true else { return nil }
        hasBegun = true
        return try transaction.connection.withCancellation(isCancelled) { () throws(StoreError) in
          try body(transaction)
        }
      }
    } catch .schemaChanged where !hasBegun && writer?.isOutdated == false {
      return nil
    }
  }

  /// The most times that a read of the history waits for the writer to compare the schema.
  private static let maxSchemaChecks = 500
  /// Microseconds between them.
  private static let schemaCheckPause: UInt32 = 2_000

  public func readResponses<Result>(
    _ body: (any StoreReadTransaction) throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    try read(.full) { transaction throws(StoreError) in try body(transaction) }
  }

  /// Runs `body` in a read transaction on the newest committed state, within the limits of
  /// `queryClass`.
  ///
  /// - Throws: ``StoreError/tooSlow`` if a quick query exceeds a limit.
  func read<Result>(
    _ queryClass: QueryClass, _ body: (SQLiteReadTransaction) throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    do throws(StoreError) {
      // The cancellation of the request. Quick queries end too soon to need it.
      let cancellation = queryClass == .full ? QueryCancellation.current : nil
      let limit = min(
        timeLimit, queryClass == .quick ? Self.quickLimit : cancellation?.timeLeft ?? .max)
      return try readers.read(limit: limit) { connection throws(StoreError) in
        // A store without a writer keeps no history.
        let token = writer == nil ? .untracked : try history.newestToken(on: connection)
        writer?.recordRead(token)
        var composer = composer
        // Conditions on a column that holds only its standard encoding need no conversion and use its index.
        composer.homogeneousColumns =
          try homogeneousColumns?.columns(at: token, on: connection) ?? []
        let transaction = SQLiteReadTransaction(
          connection: connection, composer: composer, history: history,
          objectStatements: objectStatements, token: token, timeLimit: limit)
        connection.queryClass = queryClass
        defer { connection.queryClass = .full }
        return try connection.withResponseLimit(maxResponseBytes) { () throws(StoreError) in
          try connection.withCancellation(cancellation?.isCancelled) { () throws(StoreError) in
            try body(transaction)
          }
        }
      }
    } catch .queryTimeout where queryClass == .quick {
      throw .tooSlow
    } catch {
      throw error.asSchemaChange
    }
  }

  /// Returns a read transaction for the transaction that the caller has opened on `connection`. Its
  /// position is that of `token`.
  func readTransaction(of connection: Connection, at token: Token) -> SQLiteReadTransaction {
    SQLiteReadTransaction(
      connection: connection, composer: composer, history: history,
      objectStatements: objectStatements, token: token)
  }

  /// More objects of a batch are found in the save: it takes long in any case.
  private static let maxFound = 10_000
  /// With more batches, a save finds their objects itself: each one examines the changes before it.
  private static let maxBatches = 16

  /// After a longer search, the objects that were changed meanwhile are tested again before the save.
  private static let briefSearch = Duration.milliseconds(50)
  /// The most searches before a save.
  private static let maxSearches = 5

  package func objects(
    of plans: [Int: FetchPlan], queryClass: QueryClass
  ) throws(StoreError) -> FoundObjects {
    var (found, time) = try measuredObjects(of: plans, after: nil, queryClass)
    for _ in 1..<Self.maxSearches where time > Self.briefSearch && !found.ids.isEmpty {
      (found, time) = try measuredObjects(of: plans, after: found, queryClass)
    }
    return found
  }

  /// Finds the objects of each plan. Those that `former` contains are tested again only if changes since
  /// then may affect them; plans that it lacks are left out.
  func measuredObjects(
    of plans: [Int: FetchPlan], after former: FoundObjects?, _ queryClass: QueryClass
  ) throws(StoreError) -> (found: FoundObjects, time: Duration) {
    try read(queryClass) { transaction throws(StoreError) in
      let begin = ContinuousClock.now
      var found = FoundObjects(token: transaction.token, ids: [:])
      found.expensive = former?.expensive ?? []
      guard plans.count <= Self.maxBatches else { return (found, .zero) }
      var changes: ChangeSet?
      if let former, try transaction.validity(of: former.token) == .known {
        changes = try transaction.changes(after: former.token.position)
      }
      for (index, plan) in plans where hasExactIDs(plan.definition.entity) {
        if let former, former.ids[index] == nil { continue }
        let start = ContinuousClock.now
        found.ids[index] = try objects(of: plan, former?.ids[index], changes, transaction)
        if start.duration(to: .now) > Self.briefSearch { found.expensive.insert(index) }
      }
      return (found, begin.duration(to: .now))
    }
  }

  /// The objects of a plan; nil if they are very many.
  ///
  /// - Parameters:
  ///   - former: its objects at an earlier position.
  ///   - changes: the changes since then; nil if they are unknown.
  private func objects(
    of plan: FetchPlan, _ former: Set<ObjectID>?, _ changes: ChangeSet?,
    _ transaction: SQLiteReadTransaction
  ) throws(StoreError) -> Set<ObjectID>? {
    if let former, let changes {
      let affected = try transaction.affectedIDs(of: plan, by: changes)
      if affected.count <= Self.maxFound {
        let matching = try transaction.rows(of: plan, ids: affected, at: .now).keys
        return former.subtracting(affected).union(matching)
      }
    }
    let keys = try transaction.keys(
      of: plan.definition, after: nil, limit: Self.maxFound + 1)
    return keys.count <= Self.maxFound ? Set(keys.map(\.id)) : nil
  }

  /// True if no two rows have the same id: in other columns, values of different types may.
  private func hasExactIDs(_ entity: Int) -> Bool {
    composer.schema.entities[entity].key.parts.allSatisfy {
      $0.form == .integer || $0.form == .text
    }
  }

  public func snapshot(
    of plan: FetchPlan, queryClass: QueryClass
  ) throws(StoreError) -> EncodedSnapshot {
    try read(queryClass) { transaction throws(StoreError) in try transaction.snapshot(of: plan) }
  }

  public func snapshot(
    of bound: BoundPlan, queryClass: QueryClass
  ) throws(StoreError) -> EncodedSnapshot {
    try read(queryClass) { transaction throws(StoreError) in try transaction.snapshot(of: bound) }
  }

  /// Returns the value of the JSON that ``snapshot(of:queryClass:)`` writes.
  package func snapshotValue(of plan: FetchPlan) throws(StoreError) -> JSON {
    try read(.full) { transaction throws(StoreError) in try transaction.snapshotValue(of: plan) }
  }

  /// Returns the value of a snapshot whose items are replaced by 0. Passes the id and the values of each
  /// item to `add`, in their order. With a plan of ids, of a count or of dictionaries the items stay in the
  /// snapshot.
  package func snapshotValue(
    of plan: FetchPlan, _ add: (ItemValue, ItemValues) -> Void
  ) throws(StoreError) -> JSON {
    try read(.full) { transaction throws(StoreError) in
      try transaction.snapshotValue(of: plan, add)
    }
  }

  public func explain(
    _ plan: FetchPlan, queryClass: QueryClass
  ) throws(StoreError) -> Explanation {
    try read(queryClass) { transaction throws(StoreError) in try transaction.explanation(of: plan) }
  }

  public func object(
    _ id: ObjectID, of plan: FetchPlan, queryClass: QueryClass
  ) throws(StoreError) -> ObjectSnapshot? {
    try read(queryClass) { transaction throws(StoreError) in try transaction.object(id, of: plan) }
  }

  public func rawValue(
    of id: ObjectID, entity: Int, attribute: Int, within plan: FetchPlan? = nil,
    queryClass: QueryClass
  ) throws(StoreError) -> RawValue? {
    try read(queryClass) { transaction throws(StoreError) in
      try transaction.rawValue(of: id, entity: entity, attribute: attribute, within: plan)
    }
  }

  public func isUnchanged(
    _ entities: Set<Int>, since last: Token, ifKnown token: Token
  ) throws(StoreError) -> Bool {
    guard writer != nil else { return false }
    return try read(.quick) { transaction throws(StoreError) in
      guard try transaction.validity(of: token) == .known else { return false }
      return try transaction.isUnchanged(entities, since: last)
    }
  }

  public func changes(
    after token: Token?, limit: Int
  ) throws(StoreError) -> ChangeHistory? {
    try read(.full) { transaction throws(StoreError) in
      try transaction.changes(after: token, limit: limit) { token, limit throws(StoreError) in
        try history.changes(after: token, limit: limit, in: transaction)
      }
    }
  }
}

extension QueryCancellation {
  /// Nanoseconds until the deadline, at least 1; `UInt64.max` without a deadline.
  fileprivate var timeLeft: UInt64 {
    guard let deadline else { return .max }
    let left = ContinuousClock.now.duration(to: deadline) / .nanoseconds(1)
    return UInt64(min(max(left, 1), 1e18))
  }
}
