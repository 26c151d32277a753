// Finds which objects with a changed position must move; the result is the smallest possible set.
//
// Objects in the window before and after whose key is unchanged are fixed: they never move. A
// changed object may stay only in its section, and only if the same number of fixed objects
// precedes it before and after, which means the same gap between fixed objects. Within one gap, a
// longest increasing subsequence stays and the other objects move.

import FetchModel

/// Separates objects that move from objects that stay.
struct MoveFinder {
  /// Indexes of the changed objects that move.
  private(set) var moved: Set<Int> = []

  /// - Parameter keys: the old and the new key of each changed object in the window.
  init(keys: [(old: ChangedKey?, new: ChangedKey?)], comparison: WindowComparison) {
    var fixed: [OrderKey] = []
    var changed: [Candidate] = []
    for (index, key) in keys.enumerated() {
      guard let old = key.old, let new = key.new else { continue }
      if old.key == new.key {
        fixed.append(new.key)
      } else {
        changed.append(Candidate(index: index, old: old, new: new))
      }
    }
    guard !changed.isEmpty else { return }
    fixed.sort()
    let gaps = Gaps(comparison: comparison, fixed: fixed)
    var byGap: [Int: [Candidate]] = [:]
    for candidate in changed {
      if let gap = gaps.gap(candidate) {
        byGap[gap, default: []].append(candidate)
      } else {
        moved.insert(candidate.index)
      }
    }
    for candidates in byGap.values { addMovers(among: candidates) }
  }

  struct Candidate {
    let index: Int
    let old: ChangedKey
    let new: ChangedKey
  }

  /// Numbers the gaps between fixed objects.
  private struct Gaps {
    let comparison: WindowComparison
    let fixed: [OrderKey]

    /// The gap that contains the candidate before and after; nil if they differ.
    func gap(_ candidate: Candidate) -> Int? {
      guard candidate.old.key.section == candidate.new.key.section else { return nil }
      let old = fixedBefore(candidate.old)
      return old == fixedBefore(candidate.new) ? old : nil
    }

    private func fixedBefore(_ changed: ChangedKey) -> Int {
      let (old, new) = (comparison.oldUnchanged, comparison.newUnchanged)
      let first = max(old.lowerBound, new.lowerBound)
      let end = max(first, min(old.upperBound, new.upperBound))
      return min(max(changed.unchangedBefore, first), end) + fixed.countBefore(changed.key)
    }
  }

  private mutating func addMovers(among candidates: [Candidate]) {
    guard candidates.count > 1 else { return }
    let ordered = candidates.sorted { $0.old.rank < $1.old.rank }
    let staying = Set(longestIncreasingSubsequence(of: ordered.map(\.new.rank)))
    for (index, candidate) in ordered.enumerated() where !staying.contains(index) {
      moved.insert(candidate.index)
    }
  }
}
