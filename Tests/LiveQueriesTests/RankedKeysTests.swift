// Sorted lists of order keys: generated changes compared with arrays.

import FetchModel
import TestSupport
import Testing

@testable import LiveQueries

@Suite(.mayBlock) struct RankedKeysTests {
  private func key(_ section: Int, _ id: Int) -> OrderKey {
    var encoder = OrderKeyEncoder()
    encoder.append(Int64(section), .ascending)
    let length = UInt32(encoder.bytes.count)
    encoder.append(ObjectID.integer(Int64(id)))
    return OrderKey(bytes: encoder.bytes, sectionLength: length, idOffset: length)
  }

  @Test(
    "Ranks, keys at ranks and sections stay those of a sorted array", arguments: [0, 700, 3_000])
  func model(count: Int) {
    var random = SeededRandom(seed: UInt64(count) + 17)
    var sorted = Set(
      (0..<count).map { _ in
        key(.random(in: 0...40, using: &random), .random(in: 0...9_999, using: &random))
      }
    ).sorted()
    var ranked = RankedKeys(sorted: sorted, isSectioned: true)
    for round in 0..<6_000 {
      let key = key(.random(in: 0...40, using: &random), .random(in: 0...9_999, using: &random))
      let rank = sorted.countBefore(key)
      let isThere = rank < sorted.count && sorted[rank] == key
      #expect(ranked.keys.lowerBound(of: key.bytes) == rank)
      if !sorted.isEmpty, isThere || round / 2_000 == 2 {
        let index = isThere ? rank : Int.random(in: sorted.indices, using: &random)
        let wasRemoved = ranked.remove(sorted.remove(at: index))
        #expect(wasRemoved)
      } else {
        let cameIn = ranked.insert(key)
        #expect(cameIn == !isThere)
        if !isThere { sorted.insert(key, at: rank) }
      }
      if round % 250 == 0 { compare(ranked, sorted) }
    }
    compare(ranked, sorted)
  }

  private func compare(_ ranked: RankedKeys, _ sorted: [OrderKey]) {
    #expect(ranked.count == sorted.count)
    #expect(ranked.byteCount == RankedKeys(sorted: sorted, isSectioned: true).byteCount)
    #expect((0..<ranked.count).allSatisfy { ranked.keys[$0] == sorted[$0] })
    var walked: [OrderKey] = []
    ranked.keys.forEach(in: 0..<ranked.count) { walked.append($0) }
    #expect(walked == sorted)
    let sections = Set(sorted.map { Array($0.section) }).sorted { $0.precedes($1) }
    #expect((0..<ranked.sections.count).map { ranked.sections[$0].bytes } == sections)
    for section in sections {
      #expect(ranked.ranks(ofSection: section) == sorted.range(ofPrefix: section))
    }
  }

  @Test(
    "Keys of any length stand in their order, also those that begin like others", arguments: 0..<3)
  func lengths(seed: Int) {
    var random = SeededRandom(seed: UInt64(seed) + 91)
    func key() -> OrderKey {
      let isLong = Int.random(in: 0..<40, using: &random) == 0
      let length = Int.random(in: isLong ? 20_000...70_000 : 0...20, using: &random)
      var bytes = [UInt8](repeating: 255, count: length)
      for place in Array(bytes.indices.prefix(3)) + bytes.indices.dropFirst(3).suffix(17) {
        bytes[place] = .random(in: 254...255, using: &random)
      }
      return OrderKey(bytes: bytes, sectionLength: 0, idOffset: UInt32(bytes.count))
    }
    var sorted: [OrderKey] = []
    var list = RankedList()
    for round in 0..<1_500 {
      let key = key()
      let rank = sorted.countBefore(key)
      let isThere = rank < sorted.count && sorted[rank] == key
      #expect(list.lowerBound(of: key.bytes) == rank)
      #expect(list.upperBound(ofPrefix: key.bytes) == sorted.range(ofPrefix: key.bytes).upperBound)
      if isThere, round % 2 == 0 {
        sorted.remove(at: rank)
        let wasRemoved = list.remove(key)
        #expect(wasRemoved)
      } else {
        if !isThere { sorted.insert(key, at: rank) }
        let cameIn = list.insert(key)
        #expect(cameIn == !isThere)
      }
    }
    #expect(list.count == sorted.count)
    #expect((0..<list.count).allSatisfy { list[$0] == sorted[$0] }, "seed \(seed)")
    list.removeTail(from: sorted.count / 2)
    var walked: [OrderKey] = []
    list.forEach(in: 0..<list.count) { walked.append($0) }
    #expect(walked == Array(sorted[..<(sorted.count / 2)]), "seed \(seed)")
  }

  @Test("Changing many keys at once equals changing them one by one", arguments: [0, 900, 5_000])
  func updating(count: Int) {
    var random = SeededRandom(seed: UInt64(count) + 5)
    let all = Set(
      (0..<2 * count + 3_000).map { _ in
        key(.random(in: 0...40, using: &random), .random(in: 0...9_999, using: &random))
      }
    ).shuffled(using: &random)
    var atOnce = RankedKeys(sorted: all[..<count].sorted(), isSectioned: true)
    if count > 1_000 { atOnce.trim(to: count / 2) }
    var oneByOne = atOnce
    let removed = all[(count / 3)..<(count / 3 + 1_200)]
    let inserted = all[(count / 2)...]
    atOnce.update(removing: Array(removed), inserting: Array(inserted))
    for key in removed { oneByOne.remove(key) }
    for key in inserted { oneByOne.insert(key) }
    #expect(atOnce.bound == oneByOne.bound)
    #expect(atOnce.sections.count == oneByOne.sections.count)
    #expect(atOnce.count == oneByOne.count)
    for rank in 0..<atOnce.count { #expect(atOnce.keys[rank] == oneByOne.keys[rank]) }
  }

  @Test("A list truncated at a rank accepts keys before its bound and ignores later ones")
  func trimming() {
    var ranked = RankedKeys(sorted: (0..<1_000).map { key($0 / 10, $0 * 2) }, isSectioned: true)
    ranked.trim(to: 605)
    #expect(ranked.count == 605)
    #expect(!ranked.isComplete)
    #expect(ranked.sections.count == 61)
    let changes = [
      ranked.insert(key(60, 1_209)), ranked.insert(key(60, 1_207)), ranked.remove(key(60, 1_208)),
    ]
    #expect(changes == [false, true, true])
    #expect(!ranked.covers(key(60, 1_209)))
    ranked.append(contentsOf: (605..<1_000).map { key($0 / 10, $0 * 2) }, isComplete: true)
    #expect(ranked.count == 1_000)
    #expect(ranked.sections.count == 100)
    #expect(ranked.isComplete)
  }
}
