// Longest increasing subsequence.

/// The indexes of one longest strictly increasing subsequence of `numbers`, ascending. O(k log k).
package func longestIncreasingSubsequence(of numbers: [Int]) -> [Int] {
  /// For each length, the index of the smallest number that ends a subsequence of it.
  var ends: [Int] = []
  var previous = [Int?](repeating: nil, count: numbers.count)
  for (index, number) in numbers.enumerated() {
    var (length, bound) = (0, ends.count)
    while length < bound {
      let middle = (length + bound) / 2
      if numbers[ends[middle]] < number { length = middle + 1 } else { bound = middle }
    }
    previous[index] = length > 0 ? ends[length - 1] : nil
    if length == ends.count { ends.append(index) } else { ends[length] = index }
  }
  var subsequence: [Int] = []
  var next = ends.last
  while let index = next {
    subsequence.append(index)
    next = previous[index]
  }
  return subsequence.reversed()
}
