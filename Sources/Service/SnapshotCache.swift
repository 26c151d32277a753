// Snapshots that were sent, to be sent again while nothing in them has changed.
//
// The key is the raw request target and the content coding, so that a hit parses nothing. An entry
// is good at the store's newest position; when that has moved on, the store is asked whether it
// touched an entity that the entry depends on, and if not, the entry is good there too.

import FetchModel
import HTTPServer
import Synchronization

/// Kept answers, bounded by the bytes of their bodies.
final class SnapshotCache: Sendable {
  /// One answer: the response and the one without a body for clients that have it already.
  final class Entry: Sendable {
    let etag: String
    let token: Token
    let dependencies: Set<Int>
    let size: Int
    /// Guards the answers and the position up to which they are good.
    fileprivate let state: Mutex<State>

    struct State {
      /// The newest moment at which the answers are known to be good.
      var good: Token
      var full: PreparedResponse
      var notModified: PreparedResponse

      func answer(_ isKnown: Bool) -> PreparedResponse { isKnown ? notModified : full }
    }

    init(
      etag: String, token: Token, dependencies: Set<Int>, full: PreparedResponse,
      notModified: PreparedResponse
    ) {
      self.etag = etag
      self.token = token
      self.dependencies = dependencies
      size = full.bodyCount + 1024
      state = Mutex(State(good: token, full: full, notModified: notModified))
    }
  }

  private struct Table {
    /// Hashes of the keys that were asked for lately, by their last bits.
    var asked = [Int](repeating: 0, count: 1 << 14)
    var entries: [String: Entry] = [:]
    var order: [String] = []
    var bytes = 0
  }

  private let maxBytes: Int
  // Guards the table; entries have their own locks.
  private let table = Mutex(Table())

  init(maxBytes: Int) { self.maxBytes = maxBytes }

  var bytes: Int { table.withLock { $0.bytes } }

  func entry(for key: String) -> Entry? {
    table.withLock { $0.entries[key] }
  }

  /// Whether a snapshot under `key` is worth keeping: it was asked for before, not long ago.
  func isWanted(_ key: String) -> Bool {
    let hash = key.hashValue
    return table.withLock { table in
      let place = hash & (table.asked.count - 1)
      defer { table.asked[place] = hash }
      return table.asked[place] == hash
    }
  }

  /// Keeps `entry`, and lets the oldest go where there is no room.
  func keep(_ entry: Entry, for key: String) {
    guard entry.size <= maxBytes / 8 else { return }
    table.withLock { table in
      if let old = table.entries.updateValue(entry, forKey: key) {
        table.bytes -= old.size
      } else {
        table.order.append(key)
      }
      table.bytes += entry.size
      evict(&table)
    }
  }

  func remove(_ key: String) {
    table.withLock { table in
      guard let old = table.entries.removeValue(forKey: key) else { return }
      table.bytes -= old.size
      table.order.removeAll { $0 == key }
    }
  }

  private func evict(_ table: inout Table) {
    guard table.bytes > maxBytes || table.order.count > 100_000 else { return }
    // A quarter at once, so that shifting the queue is paid for by many insertions.
    let count = max(1, table.order.count / 4)
    for key in table.order.prefix(count) {
      if let old = table.entries.removeValue(forKey: key) { table.bytes -= old.size }
    }
    table.order.removeFirst(count)
  }
}

extension SnapshotCache.Entry {
  /// The answer if it is still what the store would give, nil otherwise.
  ///
  /// - Parameter remake: makes an answer again with the headers of the store's newest token.
  func answer(
    in store: any Store, notModified: Bool, remake: (PreparedResponse) -> PreparedResponse
  ) -> PreparedResponse? {
    let newest = store.newestToken
    let (good, kept) = state.withLock { ($0.good, $0.answer(notModified)) }
    if good == newest { return kept }
    guard (try? store.isUntouched(dependencies, since: good, holding: token)) == true else {
      return nil
    }
    return state.withLock { state in
      state.good = newest
      state.full = remake(state.full)
      state.notModified = remake(state.notModified)
      return state.answer(notModified)
    }
  }
}
