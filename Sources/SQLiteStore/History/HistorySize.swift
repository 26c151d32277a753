// The size of the history in bytes, and the position up to which to prune it to a given size.
//
// Rows are measured once, in slices, after they were written; on opening, the existing history is
// measured in the same way. A row's size is the length of its texts and blobs plus SQLite's average
// overhead. The result is within a fifth of the file's growth.

import FetchModel
import SQLComposer

/// The size of a file's history, by position. Used only on the writer's thread.
struct HistorySize {
  /// The positions from `start` to `end` and their measured size.
  private struct Segment {
    var start: Int64
    var end: Int64
    var bytes: Int64
  }

  /// Oldest first.
  private var segments: [Segment] = []
  /// The size measured so far, in bytes.
  private(set) var total: Int64 = 0

  /// The last measured position.
  var end: Int64 { segments.last?.end ?? 0 }

  /// The oldest position. It stays valid as a token, but its history row is gone.
  private var first: Int64 = 0

  /// The number of history rows that were measured and still exist.
  var rows: Int64 { segments.isEmpty ? 0 : max(0, end &- first) }

  /// The granularity of measurements.
  struct Granularity {
    /// The maximum number of positions of one segment.
    let positions: Int64
    /// The maximum number of bytes of a segment with more than one row.
    let bytes: Int64
  }

  /// Measures the positions of one more segment, at most up to `last`. Returns false if none are
  /// left.
  mutating func measure(
    from first: Int64, upTo last: Int64, granularity: Granularity, _ history: History,
    on connection: Connection
  ) throws(StoreError) -> Bool {
    self.first = first
    let start = max(end, first)
    guard start < last else { return false }
    let stop = min(last, start &+ granularity.positions)
    let bytes = try history.bytes(after: start, upTo: stop, on: connection)
    try add(Segment(start: start, end: stop, bytes: bytes), granularity, history, on: connection)
    return stop < last
  }

  /// Halves segments that are larger than the granularity allows. Pruning deletes whole segments,
  /// and one of them must not be most of the history.
  private mutating func add(
    _ segment: Segment, _ granularity: Granularity, _ history: History, on connection: Connection
  ) throws(StoreError) {
    let length = segment.end &- segment.start
    guard segment.bytes > granularity.bytes, length > 1 else { return append(segment, granularity) }
    let middle = segment.start &+ length / 2
    let bytes = try history.bytes(after: segment.start, upTo: middle, on: connection)
    let older = Segment(start: segment.start, end: middle, bytes: bytes)
    let newer = Segment(start: middle, end: segment.end, bytes: segment.bytes &- bytes)
    try add(older, granularity, history, on: connection)
    try add(newer, granularity, history, on: connection)
  }

  private mutating func append(_ segment: Segment, _ granularity: Granularity) {
    total &+= segment.bytes
    if let open = segments.last, open.end == segment.start,
      segment.end &- open.start <= granularity.positions,
      open.bytes &+ segment.bytes <= granularity.bytes
    {
      segments[segments.count - 1].end = segment.end
      segments[segments.count - 1].bytes &+= segment.bytes
    } else {
      segments.append(segment)
    }
  }

  /// Records that the rows up to `position` were deleted. Reduces a partially deleted segment
  /// proportionally.
  mutating func discard(before position: Int64) {
    first = position
    let count = segments.firstIndex { $0.end > position } ?? segments.count
    total &-= segments[..<count].reduce(0) { $0 &+ $1.bytes }
    segments.removeFirst(count)
    guard let open = segments.first, open.start < position else { return }
    let share = Double(open.end &- position) / Double(open.end &- open.start)
    segments[0].start = position
    segments[0].bytes = Int64(Double(open.bytes) * share)
    total &-= open.bytes &- segments[0].bytes
  }

  /// Resets the measurement for a new history.
  mutating func reset() { self = HistorySize() }

  /// Returns the first position to keep, so that at most `limit` bytes remain; nil if the history
  /// has no more than that. O(segments).
  func firstPosition(keepingAtMost limit: Int64) -> Int64? {
    guard total > limit else { return nil }
    var left = total
    for segment in segments {
      left &-= segment.bytes
      if left <= limit { return segment.end }
    }
    return end
  }
}

extension History {
  /// The average bytes that SQLite needs for a row of `livefetch_position` and for the overhead of
  /// a history row.
  private static let bytesPerRow: Int64 = 26
  private static let bytesPerInteger: Int64 = 4
  private static let bytesPerReal: Int64 = 8

  /// Returns the size of the whole history. O(changed rows).
  func bytes(on connection: Connection) throws(StoreError) -> Int64 {
    let ends = try connection.first(
      "SELECT min(position), max(position) FROM main.livefetch_position"
    ) { (first: $0.integer(0), last: $0.integer(1)) }
    guard let ends else { return 0 }
    return try bytes(after: ends.first, upTo: ends.last, on: connection)
  }

  fileprivate func bytes(
    after start: Int64, upTo end: Int64, on connection: Connection
  ) throws(StoreError) -> Int64 {
    var bytes: Int64 = 0
    for table in try tables(changedAfter: start, upTo: end, on: connection) {
      let columns = table.tableInfo.columns
      let found = try connection.first(
        Self.lengths(of: table), [.integer(start), .integer(end)]
      ) { (rows: $0.integer(0), whole: $0.integer(1), text: $0.integer(2)) }
      let fixed = columns.reduce(Int64(0)) { $0 &+ Self.fixedBytes(of: $1) }
      let perRow = Self.bytesPerRow &+ Int64(columns.count)
      if let found { bytes &+= found.rows &* perRow &+ found.whole &* fixed &+ found.text }
    }
    return bytes
  }

  private static func fixedBytes(of column: Column) -> Int64 {
    switch column.affinity {
    case .integer: bytesPerInteger
    case .real, .numeric: bytesPerReal
    case .text, .blob: 0
    }
  }

  private static func lengths(of table: TrackedTable) -> String {
    let lengths = table.tableInfo.columns.compactMap { column -> String? in
      switch column.affinity {
      case .text: "coalesce(length(CAST(\(quoted(column.name)) AS BLOB)), 0)"
      case .blob: "coalesce(length(\(quoted(column.name))), 0)"
      case .integer, .real, .numeric: nil
      }
    }
    // The nesting depth of a sum in SQLite's parser is its number of terms, so a thousand columns
    // are summed in groups.
    let sums = stride(from: 0, to: lengths.count, by: 50).map { start in
      let part = lengths[start..<min(start + 50, lengths.count)].joined(separator: " + ")
      return "coalesce(sum(\(part)), 0)"
    }
    return """
      SELECT count(*), coalesce(sum(\(HistoryLayout.existed)), 0), \
      \(sums.isEmpty ? "0" : sums.joined(separator: " + ")) FROM main.\(table.layout.quotedName) \
      WHERE \(HistoryLayout.position) > ? AND \(HistoryLayout.position) <= ?
      """
  }
}
