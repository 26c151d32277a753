// Which live queries a moment may change: touches enter, candidates leave.
//
// The one place that knows how queries are found. It asks by entity; what a query needs of values
// can be looked up here too, without the rest knowing.

import FetchModel

/// The active queries, findable by what they depend on.
struct QueryIndex {
  private var byEntity: [Int: [ObjectIdentifier: LiveQuery]] = [:]

  mutating func insert(_ query: LiveQuery) {
    for entity in query.dependencies {
      byEntity[entity, default: [:]][ObjectIdentifier(query)] = query
    }
  }

  mutating func remove(_ query: LiveQuery) {
    for entity in query.dependencies { byEntity[entity]?[ObjectIdentifier(query)] = nil }
  }

  /// The queries that `touches` may change, each once.
  func candidates(for touches: Touches) -> [LiveQuery] {
    let entities = Set(touches.objects.keys).union(touches.members.keys.map(\.entity))
    var found: [ObjectIdentifier: LiveQuery] = [:]
    for entity in entities {
      for (identity, query) in byEntity[entity] ?? [:] where found[identity] == nil {
        if query.isTouched(by: touches) { found[identity] = query }
      }
    }
    return Array(found.values)
  }
}
