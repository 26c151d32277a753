// The digest of a window, computed once in full and then updated in O(changes) per diff.
//
// An item's hash depends on the item before it. An update therefore recomputes the items that were
// inserted, deleted or moved and the item after each of them.

import FetchModel

/// Encodes ids and section values as clients see them, for digests.
struct DigestEncoder {
  /// The order term by whose values the items are sectioned; nil without sections.
  let sectionTerm: OrderTerm?
  let model: Model
  let integersAsStrings: Bool
  /// The encoded values, by sections.
  private var values: [[UInt8]: [UInt8]] = [:]

  init(sectionTerm: OrderTerm?, model: Model, integersAsStrings: Bool) {
    self.sectionTerm = sectionTerm
    self.model = model
    self.integersAsStrings = integersAsStrings
  }

  mutating func value(ofSection section: ArraySlice<UInt8>) -> [UInt8] {
    let section = Array(section)
    if let value = values[section] { return value }
    let info = SectionInfo(
      section: section[...], term: sectionTerm, model: model, integersAsStrings: integersAsStrings)
    values[section] = info.value
    return info.value
  }

  func id(of key: OrderKey) -> [UInt8] {
    var json: [UInt8] = []
    json.append(json: key.id.shown(integersAsStrings: integersAsStrings))
    return json
  }
}

extension Digest {
  /// Computes the digest of the keys at `ranks`. O(ranks).
  init(of keys: RankedKeys, at ranks: Range<Int>, encoder: inout DigestEncoder) {
    self.init()
    var previous: OrderKey?
    keys.keys.forEach(in: ranks) { key in
      add(
        section: encoder.value(ofSection: key.section),
        previous: previous.map { $0.section == key.section ? encoder.id(of: $0) : [] } ?? [],
        id: encoder.id(of: key))
      previous = key
    }
  }

  /// Updates the digest of the old window to that of the new one. O(changes).
  ///
  /// - Parameter comparison: The windows, with the items that left and arrived: the diff must have been
  ///   computed.
  mutating func advance(
    over comparison: WindowComparison, keyChanges: [KeyChange], encoder: inout DigestEncoder
  ) {
    let affected = AffectedRanks(of: comparison, keyChanges: keyChanges)
    for rank in affected.old {
      let (key, previous) = comparison.oldKeyAndPrevious(at: rank)
      subtract(
        section: encoder.value(ofSection: key.section),
        previous: previous.map(encoder.id(of:)) ?? [], id: encoder.id(of: key))
    }
    for rank in affected.new {
      let (key, previous) = comparison.newKeyAndPrevious(at: rank)
      add(
        section: encoder.value(ofSection: key.section),
        previous: previous.map(encoder.id(of:)) ?? [], id: encoder.id(of: key))
    }
  }
}

/// The ranks of the items that differ, or whose preceding item differs.
private struct AffectedRanks {
  /// Ranks in the old window.
  var old: Set<Int> = []
  /// Ranks in the new window.
  var new: Set<Int> = []

  init(of comparison: WindowComparison, keyChanges: [KeyChange]) {
    let shift = comparison.shift
    let leaving = Set(comparison.leaving.map(shift.oldRank(of:)))
    let arriving = Set(comparison.arriving.map(shift.newRank(of:)))
    old = leaving.union(leaving.map { $0 + 1 }).filter(comparison.oldVisible.contains)
    new = arriving.union(arriving.map { $0 + 1 }).filter(comparison.newVisible.contains)
    var newKeys: [OrderKey: OrderKey] = [:]
    var oldKeys: [OrderKey: OrderKey] = [:]
    for change in keyChanges {
      guard let oldKey = change.oldKey, let newKey = change.newKey else { continue }
      newKeys[oldKey] = newKey
      oldKeys[newKey] = oldKey
    }
    for rank in old.subtracting(leaving) {
      let key = shift.oldKey(at: rank)
      new.insert(shift.newRank(of: newKeys[key] ?? key))
    }
    for rank in new.subtracting(arriving) {
      let key = shift.keys.keys[rank]
      old.insert(shift.oldRank(of: oldKeys[key] ?? key))
    }
  }
}

extension WindowComparison {
  /// The key at an old rank, and the key before it if it is in the same section and in the window.
  fileprivate func oldKeyAndPrevious(at rank: Int) -> (OrderKey, OrderKey?) {
    let key = shift.oldKey(at: rank)
    guard rank > oldVisible.lowerBound else { return (key, nil) }
    let previous = shift.oldKey(at: rank - 1)
    return (key, previous.section == key.section ? previous : nil)
  }

  /// The same for a new rank.
  fileprivate func newKeyAndPrevious(at rank: Int) -> (OrderKey, OrderKey?) {
    let key = shift.keys.keys[rank]
    guard rank > newVisible.lowerBound else { return (key, nil) }
    let previous = shift.keys.keys[rank - 1]
    return (key, previous.section == key.section ? previous : nil)
  }
}
