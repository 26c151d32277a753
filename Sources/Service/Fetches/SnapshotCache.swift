// A cache of snapshot responses.
//
// Enters: the key of a request. Leaves: the response that an earlier request with this key had, if it
// is still valid. Promises: a hit needs no parsing of parameters; a response is never sent once an
// entity that it depends on has changed.

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
    let full: PreparedResponse
    let notModified: PreparedResponse
    let size: Int
    /// The newest token at which the responses are known to be valid; nil once they are not. The entry
    /// then stays until the next response replaces it.
    private let validAt: Mutex<Token?>

    init(
      for key: Key, etag: String, token: Token, count: Int?, dependencies: Set<Int>,
      full: PreparedResponse, notModified: PreparedResponse
    ) {
      self.etag = etag
      self.token = token
      self.count = count
      self.dependencies = dependencies
      self.full = full
      self.notModified = notModified
      // The table holds the key twice.
      size = full.bodyCount + key.target.utf8.count * 2 + 1024
      validAt = Mutex(token)
    }

    /// True if no entity that the responses depend on has changed. When the store's newest token has
    /// advanced, the store says whether one has.
    func isValid(in store: any Store) -> Bool {
      let newest = store.newestToken
      guard let known = validAt.withLock({ $0 }) else { return false }
      // A database server may have commits that its store has not heard of.
      if known == newest, store.properties.connections == 0 { return true }
      let isUnchanged = (try? store.isUnchanged(dependencies, since: known, ifKnown: token)) == true
      validAt.withLock { $0 = isUnchanged ? newest : nil }
      return isUnchanged
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
