// What the writer's thread does between groups: commits of others, checkpoints, forgetting.

import CSQLite
import FetchModel

/// Looks after the file. Belongs to the writer's thread.
struct WriterMaintenance {
  /// What SQLite tells after each commit of this connection.
  private final class LogGauge {
    var pages: Int32 = 0
  }

  private let connection: Connection
  private let history: History
  private let settings: WriterSettings
  private let gauge = LogGauge()
  private let pageSize: Int
  private var checkpointedPages: Int32 = 0
  private var dataVersion: Int64
  private var schemaVersion: Int64
  private var nextPoll: UInt64 = 0
  private var nextPruning: UInt64 = 0
  private var nextMeasuring: UInt64 = 0
  private var held = RetentionHolds()
  private var reserve = WALPreallocation()
  private var unstamped = PendingExternalCommits()
  /// What history takes.
  private(set) var size = HistorySize()

  /// What the thread was told since the last time.
  struct Notice {
    /// Whether others may have written.
    let isHinted: Bool
    /// Whether somebody wants to know when the file is not what was opened.
    let isWatched: Bool
    /// The position after which somebody has still to read.
    let unread: Int64?
  }

  private var watch: FileIdentityMonitor?
  private var isOutdated = false
  /// How the files stood when that was reported last.
  private var reported = FileCondition.intact
  /// The schema's version at which the tables were last found to be those that were opened.
  private var watchedVersion: Int64?

  init(
    connection: Connection, history: History, settings: WriterSettings,
    watch: FileIdentityMonitor? = nil
  ) {
    self.watch = watch
    self.connection = connection
    self.history = history
    self.settings = settings
    pageSize = Int(Self.pragma("page_size", connection) ?? 4_096)
    // None that SQLite gives: others may have written since the writer read its token, so the first
    // look checks everything.
    dataVersion = -1
    schemaVersion = -1
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

  /// Does what is due. Gives what others committed.
  mutating func run(_ group: inout WriterGroup, _ notice: Notice) -> Writer.Commit? {
    if hasChangedFiles { return reportFiles(notice) }
    checkpointIfDue()
    reserve.extend(pages: gauge.pages, pageSize: pageSize, on: connection)
    let now = monotonicNanoseconds()
    measureIfDue(now, group.token.position)
    pruneIfDue(now, group.token.position, notice.unread)
    stampIfDue(now, &group)
    guard now >= nextPoll || notice.isHinted else { return nil }
    return lookForOthers(&group, notice)
  }

  /// What others committed, at once.
  mutating func lookForOthers(
    _ group: inout WriterGroup, _ notice: Notice
  ) -> Writer.Commit? {
    guard !isOutdated else { return nil }
    if hasChangedFiles { return reportFiles(notice) }
    nextPoll = monotonicNanoseconds() &+ settings.pollInterval
    let commit = try? noticeOthers(&group, isWatched: notice.isWatched)
    if case .outdated? = commit { isOutdated = true }
    return commit
  }

  /// Whether there is more to measure or to forget than was done.
  var isBusy: Bool {
    min(nextMeasuring, nextPruning, unstamped.due) < monotonicNanoseconds() &+ 30_000_000
  }

  /// Copies the whole log into the file and closes the connection.
  func finish() {
    let files = watch?.files
    if files?.allowsReading ?? true, files?.condition.allowsCheckpoint ?? true {
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
  /// Whether the files are not those that were opened; then nothing more is written to them.
  private var hasChangedFiles: Bool {
    guard let files = watch?.files else { return false }
    do {
      try files.check(connection)
      return false
    } catch {
      return true
    }
  }

  /// Has the store opened again where there is a file to open: under another file's name, with a
  /// log that is not this one, or without one. What the log holds is copied into the file first,
  /// where nobody else has opened that since.
  private mutating func reportFiles(_ notice: Notice) -> Writer.Commit? {
    let condition = watch?.files.condition ?? .intact
    if condition != reported, let fault = condition.fault {
      SQLiteStore.report(.changed(fault.detail))
      if condition == .logReplaced { watch?.files.keepOrphan(of: connection) }
    }
    reported = condition
    if condition == .logRemoved { checkpoint(SQLITE_CHECKPOINT_PASSIVE) }
    guard notice.isWatched, !isOutdated else { return nil }
    switch condition {
    // Opened again, the store would lack saves that were answered: a person has to decide that.
    case .intact, .removed, .logTruncated: return nil
    case .replaced, .truncated, .logRemoved, .logReplaced: break
    }
    isOutdated = true
    return .outdated(condition == .truncated ? .fileTruncated : .fileReplaced)
  }
}

// MARK: - Others

extension WriterMaintenance {
  /// SQLite counts `data_version` up for commits of other connections alone.
  private mutating func noticeOthers(
    _ group: inout WriterGroup, isWatched: Bool
  ) throws(StoreError) -> Writer.Commit? {
    let version = Self.pragma("data_version", connection)
    guard let version, version != dataVersion else { return nil }
    if isWatched, try hasOtherTables() { return .outdated(.schemaChanged) }
    switch try hole(since: group.token) {
    case nil: break
    case .everything:
      // The tables may have changed since they were compared.
      if isWatched, try hasOtherTables() { return .outdated(.schemaChanged) }
      return try restart(&group, dataVersion: version)
    case .triggers:
      if isWatched { return .outdated(.schemaChanged) }
      return try restart(&group, dataVersion: version)
    }
    let token = try history.newestToken(on: connection)
    dataVersion = version
    guard token != group.token else { return nil }
    group.token = token
    unstamped.append(token.position, monotonicNanoseconds())
    return .others(token)
  }

  /// Whether the tables are not those that were opened.
  private mutating func hasOtherTables() throws(StoreError) -> Bool {
    let version = Self.pragma("schema_version", connection)
    guard version != watchedVersion else { return false }
    if try watch?.hasOtherTables(on: connection) == true { return true }
    watchedVersion = version
    return false
  }

  /// Why changes may not have been recorded.
  private enum Hole {
    /// The file has the content of another one, or its history was deleted.
    case everything
    /// Triggers or history tables are not as they were made.
    case triggers
  }

  private mutating func hole(since token: Token) throws(StoreError) -> Hole? {
    let version = Self.pragma("schema_version", connection) ?? schemaVersion
    if version != schemaVersion, try !History.isWhole(on: connection) { return .everything }
    if try history.standing(of: token, on: connection) == .expired { return .everything }
    guard version != schemaVersion else { return nil }
    guard try history.isIntact(on: connection) else { return .triggers }
    schemaVersion = version
    return nil
  }

  private mutating func restart(
    _ group: inout WriterGroup, dataVersion version: Int64
  ) throws(StoreError) -> Writer.Commit {
    try history.restart(on: connection)
    size.startAnew()
    schemaVersion = Self.pragma("schema_version", connection) ?? schemaVersion
    dataVersion = version
    group.token = try history.newestToken(on: connection)
    group.stamped = group.token.position
    return .restarted(group.token)
  }

  /// If nobody holds the file; else the next group does it.
  private mutating func stampIfDue(_ now: UInt64, _ group: inout WriterGroup) {
    guard now >= unstamped.due else { return }
    for position in unstamped.takeAll() {
      let isStamped: Void? = try? connection.withPatience(0) { () throws(StoreError) in
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
    if gauge.pages < checkpointedPages { checkpointedPages = 0 }
    guard Int(gauge.pages &- checkpointedPages) >= settings.checkpointPages else { return }
    checkpointedPages = gauge.pages
    let isLong = Int(gauge.pages) * pageSize > settings.truncationBytes
    checkpoint(isLong ? SQLITE_CHECKPOINT_TRUNCATE : SQLITE_CHECKPOINT_PASSIVE)
  }

  /// Waits for no reader: what cannot be done now is done the next time.
  private func checkpoint(_ mode: Int32) {
    try? connection.withPatience(0) { () throws(StoreError) in
      _ = sqlite3_wal_checkpoint_v2(connection.handle, "main", mode, nil, nil)
      watch?.files.noteCheckpoint()
    }
  }

  /// What is kept is right to a sixteenth of its limit.
  private var grain: HistorySize.Granularity {
    HistorySize.Granularity(
      positions: settings.measuringStep, bytes: max(4_096, settings.retention.bytes / 16))
  }

  /// One slice at a time, more of them while there is more to measure.
  private mutating func measureIfDue(_ now: UInt64, _ last: Int64) {
    guard now >= nextMeasuring else { return }
    nextMeasuring = now &+ 1_000_000_000
    guard size.end < last, let bounds = try? history.bounds(on: connection) else { return }
    let hasMore = try? size.measure(
      from: bounds.first, upTo: last, grain: grain, history, on: connection)
    if hasMore == true { nextMeasuring = now &+ 5_000_000 }
    // What is too much is not to wait for the next look.
    if size.total > settings.retention.bytes { nextPruning = min(nextPruning, now &+ 20_000_000) }
  }

  /// One step at a time, more of them while there is more to forget.
  ///
  /// - Parameter unread: see ``Notice/unread``.
  private mutating func pruneIfDue(_ now: UInt64, _ newest: Int64, _ unread: Int64?) {
    let last = held.limit(unread, newest: newest, now)
    guard now >= nextPruning else { return }
    let hasMore = try? forget(noticed: last)
    // Nil where another process holds the file.
    let isDone = hasMore != nil && last >= newest
    let pause = isDone ? settings.pruningInterval : min(settings.pruningInterval, 500_000_000)
    nextPruning = now &+ (hasMore == true ? 20_000_000 : pause)
  }

  /// Whether there is more to forget. Waits no longer for others than their commits may.
  private mutating func forget(noticed last: Int64) throws(StoreError) -> Bool {
    try connection.withPatience(20) { () throws(StoreError) in
      try IdempotencyTable.prune(limit: settings.pruningStep, on: connection)
      return try history.prune(
        settings.retention, &size, step: settings.pruningStep, noticed: last, on: connection)
    }
  }
}
