// Splits lists of ids for predicates, which accept at most 10,000 values (`PredicateLimits.values`).

extension Array {
  /// The elements in order, in parts of at most `size`.
  func chunks(of size: Int) -> [[Element]] {
    stride(from: 0, to: count, by: size).map { Array(self[$0..<Swift.min(count, $0 + size)]) }
  }
}
