// Sorted keys stored contiguously in one byte buffer, searched by comparing bytes in place. An
// array of byte arrays needs five times the memory and one more memory access per comparison.

import FetchModel

/// A key inside a chunk's buffer; valid only inside the closure that receives it.
struct OrderKeyView {
  let bytes: UnsafeRawBufferPointer
  let sectionLength: UInt32
  let idOffset: UInt32

  /// A copy of the key that owns its bytes.
  var key: OrderKey {
    OrderKey(bytes: Array(bytes), sectionLength: sectionLength, idOffset: idOffset)
  }

  var section: UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(rebasing: bytes[..<Int(sectionLength)])
  }
}

/// A position between keys, given by bytes to search for.
struct KeyBound {
  enum Side {
    /// After the keys that are less than the bytes.
    case before
    /// After those, and after the keys that have the bytes as a prefix.
    case after
  }

  let bytes: UnsafeRawBufferPointer
  let side: Side

  /// True if `key` is before this position.
  @inline(__always)
  func follows(_ key: UnsafeRawBufferPointer) -> Bool {
    let order = key.order(bytes)
    if order != 0 { return order < 0 }
    return side == .after || key.count < bytes.count
  }
}

extension UnsafeRawBufferPointer {
  /// Compares the common prefix of both buffers: negative, 0 or positive.
  @inline(__always)
  func order(_ other: UnsafeRawBufferPointer) -> Int {
    let common = Swift.min(count, other.count)
    var index = 0
    while index &+ 8 <= common {
      let left = UInt64(bigEndian: loadUnaligned(fromByteOffset: index, as: UInt64.self))
      let right = UInt64(bigEndian: other.loadUnaligned(fromByteOffset: index, as: UInt64.self))
      if left != right { return left < right ? -1 : 1 }
      index &+= 8
    }
    while index < common {
      if self[index] != other[index] { return self[index] < other[index] ? -1 : 1 }
      index &+= 1
    }
    return 0
  }

  /// True if both buffers have equal bytes.
  @inline(__always)
  func isSame(as other: UnsafeRawBufferPointer) -> Bool {
    count == other.count && order(other) == 0
  }
}

/// A few hundred sorted keys.
struct KeyChunk: Sendable {
  /// The end of a key in the buffer, and the lengths of its parts.
  private struct Entry: Sendable {
    var end: UInt32
    let sectionLength: UInt32
    let idOffset: UInt32
  }

  /// The number of keys and bytes at which a chunk that is built in order is full.
  static let usualCount = 256
  private static let usualBytes = 1 << 15

  private var bytes: [UInt8] = []
  private var entries: [Entry] = []

  var count: Int { entries.count }
  /// The memory that the keys need.
  var byteCount: Int { bytes.count + entries.count * MemoryLayout<Entry>.stride }
  /// The memory that one key needs.
  static func byteCount(of key: OrderKeyView) -> Int {
    key.bytes.count + MemoryLayout<Entry>.stride
  }
  var isEmpty: Bool { entries.isEmpty }
  /// True if further keys belong into another chunk.
  var isFull: Bool { entries.count >= Self.usualCount || bytes.count >= Self.usualBytes }
  /// True if the chunk must be split.
  var isOverfull: Bool {
    entries.count > 2 * Self.usualCount || bytes.count > 2 * Self.usualBytes && entries.count > 1
  }

  init() {}

  /// Takes as many of the first `keys` as fit, and reserves exactly the memory that they need.
  init(_ keys: ArraySlice<OrderKey>) {
    var (size, end) = (0, keys.startIndex)
    while end < keys.endIndex, end - keys.startIndex < Self.usualCount, size < Self.usualBytes {
      size += keys[end].bytes.count
      end += 1
    }
    bytes.reserveCapacity(size)
    entries.reserveCapacity(end - keys.startIndex)
    for key in keys[..<end] { key.withView { append($0) } }
  }

  private func start(_ index: Int) -> Int { index == 0 ? 0 : Int(entries[index - 1].end) }

  subscript(index: Int) -> OrderKey { withView(index) { $0.key } }

  @inline(__always)
  func withView<Result>(_ index: Int, _ body: (OrderKeyView) -> Result) -> Result {
    let (start, entry) = (start(index), entries[index])
    return bytes.withUnsafeBytes { block in
      body(
        OrderKeyView(
          bytes: UnsafeRawBufferPointer(rebasing: block[start..<Int(entry.end)]),
          sectionLength: entry.sectionLength, idOffset: entry.idOffset))
    }
  }

  /// The number of keys before `place`.
  func offset(of place: KeyBound) -> Int {
    bytes.withUnsafeBytes { block in
      entries.withUnsafeBufferPointer { entries in
        var (low, high) = (0, entries.count)
        while low < high {
          let middle = (low &+ high) / 2
          let start = middle == 0 ? 0 : Int(entries[middle &- 1].end)
          let key = UnsafeRawBufferPointer(rebasing: block[start..<Int(entries[middle].end)])
          if place.follows(key) { low = middle &+ 1 } else { high = middle }
        }
        return low
      }
    }
  }

  /// True if every key is before `place`.
  @inline(__always)
  func precedes(_ place: KeyBound) -> Bool {
    withView(entries.count - 1) { place.follows($0.bytes) }
  }

  /// True if there is a key at `index` and it equals `key`.
  func holds(_ key: OrderKeyView, at index: Int) -> Bool {
    index < entries.count && withView(index) { $0.bytes.isSame(as: key.bytes) }
  }

  mutating func append(_ key: OrderKeyView) {
    bytes.append(contentsOf: key.bytes)
    entries.append(
      Entry(
        end: UInt32(truncatingIfNeeded: bytes.count), sectionLength: key.sectionLength,
        idOffset: key.idOffset))
  }

  mutating func insert(_ key: OrderKeyView, at index: Int) {
    let start = start(index)
    bytes.insert(contentsOf: key.bytes, at: start)
    entries.insert(
      Entry(
        end: UInt32(truncatingIfNeeded: start), sectionLength: key.sectionLength,
        idOffset: key.idOffset), at: index)
    let length = UInt32(truncatingIfNeeded: key.bytes.count)
    for later in index..<entries.count { entries[later].end &+= length }
  }

  mutating func remove(at index: Int) {
    let range = start(index)..<Int(entries[index].end)
    bytes.removeSubrange(range)
    entries.remove(at: index)
    let length = UInt32(truncatingIfNeeded: range.count)
    for later in index..<entries.count { entries[later].end &-= length }
  }

  /// Removes the keys from `index` on.
  mutating func removeTail(from index: Int) {
    bytes.removeSubrange(start(index)...)
    entries.removeSubrange(index...)
  }

  /// Removes and returns the upper half.
  mutating func split() -> KeyChunk {
    let middle = entries.count / 2
    var upper = KeyChunk()
    upper.bytes.reserveCapacity(bytes.count - start(middle))
    upper.entries.reserveCapacity(entries.count - middle)
    for index in middle..<entries.count { withView(index) { upper.append($0) } }
    removeTail(from: middle)
    return upper
  }
}

extension OrderKey {
  /// Calls `body` with a view of this key.
  @inline(__always)
  func withView<Result>(_ body: (OrderKeyView) -> Result) -> Result {
    bytes.withUnsafeBytes {
      body(OrderKeyView(bytes: $0, sectionLength: sectionLength, idOffset: idOffset))
    }
  }
}
