// The reading half of the store: plans enter; snapshots, objects and history leave. Each read borrows
// a connection of the pool for one read transaction; a small fetch of one statement runs without a
// transaction, and `isUnchanged` needs no connection.
//
// Every query waits for the network, so none is quick: it runs on a thread that may wait. The protocol
// `Store` documents the public methods.

import FetchModel
import Foundation

extension PostgresStore {
  public func read<Result>(
    cancelledWhen isCancelled: @escaping @Sendable () -> Bool,
    _ body: (any ReadTransaction) throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    try withCancellation(isCancelled, until: nil) { () throws(StoreError) in
      try transaction(waitsFirst: true) { transaction throws(StoreError) in
        try body(transaction)
      }
    }
  }

  public func readResponses<Result>(
    _ body: (any StoreReadTransaction) throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    try transaction { transaction throws(StoreError) in try body(transaction) }
  }

  /// Runs `body` in a read transaction on the newest committed state, within the time limits of the
  /// store and of the request. If changes are recorded, returns once the commits that it has read are on
  /// the server's disk: a crash does not undo them.
  ///
  /// - Parameters:
  ///   - isRepeatable: true if `body` only reads and returns. It runs again on a newer state if another
  ///     program has locked or replaced a table that it reads (`busy`).
  ///   - waitsFirst: true if `body` sends responses itself: the commits are on disk when it begins. It waits
  ///     only a moment for a locked table, and repeats itself.
  func transaction<Result>(
    isRepeatable: Bool = false, waitsFirst: Bool = false,
    _ body: (PostgresReadTransaction) throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    let deadline = readDeadline
    let patience: LockPatience = waitsFirst ? .brief : isRepeatable ? .repeated : .patient
    let thread = ObjectIdentifier(Thread.current)
    var replaced = waitsFirst ? replacedTables.withLock { $0[thread] ?? [] } : []
    defer {
      if waitsFirst {
        replacedTables.withLock { $0[thread] = replaced.isEmpty ? nil : replaced }
      }
    }
    while true {
      var outcome: Swift.Result<Result, StoreError>?
      try withReadErrors { () throws(PostgresError) in
        try withReadTransaction(until: deadline, patience, &replaced) { transaction in
          outcome = Swift.Result { () throws(StoreError) in try body(transaction) }
        }
      }
      switch outcome {
      case .success(let result): return result
      case .failure(.busy) where isRepeatable && ContinuousClock.now < deadline: continue
      case .failure(let failure):
        if case .schemaChanged = failure { watch.checkSchema() }
        throw failure
      case nil: throw .failed("a read transaction has no result")
      }
    }
  }

  /// The end of a read that begins now.
  private var readDeadline: ContinuousClock.Instant {
    let own = ContinuousClock.now + timeLimit
    return min(own, QueryCancellation.current?.deadline ?? own)
  }

  /// Runs `body` in a read transaction. If the transaction cannot begin, because of a deadlock, a
  /// prepared statement that is out of date, or a connection that the server has closed, begins again.
  private func withReadTransaction(
    until deadline: ContinuousClock.Instant, _ patience: LockPatience,
    _ replaced: inout [LockedTable], _ body: (PostgresReadTransaction) -> Void
  ) throws(PostgresError) {
    var hasRun = false
    try retrying(unlessRun: hasRun, until: deadline) { connection throws(PostgresError) in
      try connection.waiting(for: &replaced, patience) { () throws(PostgresError) in
        try withSnapshot(on: connection, waitsFirst: patience == .brief) { transaction in
          hasRun = true
          body(transaction)
        }
      }
    }
  }

  /// Runs `work` with a connection. While `hasRun` is false, runs it up to three times if the
  /// transaction can be repeated, the connection was lost, or a prepared statement is out of date.
  private func retrying(
    unlessRun hasRun: @autoclosure () -> Bool, until deadline: ContinuousClock.Instant,
    _ work: (PostgresConnection) throws(PostgresError) -> Void
  ) throws(PostgresError) {
    let isCancelled = QueryCancellation.current?.isCancelled
    var attemptsLeft = 3
    while true {
      do throws(PostgresError) {
        return try pool.withConnection(until: deadline) { connection throws(PostgresError) in
          let outer = (connection.deadline, connection.isCancelled)
          defer { (connection.deadline, connection.isCancelled) = outer }
          connection.deadline = deadline
          connection.isCancelled = isCancelled
          try work(connection)
        }
      } catch {
        attemptsLeft -= 1
        guard !hasRun(), attemptsLeft > 0, ContinuousClock.now < deadline,
          error.isRetryable || error.isDisconnected || error.isStaleStatement
        else { throw error }
      }
    }
  }

  /// - Parameter initialToken: The token of the open transaction; nil for a read of one statement.
  private func readTransaction(
    on connection: PostgresConnection, initialToken: Token? = nil,
    history: HistoryTransaction? = nil,
    singleRead: SingleRead? = nil, locks: TableLocks? = nil
  ) -> PostgresReadTransaction {
    PostgresReadTransaction(
      connection: connection, composer: composer, objectStatements: objectStatements,
      changeQueries: changeQueries, initialToken: initialToken, singleRead: singleRead,
      history: history,
      locks: locks ?? history?.locks,
      recoversFromErrors: true,
      limit: ResponseLimit(connection, maxBytes: maxResponseBytes), timeLimit: timeLimit)
  }

  /// Begins a read transaction on the connection, runs `body` in it, and ends it. If changes are recorded,
  /// waits until the commits that were read are on the server's disk, before `body` or after it.
  private func withSnapshot(
    on connection: PostgresConnection, waitsFirst: Bool, _ body: (PostgresReadTransaction) -> Void
  ) throws(PostgresError) {
    guard tracked != nil else {
      var hasBegun = false
      return try TableLocks.locking(lockable, on: connection, unless: hasBegun) {
        lock, unlocked throws(PostgresError) in
        try connection.withTransaction(
          HistoryTransaction.begin, script: "\(lock); SAVEPOINT livefetch"
        ) { () throws(PostgresError) in
          hasBegun = true
          let locks = TableLocks(connection: connection, unlocked: unlocked)
          body(readTransaction(on: connection, initialToken: .untracked, locks: locks))
          // The body reports its own error.
          if connection.hasFailed { connection.rollBack() }
        }
      }
    }
    let (token, logEnd) = try HistoryTransaction.read(lockable, on: connection) {
      history throws(PostgresError) in
      let token = Token(history.position)
      var isFlushed = history.isFlushed
      if waitsFirst, !isFlushed {
        try connection.waitForLogFlush(upTo: history.logEnd) { [pool] () throws(PostgresError) in
          try pool.withConnection(until: connection.deadline ?? .now) {
            other throws(PostgresError) in
            try other.commitMessage()
          }
        }
        isFlushed = true
      }
      // Recorded before `body`, which may send diffs: a client with a diff must not get an older snapshot
      // from the cache.
      if isFlushed { newest.record(token) }
      body(readTransaction(on: connection, initialToken: token, history: history))
      return (token, isFlushed ? nil : history.logEnd)
    }
    if let logEnd { try connection.waitForLogFlush(upTo: logEnd) }
    newest.record(token)
  }

  /// Runs a read that should have only one statement, without a transaction.
  ///
  /// - Returns: nil if the read needs a transaction: it has several statements, or the store has no
  ///   history.
  private func single<Result>(
    _ body: (PostgresReadTransaction) throws(StoreError) -> Result
  ) throws(StoreError) -> Result? {
    guard tracked != nil else { return nil }
    var outcome: Swift.Result<Result, StoreError>?
    try withReadErrors { () throws(PostgresError) in
      try retrying(unlessRun: false, until: readDeadline) { connection throws(PostgresError) in
        // The epoch that this connection has read holds until the monitor reports another one. A token
        // of the epoch before is refused later, and its client fetches again.
        let epoch = connection.epoch.flatMap { newest.isReported(epoch: $0) ? $0 : nil }
        let read = SingleRead(epoch: epoch)
        let transaction = readTransaction(on: connection, singleRead: read)
        outcome = Swift.Result { () throws(StoreError) in try body(transaction) }
        if let failure = read.failure { throw failure }
        guard let token = read.token, !read.needsTransaction else {
          outcome = nil
          return
        }
        connection.epoch = token.epoch
        if let logEnd = read.unflushedEnd { try connection.waitForLogFlush(upTo: logEnd) }
        newest.record(token)
      }
    }
    return try outcome?.get()
  }
}

// MARK: - Reads of the protocol `Store`

extension PostgresStore {
  /// Throws `.tooSlow` unless the class is `full`: every query waits for the network.
  private func query<Result>(
    _ queryClass: QueryClass, _ body: (PostgresReadTransaction) throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    guard queryClass == .full else { throw .tooSlow }
    return try transaction(isRepeatable: true, body)
  }

  public func snapshot(
    of plan: FetchPlan, queryClass: QueryClass
  ) throws(StoreError) -> EncodedSnapshot {
    guard queryClass == .full else { throw .tooSlow }
    if plan.isSmallSelect,
      let snapshot = try single({ read throws(StoreError) in try read.snapshot(of: plan) })
    {
      return snapshot
    }
    return try transaction(isRepeatable: true) { transaction throws(StoreError) in
      try transaction.snapshot(of: plan)
    }
  }

  public func snapshot(
    of bound: BoundPlan, queryClass: QueryClass
  ) throws(StoreError) -> EncodedSnapshot {
    let plan = bound.parameterized.template
    guard queryClass == .full, plan.isSmallSelect else {
      return try snapshot(of: bound.plan, queryClass: queryClass)
    }
    // `SingleRead` returns the position in the spare column.
    let window = windowStatements.value(of: bound.parameterized) {
      composer.window(of: plan, extra: plan.isCapped ? 1 : 0, hasSpareColumn: true)
    }.bound(to: bound.values)
    let snapshot = try single({ read throws(StoreError) in
      try read.snapshot(of: plan) { writer throws(StoreError) in
        try read.write(window, with: &writer)
      }
    })
    if let snapshot { return snapshot }
    return try transaction(isRepeatable: true) { transaction throws(StoreError) in
      try transaction.snapshot(of: bound.plan)
    }
  }

  public func object(
    _ id: ObjectID, of plan: FetchPlan, queryClass: QueryClass
  ) throws(StoreError) -> ObjectSnapshot? {
    try query(queryClass) { transaction throws(StoreError) in try transaction.object(id, of: plan) }
  }

  public func rawValue(
    of id: ObjectID, entity: Int, attribute: Int, within plan: FetchPlan?, queryClass: QueryClass
  ) throws(StoreError) -> RawValue? {
    try query(queryClass) { transaction throws(StoreError) in
      try transaction.rawValue(of: id, entity: entity, attribute: attribute, within: plan)
    }
  }

  /// Needs no query: true if the monitor's last poll shows that no tracked table has changed after
  /// `last` and `token`. May be false although no object of `entities` has changed.
  public func isUnchanged(
    _ entities: Set<Int>, since last: Token, ifKnown token: Token
  ) throws(StoreError) -> Bool {
    // A save of this process may be newer than the last poll.
    let (known, reported) = newest.parts
    guard tracked != nil, let reported else { return false }
    guard known.epoch == reported.epoch, known.position <= reported.position else { return false }
    let isExact = entities.contains { !trackedNames.contains(composer.schema.entities[$0].name) }
    return watch.isCurrent(last, isExact: isExact) && watch.isCurrent(token, isExact: isExact)
  }

  public func explain(
    _ plan: FetchPlan, queryClass: QueryClass
  ) throws(StoreError) -> Explanation {
    try query(queryClass) { transaction throws(StoreError) in
      try transaction.explanation(of: plan)
    }
  }

  public func changes(
    after token: Token?, limit: Int
  ) throws(StoreError) -> ChangeHistory? {
    try transaction { transaction throws(StoreError) in
      try transaction.changes(after: token, limit: limit) { token, limit throws(StoreError) in
        try transaction.history(after: token, limit: limit)
      }
    }
  }
}

extension FetchPlan {
  /// True if one SELECT reads the whole result, and the result is so small that the round trips of a
  /// transaction would take a large part of the time.
  fileprivate var isSmallSelect: Bool {
    shape != .count && groupedQuery == nil && !withTotal && expansion.isEmpty
      && definition.section == nil && (1...200).contains(window.limit ?? 0)
  }
}
