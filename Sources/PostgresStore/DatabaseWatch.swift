// Commits of all sessions → calls of the store's observers: of each change, and of a catalog that is
// no longer the one that was opened.

import FetchModel
import LiveFetchThreads
import Synchronization

/// Watches a database while a store serves it. Used from any thread.
final class DatabaseWatch: Sendable {
  private struct State {
    var changeObservers: [@Sendable () -> Void] = []
    var outdatedObservers: [@Sendable (OutdatedReason) -> Void] = []
    var isOutdated = false
    var isClosed = false
    /// True if the catalog has to be compared.
    var mustCheck = false
    var healthChecks: [@Sendable ([StoreFault]) -> Void] = []
    /// The extent of the history when it was pruned last; nil before it was measured.
    var extent: DatabaseStatus.HistoryExtent?
    var measured: ContinuousClock.Instant?
    /// The readers that wait for changes.
    var waiting: Set<ObjectIdentifier> = []
  }

  /// The pause between two comparisons of the catalog.
  private static let pause: Double = 1

  // Protects the state; never held while a query runs or an observer is called.
  private let state = Mutex(State())
  private let wakeup = MonotonicSemaphore()
  private let target: String
  private let catalog: Catalog
  /// False without a history.
  private let isTracked: Bool
  private let isStandby: Bool
  /// The tables whose changes cannot be recorded until other transactions release them.
  private let locked: [PostgresTrackedTable]
  private let setup: String
  private let maxMonitorAge: Duration
  /// nil without a history.
  private let monitor = Mutex<CommitMonitor?>(nil)
  private let pruner: HistoryPruner?
  private let newest: NewestToken
  private let pool: PostgresPool

  init(
    _ target: String, _ opening: DatabaseOpening, _ options: PostgresStoreOptions,
    _ newest: NewestToken, _ pool: PostgresPool
  ) throws(PostgresError) {
    self.target = target
    self.pool = pool
    self.newest = newest
    catalog = opening.catalog
    isTracked = opening.tracked != nil
    isStandby = opening.isStandby
    locked = opening.locked
    maxMonitorAge = options.maxMonitorAge
    let setup = opening.connectionSetup
    self.setup = setup
    pruner = try opening.tracked.map { tables throws(PostgresError) in
      try HistoryPruner(tables, keeping: options.keptTime) {
        () throws(PostgresError) in try PostgresConnection(target, setup: setup)
      }
    }
    if let tables = opening.tracked {
      let monitor = try CommitMonitor(
        target, tables: tables.map(\.historyName),
        report: { [weak self] in self?.record($0, hasChanged: $1) })
      self.monitor.withLock { $0 = monitor }
    }
    guard startThread(name: "lf-pg-schema", { [self] in serve() }) else {
      throw .disconnected("no thread is left")
    }
  }

  func onChange(_ body: @escaping @Sendable () -> Void) {
    state.withLock { $0.changeObservers.append(body) }
  }

  /// Records whether a reader waits for changes, which shortens the interval of the polls.
  func record(hasWaiters: Bool, _ reader: ObjectIdentifier) {
    let isWaiting = state.withLock { state in
      if hasWaiters { state.waiting.insert(reader) } else { state.waiting.remove(reader) }
      return !state.waiting.isEmpty
    }
    monitor.withLock { $0 }?.setWaiting(isWaiting)
  }

  /// Adds an observer of an outdated store. Calls it at once if the store is outdated already.
  func onOutdated(_ body: @escaping @Sendable (OutdatedReason) -> Void) {
    let isOutdated = state.withLock { state in
      state.outdatedObservers.append(body)
      return state.isOutdated
    }
    if isOutdated { body(.schemaChanged) }
  }

  /// Compares the catalog soon.
  func checkSchema() {
    state.withLock { $0.mustCheck = true }
    wakeup.signal()
  }

  func checkHealth(_ completion: @escaping @Sendable ([StoreFault]) -> Void) {
    let isClosed = state.withLock { state in
      if !state.isClosed { state.healthChecks.append(completion) }
      return state.isClosed
    }
    if isClosed { completion([Self.fault]) } else { wakeup.signal() }
  }

  private static let fault = StoreFault(
    "read-failed", "The database cannot be reached, or does not answer.")
  static let unnoticedCommits = StoreFault(
    "read-failed", "Commits in the database have not been noticed for more than 10 seconds.")

  /// The faults of a database that answers.
  private var faults: [StoreFault] {
    let age = monitor.withLock { $0 }?.age ?? .zero
    return age > maxMonitorAge ? [Self.unnoticedCommits] : []
  }

  /// True if no tracked table has changed after `token`, as far as the last poll shows, which was a
  /// moment ago.
  ///
  /// - Parameter isExact: true to return true only if nothing at all was committed, in no database.
  func isCurrent(_ token: Token, isExact: Bool) -> Bool {
    guard let monitor = monitor.withLock({ $0 }), token.nonce == 0 else { return false }
    let snapshot = PostgresSnapshot(token.position)
    return monitor.isCurrent(
      PostgresPosition(epoch: token.epoch, snapshot: snapshot), isExact: isExact)
  }

  /// Calls the observers of changes after a commit of this server, whose client may read before the
  /// next poll, and polls at once.
  func recordCommit() {
    for observer in state.withLock(\.changeObservers) { observer() }
    monitor.withLock { $0 }?.recordCommit()
  }

  func close() {
    let checks = state.withLock { state in
      state.isClosed = true
      defer { state.healthChecks = [] }
      return state.healthChecks
    }
    for check in checks { check([Self.fault]) }
    monitor.withLock { $0 }?.close()
    pruner?.close()
    wakeup.signal()
  }

  /// The extent of the history, measured within the last minute; nil if it is unknown.
  var extent: DatabaseStatus.HistoryExtent? { state.withLock(\.extent) }

  /// Calls the observers of changes if a served table may have changed.
  private func record(_ report: CommitMonitor.Report, hasChanged: Bool) {
    let observers = state.withLock { state in
      state.mustCheck = true
      return hasChanged ? state.changeObservers : []
    }
    for observer in observers { observer() }
    newest.record(reported: Token(report.position))
    wakeup.signal()
  }
}

// MARK: - The thread

extension DatabaseWatch {
  private struct Work {
    var checksCatalog: Bool
    var measures: Bool
    var healthChecks: [@Sendable ([StoreFault]) -> Void]
  }

  private func serve() {
    var connection: PostgresConnection?
    var lastCheck = ContinuousClock.now
    while true {
      _ = wakeup.wait(seconds: waitingTime(lastCheck))
      guard let work = takeWork(lastCheck) else { break }
      let isReachable = perform(work, on: &connection)
      if work.checksCatalog { lastCheck = .now }
      for check in work.healthChecks { check(isReachable ? faults : [Self.fault]) }
    }
    connection?.close()
  }

  /// The seconds until the next comparison of the catalog is due. A read-only store has no monitor that
  /// reports commits, so it compares at times.
  private func waitingTime(_ lastCheck: ContinuousClock.Instant) -> Double {
    guard state.withLock({ $0.mustCheck && !$0.isOutdated }) else { return 2 * Self.pause }
    return max(0, Self.pause - lastCheck.duration(to: .now) / .seconds(1))
  }

  /// Returns nil if the store is closed.
  private func takeWork(_ lastCheck: ContinuousClock.Instant) -> Work? {
    state.withLock { state in
      if state.isClosed { return nil }
      let isDue = ContinuousClock.now - lastCheck >= .seconds(Self.pause)
      let checks =
        isDue && (state.mustCheck || !isTracked || !locked.isEmpty) && !state.isOutdated
      if checks { state.mustCheck = false }
      defer { state.healthChecks = [] }
      let measures =
        isTracked && state.measured.map { ContinuousClock.now - $0 >= .seconds(60) } ?? true
      return Work(
        checksCatalog: checks, measures: measures, healthChecks: state.healthChecks)
    }
  }

  /// Returns false if the database cannot be reached.
  private func perform(_ work: Work, on connection: inout PostgresConnection?) -> Bool {
    guard work.checksCatalog || work.measures || !work.healthChecks.isEmpty else { return true }
    do throws(PostgresError) {
      let current: PostgresConnection
      // The server may have closed an idle connection.
      if let known = connection, known.isQuiet {
        current = known
      } else {
        // A table that another transaction holds is looked at later: a waiting lock request
        // holds up later ones.
        let timeout = "SET lock_timeout = '\(PostgresHistory.tableLockTimeout)'"
        current = try PostgresConnection(target, setup: "\(setup); \(timeout)")
        connection = current
      }
      current.deadline = .now + .seconds(10)
      if work.checksCatalog, try !isIntact(current) { reportOutdated() }
      if work.measures { try measure(current) }
      try current.query("SELECT 1")
      return true
    } catch {
      connection?.close()
      connection = nil
      if work.checksCatalog { state.withLock { $0.mustCheck = true } }
      return error.isDisconnected && !work.healthChecks.isEmpty && answersRequests
    }
  }

  /// True if a connection for requests works. The server may have refused the one of this thread, because
  /// there are as many as it allows.
  private var answersRequests: Bool {
    let deadline = ContinuousClock.now + .seconds(2)
    let result = try? pool.withConnection(until: deadline) { connection throws(PostgresError) in
      let limit = connection.cancellationLimit
      connection.cancellationLimit = .zero
      defer { connection.cancellationLimit = limit }
      return try connection.withDeadline(.seconds(2)) { () throws(PostgresError) in
        try connection.query("SELECT 1")
      }
    }
    return result != nil
  }

  /// A standby that is promoted, and a primary that becomes a standby, are opened again too. True if that
  /// is unknown, because another transaction holds a table; then the next comparison shows it.
  private func isIntact(_ connection: PostgresConnection) throws(PostgresError) -> Bool {
    do throws(PostgresError) {
      guard try DatabaseOpening.isStandby(connection) == isStandby else { return false }
      let ids = Set(locked.map(\.oid))
      if isTracked, try !PostgresHistory.isIntact(except: ids, on: connection) { return false }
      let current = try CatalogReader(connection: connection).read()
      guard current == catalog else { return false }
      return try !PostgresHistory.canLock(anyOf: locked, on: connection)
    } catch {
      guard error.isLockTimeout else { throw error }
      state.withLock { $0.mustCheck = true }
      return true
    }
  }

  /// Measures the history, unless another transaction holds one of its tables.
  private func measure(_ connection: PostgresConnection) throws(PostgresError) {
    let found: DatabaseStatus.HistoryExtent?
    do throws(PostgresError) {
      found = try PostgresStore.history(connection)
    } catch {
      guard error.isLockTimeout else { throw error }
      found = extent
    }
    state.withLock { ($0.extent, $0.measured) = (found, .now) }
  }

  private func reportOutdated() {
    let observers = state.withLock { state in
      state.isOutdated = true
      return state.outdatedObservers
    }
    for observer in observers { observer(.schemaChanged) }
  }
}
