// The places that members have now, in the order in which they are wanted → the places that they get.
//
// Places are numbers with room between them. Those that stand in order already keep theirs, as many
// as can be; the others get numbers in between. Where there is no room left, all get new ones.

/// Gives the members of an ordered relationship their places.
enum OrderedPlaces {
  static let step = ModelTriggers.positionStep

  /// - Parameter current: the places in the wanted order; nil where there is none yet.
  /// - Returns: strictly ascending places, parallel to `current`.
  static func assign(_ current: [Int64?]) -> [Int64] {
    let kept = longestAscending(current)
    var places = [Int64?](repeating: nil, count: current.count)
    for index in kept { places[index] = current[index] }
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

  /// Spreads numbers over a gap; false where there is no room.
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

  /// The indexes of a longest strictly ascending run of places, nils left out. O(n log n).
  private static func longestAscending(_ places: [Int64?]) -> [Int] {
    var tails: [Int] = []
    var previous = [Int?](repeating: nil, count: places.count)
    for (index, place) in places.enumerated() {
      guard let place else { continue }
      var low = 0
      var high = tails.count
      while low < high {
        let middle = (low + high) / 2
        if (places[tails[middle]] ?? 0) < place { low = middle + 1 } else { high = middle }
      }
      previous[index] = low > 0 ? tails[low - 1] : nil
      if low == tails.count { tails.append(index) } else { tails[low] = index }
    }
    var run: [Int] = []
    var next = tails.last
    while let index = next {
      run.append(index)
      next = previous[index]
    }
    return run.reversed()
  }
}
