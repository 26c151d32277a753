// Routing without a store: which fetches a save may change, and what is read for them.

import FetchModel
import TestSupport
import Testing

@testable import LiveQueries

@Suite("Routing: a save reaches every fetch that it changes", .mayBlock)
struct RoutingTests {
  /// A fetch and its result at the last search.
  private struct Followed {
    let query: LiveQuery
    var result: ResultSnapshot
  }

  @Test(arguments: 0..<2)
  func routingFindsEveryChangedQuery(part: Int) throws {
    var (asked, all, changed) = (0, 0, 0)
    for number in 0..<6 {
      let seed = UInt64(1_000 + part * 10 + number)
      var generator = Generator(seed: seed)
      let store = MemoryStore()
      let objects = generator.objects()
      store.save { $0 = objects }
      var index = QueryIndex()
      var followed: [Followed] = []
      for _ in 0..<30 {
        let query = Self.query(&generator, store)
        followed.append(Followed(query: query, result: Self.result(of: query, store)))
        index.insert(query)
      }
      for _ in 0..<30 {
        let base = store.token.position
        store.save { generator.save(&$0) }
        if generator.oneIn(3) { store.save { generator.save(&$0) } }
        let search = try store.search(index, after: base)
        let found = search.found
        for place in followed.indices {
          let query = followed[place].query
          try store.expectEqualDiffs(search, query, after: base, seed)
          let result = Self.result(of: query, store)
          let isChanged = Self.differ(followed[place].result, result, of: query)
          followed[place].result = result
          let isFound = found.contains(query)
          #expect(isFound || !isChanged, "seed \(seed): \(query.plan)")
          (asked, changed, all) =
            (asked + (isFound ? 1 : 0), changed + (isChanged ? 1 : 0), all + 1)
        }
        Self.exchange(&followed, &index, &generator, store)
      }
    }
    // Routing is selective: there are few more candidates than changed queries.
    #expect(asked * 4 < changed * 5 && changed < all, "\(asked) of \(all), \(changed) changed")
  }

  private static func query(_ generator: inout Generator, _ store: MemoryStore) -> LiveQuery {
    let position = store.token.position
    let plan = generator.plan(store.objects(at: position))
    let only: ObjectID? = generator.oneIn(8) ? .integer(Int64(generator.number(1...20))) : nil
    return LiveQuery(
      key: QueryKey(plan, only: only), model: store.model, columns: store.columns,
      position: position)
  }

  private static func result(of query: LiveQuery, _ store: MemoryStore) -> ResultSnapshot {
    store.objects(at: store.token.position)
      .snapshot(of: query.plan, at: MemoryStore.token(0), in: store.model)
  }

  /// True if the results or an expanded object differ.
  private static func differ(
    _ before: ResultSnapshot, _ after: ResultSnapshot, of query: LiveQuery
  ) -> Bool {
    if let only = query.key.only {
      let prefix = Array("{\"id\":\(only)".utf8)
      let isMeant = { (item: [UInt8]) in
        item.starts(with: prefix + [0x2C]) || item.starts(with: prefix + [0x7D])
      }
      let items = { (snapshot: ResultSnapshot) in
        snapshot.sections.flatMap { section in section.items.filter(isMeant) }
      }
      return items(before) != items(after)
    }
    return before.sections != after.sections || before.summary != after.summary
      || before.included != after.included
  }

  /// Replaces some queries, so that the index changes during the test.
  private static func exchange(
    _ followed: inout [Followed], _ index: inout QueryIndex, _ generator: inout Generator,
    _ store: MemoryStore
  ) {
    for place in followed.indices where generator.oneIn(10) {
      index.remove(followed[place].query)
      let query = query(&generator, store)
      followed[place] = Followed(query: query, result: result(of: query, store))
      index.insert(query)
    }
  }

  @Test func theIndexIsEmptyWhenEveryQueryIsRemoved() {
    var generator = Generator(seed: 7)
    let store = MemoryStore()
    store.save { $0 = generator.objects() }
    var index = QueryIndex()
    let queries = (0..<200).map { _ in Self.query(&generator, store) }
    for query in queries { index.insert(query) }
    for query in queries.shuffled(using: &generator.random) { index.remove(query) }
    #expect(index.count == 0)
    #expect(index.valueIndexes.isEmpty)
    #expect(index.pathIndexes.values.allSatisfy { $0.isEmpty })
    #expect(index.pathTables.values.allSatisfy { $0.used.isEmpty })
  }
}

/// A save of many objects: each fetch reads those that affect it.
@Suite("A save of many objects with many live fetches", .mayBlock)
struct ManyChangedObjectsTests {
  private static let name = PropertyPath(root: 0, target: .attribute(0))
  private static let population = PropertyPath(root: 0, target: .attribute(1))

  private final class Waiter: LiveWaiter {}

  private func plan(_ predicate: String) throws -> FetchPlan {
    let request = try FetchRequest(
      entity: "City", query: [("where", predicate), ("select", "name,population")])
    return try FetchResolver(model: MemoryStore.cityModel, maxItems: 10_000).resolve(request)
  }

  /// Changes each of 4,000 cities under fetches of `predicates`. Returns the number of rows that were
  /// read, and the number of clients that received a diff.
  private func rowsRead(_ predicates: [String]) throws -> (read: Int, received: Int) {
    let store = MemoryStore()
    store.save { objects in
      for id in 1...4_000 {
        objects.cities[id] = City(
          name: "n\(id % 40)", population: id, isCapital: nil, country: nil)
      }
    }
    // No load ends the pass before all fetches are considered.
    var configuration = LiveConfiguration()
    configuration.timeLimit = .seconds(600)
    configuration.longTimeLimit = .seconds(600)
    var queries = LiveQueries(
      model: store.model, columns: store.columns, configuration: configuration)
    let plans = try predicates.map(plan)
    let waiters = plans.map { _ in Waiter() }
    try store.read { transaction throws(StoreError) in
      let context = CatchUpContext(transaction)
      try queries.catchUp(context)
      for (plan, waiter) in zip(plans, waiters) {
        let request = FollowRequest(
          plan: plan, only: nil, since: .token(store.token), deadline: nil, waiter: waiter)
        queries.follow(request, context, now: .now)
      }
    }
    store.save { objects in
      for id in 1...4_000 { objects.cities[id]?.population += 10_000 }
    }
    let before = store.readCounts.rows.load(ordering: .relaxed)
    try store.read { transaction throws(StoreError) in
      try queries.catchUp(CatchUpContext(transaction))
    }
    return (store.readCounts.rows.load(ordering: .relaxed) - before, queries.undelivered.count)
  }

  @Test func aFetchIndexedByTwoOverlappingRangesReadsAllObjects() throws {
    let (read, received) = try rowsRead(["population >= 0 OR population >= -5", "name == 'n1'"])
    #expect(received == 2)
    // All 4,000 cities for the first fetch, those called n1 for the second; each before and after.
    #expect(read == 8_200)
  }

  @Test func eachFetchReadsItsOwnObjects() throws {
    let (read, received) = try rowsRead((0..<40).map { "name == 'n\($0)'" })
    #expect(received == 40)
    // Before and after, each object once.
    #expect(read == 8_000)
  }

  @Test func objectsThatLeaveOrEnterTheFetchAreRead() throws {
    let (read, received) = try rowsRead([
      "population BETWEEN {1, 300}", "population BETWEEN {11001, 11200}", "population > 90000",
    ])
    #expect(received == 2)
    #expect(read == 1_000)
  }

  /// A condition may search a long text for as long as a query takes.
  @Test func withoutTimeForTestsAFetchIsFoundUntested() throws {
    let store = MemoryStore()
    store.save { $0.cities[1] = City(name: "a", population: 1, isCapital: nil, country: nil) }
    let base = store.token.position
    var index = QueryIndex()
    for number in 0..<3 {
      let plan = try plan("population != 1 AND name != 'n\(number)'")
      index.insert(
        LiveQuery(
          key: QueryKey(plan, only: nil), model: store.model, columns: store.columns,
          position: base))
    }
    store.save { $0.cities[1]?.name = "b" }
    let tested = try store.search(index, after: base)
    #expect(tested.found.count == 0 && !tested.hasFailed)
    let untested = try store.search(index, after: base, testingUntil: .now)
    #expect(untested.found.count == 3 && untested.hasFailed)
  }

  @Test func aFetchAffectedByMostObjectsReadsAll() throws {
    let (read, received) = try rowsRead(["population > 0", "name == 'n1'"])
    #expect(received == 2)
    #expect(read == 8_200)
  }
}

/// Many fetches resumed together get the same diffs as each fetch alone.
@Suite("Many fetches resumed from one token", .mayBlock)
struct ResumedTogetherTests {
  @Test(arguments: 0..<4)
  func eachGetsTheSameDiffAsAlone(number: Int) throws {
    let seed = UInt64(3_000 + number)
    var generator = Generator(seed: seed)
    let store = MemoryStore()
    let objects = generator.objects()
    store.save { $0 = objects }
    for _ in 0..<20 {
      let since = store.token
      let plans = (0..<30).map { _ in generator.plan(store.objects(at: since.position)) }
      for _ in 0..<generator.number(1...4) { store.save { generator.save(&$0) } }
      try store.read { transaction throws(StoreError) in
        let together = TransactionDiffs(transaction, model: store.model)
        try together.prepare(plans, since: since, columns: store.columns, testing: .seconds(600))
        for plan in plans {
          let alone = TransactionDiffs(transaction, model: store.model)
          let (received, expected) = (
            try together.diff(of: plan, since: since), try alone.diff(of: plan, since: since)
          )
          #expect(Self.text(received) == Self.text(expected), "seed \(seed): \(plan)")
        }
      }
    }
  }

  private static func text(_ answer: TransactionDiffs.Answer) -> String {
    if case .diff(let diff) = answer {
      String(decoding: diff.json, as: UTF8.self)
    } else {
      "\(answer)"
    }
  }

  @Test func changedObjectsAreReadOnceForAllFetches() throws {
    let store = MemoryStore()
    store.save { objects in
      for id in 1...1_000 {
        objects.cities[id] = City(
          name: "n\(id % 100)", population: id, isCapital: nil, country: nil)
      }
    }
    let since = store.token
    store.save { objects in for id in 1...1_000 { objects.cities[id]?.population += 1 } }
    let plans = try (0..<50).map { number in
      let request = try FetchRequest(
        entity: "City", query: [("where", "name == 'n\(number)'"), ("select", "population")])
      return try FetchResolver(model: store.model, maxItems: 10_000).resolve(request)
    }
    try store.read { transaction throws(StoreError) in
      let diffs = TransactionDiffs(transaction, model: store.model)
      try diffs.prepare(plans, since: since, columns: store.columns, testing: .seconds(600))
      for plan in plans { _ = try diffs.diff(of: plan, since: since) }
    }
    // Before and after, ten objects each.
    #expect(store.readCounts.rows.load(ordering: .relaxed) == 1_000)
  }
}

/// Ranges of values.
@Suite(.mayBlock) struct IntervalTreeTests {
  @Test(arguments: [1, 2] as [UInt64])
  func everyRangeThatHoldsAValueIsFound(seed: UInt64) {
    var random = SeededRandom(seed: seed)
    let model = MemoryStore.cityModel
    let plan = FetchPlan(definition: ResultDefinition(entity: 0, predicate: .everything))
    var held: [(LiveQuery, ValueRange)] = []
    var tree = IntervalTree()
    let bound = { (random: inout SeededRandom) -> StoredValue? in
      Bool.random(using: &random)
        ? .integer(.random(in: 0...30, using: &random))
        : Bool.random(using: &random) ? nil : .double(.random(in: 0...30, using: &random))
    }
    for _ in 0..<2_000 {
      if Int.random(in: 0...2, using: &random) > 0 || held.isEmpty {
        let query = LiveQuery(
          key: QueryKey(plan, only: nil), model: model, columns: nil, position: 0)
        let range = ValueRange(lower: bound(&random), upper: bound(&random))
        tree.insert(query, range)
        held.append((query, range))
      } else {
        let (query, range) = held.remove(at: .random(in: held.indices, using: &random))
        tree.remove(query, range)
      }
      let value = StoredValue.integer(.random(in: 0...30, using: &random))
      var found = QueryBag()
      tree.forEach(at: value) { bag in for query in bag.all { found.insert(query) } }
      let expected = held.filter { $0.1.contains(value) }
      #expect(found.count == expected.count, "seed \(seed)")
      #expect(expected.allSatisfy { found.contains($0.0) }, "seed \(seed)")
    }
  }
}
