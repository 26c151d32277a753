// Two orders of sections → their difference: applied to the first it gives the second, with the
// fewest moves.

import FetchModel
import TestSupport
import Testing

@Suite("The difference of two orders")
struct OrderDifferenceTests {
  typealias Difference = OrderDifference<Int>

  private func difference(
    _ old: [(id: String, items: [Int])], _ new: [(id: String, items: [Int])],
    fixed: Set<Int> = []
  ) -> Difference {
    Difference(from: Arrangement(old), to: Arrangement(new)) { fixed.contains($0.id) }
  }

  @Test("moves the objects that are not fixed, even if others would be fewer")
  func fixedObjects() {
    let free = difference([("", [1, 2, 3])], [("", [2, 3, 1])])
    #expect(free.moved.map(\.id) == [1])
    let fixed = difference([("", [1, 2, 3])], [("", [2, 3, 1])], fixed: [1])
    #expect(Set(fixed.moved.map(\.id)) == [2, 3])
    #expect(fixed.stayed.map(\.id) == [1])
  }

  @Test("moves as few fixed objects as possible if they contradict one another")
  func contradictions() {
    let difference = difference([("", [1, 2, 3, 4])], [("", [4, 1, 2, 3])], fixed: [1, 2, 3, 4])
    #expect(difference.moved.map(\.id) == [4])
  }

  @Test("deletes and inserts sections that are out of order, and names their objects")
  func sections() {
    let difference = difference(
      [("a", [1]), ("b", [2]), ("c", [3])], [("b", [2]), ("a", [1, 4])])
    #expect(difference.deletedSections.count == 2)
    #expect(difference.insertedSections.count == 1)
    #expect(difference.deleted.map(\.id) == [3])
    #expect(difference.inserted.map(\.id) == [4])
    #expect(difference.moved.count == 1)
    #expect(difference.stayed.count == 1)
  }

  @Test("leads from the old order to the new one with the fewest moves", arguments: 1...20)
  func generated(offset: UInt64) {
    let seed = UInt64.random(in: 0...UInt64.max / 2) &+ offset
    var random = SeededRandom(seed: seed)
    for _ in 0..<50 {
      let old = Array(
        (0..<8).shuffled(using: &random).prefix(Int.random(in: 0...8, using: &random)))
      let new = Array(
        (0..<8).shuffled(using: &random).prefix(Int.random(in: 0...8, using: &random)))
      // Those that keep their order among each other may be fixed.
      var fixed: Set<Int> = []
      for id in new where old.contains(id) && Bool.random(using: &random) {
        let candidate = fixed.union([id])
        if old.filter(candidate.contains) == new.filter(candidate.contains) { fixed = candidate }
      }
      let difference = difference([("", old)], [("", new)], fixed: fixed)
      let moved = Set(difference.moved.map(\.id))
      #expect(moved.isDisjoint(with: fixed), "seed \(seed)")
      #expect(moved.count == Self.fewest(old, new, fixed), "seed \(seed): \(old) \(new) \(fixed)")
      let leaving = moved.union(difference.deleted.map(\.id))
      var replayed = old.filter { !leaving.contains($0) }
      let coming =
        difference.inserted.map { ($0.to, $0.id) } + difference.moved.map { ($0.to, $0.id) }
      for (to, id) in coming.sorted(by: { $0.0 < $1.0 }) { replayed.insert(id, at: to.item) }
      #expect(replayed == new, "seed \(seed)")
    }
  }

  /// By trying every set of objects that may move.
  private static func fewest(_ old: [Int], _ new: [Int], _ fixed: Set<Int>) -> Int {
    let common = old.filter { new.contains($0) && !fixed.contains($0) }
    let all = (0..<1 << common.count).sorted { $0.nonzeroBitCount < $1.nonzeroBitCount }
    let least = all.first { mask in
      let moved = Set(common.indices.filter { mask >> $0 & 1 == 1 }.map { common[$0] })
      let stays = { (id: Int) in old.contains(id) && new.contains(id) && !moved.contains(id) }
      return old.filter(stays) == new.filter(stays)
    }
    return least?.nonzeroBitCount ?? 0
  }
}
