// Bulk updates. Many removals and insertions are merged with the list in one pass, because single
// lookups in a list larger than the processor's caches are slower.

import FetchModel

extension RankedKeys {
  /// Removes `removed`, then inserts those of `inserted` that are in the known part. Neither
  /// contains duplicates. O(m log n), or O(n + m log m) if m is a large part of n.
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
  /// This list without `removed` and with `inserted`, both sorted. O(n + m).
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
  /// Compares this key with another one: negative, 0 or positive.
  fileprivate func order(_ other: OrderKeyView) -> Int {
    withView { own in
      let order = own.bytes.order(other.bytes)
      return order == 0 ? own.bytes.count - other.bytes.count : order
    }
  }
}
