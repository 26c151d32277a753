// How many bytes the history takes, and from which position on it would take fewer.
//
// Rows are measured once, in slices, after they were written; the file's start is measured like
// that too. What a row takes is its texts' and blobs' length, and what SQLite needs for the rest on
// the average: within a fifth of what the file grows by.

import FetchModel

/// The size of a file's history, by position. Belongs to the writer's thread.
struct HistorySize {
  /// Positions up to `end` and behind the segment before.
  private struct Segment {
    var start: Int64
    var end: Int64
    var bytes: Int64
  }

  /// Oldest first.
  private var segments: [Segment] = []
  /// How many bytes there are, as far as they were measured.
  private(set) var total: Int64 = 0

  /// The last position that was measured.
  var end: Int64 { segments.last?.end ?? 0 }

  /// The oldest position, which is kept as a token and has no row of its own any more.
  private var first: Int64 = 0

  /// How many touched rows were measured and are kept.
  var rows: Int64 { segments.isEmpty ? 0 : max(0, end &- first) }

  /// How finely a stretch of history is measured.
  struct Grain {
    /// Positions at most.
    let positions: Int64
    /// Bytes at most, where that is more than one row.
    let bytes: Int64
  }

  /// Measures at most a grain's positions more, up to `last`; false where there is nothing left.
  mutating func measure(
    from first: Int64, upTo last: Int64, grain: Grain, _ history: History,
    on connection: Connection
  ) throws(StoreError) -> Bool {
    self.first = first
    let start = max(end, first)
    guard start < last else { return false }
    let stop = min(last, start &+ grain.positions)
    let bytes = try history.bytes(after: start, upTo: stop, on: connection)
    try add(Segment(start: start, end: stop, bytes: bytes), grain, history, on: connection)
    return stop < last
  }

  /// Halves what is larger than a grain: forgetting goes by whole segments, and one of them is not
  /// to be most of what is kept.
  private mutating func add(
    _ segment: Segment, _ grain: Grain, _ history: History, on connection: Connection
  ) throws(StoreError) {
    let length = segment.end &- segment.start
    guard segment.bytes > grain.bytes, length > 1 else { return append(segment, grain) }
    let middle = segment.start &+ length / 2
    let bytes = try history.bytes(after: segment.start, upTo: middle, on: connection)
    let older = Segment(start: segment.start, end: middle, bytes: bytes)
    let newer = Segment(start: middle, end: segment.end, bytes: segment.bytes &- bytes)
    try add(older, grain, history, on: connection)
    try add(newer, grain, history, on: connection)
  }

  private mutating func append(_ segment: Segment, _ grain: Grain) {
    total &+= segment.bytes
    if let open = segments.last, open.end == segment.start,
      segment.end &- open.start <= grain.positions, open.bytes &+ segment.bytes <= grain.bytes
    {
      segments[segments.count - 1].end = segment.end
      segments[segments.count - 1].bytes &+= segment.bytes
    } else {
      segments.append(segment)
    }
  }

  /// Takes note that the rows up to `position` are gone; of a segment that lost some, a share.
  mutating func forget(before position: Int64) {
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

  /// Another history begins.
  mutating func startAnew() { self = HistorySize() }

  /// The position to forget up to, so that at most `limit` bytes stay; nil where they do already.
  func target(keeping limit: Int64) -> Int64? {
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
  /// What SQLite needs for a row of `livefetch_position`, and for a history row beside its values.
  private static let bytesPerRow: Int64 = 26
  private static let bytesPerInteger: Int64 = 4
  private static let bytesPerReal: Int64 = 8

  fileprivate func bytes(
    after start: Int64, upTo end: Int64, on connection: Connection
  ) throws(StoreError) -> Int64 {
    var bytes: Int64 = 0
    for table in try tables(touchedAfter: start, upTo: end, on: connection) {
      let columns = table.shape.columns
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

  private static func lengths(of table: FollowedTable) -> String {
    let lengths = table.shape.columns.compactMap { column -> String? in
      switch column.affinity {
      case .text: "coalesce(length(CAST(\(quoted(column.name)) AS BLOB)), 0)"
      case .blob: "coalesce(length(\(quoted(column.name))), 0)"
      case .integer, .real, .numeric: nil
      }
    }
    // SQLite's parser nests as deep as a sum has terms: a thousand columns are summed in groups.
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
