// Sets of characters as sorted, disjoint ranges of code points, so that set operations are linear.

/// A set of Unicode scalars.
struct ScalarSet: Sendable, Equatable {
  typealias Span = ClosedRange<UInt32>

  static let all = ScalarSet([0...0x10FFFF])

  /// Ascending, not adjacent.
  let spans: [Span]
  /// Membership of the first 128 characters as a bit set.
  private let ascii: (low: UInt64, high: UInt64)

  /// - Parameter spans: in any order; they may overlap.
  init(_ spans: [Span] = []) {
    self.init(ordered: Self.merged(spans.sorted { $0.lowerBound < $1.lowerBound }))
  }

  init(_ scalar: Unicode.Scalar) { self.init(ordered: [scalar.value...scalar.value]) }

  private init(ordered spans: [Span]) {
    self.spans = spans
    var ascii: (low: UInt64, high: UInt64) = (0, 0)
    for span in spans where span.lowerBound < 128 {
      for code in span.lowerBound...min(span.upperBound, 127) {
        if code < 64 {
          ascii.low |= 1 << UInt64(code)
        } else {
          ascii.high |= 1 << UInt64(code - 64)
        }
      }
    }
    self.ascii = ascii
  }

  private static func merged(_ spans: [Span]) -> [Span] {
    var merged: [Span] = []
    for span in spans {
      if let last = merged.last, span.lowerBound <= last.upperBound &+ 1 {
        merged[merged.count - 1] = last.lowerBound...max(last.upperBound, span.upperBound)
      } else {
        merged.append(span)
      }
    }
    return merged
  }

  static func == (left: ScalarSet, right: ScalarSet) -> Bool { left.spans == right.spans }

  /// O(1) for ASCII, otherwise O(log n) for n spans.
  func contains(_ scalar: Unicode.Scalar) -> Bool {
    let code = scalar.value
    if code < 64 { return ascii.low >> UInt64(code) & 1 == 1 }
    if code < 128 { return ascii.high >> UInt64(code - 64) & 1 == 1 }
    return contains(code: code)
  }

  private func contains(code: UInt32) -> Bool {
    var (low, high) = (0, spans.count)
    while low < high {
      let middle = (low + high) / 2
      if spans[middle].upperBound < code { low = middle + 1 } else { high = middle }
    }
    return low < spans.count && spans[low].lowerBound <= code
  }
}

extension ScalarSet {
  func union(_ other: ScalarSet) -> ScalarSet { ScalarSet(spans + other.spans) }

  /// All other code points.
  var complement: ScalarSet {
    var gaps: [Span] = []
    var next: UInt32 = 0
    for span in spans {
      if span.lowerBound > next { gaps.append(next...span.lowerBound - 1) }
      next = span.upperBound + 1
    }
    if next <= 0x10FFFF { gaps.append(next...0x10FFFF) }
    return ScalarSet(ordered: gaps)
  }

  func intersection(_ other: ScalarSet) -> ScalarSet {
    var shared: [Span] = []
    var (index, otherIndex) = (0, 0)
    while index < spans.count, otherIndex < other.spans.count {
      let (left, right) = (spans[index], other.spans[otherIndex])
      if left.overlaps(right) { shared.append(left.clamped(to: right)) }
      if left.upperBound < right.upperBound { index += 1 } else { otherIndex += 1 }
    }
    return ScalarSet(ordered: shared)
  }

  func subtracting(_ other: ScalarSet) -> ScalarSet { intersection(other.complement) }

  /// The number of members or of groups, whichever ``closedOverCase`` looks up.
  var closureSteps: Int { min(spans.reduce(0) { $0 + $1.count }, CaseFolding.groups.count) }

  /// This set with every character that differs from a member only in case.
  var closedOverCase: ScalarSet {
    let groups = CaseFolding.groups
    let found =
      closureSteps < groups.count
      ? spans.joined().compactMap { CaseFolding.group(of: $0) }
      : groups.filter { $0.contains(where: contains) }
    guard !found.isEmpty else { return self }
    return ScalarSet(spans + found.joined().map { $0.value...$0.value })
  }
}
