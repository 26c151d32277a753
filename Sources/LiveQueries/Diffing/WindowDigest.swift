// The digest of a window, computed once in full and then updated in O(changes) per diff.
//
// An item's hash depends on the item before it. An update therefore recomputes the items that were
// inserted, deleted or moved and the item after each of them.

import FetchModel

/// Writes the terms of a digest as clients see them.
struct DigestTerms {
  let term: OrderTerm?
  let model: Model
  let integersAsStrings: Bool
  private var values: [[UInt8]: [UInt8]] = [:]

  init(term: OrderTerm?, model: Model, integersAsStrings: Bool) {
    self.term = term
    self.model = model
    self.integersAsStrings = integersAsStrings
  }

  mutating func value(ofSection section: ArraySlice<UInt8>) -> [UInt8] {
    let section = Array(section)
    if let value = values[section] { return value }
    let info = SectionInfo(
      section: section[...], term: term, model: model, integersAsStrings: integersAsStrings)
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
  init(of keys: RankedKeys, at ranks: Range<Int>, _ terms: inout DigestTerms) {
    self.init()
    var previous: OrderKey?
    keys.keys.forEach(in: ranks) { key in
      add(
        section: terms.value(ofSection: key.section),
        previous: previous.map { $0.section == key.section ? terms.id(of: $0) : [] } ?? [],
        id: terms.id(of: key))
      previous = key
    }
  }

  /// Updates the digest of the old window to that of the new one.
  ///
  /// - Parameter comparison: after the diff was computed, so that it contains what left and
  ///   arrived.
  mutating func advance(
    _ comparison: WindowComparison, keyChanges: [KeyChange], _ terms: inout DigestTerms
  ) {
    let affected = AffectedRanks(comparison, keyChanges)
    for rank in affected.old {
      let (key, previous) = comparison.oldPair(rank)
      subtract(
        section: terms.value(ofSection: key.section),
        previous: previous.map(terms.id(of:)) ?? [], id: terms.id(of: key))
    }
    for rank in affected.new {
      let (key, previous) = comparison.newPair(rank)
      add(
        section: terms.value(ofSection: key.section),
        previous: previous.map(terms.id(of:)) ?? [], id: terms.id(of: key))
    }
  }
}

/// The ranks whose item, or whose preceding item, differs.
private struct AffectedRanks {
  var old: Set<Int> = []
  var new: Set<Int> = []

  init(_ comparison: WindowComparison, _ keyChanges: [KeyChange]) {
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
  fileprivate func oldPair(_ rank: Int) -> (OrderKey, OrderKey?) {
    let key = shift.oldKey(at: rank)
    guard rank > oldVisible.lowerBound else { return (key, nil) }
    let previous = shift.oldKey(at: rank - 1)
    return (key, previous.section == key.section ? previous : nil)
  }

  fileprivate func newPair(_ rank: Int) -> (OrderKey, OrderKey?) {
    let key = shift.keys.keys[rank]
    guard rank > newVisible.lowerBound else { return (key, nil) }
    let previous = shift.keys.keys[rank - 1]
    return (key, previous.section == key.section ? previous : nil)
  }
}
