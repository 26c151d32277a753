// The smallest number of moves that a change needs, by brute force.

import LiveFetch

extension ReplayedContent where Value: Identifiable {
  /// An item that changed its section must move. In a section, the longest increasing subsequence
  /// stays, where items with unchanged keys weigh more than all others together.
  ///
  /// - Parameter hasSameKeys: returns true if the two values have equal order keys.
  static func fewestMoves(
    from old: [Section], to new: [Section], hasSameKeys: (Value, Value) -> Bool
  ) -> Int {
    let places = Dictionary(
      uniqueKeysWithValues: old.flatMap { section in
        section.items.enumerated().map { ($1.id, (section.name, $0, $1)) }
      })
    var moves = 0
    for section in new {
      let known = section.items.compactMap { value in places[value.id].map { ($0, value) } }
      let staying = known.filter { $0.0.0 == section.name }
      moves += known.count - staying.count
      var heaviest: [(weight: Int, count: Int)] = []
      for (index, element) in staying.enumerated() {
        let weight = hasSameKeys(element.0.2, element.1) ? 1000 : 1
        let before =
          staying[..<index].indices.filter { staying[$0].0.1 < element.0.1 }
          .map { heaviest[$0] }.max { $0.weight < $1.weight } ?? (0, 0)
        heaviest.append((before.weight + weight, before.count + 1))
      }
      moves += staying.count - (heaviest.max { $0.weight < $1.weight }?.count ?? 0)
    }
    return moves
  }
}
