// The members' current positions, in the requested order → their new positions.
//
// As many members as possible keep their positions; the others get numbers between those. If two kept
// positions leave no room for the members between them, all members get new positions.

import FetchModel

/// Assigns positions to the members of an ordered relationship.
package enum PositionAssigner {
  /// The distance between two positions when all members get new ones.
  package static let step: Int64 = 1 << 20

  /// O(n log n).
  ///
  /// - Parameter current: The current positions in the requested order; nil for a new member.
  /// - Returns: Strictly ascending positions, parallel to `current`.
  package static func assign(_ current: [Int64?]) -> [Int64] {
    let known = current.indices.filter { current[$0] != nil }
    var assigned = [Int64?](repeating: nil, count: current.count)
    for kept in longestIncreasingSubsequence(of: known.compactMap { current[$0].map(Int.init) }) {
      assigned[known[kept]] = current[known[kept]]
    }
    var start = 0
    while start < assigned.count {
      guard assigned[start] == nil else {
        start += 1
        continue
      }
      var end = start
      while end < assigned.count, assigned[end] == nil { end += 1 }
      guard fill(&assigned, start..<end) else { return renumbered(current.count) }
      start = end
    }
    return assigned.compactMap { $0 }
  }

  private static func renumbered(_ count: Int) -> [Int64] {
    (0..<count).map { Int64($0 + 1) * step }
  }

  /// Assigns positions to a run of members without one. Returns false if there is no room.
  private static func fill(_ assigned: inout [Int64?], _ run: Range<Int>) -> Bool {
    let count = Int64(run.count)
    let below = run.lowerBound > 0 ? assigned[run.lowerBound - 1] : nil
    let above = run.upperBound < assigned.count ? assigned[run.upperBound] : nil
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
    for (offset, index) in run.enumerated() { assigned[index] = first + Int64(offset) * distance }
    return true
  }
}
