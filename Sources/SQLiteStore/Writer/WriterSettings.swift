// The settings of the writer, fixed when it starts.

/// Sizes of groups and queues, and the schedule of maintenance.
struct WriterSettings: Sendable, Hashable {
  /// Limits of the history. Rows that exceed any of them are pruned.
  struct Retention: Sendable, Hashable {
    /// Changed rows.
    var count: Int64 = 1_000_000
    /// Seconds.
    var age: Double = 7 * 86_400
    /// Bytes.
    var bytes: Int64 = 1 << 30
  }

  var retention = Retention()
  /// The number of positions that one pruning step removes. The next saves wait for at most one
  /// step.
  var pruningStep: Int64 = 1_000
  /// The interval between checks for history to prune, in nanoseconds.
  var pruningInterval: UInt64 = 10_000_000_000
  /// The number of positions that are measured in one step. The next saves wait for at most one
  /// step.
  var measuringStep: Int64 = 2_000
  /// The interval between checks for commits of other processes, in nanoseconds.
  var pollInterval: UInt64 = 50_000_000
  /// The duration of a group in nanoseconds; saves that do not fit go into the next group.
  var groupDuration: UInt64 = 20_000_000
  /// The maximum number of waiting saves, for batches and for brief saves each.
  var maxWaiting = 10_000
  /// The longest wait of a batch before it is refused, in nanoseconds; see
  /// ``WriterQueue/removeExpired(at:limit:)`` for brief saves.
  var waitLimit = UInt64.max
  /// The number of pages in the write-ahead log that triggers a checkpoint.
  var checkpointPages = 1_000
  /// The size of the write-ahead log in bytes beyond which a checkpoint also truncates it.
  var truncationBytes = 64 << 20
}

extension WriterSettings {
  init(_ options: SQLiteStoreOptions) {
    retention = Retention(
      count: Int64(clamping: options.keptPositions), age: options.keptSeconds,
      bytes: Int64(clamping: options.keptBytes))
    waitLimit = options.timeLimit
  }
}
