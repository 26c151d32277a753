// Commits of all sessions → reports of new positions, on one thread with one connection.
//
// One query a round, whatever the number of clients. Nothing is written in users' transactions:
// `NOTIFY` in them would take a lock of the whole database at each commit. A save of this process wakes
// its own monitor, and those of other processes by a notification outside of the save's transaction.

import LiveFetchCLibrary
import LiveFetchThreads
import Synchronization

/// Polls a database for commits.
final class CommitMonitor: Sendable {
  struct Settings: Sendable {
    /// The interval between polls while clients wait, within ``activePeriod`` after a commit.
    var shortestInterval: Duration = .milliseconds(10)
    /// The interval between polls otherwise.
    var longestInterval: Duration = .milliseconds(100)
    /// The age from which on a report does not show that a position is current; more than
    /// ``longestInterval``.
    var longestReportAge: Duration = .milliseconds(150)
    /// The time after a commit during which ``shortestInterval`` applies.
    var activePeriod: Duration = .seconds(5)
    /// The time after which a new position counts as a change even if no table has changed, so that
    /// clients receive a new token before theirs is pruned.
    var longestUnchanged: Duration = .seconds(60)
    /// The shortest time between two notifications to other processes.
    var notificationInterval: Duration = .milliseconds(5)
    /// The time limit of a poll, after which the monitor opens another connection: a server or a
    /// network that is lost without a sign does not answer.
    var longestPoll: Duration = .seconds(5)
  }

  /// A reported state.
  struct Report: Hashable, Sendable {
    var position: PostgresPosition
    /// The next number of the history, read before and after the snapshot was taken.
    var nextNumber: ClosedRange<Int64>
  }

  private struct State {
    var latest: Report?
    /// The oldest report after which no tracked table changed, and its time; see
    /// ``Settings/longestUnchanged``. Transaction ids are those of the whole PostgreSQL server, so commits
    /// in other databases change the position but not this.
    var unchanged: (report: Report, since: ContinuousClock.Instant)?
    /// When the last successful poll began.
    var lastQuery: ContinuousClock.Instant?
    /// True while clients wait for changes; see ``setWaiting(_:)``.
    var hasWaiters = false
    /// True if a save of this process has not been announced yet.
    var mustNotify = false
    var isClosed = false
  }

  // Protects the state; never held while a query runs or a closure is called.
  private let state = Mutex(State())
  private let target: String
  /// The tables of the history.
  private let tables: [String]
  private let settings: Settings
  private let wakeup: WakeupPipe
  private let created = ContinuousClock.now
  private let report: @Sendable (Report, Bool) -> Void
  private let failed: @Sendable (PostgresError) -> Void

  static let channel = "livefetch"

  /// - Parameters:
  ///   - target: the connection string.
  ///   - tables: the tables of the history.
  ///   - failed: called when the connection is lost or cannot be opened; the monitor connects again.
  ///   - report: called on the monitor's thread when the snapshot or the epoch has changed, with true
  ///     if the history may have changed too.
  init(
    _ target: String, tables: [String], settings: Settings = Settings(),
    failed: @escaping @Sendable (PostgresError) -> Void = { _ in },
    report: @escaping @Sendable (Report, Bool) -> Void
  ) throws(PostgresError) {
    guard let wakeup = WakeupPipe() else { throw .disconnected("no file descriptor is left") }
    self.wakeup = wakeup
    self.target = target
    self.tables = tables
    self.settings = settings
    self.failed = failed
    self.report = report
    guard startThread(name: "lf-pg-monitor", { [self] in serve() }) else {
      throw .disconnected("no thread is left")
    }
  }

  /// True if no tracked table has changed since the position, as the newest report shows. False if the
  /// last successful poll began more than ``Settings/longestReportAge`` ago.
  ///
  /// - Parameter isExact: true to return true only for the newest position itself.
  func isCurrent(_ position: PostgresPosition, isExact: Bool) -> Bool {
    state.withLock { state in
      guard let last = state.lastQuery, ContinuousClock.now - last < settings.longestReportAge,
        let latest = state.latest?.position, let first = state.unchanged?.report.position,
        position.epoch == latest.epoch
      else { return false }
      if isExact { return position == latest }
      return first.snapshot.isSubset(of: position.snapshot)
        && position.snapshot.isSubset(of: latest.snapshot)
    }
  }

  /// The time since the last successful query began, or since the monitor was created.
  var age: Duration { ContinuousClock.now - (state.withLock(\.lastQuery) ?? created) }

  /// Makes the thread end, and does not wait for it. The thread retains the monitor.
  func close() {
    state.withLock { $0.isClosed = true }
    wakeup.signal()
  }

  /// Sets whether clients wait for changes, which shortens the interval.
  func setWaiting(_ hasWaiters: Bool) {
    let wasWaiting = state.withLock { state in
      defer { state.hasWaiters = hasWaiters }
      return state.hasWaiters
    }
    if hasWaiters, !wasWaiting { wakeup.signal() }
  }

  /// Polls at once after a commit of this process, and notifies the other processes.
  func recordCommit() {
    state.withLock { $0.mustNotify = true }
    wakeup.signal()
  }
}

// MARK: - The thread

extension CommitMonitor {
  private func serve() {
    var pause = Duration.milliseconds(100)
    while !state.withLock(\.isClosed) {
      do {
        let connection = try PostgresConnection(target, within: settings.longestPoll)
        defer { connection.close() }
        connection.cancellationLimit = .zero
        try connection.execute("LISTEN \(Self.channel)")
        pause = .milliseconds(100)
        forgetReports()
        try poll(connection)
      } catch {
        failed(error)
        wakeup.wait(pause)
        pause = min(pause * 2, .seconds(5))
      }
    }
  }

  /// Makes the next report count as a change. A server that has restarted may issue again the numbers that
  /// its last transactions had before, and then they say nothing about changes.
  private func forgetReports() {
    state.withLock { ($0.latest, $0.unchanged) = (nil, nil) }
  }

  private func poll(_ connection: PostgresConnection) throws(PostgresError) {
    var lastChange = ContinuousClock.now
    var lastNotification: ContinuousClock.Instant?
    while true {
      let (isClosed, mustNotify) = state.withLock { ($0.isClosed, $0.mustNotify) }
      if isClosed { return }
      connection.deadline = .now + settings.longestPoll
      if try readReport(connection) { lastChange = .now }
      if mustNotify, isDue(lastNotification) {
        state.withLock { $0.mustNotify = false }
        try connection.execute("NOTIFY \(Self.channel)")
        lastNotification = .now
      }
      let interval = interval(since: lastChange)
      try connection.waitForNotification(within: interval, or: wakeup.readEnd)
      wakeup.drain()
    }
  }

  private func isDue(_ last: ContinuousClock.Instant?) -> Bool {
    last.map { ContinuousClock.now - $0 >= settings.notificationInterval } ?? true
  }

  private func interval(since lastChange: ContinuousClock.Instant) -> Duration {
    let (hasWaiters, mustNotify) = state.withLock {
      ($0.hasWaiters, $0.mustNotify)
    }
    if mustNotify { return settings.notificationInterval }
    let isActive = ContinuousClock.now - lastChange < settings.activePeriod
    return hasWaiters && isActive ? settings.shortestInterval : settings.longestInterval
  }

  /// Reads the current position, and reports it if it differs from the last one. Returns true if it
  /// does.
  private func readReport(_ connection: PostgresConnection) throws(PostgresError) -> Bool {
    let start = ContinuousClock.now
    // Each statement takes its snapshot when it begins, and then reads the sequence.
    let results = try connection.execute(
      """
      SELECT last_value + is_called::int FROM livefetch.history_seq;
      SELECT \(HistoryEpoch.expression), pg_current_snapshot()::text, q.last_value + is_called::int
      FROM livefetch.store AS s, livefetch.history_seq AS q
      """)
    guard results.count == 2, results.allSatisfy({ $0.rowCount == 1 }),
      let snapshot = PostgresSnapshot(postgresText: results[1].text(0, 1)),
      let before = Int64(results[0].text(0, 0)), let after = Int64(results[1].text(0, 2)),
      before <= after
    else { throw .malformed("no snapshot, or too many open transactions") }
    let report = Report(
      position: PostgresPosition(epoch: results[1].text(0, 0), snapshot: snapshot),
      nextNumber: before...after)
    let hasChanged = try hasChanged(in: report, connection)
    let isNew = state.withLock { state in
      state.lastQuery = start
      if hasChanged { state.unchanged = (report, start) }
      defer { state.latest = report }
      return state.latest?.position != report.position
    }
    if isNew { self.report(report, hasChanged) }
    return isNew
  }

  /// True if a tracked table may have changed since the report `state.unchanged`.
  private func hasChanged(
    in report: Report, _ connection: PostgresConnection
  ) throws(PostgresError) -> Bool {
    // A number that has been issued since may belong to a committed change.
    guard let (first, since) = state.withLock(\.unchanged),
      ContinuousClock.now - since < settings.longestUnchanged,
      first.position.epoch == report.position.epoch,
      first.nextNumber.lowerBound == report.nextNumber.upperBound
    else { return true }
    // Transactions may have used their numbers before the first report and committed since.
    guard first.position != report.position, !tables.isEmpty else { return false }
    let tests = tables.map { table in
      """
      EXISTS (SELECT FROM \(table) WHERE livefetch_xid >= $1::xid8)
      OR EXISTS (SELECT FROM \(table) WHERE livefetch_xid = ANY ($2::xid8[]))
      """
    }
    return try connection.query(
      "SELECT \(tests.joined(separator: " OR "))", first.position.snapshot.parameters
    ).bool(0, 0)
  }
}

/// Wakes a thread that waits for a descriptor.
private final class WakeupPipe: Sendable {
  let readEnd: Int32
  private let writeEnd: Int32

  init?() {
    var ends: [Int32] = [-1, -1]
    guard pipe(&ends) == 0 else { return nil }
    for end in ends {
      _ = fcntl(end, F_SETFD, FD_CLOEXEC)
      _ = fcntl(end, F_SETFL, O_NONBLOCK)
    }
    (readEnd, writeEnd) = (ends[0], ends[1])
  }

  deinit {
    close(readEnd)
    close(writeEnd)
  }

  /// A full pipe has woken the thread already.
  func signal() { _ = write(writeEnd, [1], 1) }

  func drain() {
    var bytes = [UInt8](repeating: 0, count: 256)
    while read(readEnd, &bytes, bytes.count) == bytes.count {}
  }

  func wait(_ limit: Duration) {
    var entry = pollfd(fd: readEnd, events: Int16(POLLIN), revents: 0)
    poll(&entry, 1, Int32(limit / .milliseconds(1)))
    drain()
  }
}
