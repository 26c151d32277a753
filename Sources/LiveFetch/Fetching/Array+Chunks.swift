// Splits lists of ids: a predicate accepts at most 10,000 values (`PredicateLimits.values`), and a request
// reads at most 1,000 objects.

extension Array {
  /// The elements in order, in parts of at most `size`.
  func chunks(of size: Int) -> [[Element]] {
    stride(from: 0, to: count, by: size).map { Array(self[$0..<Swift.min(count, $0 + size)]) }
  }
}
