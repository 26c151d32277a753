// A sorted list of keys that knows ranks: sorted keys enter, ranks and keys at ranks leave.
//
// The keys stand in chunks of at most 512, each sorted; a Fenwick tree over the chunks' counts
// turns a chunk into its first rank and a rank into its chunk. Looking up is O(log n). An insert
// or removal moves at most a chunk's keys; one in a few hundred splits or drops a chunk, which
// costs O(n / 256) small steps.

import FetchModel

/// Sorted distinct keys with their ranks.
struct RankedList: Sendable {
  private static let chunkSize = 256
  private static let maxChunkSize = 512

  /// None is empty, but for the only one of an empty list's.
  private var chunks: [[OrderKey]] = []
  private var tree = FenwickTree()
  private(set) var count = 0

  init() {}

  /// O(n).
  init(sorted keys: [OrderKey]) { append(contentsOf: keys) }

  /// Appends keys that are sorted and follow every key of the list. O(keys + chunks).
  mutating func append(contentsOf keys: [OrderKey]) {
    for start in stride(from: 0, to: keys.count, by: Self.chunkSize) {
      chunks.append(Array(keys[start..<min(start + Self.chunkSize, keys.count)]))
    }
    count += keys.count
    rebuildTree()
  }

  /// Drops every key from `rank` on.
  mutating func removeTail(from rank: Int) {
    guard rank < count else { return }
    let (chunk, offset) = place(ofRank: max(rank, 0))
    chunks[chunk].removeSubrange(offset...)
    chunks.removeSubrange((chunks[chunk].isEmpty ? chunk : chunk + 1)...)
    count = max(rank, 0)
    rebuildTree()
  }

  /// The key at `rank`, which must be in 0..<count.
  subscript(rank: Int) -> OrderKey {
    let (chunk, offset) = place(ofRank: rank)
    return chunks[chunk][offset]
  }

  /// How many keys stand before `key`.
  func lowerBound(of key: OrderKey) -> Int { rank { $0 < key } }

  /// How many keys stand before the first that begins with `prefix` or follows those.
  func lowerBound(ofPrefix prefix: [UInt8]) -> Int { rank { $0.bytes.precedes(prefix) } }

  /// How many keys stand before the first that follows all that begin with `prefix`.
  func upperBound(ofPrefix prefix: [UInt8]) -> Int {
    rank { $0.bytes.precedes(prefix) || $0.bytes.starts(with: prefix) }
  }

  /// Puts `key` at its place; false if it stood there already.
  mutating func insert(_ key: OrderKey) -> Bool {
    guard !chunks.isEmpty else {
      append(contentsOf: [key])
      return true
    }
    let chunk = min(firstChunk { $0 < key }, chunks.count - 1)
    let offset = Self.offset(in: chunks[chunk]) { $0 < key }
    guard offset == chunks[chunk].count || chunks[chunk][offset] != key else { return false }
    chunks[chunk].insert(key, at: offset)
    count += 1
    tree.add(1, at: chunk)
    if chunks[chunk].count > Self.maxChunkSize { split(chunk) }
    return true
  }

  /// Takes `key` out; false if it was not there.
  mutating func remove(_ key: OrderKey) -> Bool {
    let chunk = firstChunk { $0 < key }
    guard chunk < chunks.count else { return false }
    let offset = Self.offset(in: chunks[chunk]) { $0 < key }
    guard chunks[chunk][offset] == key else { return false }
    chunks[chunk].remove(at: offset)
    count -= 1
    tree.add(-1, at: chunk)
    if chunks[chunk].isEmpty {
      chunks.remove(at: chunk)
      rebuildTree()
    }
    return true
  }

  /// Calls `body` with the keys at `ranks`, in order. O(log n + ranks).
  func forEach(in ranks: Range<Int>, _ body: (OrderKey) -> Void) {
    guard !ranks.isEmpty else { return }
    var (chunk, offset) = place(ofRank: ranks.lowerBound)
    for _ in ranks {
      if offset == chunks[chunk].count { (chunk, offset) = (chunk + 1, 0) }
      body(chunks[chunk][offset])
      offset += 1
    }
  }

  private mutating func split(_ chunk: Int) {
    let upper = Array(chunks[chunk][Self.chunkSize...])
    chunks[chunk].removeSubrange(Self.chunkSize...)
    chunks.insert(upper, at: chunk + 1)
    rebuildTree()
  }

  private mutating func rebuildTree() { tree = FenwickTree(counts: chunks.map(\.count)) }

  private func place(ofRank rank: Int) -> (chunk: Int, offset: Int) { tree.place(ofRank: rank) }

  @inline(__always)
  private func rank(_ isBefore: (OrderKey) -> Bool) -> Int {
    let chunk = firstChunk(isBefore)
    guard chunk < chunks.count else { return count }
    return tree.sum(before: chunk) + Self.offset(in: chunks[chunk], isBefore)
  }

  /// The first chunk whose last key is not before the place sought.
  @inline(__always)
  private func firstChunk(_ isBefore: (OrderKey) -> Bool) -> Int {
    var (low, high) = (0, chunks.count)
    while low < high {
      let middle = (low + high) / 2
      if isBefore(chunks[middle][chunks[middle].count - 1]) {
        low = middle + 1
      } else {
        high = middle
      }
    }
    return low
  }

  @inline(__always)
  private static func offset(in keys: [OrderKey], _ isBefore: (OrderKey) -> Bool) -> Int {
    var (low, high) = (0, keys.count)
    while low < high {
      let middle = (low + high) / 2
      if isBefore(keys[middle]) { low = middle + 1 } else { high = middle }
    }
    return low
  }
}

/// Counts of chunks with their running sums, both ways, in O(log chunks).
struct FenwickTree: Sendable {
  /// `sums[i]` is the sum of the counts from i minus its lowest set bit to i, both from 1.
  private var sums: [Int] = [0]
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
