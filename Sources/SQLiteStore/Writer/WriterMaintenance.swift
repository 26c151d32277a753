// The work of the writer's thread between groups: it detects commits of other processes,
// checkpoints the log, and measures and prunes the history. It reports commits of other processes
// and files that were replaced.

import FetchModel
import LiveFetchCSQLite
import LiveFetchThreads

/// Maintains the database file. Used only on the writer's thread.
struct WriterMaintenance {
  /// The length of the log in pages, which SQLite reports after each commit of this connection.
  private final class LogGauge {
    var pages: Int32 = 0
  }

  /// The most milliseconds that a checkpoint of a long log waits for readers. Saves wait as long.
  private static let readerWait: Int32 = 100

  private let connection: Connection
  private let history: History
  private let settings: WriterSettings
  private let gauge = LogGauge()
  private let pageSize: Int
  private var checkpointedPages: Int32 = 0
  /// The length of the log when a checkpoint last waited for readers.
  private var waitedPages: Int32 = 0
  private var dataVersion: Int64
  /// The version of the schema in which every change was last found to be recorded; -1 before the first
  /// comparison.
  private(set) var schemaVersion: Int64 {
    get { comparedVersion.value }
    set { comparedVersion.value = newValue }
  }
  /// ``schemaVersion``, which other threads read too.
  private let comparedVersion: SharedValue<Int64>
  private var nextPoll: UInt64 = 0
  private var nextPruning: UInt64 = 0
  private var nextMeasuring: UInt64 = 0
  private var holds = RetentionHolds()
  private var pendingCommits = PendingExternalCommits()
  /// The size of the history.
  private(set) var size = HistorySize()

  /// The requests of other threads since the last call.
  struct Requests {
    /// True if other processes may have written.
    let isHinted: Bool
    /// True if a file or schema that is not the one that was opened is to be reported.
    let isWatched: Bool
    /// The position after which the slowest reader still has to read; nil if no reader does.
    let unread: Int64?
  }

  private var watch: FileIdentityMonitor?
  private var isOutdated = false
  /// The condition of the files when it was last reported.
  private var reported = FileCondition.intact
  /// The schema version at which the tables were last found to be the opened ones.
  private var watchedVersion: Int64?

  init(
    connection: Connection, history: History, settings: WriterSettings,
    watch: FileIdentityMonitor? = nil, comparedVersion: SharedValue<Int64> = .init(-1)
  ) {
    self.watch = watch
    self.comparedVersion = comparedVersion
    self.connection = connection
    self.history = history
    self.settings = settings
    pageSize = Int(Self.pragma("page_size", connection) ?? 4_096)
    // -1 is no value that SQLite returns. Other processes may have written since the writer read
    // its token, so the first run checks everything.
    dataVersion = -1
    sqlite3_wal_hook(
      connection.handle,
      { context, _, _, pages in
        context.map { Unmanaged<LogGauge>.fromOpaque($0).takeUnretainedValue().pages = pages }
        return SQLITE_OK
      }, Unmanaged.passUnretained(gauge).toOpaque())
  }

  private static func pragma(_ name: String, _ connection: Connection) -> Int64? {
    (try? connection.first("PRAGMA main.\(name)") { $0.integer(0) }) ?? nil
  }

  /// Does the work that is due. Returns the commits of other processes.
  mutating func run(_ group: inout WriterGroup, _ requests: Requests) -> Writer.Commit? {
    if hasChangedFiles { return reportFiles(requests) }
    checkpointIfDue()
    let now = monotonicNanoseconds()
    measureIfDue(now, group.token.position.number)
    pruneIfDue(now, newest: group.token.position.number, unread: requests.unread)
    stampIfDue(now, &group)
    guard now >= nextPoll || requests.isHinted else { return nil }
    return checkForExternalCommits(&group, requests)
  }

  /// Looks for commits of other processes at once, without other maintenance.
  mutating func checkForExternalCommits(
    _ group: inout WriterGroup, _ requests: Requests
  ) -> Writer.Commit? {
    guard !isOutdated else { return nil }
    if hasChangedFiles { return reportFiles(requests) }
    nextPoll = monotonicNanoseconds() &+ settings.pollInterval
    let commit = try? detectExternalCommits(&group, isWatched: requests.isWatched)
    if case .outdated? = commit { isOutdated = true }
    return commit
  }

  /// True if measuring, pruning or stamping has more to do soon. All of them stop once the files are not
  /// those that were opened.
  var isBusy: Bool {
    reported == .intact
      && min(nextMeasuring, nextPruning, pendingCommits.due) < monotonicNanoseconds() &+ 30_000_000
  }

  /// Copies the whole log into the file and closes the connection.
  func finish() {
    if allowsCheckpoint { checkpoint(SQLITE_CHECKPOINT_PASSIVE) }
    if allowsCheckpoint {
      checkpoint(SQLITE_CHECKPOINT_TRUNCATE)
    } else {
      connection.keepLogOnClose()
    }
    sqlite3_wal_hook(connection.handle, nil, nil)
    connection.close()
  }
}

// MARK: - Files that were removed or replaced

extension WriterMaintenance {
  private var allowsCheckpoint: Bool {
    guard let files = watch?.files else { return true }
    // Records what is wrong with the files.
    try? files.check(connection)
    return files.condition.allowsCheckpoint
  }

  /// True if the files are not those that were opened. Then nothing more is written to them.
  private var hasChangedFiles: Bool {
    guard let files = watch?.files else { return false }
    do {
      try files.check(connection)
      return false
    } catch {
      return true
    }
  }

  /// Reports that the store has to be opened again, if there is a file to open: the opened file has
  /// another name, the index of its log was truncated, its log was replaced, or its log was removed.
  /// In the last case the content of the log is copied into the file first, unless another process has
  /// opened the file since.
  private mutating func reportFiles(_ requests: Requests) -> Writer.Commit? {
    let condition = watch?.files.condition ?? .intact
    if condition != reported, let fault = condition.fault {
      SQLiteStore.report(.changed(fault.detail))
      if condition == .logReplaced { watch?.files.keepOrphan(of: connection) }
    }
    reported = condition
    if condition == .logRemoved { checkpoint(SQLITE_CHECKPOINT_PASSIVE) }
    guard requests.isWatched, !isOutdated else { return nil }
    switch condition {
    // Opened again, the store would lack saves that were answered: a person has to decide that.
    case .intact, .removed, .logTruncated, .damaged: return nil
    case .replaced, .truncated, .indexTruncated, .logRemoved, .logReplaced: break
    }
    isOutdated = true
    return .outdated(condition == .truncated ? .fileTruncated : .fileReplaced)
  }
}

// MARK: - Commits of other processes

extension WriterMaintenance {
  /// Detects commits of other processes. SQLite increments `data_version` only for commits of other
  /// connections.
  private mutating func detectExternalCommits(
    _ group: inout WriterGroup, isWatched: Bool
  ) throws(StoreError) -> Writer.Commit? {
    let version = Self.pragma("data_version", connection)
    guard let version, version != dataVersion else { return nil }
    let known = group.token
    let (gap, isOther) = try connection.reading {
      () throws(StoreError) -> (HistoryGap?, Bool) in
      // First: it is quick, and readers wait for its result.
      let gap = try self.gap(since: known)
      guard isWatched else { return (gap, false) }
      return (gap, try hasOtherTables())
    }
    if isOther { return .outdated(.schemaChanged) }
    switch gap {
    case nil: break
    case .everything: return try restart(&group, dataVersion: version)
    case .triggers:
      if isWatched { return .outdated(.schemaChanged) }
      return try restart(&group, dataVersion: version)
    }
    let token = try history.newestToken(on: connection)
    dataVersion = version
    guard token != group.token else { return nil }
    group.token = token
    pendingCommits.append(token.position.number, monotonicNanoseconds())
    return .external(token)
  }

  /// True if the tables are not those that were opened.
  private mutating func hasOtherTables() throws(StoreError) -> Bool {
    let version = Self.pragma("schema_version", connection)
    guard version != watchedVersion else { return false }
    if try watch?.hasOtherTables(on: connection) == true { return true }
    watchedVersion = version
    return false
  }

  /// A reason for which changes may not have been recorded.
  private enum HistoryGap {
    /// The file has the content of another one, or its history was deleted.
    case everything
    /// Triggers or history tables are not as LiveFetch created them.
    case triggers
  }

  private mutating func gap(since token: Token) throws(StoreError) -> HistoryGap? {
    let version = Self.pragma("schema_version", connection) ?? schemaVersion
    if version != schemaVersion, try !History.isWhole(on: connection) { return .everything }
    if try history.validity(of: token, on: connection) == .expired { return .everything }
    guard version != schemaVersion else { return nil }
    guard try history.isIntact(on: connection) else { return .triggers }
    schemaVersion = version
    return nil
  }

  private mutating func restart(
    _ group: inout WriterGroup, dataVersion version: Int64
  ) throws(StoreError) -> Writer.Commit {
    try history.restart(on: connection)
    size.reset()
    schemaVersion = Self.pragma("schema_version", connection) ?? schemaVersion
    dataVersion = version
    group.token = try history.newestToken(on: connection)
    group.stamped = group.token.position.number
    return .restarted(group.token)
  }

  /// Stamps pending commits if no other process holds the write lock; otherwise the next group does
  /// it.
  private mutating func stampIfDue(_ now: UInt64, _ group: inout WriterGroup) {
    guard now >= pendingCommits.due else { return }
    for position in pendingCommits.takeAll() {
      let isStamped: Void? = try? connection.withBusyTimeout(0) { () throws(StoreError) in
        try History.stamp(position: position, on: connection)
      }
      guard isStamped != nil else { return }
      group.stamped = max(group.stamped, position)
    }
  }
}

// MARK: - The log and the history

extension WriterMaintenance {
  private mutating func checkpointIfDue() {
    if gauge.pages < checkpointedPages { (checkpointedPages, waitedPages) = (0, 0) }
    guard Int(gauge.pages &- checkpointedPages) >= settings.checkpointPages else { return }
    checkpointedPages = gauge.pages
    checkpoint(SQLITE_CHECKPOINT_PASSIVE)
    let isLong = Int(gauge.pages) * pageSize > settings.truncationBytes
    // If the index was truncated meanwhile, not all of the log was copied.
    guard isLong, !hasChangedFiles else { return }
    // If some reader always reads the log, it never begins again without a wait. Readers that begin during the
    // wait read the file alone. The wait for a slow reader is repeated when the log has grown as much again.
    let waits = Int(gauge.pages - waitedPages) * pageSize > settings.truncationBytes
    if waits { waitedPages = gauge.pages }
    checkpoint(SQLITE_CHECKPOINT_TRUNCATE, wait: waits ? Self.readerWait : 0)
  }

  /// Frames that a reader still needs stay for the next time.
  ///
  /// - Parameter wait: The most milliseconds that the checkpoint waits for readers.
  private func checkpoint(_ mode: Int32, wait: Int32 = 0) {
    try? connection.withBusyTimeout(wait) { () throws(StoreError) in
      _ = sqlite3_wal_checkpoint_v2(connection.handle, "main", mode, nil, nil)
      watch?.files.recordCheckpoint()
    }
  }

  /// The granularity of the size measurement: at most a sixteenth of the size limit.
  private var granularity: HistorySize.Granularity {
    HistorySize.Granularity(
      positions: settings.measuringStep, bytes: max(4_096, settings.retention.bytes / 16))
  }

  /// Measures one slice of the history, and schedules the next one soon if there is more to
  /// measure.
  private mutating func measureIfDue(_ now: UInt64, _ last: Int64) {
    guard now >= nextMeasuring else { return }
    nextMeasuring = now &+ 1_000_000_000
    guard size.end < last, let bounds = try? history.bounds(on: connection) else { return }
    let hasMore = try? size.measure(
      from: bounds.first, upTo: last, granularity: granularity, history, on: connection)
    if hasMore == true { nextMeasuring = now &+ 5_000_000 }
    // History beyond its size limit is pruned soon.
    if size.total > settings.retention.bytes { nextPruning = min(nextPruning, now &+ 20_000_000) }
  }

  /// Prunes one step, and schedules the next one soon if there is more to prune.
  ///
  /// - Parameter unread: see ``Requests/unread``.
  private mutating func pruneIfDue(_ now: UInt64, newest: Int64, unread: Int64?) {
    let last = holds.limit(unread, newest: newest, now)
    guard now >= nextPruning else { return }
    let hasMore = try? prune(keepingFrom: last)
    // `hasMore` is nil if another process held the write lock.
    let isDone = hasMore != nil && last >= newest
    let pause = isDone ? settings.pruningInterval : min(settings.pruningInterval, 500_000_000)
    nextPruning = now &+ (hasMore == true ? 20_000_000 : pause)
  }

  /// Prunes one step. Returns true if there is more to prune. Waits only briefly for other
  /// processes' locks.
  private mutating func prune(keepingFrom last: Int64) throws(StoreError) -> Bool {
    try connection.withBusyTimeout(20) { () throws(StoreError) in
      try IdempotencyTable.prune(limit: settings.pruningStep, on: connection)
      return try history.prune(
        to: settings.retention, size: &size, step: settings.pruningStep, keepingFrom: last,
        on: connection)
    }
  }
}
