// What the writer is told when it starts.

/// How the writer looks after the file.
struct WriterSettings: Sendable, Hashable {
  /// How long history is kept: what is beyond any of them is forgotten.
  struct Retention: Sendable, Hashable {
    /// Touched rows.
    var count: Int64 = 500_000
    /// Seconds.
    var age: Double = 7 * 86_400
    /// Bytes.
    var bytes: Int64 = 1 << 30
  }

  var retention = Retention()
  /// How many positions one step of forgetting takes; the next saves wait for one step at most.
  var pruningStep: Int64 = 1_000
  /// How often it is looked whether there is something to forget, in nanoseconds.
  var pruningInterval: UInt64 = 10_000_000_000
  /// How many positions are measured at once; the next saves wait for that at most.
  var measuringStep: Int64 = 2_000
  /// How often the file is asked whether others committed, in nanoseconds.
  var pollInterval: UInt64 = 50_000_000
  /// Saves that wait longer than this for others of their group go into the next one, in
  /// nanoseconds.
  var groupDuration: UInt64 = 20_000_000
  /// How many saves may wait, batches and others each.
  var maxWaiting = 10_000
  /// How long a batch may wait before it is refused, in nanoseconds; see
  /// ``WriterQueue/removeExpired(at:limit:)`` for other saves.
  var waitLimit = UInt64.max
  /// Pages of the write-ahead log after which it is copied into the file.
  var checkpointPages = 1_000
  /// Bytes beyond which the write-ahead log is cut as well.
  var truncationBytes = 64 << 20
}

extension WriterSettings {
  init(_ options: SQLiteStoreOptions) {
    retention = Retention(
      count: Int64(clamping: options.keptPositions), age: options.keptSeconds,
      bytes: Int64(clamping: options.keptBytes))
    waitLimit = UInt64(options.queryTimeout * 1e9)
  }
}
