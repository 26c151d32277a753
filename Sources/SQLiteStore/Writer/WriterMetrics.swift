// The metrics of the writer's thread, which updates them once per group.

import FetchModel
import LiveFetchMetrics

/// Counters and histograms of one writer since its start.
struct WriterMetrics: Sendable {
  var saves = 0
  var refused = 0
  /// Detected commits of other processes.
  var externalCommits = 0
  var groupSizes = Histogram(bounds: [1, 2, 4, 8, 16, 32, 64, 128, 256])
  /// Durations of commits in seconds.
  var commitTimes = Histogram(
    bounds: [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1])
  private var historyBytes: Int64 = 0
  private var historyRows: Int64 = 0

  /// Counts the saves of one transaction.
  ///
  /// - Parameter commitNanoseconds: the duration of the commit; 0 if there was none.
  mutating func count(
    _ results: [Result<SaveResult, SaveError>], commitNanoseconds: UInt64
  ) {
    guard !results.isEmpty else { return }
    let made = results.count { (try? $0.get()) != nil }
    saves += made
    refused += results.count - made
    groupSizes.observe(Double(results.count))
    if commitNanoseconds > 0 { commitTimes.observe(Double(commitNanoseconds) / 1e9) }
  }

  mutating func count(_ commit: Writer.Commit) {
    switch commit {
    case .saves, .restarted, .outdated: break
    case .external: externalCommits += 1
    }
  }

  mutating func holds(historyBytes: Int64, rows: Int64) {
    self.historyBytes = historyBytes
    historyRows = rows
  }

  var families: [MetricFamily] {
    [
      MetricFamily("livefetch_saves_total", "Saves made.", .counter, saves),
      MetricFamily("livefetch_saves_refused_total", "Saves refused.", .counter, refused),
      MetricFamily(
        "livefetch_commit_saves", "Saves of one commit.", .histogram, groupSizes.samples()),
      MetricFamily(
        "livefetch_commit_seconds", "Time of a commit.", .histogram, commitTimes.samples()),
      MetricFamily(
        "livefetch_foreign_commits_total", "Commits of other programs that were noticed.",
        .counter, externalCommits),
      MetricFamily(
        "livefetch_history_rows", "Changed rows that the history contains.", .gauge, historyRows),
      MetricFamily(
        "livefetch_history_bytes", "Bytes that history takes, about.", .gauge, historyBytes),
    ]
  }
}

extension SQLiteStore: MetricsSource {
  /// The metrics of the connections and of the disk, and, unless the store is read-only, of the writer
  /// and the history.
  public var metrics: [MetricFamily] {
    let connections = readers.connectionCounts
    let log = FileStatus(resolvedPath(file.path) + "-wal")?.size ?? 0
    return [
      MetricFamily(
        storeConnections: connections.idle, busy: connections.busy),
      MetricFamily("livefetch_wal_bytes", "Bytes of the write-ahead log.", .gauge, log),
    ] + diskFamilies + writerFamilies
  }

  /// Empty if the amount of free space is unknown.
  private var diskFamilies: [MetricFamily] {
    guard let bytes = freeBytes else { return [] }
    return [
      MetricFamily(
        "livefetch_disk_free_bytes", "Bytes that are free on the disk of the file.", .gauge, bytes)
    ]
  }

  private var writerFamilies: [MetricFamily] {
    guard let writer else { return [] }
    return writer.metrics.families + [
      MetricFamily(
        "livefetch_saves_waiting", "Saves that wait for the writer.", .gauge, writer.waitingCount)
    ]
  }
}
