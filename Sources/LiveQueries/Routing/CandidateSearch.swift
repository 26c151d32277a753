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
  /// The maximum number of (query, object) pairs that are recorded. Beyond it, a candidate is re-read for the
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
  private let minNarrowed: Int
  /// The number of examined objects.
  private var examinedCount = 0
  private var rejected = QueryBag()
  /// True after a store error, such as a timeout, and if there was no time for all tests. The result
  /// then contains more queries than necessary.
  private(set) var hasFailed = false
  private var tests = 0
  private let callerTimes: CallerTimes?
  /// The time of slow tests, which the callers' times have received.
  private(set) var chargedTime = Duration.zero
  /// True if a test took long, while the time of callers is limited.
  private var hasSlowTests = false
  private static let slowTest = Duration.microseconds(20)
  /// When conditions are not tested any more; nil for no limit.
  private var latestTest: ContinuousClock.Instant?
  private var recordedPairs = 0

  /// The number of queries that were looked up and whose condition holds for no changed object.
  var filteredOut: Int { rejected.all.count { !found.contains($0) } }

  /// - Parameters:
  ///   - callerTimes: receives the time of slow tests; without time left, a caller's fetches become
  ///     candidates untested.
  ///   - minNarrowed: the size of the change set from which affecting objects are recorded. Tests record
  ///     them for smaller ones.
  init(
    _ index: QueryIndex, _ changed: ChangedObjects, after base: HistoryPosition,
    _ transaction: any ReadTransaction, _ callerTimes: CallerTimes? = nil,
    narrowingFrom minNarrowed: Int = 8
  ) {
    self.callerTimes = callerTimes.flatMap { $0.isLimiting ? $0 : nil }
    self.index = index
    self.changed = changed
    self.base = base
    self.transaction = transaction
    self.minNarrowed = minNarrowed
  }

  /// The changed objects that affect a candidate; nil if all of them may. Its rows of other objects
  /// are unchanged.
  func objects(for query: LiveQuery) -> Set<ObjectID>? { affectingObjects[ObjectIdentifier(query)] }

  /// Adds a query that all changed objects may affect.
  private mutating func add(_ query: LiveQuery) {
    found.insert(query)
    affectingObjects[ObjectIdentifier(query)] = nil
  }

  /// Adds a query that `id` affects.
  private mutating func add(_ query: LiveQuery, for id: ObjectID) {
    // A query with two matching values is tested twice.
    guard !isAdded(query) else { return }
    found.insert(query)
    affectingObjects[ObjectIdentifier(query), default: []].insert(id)
    let count = affectingObjects[ObjectIdentifier(query)]?.count ?? 0
    if count >= Self.sample, count * 2 > examinedCount {
      affectingObjects[ObjectIdentifier(query)] = nil
    }
  }

  /// True if further tests cannot add information about `query`.
  private func isAdded(_ query: LiveQuery) -> Bool {
    found.contains(query) && affectingObjects[ObjectIdentifier(query)] == nil
  }

  /// - Parameter latest: when conditions are not tested any more: a test may search a long text. The
  ///   queries left become candidates untested. nil for no limit.
  mutating func run(testingUntil latest: ContinuousClock.Instant? = nil) {
    latestTest = latest
    for (entity, objects) in changed.entities {
      for (path, pathIndex) in index.pathIndexes[entity] ?? [:]
      where !pathIndex.watched.union.isDisjoint(with: objects.union) {
        if path.steps.isEmpty {
          searchRoots(path, pathIndex, objects)
        } else {
          searchRelated(of: entity, path, pathIndex, objects)
        }
      }
    }
  }

  // MARK: The fetches' own objects

  private mutating func searchRoots(
    _ path: QueryIndex.RelationshipPath, _ pathIndex: QueryIndex.PathIndex,
    _ objects: ChangedObjects.Objects
  ) {
    let unindexed = pathIndex.unindexed.all.filter { !isUnaffected($0, path, objects.union) }
    guard let table = index.pathTables[path.root], !table.used.isEmpty else {
      for query in unindexed { add(query) }
      return
    }
    // With a single query, a test costs as much as re-reading it.
    if index.count == 1 { return addAll(path, pathIndex, objects) }
    let tested = objects.masks.count <= Self.maxTested ? unindexed : []
    if tested.isEmpty { for query in unindexed { add(query) } }
    for ids in chunks(objects.ids(changedIn: pathIndex.watched.union)) {
      guard let changedValues = changedValues(of: table, ids) else {
        return addAll(path, pathIndex, objects)
      }
      for id in ids {
        let values = changedValues[id]
        let narrowed = objects.masks.count < minNarrowed ? nil : id
        examinedCount += 1
        lookUp(narrowed, values, changed: objects.masks[id] ?? .all, in: pathIndex, table)
        for query in tested where !isAdded(query) { test(query, values, of: narrowed) }
      }
    }
  }

  private mutating func changedValues(of table: PathTable, _ ids: Set<ObjectID>) -> ChangedValues? {
    do throws(StoreError) {
      return try ChangedValues(of: table, ids, after: base, transaction)
    } catch {
      hasFailed = true
      return nil
    }
  }

  /// Looks up queries by one of their own objects, whose properties in `mask` differ.
  private mutating func lookUp(
    _ id: ObjectID?, _ values: ChangedValues.Pair, changed mask: PropertyMask,
    in pathIndex: QueryIndex.PathIndex, _ table: PathTable
  ) {
    for conjunctPath in pathIndex.indexed.keys {
      lookUp(id, values, at: conjunctPath, table) { query in
        query.routing.readSet.mask(at: []).isDisjoint(with: mask) ? nil : values
      }
    }
  }

  /// Looks up queries by an object's old and new value. Adds those whose condition may hold for the
  /// values that `tested` returns; nil skips the query.
  ///
  /// - Parameter id: the object, if it is the only one that affects the query.
  private mutating func lookUp(
    _ id: ObjectID?, _ values: ChangedValues.Pair, at conjunctPath: ConjunctPath,
    _ table: PathTable,
    _ tested: (LiveQuery) -> ChangedValues.Pair?
  ) {
    guard let valueIndex = index.valueIndexes[conjunctPath],
      let number = table.number(of: conjunctPath.propertyPath)
    else { return }
    var routingValues: Set<RoutingValue> = []
    for row in [values.old, values.new] {
      guard let row else { continue }
      routingValues.insert(valueIndex.domain.value(row[number]))
    }
    for value in routingValues {
      var queries: [LiveQuery] = []
      valueIndex.forEach(at: value) { bag in
        for query in bag.all where !isAdded(query) { queries.append(query) }
      }
      for query in queries {
        if let values = tested(query) { test(query, values, of: id) }
      }
    }
  }

  /// Adds a query if its condition may hold for the object before or after the change.
  private mutating func test(_ query: LiveQuery, _ values: ChangedValues.Pair, of id: ObjectID?) {
    if found.contains(query) { recordedPairs += 1 } else { tests += 1 }
    let begin = ContinuousClock.now
    if let latestTest, begin >= latestTest { (tests, hasFailed) = (Self.maxTests + 1, true) }
    guard tests <= Self.maxTests, recordedPairs <= Self.maxRecordedPairs,
      !hasSlowTests || callerTimes?.hasTime(for: query.callers) != false
    else { return add(query) }
    let mayMatch =
      values.old.map { query.routing.mayMatch($0) } ?? false
      || values.new.map { query.routing.mayMatch($0) } ?? false
    charge(query, since: begin)
    guard mayMatch else { return rejected.insert(query) }
    if let id { add(query, for: id) } else { add(query) }
  }

  private mutating func charge(_ query: LiveQuery, since begin: ContinuousClock.Instant) {
    guard let callerTimes else { return }
    let time = begin.duration(to: .now)
    guard time > Self.slowTest else { return }
    hasSlowTests = true
    chargedTime += time
    callerTimes.charge(time, to: query.callers)
  }

  // MARK: Related objects

  private mutating func searchRelated(
    of entity: Int, _ path: QueryIndex.RelationshipPath, _ pathIndex: QueryIndex.PathIndex,
    _ objects: ChangedObjects.Objects
  ) {
    searchUnindexed(of: entity, path, pathIndex, objects)
    guard !pathIndex.indexed.isEmpty else { return }
    if index.count == 1 { return addAll(path, pathIndex, objects) }
    var table = PathTable()
    for conjunctPath in pathIndex.indexed.keys {
      _ = table.use(conjunctPath.suffix(after: path.steps, from: entity))
    }
    for ids in chunks(objects.ids(changedIn: pathIndex.watched.union)) {
      guard let changedValues = changedValues(of: table, ids) else {
        return addAll(path, pathIndex, objects)
      }
      for id in ids {
        let mask = objects.masks[id] ?? .all
        for conjunctPath in pathIndex.indexed.keys {
          lookUpRelated(
            changedValues[id], changed: mask, of: entity, over: path, at: conjunctPath, table)
        }
      }
    }
  }

  private mutating func lookUpRelated(
    _ values: ChangedValues.Pair, changed mask: PropertyMask, of entity: Int,
    over path: QueryIndex.RelationshipPath, at conjunctPath: ConjunctPath, _ table: PathTable
  ) {
    let suffix = conjunctPath.suffix(after: path.steps, from: entity)
    guard let valueIndex = index.valueIndexes[conjunctPath], let number = table.number(of: suffix)
    else { return }
    var routingValues: Set<RoutingValue> = []
    for case let row? in [values.old, values.new] {
      routingValues.insert(valueIndex.domain.value(row[number]))
    }
    // When this object is inserted, deleted or relinked, objects that refer to it may have nil at
    // this path before or after.
    if mask == .all || values.old == nil || values.new == nil {
      routingValues.insert(valueIndex.domain.value(.null))
    }
    for value in routingValues {
      valueIndex.forEach(at: value) { bag in
        for query in bag.all where !isUnaffected(query, path, mask) { add(query) }
      }
    }
  }

  /// Adds queries whose conjuncts do not pass through this entity: by the objects that reach a
  /// changed one if there are few, otherwise all of them.
  private mutating func searchUnindexed(
    of entity: Int, _ path: QueryIndex.RelationshipPath, _ pathIndex: QueryIndex.PathIndex,
    _ objects: ChangedObjects.Objects
  ) {
    let unindexed = pathIndex.unindexed.all.filter {
      !isAdded($0) && !isUnaffected($0, path, objects.union)
    }
    let withConjuncts = unindexed.filter { $0.routing.conjuncts != nil }
    for query in unindexed where query.routing.conjuncts == nil { add(query) }
    guard !withConjuncts.isEmpty else { return }
    guard withConjuncts.count > 1, let table = index.pathTables[path.root],
      let roots = roots(reaching: entity, over: path),
      let changedValues = changedValues(of: table, roots)
    else {
      for query in withConjuncts { add(query) }
      return
    }
    var wanted = QueryBag()
    for query in withConjuncts { wanted.insert(query) }
    let conjunctPaths = Set(withConjuncts.flatMap { $0.routing.conjuncts ?? [] }.map(\.path))
    for id in roots {
      for conjunctPath in conjunctPaths {
        lookUp(nil, changedValues[id], at: conjunctPath, table) {
          wanted.contains($0) ? changedValues[id] : nil
        }
      }
    }
  }

  /// The ids of objects that reach a changed one over `path`; nil if there are too many or the store
  /// failed.
  private mutating func roots(
    reaching entity: Int, over path: QueryIndex.RelationshipPath
  ) -> Set<ObjectID>? {
    let changeSet = changed.changeSet(of: entity)
    var plan = FetchPlan(
      definition: ResultDefinition(entity: path.root, predicate: .everything))
    let steps = [path.steps] + changeSet.members.keys.map { path.steps + [$0.relationship] }
    plan.expansion = steps.map { PropertyPath(root: path.root, steps: $0, target: .object) }
    do throws(StoreError) {
      let roots = try transaction.affectedIDs(of: plan, by: changeSet)
      return roots.count <= Self.maxRoots ? roots : nil
    } catch {
      hasFailed = true
      return nil
    }
  }

  // MARK: Without values

  /// Adds every query that reads a changed property at the end of `path`.
  private mutating func addAll(
    _ path: QueryIndex.RelationshipPath, _ pathIndex: QueryIndex.PathIndex,
    _ objects: ChangedObjects.Objects
  ) {
    for query in pathIndex.unindexed.all where !isUnaffected(query, path, objects.union) {
      add(query)
    }
    for conjunctPath in pathIndex.indexed.keys {
      index.valueIndexes[conjunctPath]?.forEach(at: .anything) { bag in
        for query in bag.all where !isUnaffected(query, path, objects.union) { add(query) }
      }
    }
  }

  /// True if a query reads none of the changed properties.
  private func isUnaffected(
    _ query: LiveQuery, _ path: QueryIndex.RelationshipPath, _ mask: PropertyMask
  ) -> Bool {
    query.routing.readSet.mask(at: path.steps).isDisjoint(with: mask)
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
    PropertyPath(
      root: entity, steps: Array(propertyPath.steps[steps.count...]), target: propertyPath.target)
  }
}
