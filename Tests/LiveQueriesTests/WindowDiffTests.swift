// Generated results and windows: the diff equals one computed by brute force.

import FetchModel
import TestSupport
import Testing

@testable import LiveQueries

/// A row of the brute force: a section or none, an order value, and a value that is only shown.
private struct Thing: Hashable {
  var section: Int?
  var order: Int
  var shown: Int

  func key(_ id: Int) -> OrderKey {
    var encoder = OrderKeyEncoder()
    if let section { encoder.append(Int64(section), .ascending) }
    let sectionLength = encoder.bytes.count
    encoder.append(Int64(order), .descending)
    let idOffset = encoder.bytes.count
    encoder.append(ObjectID.integer(Int64(id)))
    return OrderKey(
      bytes: encoder.bytes, sectionLength: UInt32(sectionLength), idOffset: UInt32(idOffset))
  }
}

/// One generated case: a result before and after a change, and a window.
private struct Case {
  var old: [Int: Thing] = [:]
  var new: [Int: Thing] = [:]
  var window = 0..<Int.max
  var isSectioned = false
  var changed: Set<Int> = []
  var random: SeededRandom

  init(seed: UInt64) {
    random = SeededRandom(seed: seed)
    isSectioned = Bool.random(using: &random)
    let things = Int.random(in: 0...12, using: &random)
    for id in 0..<things where Int.random(in: 0...3, using: &random) > 0 { old[id] = thing() }
    new = old
    for id in 0..<things + 2 where Int.random(in: 0...2, using: &random) == 0 {
      changed.insert(id)
      change(id)
    }
    let offset = [0, 0, Int.random(in: 0...6, using: &random)].randomElement(using: &random) ?? 0
    if Int.random(in: 0...2, using: &random) > 0 {
      window = offset..<(offset + Int.random(in: 0...6, using: &random))
    } else {
      window = offset..<Int.max
    }
  }

  private mutating func thing() -> Thing {
    Thing(
      section: isSectioned ? Int.random(in: 0...3, using: &random) : nil,
      order: Int.random(in: 0...8, using: &random), shown: Int.random(in: 0...2, using: &random))
  }

  private mutating func change(_ id: Int) {
    switch Int.random(in: 0...5, using: &random) {
    case 0: new[id] = nil
    case 1: new[id]?.shown = Int.random(in: 0...2, using: &random)
    case 2: new[id]?.order = Int.random(in: 0...8, using: &random)
    default: new[id] = thing()
    }
  }

  func keys(_ things: [Int: Thing]) -> [OrderKey] { things.map { $1.key($0) }.sorted() }

  func visible(_ things: [Int: Thing]) -> [[Int]] {
    let all = keys(things)
    let keys = all[window.clamped(to: 0..<all.count)]
    var sections: [[Int]] = isSectioned ? [] : [[]]
    var last: ArraySlice<UInt8>?
    for key in keys {
      guard case .integer(let id) = key.id else { continue }
      if isSectioned && key.section != last { sections.append([]) }
      last = key.section
      sections[sections.count - 1].append(Int(id))
    }
    return sections
  }

  var keyChanges: [KeyChange] {
    changed.sorted().map { id in
      KeyChange(
        id: .integer(Int64(id)), oldKey: old[id]?.key(id), newKey: new[id]?.key(id),
        valuesChanged: old[id]?.shown != new[id]?.shown && old[id] != nil && new[id] != nil)
    }
  }

  /// The current keys, all of them or only those that both windows need.
  mutating func rankedKeys() -> RankedKeys {
    let all = keys(new)
    var ranked = RankedKeys(sorted: all, isSectioned: isSectioned)
    guard window.upperBound < Int.max, Bool.random(using: &random), !all.isEmpty else {
      return ranked
    }
    for length in 1..<max(all.count, 1) {
      var shorter = ranked
      shorter.trim(to: length)
      let shift = RankShift(keys: shorter, keyChanges: keyChanges)
      if shift.oldCount > window.upperBound && shift.newCount > window.upperBound {
        ranked = shorter
        break
      }
    }
    return ranked
  }
}

@Suite(.mayBlock) struct WindowDiffTests {
  @Test("A history that names an object which the result lacks contradicts it")
  func contradiction() {
    let things = [1: 30, 2: 20, 3: 10].mapValues { Thing(section: nil, order: $0, shown: 0) }
    let keys = things.sorted { $0.key < $1.key }.map { $0.value.key($0.key) }
    let ranked = RankedKeys(sorted: keys, isSectioned: false)
    func shift(_ id: Int, order: Int) -> RankShift {
      let new = Thing(section: nil, order: order, shown: 0).key(id)
      return RankShift(
        keys: ranked,
        keyChanges: [
          KeyChange(id: .integer(Int64(id)), oldKey: nil, newKey: new, valuesChanged: false)
        ])
    }
    #expect(!shift(2, order: 20).isContradicted)
    #expect(shift(4, order: 25).isContradicted)
    #expect(shift(4, order: 0).isContradicted)
  }

  /// Applies a diff in the steps of the page Protocol.
  private func apply(_ diff: WindowDiff, to old: [[Int]]) -> [[Int]] {
    var sections = old
    var taken = diff.deleted + diff.moved
    taken.sort { ($0.from ?? .first) < ($1.from ?? .first) }
    for item in taken.reversed() {
      guard let from = item.from else { continue }
      let id = sections[from.section].remove(at: from.item)
      #expect(ObjectID.integer(Int64(id)) == item.id)
    }
    for section in diff.deletedSections.reversed() {
      #expect(sections[section.index].isEmpty)
      sections.remove(at: section.index)
    }
    for section in diff.insertedSections { sections.insert([], at: section.index) }
    var put = diff.inserted + diff.moved
    put.sort { ($0.to ?? .first) < ($1.to ?? .first) }
    for item in put {
      guard let to = item.to, case .integer(let id) = item.id else { continue }
      sections[to.section].insert(Int(id), at: to.item)
    }
    return sections
  }

  /// The fewest moves that lead from old to new when unchanged keys must not move.
  private func fewestMoves(_ generated: Case) -> Int {
    let (old, new) = (generated.visible(generated.old), generated.visible(generated.new))
    let both = Set(old.joined()).intersection(new.joined())
    let changed = both.filter { generated.old[$0]?.key($0) != generated.new[$0]?.key($0) }
    let candidates = changed.sorted()
    var most = 0
    for choice in 0..<(1 << candidates.count) where choice.nonzeroBitCount >= most {
      let stay = both.subtracting(changed).union(
        candidates.indices.filter { choice >> $0 & 1 == 1 }.map { candidates[$0] })
      if stay.allSatisfy({ generated.old[$0]?.section == generated.new[$0]?.section }),
        old.joined().filter(stay.contains) == new.joined().filter(stay.contains)
      {
        most = choice.nonzeroBitCount
      }
    }
    return candidates.count - most
  }

  private func check(_ seed: UInt64) {
    var generated = Case(seed: seed)
    let (old, new) = (generated.visible(generated.old), generated.visible(generated.new))
    let diff = WindowDiff(
      keys: generated.rankedKeys(), keyChanges: generated.keyChanges, window: generated.window)
    #expect(apply(diff, to: old) == new, "seed \(seed)")
    #expect(diff.moved.count == fewestMoves(generated), "seed \(seed)")
    let named = (diff.deleted + diff.inserted + diff.moved + diff.updated).map(\.id)
    #expect(Set(named).count == named.count, "seed \(seed)")
    checkPlaces(diff, old, new, seed)
    checkUpdates(diff, generated, old, new, seed)
    checkExtents(diff, generated, seed)
  }

  private func checkPlaces(
    _ diff: WindowDiff, _ old: [[Int]], _ new: [[Int]], _ seed: UInt64
  ) {
    for item in diff.deleted + diff.moved + diff.updated {
      let from = item.from ?? .first
      #expect(.integer(Int64(old[from.section][from.item])) == item.id, "seed \(seed)")
    }
    for item in diff.inserted + diff.moved + diff.updated {
      let to = item.to ?? .first
      #expect(.integer(Int64(new[to.section][to.item])) == item.id, "seed \(seed)")
    }
  }

  private func checkUpdates(
    _ diff: WindowDiff, _ generated: Case, _ old: [[Int]], _ new: [[Int]], _ seed: UInt64
  ) {
    let moved = Set(diff.moved.map(\.id))
    let both = Set(old.joined()).intersection(new.joined())
    let expected = both.filter { generated.old[$0]?.shown != generated.new[$0]?.shown }
      .map { ObjectID.integer(Int64($0)) }.filter { !moved.contains($0) }
    #expect(Set(diff.updated.map(\.id)) == Set(expected), "seed \(seed)")
  }

  private func checkExtents(_ diff: WindowDiff, _ generated: Case, _ seed: UInt64) {
    for (extent, things) in [(diff.old, generated.old), (diff.new, generated.new)] {
      let all = generated.keys(things)
      let keys = all[generated.window.clamped(to: 0..<all.count)]
      #expect(extent.count == keys.count, "seed \(seed)")
      #expect(extent.last == keys.last, "seed \(seed)")
      #expect(extent.hasMore == (all.count > generated.window.upperBound), "seed \(seed)")
    }
  }

  @Test(
    "A diff leads from the old window to the new one with the fewest moves, in generated cases",
    arguments: 0..<4)
  func generated(part: Int) {
    for number in 0..<2_500 { check(UInt64(part * 2_500 + number)) }
  }
}
