// Sorted keys one after the other in one block of bytes: keys enter and leave, and a place among
// them is found by comparing bytes where they stand. An array of arrays would take five times the
// memory, and a look at each would be one more place in it.

import FetchModel

/// A key where it stands; valid as long as the body that it was given to runs.
struct KeyView {
  let bytes: UnsafeRawBufferPointer
  let sectionLength: UInt32
  let idOffset: UInt32

  /// A copy of its own.
  var key: OrderKey {
    OrderKey(bytes: Array(bytes), sectionLength: sectionLength, idOffset: idOffset)
  }

  var section: UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(rebasing: bytes[..<Int(sectionLength)])
  }
}

/// A place between keys.
struct SoughtPlace {
  enum Side {
    /// Behind the keys that precede the bytes.
    case before
    /// Behind those as well that begin with them.
    case behind
  }

  let bytes: UnsafeRawBufferPointer
  let side: Side

  /// Whether a key stands before it.
  @inline(__always)
  func follows(_ key: UnsafeRawBufferPointer) -> Bool {
    let order = key.order(bytes)
    if order != 0 { return order < 0 }
    return side == .behind || key.count < bytes.count
  }
}

extension UnsafeRawBufferPointer {
  /// How these bytes compare with `other`'s as far as both go: below 0, 0 or above.
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

  /// Whether these are the same bytes as `other`'s.
  @inline(__always)
  func isSame(as other: UnsafeRawBufferPointer) -> Bool {
    count == other.count && order(other) == 0
  }
}

/// Some hundred sorted keys.
struct KeyChunk: Sendable {
  /// Where a key ends in the block, and its parts.
  private struct Entry: Sendable {
    var end: UInt32
    let sectionLength: UInt32
    let idOffset: UInt32
  }

  /// How many keys and bytes a chunk gets that is made of others' keys.
  static let usualCount = 256
  private static let usualBytes = 1 << 15

  private var bytes: [UInt8] = []
  private var entries: [Entry] = []

  var count: Int { entries.count }
  var isEmpty: Bool { entries.isEmpty }
  /// Whether more keys belong into another one.
  var isFull: Bool { entries.count >= Self.usualCount || bytes.count >= Self.usualBytes }
  /// Whether it is to be cut in two.
  var isOverfull: Bool {
    entries.count > 2 * Self.usualCount || bytes.count > 2 * Self.usualBytes && entries.count > 1
  }

  init() {}

  /// The first of `keys`, as many as a chunk takes, in a block that is no larger than they need.
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
  func withView<Result>(_ index: Int, _ body: (KeyView) -> Result) -> Result {
    let (start, entry) = (start(index), entries[index])
    return bytes.withUnsafeBytes { block in
      body(
        KeyView(
          bytes: UnsafeRawBufferPointer(rebasing: block[start..<Int(entry.end)]),
          sectionLength: entry.sectionLength, idOffset: entry.idOffset))
    }
  }

  /// How many keys stand before `place`.
  func offset(of place: SoughtPlace) -> Int {
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

  /// Whether every key stands before `place`.
  @inline(__always)
  func precedes(_ place: SoughtPlace) -> Bool {
    withView(entries.count - 1) { place.follows($0.bytes) }
  }

  /// Whether the key at `index`, if there is one, is `key`.
  func holds(_ key: KeyView, at index: Int) -> Bool {
    index < entries.count && withView(index) { $0.bytes.isSame(as: key.bytes) }
  }

  mutating func append(_ key: KeyView) {
    bytes.append(contentsOf: key.bytes)
    entries.append(
      Entry(
        end: UInt32(truncatingIfNeeded: bytes.count), sectionLength: key.sectionLength,
        idOffset: key.idOffset))
  }

  mutating func insert(_ key: KeyView, at index: Int) {
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

  /// Takes the keys from `index` on out.
  mutating func removeTail(from index: Int) {
    bytes.removeSubrange(start(index)...)
    entries.removeSubrange(index...)
  }

  /// Takes its upper half out.
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
  /// Gives the key where it stands.
  @inline(__always)
  func withView<Result>(_ body: (KeyView) -> Result) -> Result {
    bytes.withUnsafeBytes {
      body(KeyView(bytes: $0, sectionLength: sectionLength, idOffset: idOffset))
    }
  }
}
