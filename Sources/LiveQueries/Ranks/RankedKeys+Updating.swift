// Many keys at once: what leaves and what comes enters, the list is merged anew. Key by key each
// would be looked up in a list far larger than the processor's caches.

import FetchModel

extension RankedKeys {
  /// Takes out `removed` and then puts in `inserted`, as far as their places are known. No key
  /// stands twice in either. O(m log n), or O(n + m log m) where m is a good part of n.
  mutating func update(removing removed: [OrderKey], inserting inserted: [OrderKey]) {
    guard removed.count + inserted.count > max(1_000, count / 8) else {
      for key in removed { remove(key) }
      for key in inserted { insert(key) }
      return
    }
    let merged = keys.merged(
      without: removed.sorted(), with: inserted.filter(covers).sorted())
    self = RankedKeys(merged, like: self)
  }
}

extension RankedList {
  /// Its keys but for `removed`, together with `inserted`; both are sorted. O(n + m).
  fileprivate func merged(
    without removed: [OrderKey], with inserted: [OrderKey]
  ) -> [OrderKey] {
    var merged: [OrderKey] = []
    merged.reserveCapacity(count + inserted.count)
    var (leaving, coming) = (0, 0)
    forEach(in: 0..<count) { key in
      while leaving < removed.count, removed[leaving] < key { leaving += 1 }
      if leaving < removed.count, removed[leaving] == key { return }
      while coming < inserted.count, inserted[coming] < key {
        merged.append(inserted[coming])
        coming += 1
      }
      if coming < inserted.count, inserted[coming] == key { coming += 1 }
      merged.append(key)
    }
    merged.append(contentsOf: inserted[coming...])
    return merged
  }
}
