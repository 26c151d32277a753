// Long lists, some at a time: a predicate has at most 10,000 values.

extension Array {
  /// The elements in order, some at a time.
  func chunks(of size: Int) -> [[Element]] {
    stride(from: 0, to: count, by: size).map { Array(self[$0..<Swift.min(count, $0 + size)]) }
  }
}
