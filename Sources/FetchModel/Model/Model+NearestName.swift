// A hint for a misspelt name: the known name with the smallest edit distance.

/// Returns the most similar of `candidates`; nil if none is similar enough. O(candidates ·
/// length²).
///
/// The distance is the number of inserted, deleted, replaced or swapped letters, ignoring case. It
/// must not exceed a third of the name's length.
public func nearestName(to name: String, among candidates: [String]) -> String? {
  let letters = Array(name.lowercased().unicodeScalars.prefix(64))
  let most = max(1, letters.count / 3)
  return
    candidates.filter { !$0.isEmpty }
    .map { ($0, editDistance(letters, Array($0.lowercased().unicodeScalars.prefix(64)))) }
    // A different name of one letter is never similar.
    .filter { $0.1 <= most && $0.1 < max(letters.count, $0.0.unicodeScalars.count) }
    .min { $0.1 < $1.1 }?.0
}

private func editDistance(_ left: [Unicode.Scalar], _ right: [Unicode.Scalar]) -> Int {
  var beforeLast = [Int](repeating: 0, count: right.count + 1)
  var last = Array(0...right.count)
  for row in left.indices {
    var current = [row + 1]
    for column in right.indices {
      let isSame = left[row] == right[column]
      var cost = min(last[column] + (isSame ? 0 : 1), last[column + 1] + 1, current[column] + 1)
      if row > 0, column > 0, left[row] == right[column - 1], left[row - 1] == right[column] {
        cost = min(cost, beforeLast[column - 1] + 1)
      }
      current.append(cost)
    }
    (beforeLast, last) = (last, current)
  }
  return last[right.count]
}
