// A cache of snapshot responses.
//
// Enters: the key of a request. Leaves: the response that an earlier request with this key had, if it
// is still valid. Promises: a hit needs no parsing of parameters; a response is never sent once an
// entity that it depends on has changed. An entry is valid at the store's newest position. When that
// has advanced, the cache asks the store whether such an entity changed; if not, the entry is valid
// there too.

import FetchModel
import LiveFetchHTTPServer
import Synchronization

/// Cached responses, limited by the bytes of their bodies and targets.
final class SnapshotCache: Sendable {
  /// Requests with equal keys have equal responses at one position.
  struct Key: Hashable, Sendable {
    /// The raw request target.
    let target: String
    /// The access rules of the caller.
    let access: CallerAccess?
    let coding: ContentCoding
    /// The variant of the CORS headers.
    let corsVariant: Int

    /// Many callers with rules of their own may have the same target.
    func hash(into hasher: inout Hasher) {
      hasher.combine(target)
      hasher.combine(access?.tokenTag)
    }
  }

  /// One response, and the 304 response for clients that have it.
  final class Entry: Sendable {
    let etag: String
    let token: Token
    /// The number of items; nil for a count.
    let count: Int?
    let dependencies: Set<Int>
    let size: Int
    /// Protects the responses and the position at which they are valid.
    fileprivate let state: Mutex<State>

    struct State {
      /// The newest token at which the responses are known to be valid; nil once they are not. The entry
      /// then stays until the next response replaces it.
      var validAt: Token?
      var full: PreparedResponse
      var notModified: PreparedResponse

      func response(_ isKnown: Bool) -> PreparedResponse { isKnown ? notModified : full }
    }

    init(
      for key: Key, etag: String, token: Token, count: Int?, dependencies: Set<Int>,
      full: PreparedResponse, notModified: PreparedResponse
    ) {
      self.etag = etag
      self.token = token
      self.count = count
      self.dependencies = dependencies
      // The table holds the key twice.
      size = full.bodyCount + key.target.utf8.count * 2 + 1024
      state = Mutex(State(validAt: token, full: full, notModified: notModified))
    }
  }

  private struct Table {
    /// Hashes of recently requested keys, indexed by their last bits.
    var requested = [Int](repeating: 0, count: 1 << 14)
    var entries: [Key: Entry] = [:]
    var order: [Key] = []
    var bytes = 0
  }

  private let maxBytes: Int
  // Protects the table; entries have their own locks.
  private let table = Mutex(Table())

  init(maxBytes: Int) { self.maxBytes = maxBytes }

  var bytes: Int { table.withLock { $0.bytes } }

  func entry(for key: Key) -> Entry? {
    table.withLock { $0.entries[key] }
  }

  /// True if `key` was requested before, not long ago, so that it is worth caching.
  func isWanted(_ key: Key) -> Bool {
    let hash = key.hashValue
    return table.withLock { table in
      let place = hash & (table.requested.count - 1)
      defer { table.requested[place] = hash }
      return table.requested[place] == hash
    }
  }

  /// Caches `entry` and evicts the oldest entries if there is no room.
  func keep(_ entry: Entry, for key: Key) {
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

  private func evict(_ table: inout Table) {
    guard table.bytes > maxBytes || table.order.count > 100_000 else { return }
    // Evict a quarter at once, so that shifting the queue is amortised.
    let count = max(1, table.order.count / 4)
    for key in table.order.prefix(count) {
      if let old = table.entries.removeValue(forKey: key) { table.bytes -= old.size }
    }
    table.order.removeFirst(count)
  }
}

extension SnapshotCache.Entry {
  /// The response if it is still valid, otherwise nil.
  ///
  /// - Parameter remake: creates the response with the headers of the newest token.
  func response(
    in store: any Store, notModified: Bool, remake: (PreparedResponse) -> PreparedResponse
  ) -> PreparedResponse? {
    let newest = store.newestToken
    guard let validAt = state.withLock({ $0.validAt }) else { return nil }
    // A database server may have commits that its store has not heard of.
    if validAt == newest, store.properties.connections == 0 {
      return state.withLock { $0.response(notModified) }
    }
    guard (try? store.isUnchanged(dependencies, since: validAt, ifKnown: token)) == true else {
      state.withLock { $0.validAt = nil }
      return nil
    }
    return state.withLock { state in
      guard state.validAt != newest else { return state.response(notModified) }
      state.validAt = newest
      state.full = remake(state.full)
      state.notModified = remake(state.notModified)
      return state.response(notModified)
    }
  }
}
