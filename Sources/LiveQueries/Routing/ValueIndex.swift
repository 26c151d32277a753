// The live queries that are indexed by one key path.

import FetchModel

/// Live queries by the values or ranges of one key path.
struct ValueIndex {
  let domain: RoutingDomain
  private var points: [StoredValue: QueryBag] = [:]
  private var ranges = IntervalTree()

  init(domain: RoutingDomain) { self.domain = domain }

  var isEmpty: Bool { points.isEmpty && ranges.isEmpty }

  /// The number of queries at the most frequent value of `requirement`.
  func queryCount(_ requirement: IndexableConjunct.Requirement) -> Int {
    guard case .values(let values) = requirement else { return 0 }
    return values.map { points[$0]?.count ?? 0 }.max() ?? 0
  }

  mutating func insert(_ query: LiveQuery, _ requirement: IndexableConjunct.Requirement) {
    switch requirement {
    case .values(let values):
      for value in values { points[value, default: QueryBag()].insert(query) }
    case .range(let range): ranges.insert(query, range)
    }
  }

  mutating func remove(_ query: LiveQuery, _ requirement: IndexableConjunct.Requirement) {
    switch requirement {
    case .values(let values):
      for value in values {
        points[value]?.remove(query)
        if points[value]?.isEmpty == true { points[value] = nil }
      }
    case .range(let range): ranges.remove(query, range)
    }
  }

  /// Calls `body` with the queries whose conjunct `value` satisfies, or may satisfy.
  func forEach(at value: RoutingValue, _ body: (QueryBag) -> Void) {
    switch value {
    case .anything:
      for bag in points.values { body(bag) }
      ranges.forEach(body)
    case .known(let value):
      if let bag = points[value] { body(bag) }
      if value != .null { ranges.forEach(at: value, body) }
    }
  }
}
