// A set of live queries, compared by identity.

/// A set of live queries.
struct QueryBag {
  private var queries: [ObjectIdentifier: LiveQuery] = [:]

  var isEmpty: Bool { queries.isEmpty }
  var count: Int { queries.count }
  var all: some Collection<LiveQuery> { queries.values }

  mutating func insert(_ query: LiveQuery) { queries[ObjectIdentifier(query)] = query }
  mutating func remove(_ query: LiveQuery) { queries[ObjectIdentifier(query)] = nil }
  func contains(_ query: LiveQuery) -> Bool { queries[ObjectIdentifier(query)] != nil }
}
