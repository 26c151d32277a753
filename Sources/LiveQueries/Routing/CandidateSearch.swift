// Finds the live queries that a change set may affect.
//
// The search reads old and new values of the changed objects only, with two store queries per
// changed entity. Everything else is an index lookup. If the store cannot provide values, or fails,
// every query that reads a changed property is a candidate. For a query found through its own
// objects, the search also returns which changed objects affect it.

import FetchModel

/// Searches for the queries that one change set may affect.
struct CandidateSearch {
  /// With more changed objects, conditions without indexable conjuncts are not tested row by row.
  private static let maxTested = 64
  /// With more affected objects at the other end of a relationship, the objects are not examined one by one.
  private static let maxRoots = 2_000
  /// After this many condition tests, queries become candidates untested. This bounds the cost of a
  /// save of many objects while there are many fetches of one value.
  private static let maxTests = 100_000
  /// The most (query, object) pairs that are recorded. Beyond it, a candidate is re-read for the
  /// whole change set.
  private static let maxRecordedPairs = 1_000_000
  /// The number of objects whose values are in memory at a time.
  private static let chunk = 4_000
  /// From this many affecting objects on, the search checks whether they are a minority of all
  /// examined objects.
  private static let sample = 128

  let index: QueryIndex
  let changed: ChangedObjects
  /// The position that all active queries are up to date with.
  let base: HistoryPosition
  let transaction: any ReadTransaction
  private(set) var found = QueryBag()
  /// The objects that affect each candidate, for candidates that need not be re-read for the whole
  /// change set.
  private var affectingObjects: [ObjectIdentifier: Set<ObjectID>] = [:]
  /// The size of the change set from which affecting objects are recorded.
  private let leastNarrowed: Int
  /// The number of examined objects.
  private var examinedCount = 0
  private var rejected = QueryBag()
  /// True after a store error, such as a timeout. The result then contains more queries than
  /// necessary.
  private(set) var hasFailed = false
  private var tests = 0
  private var recordedPairs = 0

  /// The number of queries that were looked up and whose condition holds for no changed object.
  var filteredOut: Int { rejected.all.count { !found.contains($0) } }

  init(
    _ index: QueryIndex, _ changed: ChangedObjects, after base: HistoryPosition,
    _ transaction: any ReadTransaction,
    narrowingFrom leastNarrowed: Int = 8
  ) {
    self.index = index
    self.changed = changed
    self.base = base
    self.transaction = transaction
    self.leastNarrowed = leastNarrowed
  }

  /// The changed objects that affect a candidate; nil if all of them may. Its rows of other objects
  /// are unchanged.
  func objects(for query: LiveQuery) -> Set<ObjectID>? { affectingObjects[ObjectIdentifier(query)] }

  /// Adds a query that all changed objects may affect.
  private mutating func take(_ query: LiveQuery) {
    found.insert(query)
    affectingObjects[ObjectIdentifier(query)] = nil
  }

  /// Adds a query that `id` affects.
  private mutating func take(_ query: LiveQuery, for id: ObjectID) {
    // A query with two matching values is tested twice.
    guard !isTaken(query) else { return }
    found.insert(query)
    affectingObjects[ObjectIdentifier(query), default: []].insert(id)
    let count = affectingObjects[ObjectIdentifier(query)]?.count ?? 0
    if count >= Self.sample, count * 2 > examinedCount {
      affectingObjects[ObjectIdentifier(query)] = nil
    }
  }

  /// True if further tests cannot add information about `query`.
  private func isTaken(_ query: LiveQuery) -> Bool {
    found.contains(query) && affectingObjects[ObjectIdentifier(query)] == nil
  }

  mutating func run() {
    for (entity, objects) in changed.entities {
      for (way, pathIndex) in index.pathIndexes[entity] ?? [:]
      where !pathIndex.watched.union.isDisjoint(with: objects.union) {
        if way.steps.isEmpty {
          searchRoots(way, pathIndex, objects)
        } else {
          searchRelated(entity, way, pathIndex, objects)
        }
      }
    }
  }

  // MARK: The fetches' own objects

  private mutating func searchRoots(
    _ way: QueryIndex.RelationshipPath, _ pathIndex: QueryIndex.PathIndex,
    _ objects: ChangedObjects.Objects
  ) {
    let unindexed = pathIndex.unindexed.all.filter { !isUnaffected($0, way, objects.union) }
    guard let table = index.tables[way.root], !table.used.isEmpty else {
      for query in unindexed { take(query) }
      return
    }
    // With a single query, a test costs as much as re-reading it.
    if index.count == 1 { return takeAll(way, pathIndex, objects) }
    let tested = objects.masks.count <= Self.maxTested ? unindexed : []
    if tested.isEmpty { for query in unindexed { take(query) } }
    for ids in chunks(objects.ids(changedIn: pathIndex.watched.union)) {
      guard let images = images(of: table, ids) else {
        return takeAll(way, pathIndex, objects)
      }
      for id in ids {
        let image = images[id]
        let narrowed = objects.masks.count < leastNarrowed ? nil : id
        examinedCount += 1
        lookUp(narrowed, image, objects.masks[id] ?? .all, pathIndex, table)
        for query in tested where !isTaken(query) { test(query, image, of: narrowed) }
      }
    }
  }

  private mutating func images(of table: PathTable, _ ids: Set<ObjectID>) -> Images? {
    do throws(StoreError) {
      return try Images(of: table, ids, after: base, transaction)
    } catch {
      hasFailed = true
      return nil
    }
  }

  /// Looks up queries by one of their own objects whose properties in `mask` differ.
  private mutating func lookUp(
    _ id: ObjectID?, _ image: Images.Image, _ mask: PropertyMask, _ pathIndex: QueryIndex.PathIndex,
    _ table: PathTable
  ) {
    for place in pathIndex.indexed.keys {
      lookUp(id, image, at: place, table) { query in
        query.routing.readSet.mask(at: []).isDisjoint(with: mask) ? nil : image
      }
    }
  }

  /// Looks up queries by an object's old and new value. Adds those whose condition may hold for the
  /// image that `isLookedAt` returns; nil skips the query.
  ///
  /// - Parameter id: the object, if it is the only one that affects the query.
  private mutating func lookUp(
    _ id: ObjectID?, _ image: Images.Image, at place: ConjunctPath, _ table: PathTable,
    _ isLookedAt: (LiveQuery) -> Images.Image?
  ) {
    guard let route = index.routes[place], let number = table.number(of: place.path) else { return }
    var values: Set<RoutingValue> = []
    for row in [image.old, image.new] {
      guard let row else { continue }
      values.insert(route.domain.value(row[number]))
    }
    for value in values {
      var queries: [LiveQuery] = []
      route.forEach(at: value) { bag in
        for query in bag.all where !isTaken(query) { queries.append(query) }
      }
      for query in queries {
        if let image = isLookedAt(query) { test(query, image, of: id) }
      }
    }
  }

  /// Adds a query if its condition may hold for the object before or after the change.
  private mutating func test(_ query: LiveQuery, _ image: Images.Image, of id: ObjectID?) {
    if found.contains(query) { recordedPairs += 1 } else { tests += 1 }
    guard tests <= Self.maxTests, recordedPairs <= Self.maxRecordedPairs else { return take(query) }
    let mayMatch =
      image.old.map { query.routing.mayMatch($0) } ?? false
      || image.new.map { query.routing.mayMatch($0) } ?? false
    guard mayMatch else { return rejected.insert(query) }
    if let id { take(query, for: id) } else { take(query) }
  }

  // MARK: Related objects

  private mutating func searchRelated(
    _ entity: Int, _ way: QueryIndex.RelationshipPath, _ pathIndex: QueryIndex.PathIndex,
    _ objects: ChangedObjects.Objects
  ) {
    searchUnindexed(entity, way, pathIndex, objects)
    guard !pathIndex.indexed.isEmpty else { return }
    if index.count == 1 { return takeAll(way, pathIndex, objects) }
    var table = PathTable()
    for place in pathIndex.indexed.keys {
      _ = table.use(place.suffix(after: way.steps, from: entity))
    }
    for ids in chunks(objects.ids(changedIn: pathIndex.watched.union)) {
      guard let images = images(of: table, ids) else {
        return takeAll(way, pathIndex, objects)
      }
      for id in ids {
        let mask = objects.masks[id] ?? .all
        for place in pathIndex.indexed.keys {
          lookUpRelated(images[id], mask, entity, way, place, table)
        }
      }
    }
  }

  private mutating func lookUpRelated(
    _ image: Images.Image, _ mask: PropertyMask, _ entity: Int, _ way: QueryIndex.RelationshipPath,
    _ place: ConjunctPath, _ table: PathTable
  ) {
    let suffix = place.suffix(after: way.steps, from: entity)
    guard let route = index.routes[place], let number = table.number(of: suffix) else { return }
    var values: Set<RoutingValue> = []
    for case let row? in [image.old, image.new] { values.insert(route.domain.value(row[number])) }
    // When this object is inserted, deleted or relinked, objects that refer to it may have nil at
    // this path before or after.
    if mask == .all || image.old == nil || image.new == nil {
      values.insert(route.domain.value(.null))
    }
    for value in values {
      route.forEach(at: value) { bag in
        for query in bag.all where !isUnaffected(query, way, mask) { take(query) }
      }
    }
  }

  /// Adds queries whose conjuncts do not pass through this entity: by the objects that reach a
  /// changed one if there are few, otherwise all of them.
  private mutating func searchUnindexed(
    _ entity: Int, _ way: QueryIndex.RelationshipPath, _ pathIndex: QueryIndex.PathIndex,
    _ objects: ChangedObjects.Objects
  ) {
    let unindexed = pathIndex.unindexed.all.filter {
      !isTaken($0) && !isUnaffected($0, way, objects.union)
    }
    let withConjuncts = unindexed.filter { $0.routing.conjuncts != nil }
    for query in unindexed where query.routing.conjuncts == nil { take(query) }
    guard !withConjuncts.isEmpty else { return }
    guard withConjuncts.count > 1, let table = index.tables[way.root],
      let roots = roots(reaching: entity, over: way),
      let images = images(of: table, roots)
    else {
      for query in withConjuncts { take(query) }
      return
    }
    var wanted = QueryBag()
    for query in withConjuncts { wanted.insert(query) }
    let places = Set(withConjuncts.flatMap { $0.routing.conjuncts ?? [] }.map(\.place))
    for id in roots {
      for place in places {
        lookUp(nil, images[id], at: place, table) { wanted.contains($0) ? images[id] : nil }
      }
    }
  }

  /// The ids of objects that reach a changed one over `way`; nil if there are too many or the store
  /// failed.
  private mutating func roots(
    reaching entity: Int, over way: QueryIndex.RelationshipPath
  ) -> Set<ObjectID>? {
    let changeSet = changed.changeSet(of: entity)
    var plan = FetchPlan(
      definition: ResultDefinition(entity: way.root, predicate: .everything))
    let steps = [way.steps] + changeSet.members.keys.map { way.steps + [$0.relationship] }
    plan.expansion = steps.map { PropertyPath(root: way.root, steps: $0, target: .object) }
    do throws(StoreError) {
      let roots = try transaction.affectedIDs(of: plan, by: changeSet)
      return roots.count <= Self.maxRoots ? roots : nil
    } catch {
      hasFailed = true
      return nil
    }
  }

  // MARK: Without values

  /// Adds every query that reads a changed property at the end of `way`.
  private mutating func takeAll(
    _ way: QueryIndex.RelationshipPath, _ pathIndex: QueryIndex.PathIndex,
    _ objects: ChangedObjects.Objects
  ) {
    for query in pathIndex.unindexed.all where !isUnaffected(query, way, objects.union) {
      take(query)
    }
    for place in pathIndex.indexed.keys {
      index.routes[place]?.forEach(at: .anything) { bag in
        for query in bag.all where !isUnaffected(query, way, objects.union) { take(query) }
      }
    }
  }

  /// True if a query reads none of the changed properties.
  private func isUnaffected(
    _ query: LiveQuery, _ way: QueryIndex.RelationshipPath, _ mask: PropertyMask
  ) -> Bool {
    query.routing.readSet.mask(at: way.steps).isDisjoint(with: mask)
  }

  private func chunks(_ ids: Set<ObjectID>) -> [Set<ObjectID>] {
    guard ids.count > Self.chunk else { return ids.isEmpty ? [] : [ids] }
    let all = Array(ids)
    return stride(from: 0, to: all.count, by: Self.chunk).map {
      Set(all[$0..<min($0 + Self.chunk, all.count)])
    }
  }
}

extension ConjunctPath {
  /// The rest of the path, starting at an object of `entity` at the end of `steps`.
  fileprivate func suffix(after steps: [Int], from entity: Int) -> PropertyPath {
    PropertyPath(root: entity, steps: Array(path.steps[steps.count...]), target: path.target)
  }
}
