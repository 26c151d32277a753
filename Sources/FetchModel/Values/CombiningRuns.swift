// Many combining marks after one letter. Normalization puts the marks of a letter into canonical
// order by exchanging neighbours, in Foundation and in the comparisons of strings: a run of n marks
// takes n² steps. Requests have a maximum; stored texts are put into order here first.

import Foundation

extension String {
  /// The text in canonical composition. O(n log n).
  package var precomposedText: String {
    let ordered = hasMarks(moreThan: Self.longRun) ? orderingMarks : self
    return ordered.precomposedStringWithCanonicalMapping
  }

  /// The length up to which runs are left to Foundation.
  private static let longRun = 30

  /// True if more than `count` combining marks follow each other. O(length).
  func hasMarks(moreThan count: Int) -> Bool {
    // A mark has at least two bytes.
    guard utf8.count > 2 * count else { return false }
    var marks = 0
    for scalar in unicodeScalars {
      marks = scalar.isReordered ? marks + 1 : 0
      if marks > count { return true }
    }
    return false
  }

  /// An equivalent text: long runs and their letters are decomposed and in canonical order.
  private var orderingMarks: String {
    var ordered = UnicodeScalarView()
    var decompositions: [Unicode.Scalar: [Unicode.Scalar]] = [:]
    /// A letter and its marks.
    var run: [Unicode.Scalar] = []
    func endRun() {
      if run.count - 1 > Self.longRun {
        run = run.flatMap { scalar -> [Unicode.Scalar] in
          if let known = decompositions[scalar] { return known }
          let parts = Array(String(scalar).decomposedStringWithCanonicalMapping.unicodeScalars)
          decompositions[scalar] = parts
          return parts
        }
        // Marks of the same class keep their order: the sort is stable.
        run.sort { $0.properties.canonicalCombiningClass < $1.properties.canonicalCombiningClass }
      }
      ordered.append(contentsOf: run)
      run.removeAll(keepingCapacity: true)
    }
    for scalar in unicodeScalars {
      if !scalar.isReordered { endRun() }
      run.append(scalar)
    }
    endRun()
    return String(ordered)
  }
}

extension Unicode.Scalar {
  /// True for a mark that canonical order exchanges with its neighbours.
  fileprivate var isReordered: Bool {
    value >= 0x300 && properties.canonicalCombiningClass != .notReordered
  }
}
