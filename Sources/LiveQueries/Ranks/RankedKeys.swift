// The ordered keys of a result and of its sections. Insertion, removal, rank and section lookups
// cost O(log n).
//
// A small window over a large result needs only its first keys. The keys then end at a bound, and
// every answer of this type refers to the part up to the bound.

import FetchModel

/// The ordered keys of a result, complete or up to a bound.
struct RankedKeys: Sendable {
  private(set) var keys = RankedList()
  /// One key per section, consisting of the section's bytes; empty without sections.
  private(set) var sections = RankedList()
  let isSectioned: Bool
  /// The position after which the keys begin; nil at the start of the result.
  let start: OrderKey?
  /// The last known key if further keys may follow; nil if all are known.
  private(set) var bound: OrderKey?

  var count: Int { keys.count }
  /// The memory that the keys need.
  var byteCount: Int { keys.byteCount + sections.byteCount }
  var isComplete: Bool { bound == nil }

  /// - Parameters:
  ///   - sorted: the first keys of the result, in order.
  ///   - isComplete: true if there are no further keys.
  ///   - start: the position before the first key.
  init(
    sorted: [OrderKey], isSectioned: Bool, isComplete: Bool = true, after start: OrderKey? = nil
  ) {
    self.isSectioned = isSectioned
    self.start = start
    append(contentsOf: sorted, isComplete: isComplete)
  }

  /// Replaces the keys of `other`, which cover the same part of a result.
  init(_ keys: RankedList, like other: RankedKeys) {
    self.keys = keys
    isSectioned = other.isSectioned
    start = other.start
    bound = other.bound
    guard isSectioned else { return }
    var starts = SectionStarts()
    keys.forEachView(in: 0..<keys.count) { starts.append($0.section) }
    sections.append(contentsOf: starts.found)
  }

  /// True if `key` is in the known part.
  func covers(_ key: OrderKey) -> Bool {
    if let bound, bound < key { return false }
    if let start { return start < key }
    return true
  }

  /// Appends the keys after the bound. O(keys + n / 256).
  mutating func append(contentsOf sorted: [OrderKey], isComplete: Bool) {
    if isSectioned {
      var starts = SectionStarts(after: sections)
      for key in sorted { key.withView { starts.append($0.section) } }
      sections.append(contentsOf: starts.found)
    }
    keys.append(contentsOf: sorted)
    bound = isComplete ? nil : sorted.last ?? bound
  }

  /// Drops the keys from `rank` on. The key before it becomes the bound.
  mutating func trim(to rank: Int) {
    guard rank > 0, rank < keys.count else { return }
    keys.removeTail(from: rank)
    let last = keys[rank - 1]
    bound = last
    guard isSectioned else { return }
    sections.removeTail(from: sections.lowerBound(of: Array(last.section)) + 1)
  }

  /// Inserts `key` if it is in the known part. Returns true if it was inserted.
  @discardableResult
  mutating func insert(_ key: OrderKey) -> Bool {
    guard covers(key), keys.insert(key) else { return false }
    if isSectioned { _ = sections.insert(OrderKey(ofSection: Array(key.section))) }
    return true
  }

  /// Removes `key`. Returns true if it was present.
  @discardableResult
  mutating func remove(_ key: OrderKey) -> Bool {
    guard keys.remove(key) else { return false }
    if isSectioned { removeSectionIfEmpty(Array(key.section)) }
    return true
  }

  private mutating func removeSectionIfEmpty(_ section: [UInt8]) {
    let rank = keys.lowerBound(of: section)
    guard rank == keys.count || !keys[rank].bytes.starts(with: section) else { return }
    _ = sections.remove(OrderKey(ofSection: section))
  }

  /// The ranks of a section's keys.
  func ranks(ofSection section: [UInt8]) -> Range<Int> {
    keys.lowerBound(of: section)..<keys.upperBound(ofPrefix: section)
  }
}

/// Collects the distinct sections of keys that arrive in order.
private struct SectionStarts {
  private(set) var found: [OrderKey] = []
  private var last: [UInt8]?

  /// - Parameter known: the sections of the preceding keys; the last one may continue.
  init(after known: RankedList = RankedList()) {
    last = known.count > 0 ? known[known.count - 1].bytes : nil
  }

  mutating func append(_ section: UnsafeRawBufferPointer) {
    if let last, last.withUnsafeBytes({ $0.isSame(as: section) }) { return }
    let key = OrderKey(ofSection: Array(section))
    last = key.bytes
    found.append(key)
  }
}

extension OrderKey {
  /// A key that consists of a section's bytes.
  fileprivate init(ofSection section: [UInt8]) {
    self.init(bytes: section, sectionLength: UInt32(section.count), idOffset: 0)
  }
}
