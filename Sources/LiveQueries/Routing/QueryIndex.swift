// The index from changed values to the live queries that they may affect.
//
// Queries are indexed by the entities they read, and within an entity by one conjunct of their
// condition: `country.code == 'DE'` by the country's code, `population >= 1000` by the population.
// A changed object is looked up by its old and its new values. A query without an indexable
// conjunct is a candidate for every change of its entities, unless its condition holds neither for
// the old nor for the new values.
//
// A related object is looked up by its own part of the conjunct's path: a changed country by its
// code, without its cities. That is sufficient, because an unchanged city has the same country
// before and after. Queries whose conjunct does not pass through the changed object are found
// through the objects that reach it.

import FetchModel

/// The active queries, indexed by what they read.
struct QueryIndex {
  /// A relationship path from the objects of a query.
  struct RelationshipPath: Hashable {
    let root: Int
    let steps: [Int]
  }

  /// The queries that read objects at the end of one relationship path.
  struct PathIndex {
    /// The properties that any of them reads.
    var watched = MaskCounts()
    /// The number of queries that are indexed by each conjunct path that begins with this relationship path.
    var indexed: [ConjunctPath: Int] = [:]
    /// Queries that cannot be looked up from this path.
    var unindexed = QueryBag()
  }

  /// By the entity at the end of the path.
  private(set) var pathIndexes: [Int: [RelationshipPath: PathIndex]] = [:]
  private(set) var valueIndexes: [ConjunctPath: ValueIndex] = [:]
  /// The numbered paths of each entity's queries, by the entity's index.
  private(set) var pathTables: [Int: PathTable] = [:]
  private(set) var count = 0

  mutating func insert(_ query: LiveQuery) {
    count += 1
    let conjuncts = chooseConjuncts(query.routing.alternatives)
    query.routing.conjuncts = conjuncts
    for conjunct in conjuncts ?? [] { insertIntoValueIndex(query, conjunct) }
    numberPaths(of: query)
    for entry in query.routing.readSet.entries {
      let relationshipPath = RelationshipPath(root: query.entity, steps: entry.steps)
      // Removed while it changes, because sharing it with the dictionary would copy it.
      var pathIndex =
        pathIndexes[entry.entity]?.removeValue(forKey: relationshipPath) ?? PathIndex()
      pathIndex.watched.add(entry.mask)
      if query.routing.isIndexed(at: entry.steps) {
        for path in query.conjunctPaths { pathIndex.indexed[path, default: 0] += 1 }
      } else {
        pathIndex.unindexed.insert(query)
      }
      pathIndexes[entry.entity, default: [:]][relationshipPath] = pathIndex
    }
  }

  mutating func remove(_ query: LiveQuery) {
    count -= 1
    for entry in query.routing.readSet.entries { removeFromPathIndex(query, entry) }
    for conjunct in query.routing.conjuncts ?? [] {
      valueIndexes[conjunct.path]?.remove(query, conjunct.requirement)
      if valueIndexes[conjunct.path]?.isEmpty == true { valueIndexes[conjunct.path] = nil }
      pathTables[query.entity]?.drop(conjunct.path.propertyPath)
    }
    for path in query.numberedPaths { pathTables[query.entity]?.drop(path) }
    query.routing.conjuncts = nil
    query.routing.slots = nil
  }

  private mutating func removeFromPathIndex(_ query: LiveQuery, _ entry: ReadSet.Entry) {
    let relationshipPath = RelationshipPath(root: query.entity, steps: entry.steps)
    guard var pathIndex = pathIndexes[entry.entity]?[relationshipPath] else { return }
    pathIndexes[entry.entity]?[relationshipPath] = nil
    pathIndex.watched.remove(entry.mask)
    pathIndex.unindexed.remove(query)
    if query.routing.isIndexed(at: entry.steps) {
      for path in query.conjunctPaths {
        pathIndex.indexed[path, default: 1] -= 1
        if pathIndex.indexed[path] == 0 { pathIndex.indexed[path] = nil }
      }
    }
    if pathIndex.unindexed.isEmpty && pathIndex.indexed.isEmpty && pathIndex.watched.isEmpty {
      return
    }
    pathIndexes[entry.entity]?[relationshipPath] = pathIndex
  }

  /// Returns the alternative with the lowest rank; among equals the one whose values have the fewest
  /// queries. Each alternative finds every matching row. nil if there is none.
  private func chooseConjuncts(_ alternatives: [[IndexableConjunct]]) -> [IndexableConjunct]? {
    alternatives.min { left, right in
      let (leftRank, rightRank) = (
        IndexableConjunctFinder.rank(left).0, IndexableConjunctFinder.rank(right).0
      )
      if leftRank != rightRank { return leftRank < rightRank }
      return queryCount(left) < queryCount(right)
    }
  }

  private func queryCount(_ conjuncts: [IndexableConjunct]) -> Int {
    conjuncts.map { valueIndexes[$0.path]?.queryCount($0.requirement) ?? 0 }.max() ?? 0
  }

  private mutating func insertIntoValueIndex(_ query: LiveQuery, _ conjunct: IndexableConjunct) {
    if valueIndexes[conjunct.path] == nil {
      valueIndexes[conjunct.path] = ValueIndex(
        domain: RoutingDomain(conjunct.path, in: query.model))
    }
    valueIndexes[conjunct.path]?.insert(query, conjunct.requirement)
    _ = pathTables[query.entity, default: PathTable()].use(conjunct.path.propertyPath)
  }

  /// Assigns numbers to the paths of the query's condition if the table has room.
  private mutating func numberPaths(of query: LiveQuery) {
    guard let evaluator = query.routing.evaluator else { return }
    let paths = evaluator.paths.map(\.path)
    var table = pathTables[query.entity] ?? PathTable()
    guard evaluator.collections.isEmpty, table.hasRoom(for: paths) else { return }
    pathTables[query.entity] = nil
    query.routing.slots = paths.map { table.use($0) }
    pathTables[query.entity] = table
  }
}

extension LiveQuery {
  var entity: Int { key.definition.entity }

  /// The distinct paths of its conjuncts.
  fileprivate var conjunctPaths: Set<ConjunctPath> { Set(routing.conjuncts?.map(\.path) ?? []) }

  /// The paths that were numbered to test its condition.
  fileprivate var numberedPaths: [PropertyPath] {
    routing.slots == nil ? [] : routing.evaluator?.paths.map(\.path) ?? []
  }
}

/// Property masks with a use count per bit.
struct MaskCounts {
  private var counts = [UInt32](repeating: 0, count: 64)
  /// The union of all masks.
  private(set) var union: PropertyMask = []

  var isEmpty: Bool { union.isEmpty }

  mutating func add(_ mask: PropertyMask) {
    change(mask) { $0 &+= 1 }
    union.formUnion(mask)
  }

  mutating func remove(_ mask: PropertyMask) {
    change(mask) { $0 &-= 1 }
    var remaining: UInt64 = 0
    for (bit, count) in counts.enumerated() where count > 0 { remaining |= 1 << UInt64(bit) }
    union = PropertyMask(rawValue: remaining)
  }

  private mutating func change(_ mask: PropertyMask, _ body: (inout UInt32) -> Void) {
    var bits = mask.rawValue
    while bits != 0 {
      body(&counts[bits.trailingZeroBitCount])
      bits &= bits &- 1
    }
  }
}
