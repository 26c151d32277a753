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
  ) -> RankedList {
    var merged = Filling()
    var (leaving, coming) = (removed[...], inserted[...])
    forEachView(in: 0..<count) { key in
      leaving = leaving.drop { $0.order(key) < 0 }
      if let next = leaving.first, next.order(key) == 0 { return }
      while let next = coming.first, next.order(key) < 0 {
        next.withView { merged.append($0) }
        coming.removeFirst()
      }
      if let next = coming.first, next.order(key) == 0 { coming.removeFirst() }
      merged.append(key)
    }
    for key in coming { key.withView { merged.append($0) } }
    return merged.finish()
  }
}

extension OrderKey {
  /// How this key compares with another one: below 0, 0 or above.
  fileprivate func order(_ other: KeyView) -> Int {
    withView { own in
      let order = own.bytes.order(other.bytes)
      return order == 0 ? own.bytes.count - other.bytes.count : order
    }
  }
}
