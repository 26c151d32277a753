// The ordered keys of a result with its sections: keys enter and leave, ranks and section numbers
// are told in O(log n).
//
// A small window over a large result needs only the front of it: then the keys reach up to a
// bound, and nothing is known of what follows. Everything told here holds for the part up to it.

import FetchModel

/// The keys of a result in order, whole or up to a bound.
struct RankedKeys: Sendable {
  private(set) var keys = RankedList()
  /// One key a section, its bytes alone; empty without sections.
  private(set) var sections = RankedList()
  let isSectioned: Bool
  /// The place behind which the keys begin; nil from the result's first on.
  let start: OrderKey?
  /// The last place up to which every key is known; nil where all that follow are known.
  private(set) var bound: OrderKey?

  var count: Int { keys.count }
  var isComplete: Bool { bound == nil }

  /// - Parameters:
  ///   - sorted: the first keys of the result, in order.
  ///   - isComplete: whether there are no others.
  ///   - start: the place that the first key follows.
  init(
    sorted: [OrderKey], isSectioned: Bool, isComplete: Bool = true, behind start: OrderKey? = nil
  ) {
    self.isSectioned = isSectioned
    self.start = start
    append(contentsOf: sorted, isComplete: isComplete)
  }

  /// Other keys of the same part of a result as `other`.
  init(_ keys: RankedList, like other: RankedKeys) {
    self.keys = keys
    isSectioned = other.isSectioned
    start = other.start
    bound = other.bound
    guard isSectioned else { return }
    var starts = SectionStarts()
    keys.forEachView(in: 0..<keys.count) { starts.take($0.section) }
    sections.append(contentsOf: starts.found)
  }

  /// Whether `key` lies in the part that is known.
  func covers(_ key: OrderKey) -> Bool {
    if let bound, bound < key { return false }
    if let start { return start < key }
    return true
  }

  /// Appends the keys that follow the bound. O(keys + n / 256).
  mutating func append(contentsOf sorted: [OrderKey], isComplete: Bool) {
    if isSectioned {
      var starts = SectionStarts(after: sections)
      for key in sorted { key.withView { starts.take($0.section) } }
      sections.append(contentsOf: starts.found)
    }
    keys.append(contentsOf: sorted)
    bound = isComplete ? nil : sorted.last ?? bound
  }

  /// Forgets the keys from `rank` on, so that the bound is the key before it.
  mutating func trim(to rank: Int) {
    guard rank > 0, rank < keys.count else { return }
    keys.removeTail(from: rank)
    let last = keys[rank - 1]
    bound = last
    guard isSectioned else { return }
    sections.removeTail(from: sections.lowerBound(of: Array(last.section)) + 1)
  }

  /// Puts `key` at its place if that is known; whether it came in.
  @discardableResult
  mutating func insert(_ key: OrderKey) -> Bool {
    guard covers(key), keys.insert(key) else { return false }
    if isSectioned { _ = sections.insert(OrderKey(ofSection: Array(key.section))) }
    return true
  }

  /// Takes `key` out; whether it was there.
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

/// Finds the sections of keys that come in order.
private struct SectionStarts {
  private(set) var found: [OrderKey] = []
  private var last: [UInt8]?

  /// - Parameter known: the sections of the keys before; the last one may go on.
  init(after known: RankedList = RankedList()) {
    last = known.count > 0 ? known[known.count - 1].bytes : nil
  }

  mutating func take(_ section: UnsafeRawBufferPointer) {
    if let last, last.withUnsafeBytes({ $0.isSame(as: section) }) { return }
    let key = OrderKey(ofSection: Array(section))
    last = key.bytes
    found.append(key)
  }
}

extension OrderKey {
  /// What stands for a section among sections.
  fileprivate init(ofSection section: [UInt8]) {
    self.init(bytes: section, sectionLength: UInt32(section.count), idOffset: 0)
  }
}
