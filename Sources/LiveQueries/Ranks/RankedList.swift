// A sorted list of keys that knows ranks: sorted keys enter, ranks and keys at ranks leave.
//
// The keys stand in chunks of at most 512, each sorted; a Fenwick tree over the chunks' counts
// turns a chunk into its first rank and a rank into its chunk. Looking up is O(log n). An insert
// or removal moves at most a chunk's keys; one in a few hundred splits or drops a chunk, which
// costs O(n / 256) small steps.

import FetchModel

/// Sorted distinct keys with their ranks.
struct RankedList: Sendable {
  /// None is empty.
  private var chunks: [KeyChunk] = []
  /// Empty where there is one chunk alone.
  private var tree = FenwickTree()
  private(set) var count = 0

  /// Appends keys that are sorted and follow every key of the list. O(keys + chunks).
  mutating func append(contentsOf keys: [OrderKey]) {
    var rest = keys[...]
    while !rest.isEmpty {
      let chunk = KeyChunk(rest)
      chunks.append(chunk)
      rest = rest.dropFirst(chunk.count)
    }
    count += keys.count
    rebuildTree()
  }

  /// Drops every key from `rank` on.
  mutating func removeTail(from rank: Int) {
    guard rank < count else { return }
    let (chunk, offset) = tree.place(ofRank: max(rank, 0))
    chunks[chunk].removeTail(from: offset)
    chunks.removeSubrange((chunks[chunk].isEmpty ? chunk : chunk + 1)...)
    count = max(rank, 0)
    rebuildTree()
  }

  /// The key at `rank`, which must be in 0..<count.
  subscript(rank: Int) -> OrderKey {
    let (chunk, offset) = tree.place(ofRank: rank)
    return chunks[chunk][offset]
  }

  /// How many keys stand before the first that begins with `bytes`, a key's or a part of one's, or
  /// follows those.
  func lowerBound(of bytes: [UInt8]) -> Int { rank(of: bytes, .before) }

  /// How many keys stand before the first that follows all that begin with `prefix`.
  func upperBound(ofPrefix prefix: [UInt8]) -> Int { rank(of: prefix, .behind) }

  /// Puts `key` at its place; false if it stood there already.
  mutating func insert(_ key: OrderKey) -> Bool {
    key.withView { view in
      guard let (chunk, offset) = spot(of: SoughtPlace(bytes: view.bytes, side: .before)) else {
        append(contentsOf: [key])
        return true
      }
      guard !chunks[chunk].holds(view, at: offset) else { return false }
      chunks[chunk].insert(view, at: offset)
      count += 1
      tree.add(1, at: chunk)
      if chunks[chunk].isOverfull { split(chunk) }
      return true
    }
  }

  /// Takes `key` out; false if it was not there.
  mutating func remove(_ key: OrderKey) -> Bool {
    key.withView { view in
      guard let (chunk, offset) = spot(of: SoughtPlace(bytes: view.bytes, side: .before)),
        chunks[chunk].holds(view, at: offset)
      else { return false }
      chunks[chunk].remove(at: offset)
      count -= 1
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

  /// Calls `body` with the keys at `ranks` where they stand, in order.
  func forEachView(in ranks: Range<Int>, _ body: (KeyView) -> Void) {
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

  private func rank(of bytes: [UInt8], _ side: SoughtPlace.Side) -> Int {
    bytes.withUnsafeBytes { bytes in
      guard let (chunk, offset) = spot(of: SoughtPlace(bytes: bytes, side: side)) else { return 0 }
      return tree.sum(before: chunk) + offset
    }
  }

  /// The chunk with the key that a place is before, and how far into it; behind every key the end of
  /// the last chunk. nil where there is none.
  private func spot(of place: SoughtPlace) -> (chunk: Int, offset: Int)? {
    guard !chunks.isEmpty else { return nil }
    let chunk = min(firstChunk(place), chunks.count - 1)
    return (chunk, chunks[chunk].offset(of: place))
  }

  /// The first chunk whose last key is not before the place sought.
  private func firstChunk(_ place: SoughtPlace) -> Int {
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

// MARK: - Key by key

extension RankedList {
  /// Fills a list by keys that come in order.
  struct Filling {
    private var list = RankedList()

    mutating func append(_ key: KeyView) {
      var last = list.chunks.count - 1
      if last < 0 || list.chunks[last].isFull {
        list.chunks.append(KeyChunk())
        last += 1
      }
      list.chunks[last].append(key)
      list.count += 1
    }

    /// The list; there is nothing to be appended any more.
    consuming func finish() -> RankedList {
      list.rebuildTree()
      return list
    }
  }
}

/// Counts of chunks with their running sums, both ways, in O(log chunks).
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

  /// The chunk that holds `rank`, and how far into it.
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
