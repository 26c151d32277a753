// A sorted list of keys with ranks.
//
// The keys are stored in sorted chunks of at most 512. A Fenwick tree over the chunks' counts maps
// a chunk to its first rank and a rank to its chunk. A lookup costs O(log n). An insertion or
// removal moves at most one chunk's keys; one in a few hundred splits or drops a chunk, which costs
// O(n / 256).

import FetchModel

/// Sorted distinct keys with their ranks.
struct RankedList: Sendable {
  /// No chunk is empty.
  private var chunks: [KeyChunk] = []
  /// Empty if there is at most one chunk.
  private var tree = FenwickTree()
  private(set) var count = 0

  /// The memory that the keys need.
  private(set) var byteCount = 0

  /// Appends sorted keys that are greater than every key of the list. O(keys + chunks).
  mutating func append(contentsOf keys: [OrderKey]) {
    var rest = keys[...]
    while !rest.isEmpty {
      let chunk = KeyChunk(rest)
      chunks.append(chunk)
      byteCount += chunk.byteCount
      rest = rest.dropFirst(chunk.count)
    }
    count += keys.count
    rebuildTree()
  }

  /// Removes every key from `rank` on.
  mutating func removeTail(from rank: Int) {
    guard rank < count else { return }
    let (chunk, offset) = tree.place(ofRank: max(rank, 0))
    byteCount -= chunks[chunk...].reduce(0) { $0 + $1.byteCount }
    chunks[chunk].removeTail(from: offset)
    byteCount += chunks[chunk].byteCount
    chunks.removeSubrange((chunks[chunk].isEmpty ? chunk : chunk + 1)...)
    count = max(rank, 0)
    rebuildTree()
  }

  /// The key at `rank`, which must be in 0..<count.
  subscript(rank: Int) -> OrderKey {
    let (chunk, offset) = tree.place(ofRank: rank)
    return chunks[chunk][offset]
  }

  /// The number of keys that are less than `bytes`, which are a key or a prefix of one.
  func lowerBound(of bytes: [UInt8]) -> Int { rank(of: bytes, .before) }

  /// The number of keys that are less than `prefix` or begin with it.
  func upperBound(ofPrefix prefix: [UInt8]) -> Int { rank(of: prefix, .after) }

  /// Inserts `key`. Returns false if it was present.
  mutating func insert(_ key: OrderKey) -> Bool {
    key.withView { view in
      guard let (chunk, offset) = location(of: KeyBound(bytes: view.bytes, side: .before)) else {
        append(contentsOf: [key])
        return true
      }
      guard !chunks[chunk].holds(view, at: offset) else { return false }
      chunks[chunk].insert(view, at: offset)
      count += 1
      byteCount += KeyChunk.byteCount(of: view)
      tree.add(1, at: chunk)
      if chunks[chunk].isOverfull { split(chunk) }
      return true
    }
  }

  /// Removes `key`. Returns false if it was absent.
  mutating func remove(_ key: OrderKey) -> Bool {
    key.withView { view in
      guard let (chunk, offset) = location(of: KeyBound(bytes: view.bytes, side: .before)),
        chunks[chunk].holds(view, at: offset)
      else { return false }
      chunks[chunk].remove(at: offset)
      count -= 1
      byteCount -= KeyChunk.byteCount(of: view)
      tree.add(-1, at: chunk)
      if chunks[chunk].isEmpty {
        chunks.remove(at: chunk)
        rebuildTree()
      }
      return true
    }
  }

  /// Calls `body` with the keys at `ranks`, in order. O(log n + ranks).
  func forEach(in ranks: Range<Int>, _ body: (OrderKey) -> Void) {
    forEachView(in: ranks) { body($0.key) }
  }

  /// Calls `body` with views of the keys at `ranks`, in order.
  func forEachView(in ranks: Range<Int>, _ body: (OrderKeyView) -> Void) {
    guard !ranks.isEmpty else { return }
    var (chunk, offset) = tree.place(ofRank: ranks.lowerBound)
    for _ in ranks {
      if offset == chunks[chunk].count { (chunk, offset) = (chunk + 1, 0) }
      chunks[chunk].withView(offset, body)
      offset += 1
    }
  }

  private mutating func split(_ chunk: Int) {
    let upper = chunks[chunk].split()
    chunks.insert(upper, at: chunk + 1)
    rebuildTree()
  }

  private mutating func rebuildTree() {
    tree = chunks.count > 1 ? FenwickTree(counts: chunks.map(\.count)) : FenwickTree()
  }

  private func rank(of bytes: [UInt8], _ side: KeyBound.Side) -> Int {
    bytes.withUnsafeBytes { bytes in
      guard let (chunk, offset) = location(of: KeyBound(bytes: bytes, side: side)) else { return 0 }
      return tree.sum(before: chunk) + offset
    }
  }

  /// The chunk that contains the first key after `place`, and its offset there; after the last key,
  /// the end of the last chunk. nil if the list is empty.
  private func location(of place: KeyBound) -> (chunk: Int, offset: Int)? {
    guard !chunks.isEmpty else { return nil }
    let chunk = min(firstChunk(place), chunks.count - 1)
    return (chunk, chunks[chunk].offset(of: place))
  }

  /// The first chunk whose last key is not before `place`.
  private func firstChunk(_ place: KeyBound) -> Int {
    var (low, high) = (0, chunks.count)
    while low < high {
      let middle = (low + high) / 2
      if chunks[middle].precedes(place) {
        low = middle + 1
      } else {
        high = middle
      }
    }
    return low
  }
}

// MARK: - Building in order

extension RankedList {
  /// Builds a list from keys that arrive in order.
  struct Filling {
    private var list = RankedList()

    mutating func append(_ key: OrderKeyView) {
      var last = list.chunks.count - 1
      if last < 0 || list.chunks[last].isFull {
        list.chunks.append(KeyChunk())
        last += 1
      }
      list.chunks[last].append(key)
      list.count += 1
      list.byteCount += KeyChunk.byteCount(of: key)
    }

    /// Returns the list. Nothing can be appended afterwards.
    consuming func finish() -> RankedList {
      list.rebuildTree()
      return list
    }
  }
}

/// A Fenwick tree over the chunks' counts. Prefix sums and searches cost O(log chunks).
struct FenwickTree: Sendable {
  /// `sums[i]` is the sum of the counts from i minus its lowest set bit to i, both from 1.
  private var sums: [Int] = []
  private var highestStep = 0

  init() {}

  init(counts: [Int]) {
    sums = [0] + counts
    for index in 1..<sums.count where index + (index & -index) < sums.count {
      sums[index + (index & -index)] += sums[index]
    }
    highestStep = 1
    while highestStep * 2 < sums.count { highestStep *= 2 }
  }

  mutating func add(_ difference: Int, at chunk: Int) {
    var index = chunk + 1
    while index < sums.count {
      sums[index] += difference
      index += index & -index
    }
  }

  func sum(before chunk: Int) -> Int {
    var (index, sum) = (chunk, 0)
    while index > 0 {
      sum += sums[index]
      index -= index & -index
    }
    return sum
  }

  /// The chunk that contains `rank`, and the offset in it.
  func place(ofRank rank: Int) -> (chunk: Int, offset: Int) {
    var (index, rest, step) = (0, rank, highestStep)
    while step > 0 {
      if index + step < sums.count, sums[index + step] <= rest {
        index += step
        rest -= sums[index]
      }
      step /= 2
    }
    return (index, rest)
  }
}
