// The members' current positions, in the requested order → their new positions.
//
// Positions are numbers with gaps between them. As many as possible of those that are already in
// order stay; the others get numbers in between. If a gap has no room left, all members get new
// positions.

import FetchModel

/// Assigns positions to the members of an ordered relationship.
package enum PositionAssigner {
  /// The distance of two positions when all members get new ones.
  package static let step: Int64 = 1 << 20

  /// O(n log n).
  ///
  /// - Parameter current: The current positions in the requested order; nil for a new member.
  /// - Returns: Strictly ascending positions, parallel to `current`.
  package static func assign(_ current: [Int64?]) -> [Int64] {
    let known = current.indices.filter { current[$0] != nil }
    var places = [Int64?](repeating: nil, count: current.count)
    for kept in longestIncreasingSubsequence(of: known.compactMap { current[$0].map(Int.init) }) {
      places[known[kept]] = current[known[kept]]
    }
    var start = 0
    while start < places.count {
      guard places[start] == nil else {
        start += 1
        continue
      }
      var end = start
      while end < places.count, places[end] == nil { end += 1 }
      guard fill(&places, start..<end) else { return renumbered(current.count) }
      start = end
    }
    return places.compactMap { $0 }
  }

  private static func renumbered(_ count: Int) -> [Int64] {
    (0..<count).map { Int64($0 + 1) * step }
  }

  /// Distributes numbers over a gap; returns false if there is no room.
  private static func fill(_ places: inout [Int64?], _ gap: Range<Int>) -> Bool {
    let count = Int64(gap.count)
    let below = gap.lowerBound > 0 ? places[gap.lowerBound - 1] : nil
    let above = gap.upperBound < places.count ? places[gap.upperBound] : nil
    let limit: Int64 = 1 << 60
    guard (below ?? 0).magnitude < limit, (above ?? 0).magnitude < limit else { return false }
    let distance: Int64
    let first: Int64
    switch (below, above) {
    case (let below?, let above?):
      distance = (above - below) / (count + 1)
      first = below + distance
    case (let below?, nil):
      distance = step
      first = below + step
    case (nil, let above?):
      distance = step
      first = above - count * step
    case (nil, nil):
      distance = step
      first = step
    }
    guard distance > 0 else { return false }
    for (offset, index) in gap.enumerated() { places[index] = first + Int64(offset) * distance }
    return true
  }
}
