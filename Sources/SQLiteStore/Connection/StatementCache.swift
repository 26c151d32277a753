// Caches prepared statements by SQL text. The least recently used one is evicted first.

import FetchModel
import LiveFetchCSQLite

/// The prepared statements of one connection.
struct StatementCache {
  final class Entry {
    let pointer: OpaquePointer
    fileprivate var isInUse = false
    fileprivate var lastUse: UInt64 = 0

    init(pointer: OpaquePointer) { self.pointer = pointer }
    deinit { sqlite3_finalize(pointer) }
  }

  private let capacity: Int
  private var entries: [String: Entry] = [:]
  private var uses: UInt64 = 0

  init(capacity: Int) { self.capacity = capacity }

  /// Returns an idle statement for `sql` and marks it as in use; nil if there is none.
  mutating func take(_ sql: String) -> Entry? {
    guard let entry = entries[sql], !entry.isInUse else { return nil }
    mark(entry)
    return entry
  }

  /// Stores a new statement, which is in use. O(n) if another one must be evicted.
  mutating func insert(_ entry: Entry, for sql: String) {
    if entries.count >= capacity,
      let oldest = entries.min(by: { $0.value.lastUse < $1.value.lastUse })
    {
      entries[oldest.key] = nil
    }
    mark(entry)
    entries[sql] = entry
  }

  func putBack(_ entry: Entry) {
    sqlite3_reset(entry.pointer)
    sqlite3_clear_bindings(entry.pointer)
    entry.isInUse = false
  }

  mutating func removeAll() { entries.removeAll() }

  private mutating func mark(_ entry: Entry) {
    uses &+= 1
    entry.isInUse = true
    entry.lastUse = uses
  }
}
