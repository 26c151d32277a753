// Clients of the same fetch share its result and diffs. A fetch without clients is dropped.

import FetchModel
import TestSupport
import Testing

@testable import LiveQueries

@Suite("Sharing: one result, one diff, and none without a client", .mayBlock)
struct SharingTests {
  private static let name = PropertyPath(root: 0, target: .attribute(0))
  private static let population = PropertyPath(root: 0, target: .attribute(1))

  private static var plan: FetchPlan {
    FetchPlan(
      definition: ResultDefinition(
        entity: 0, predicate: .everything, order: [OrderTerm(path: population)]),
      selection: [SelectedValue(key: "name", source: .path(name))])
  }

  private final class Waiter: LiveWaiter {}

  private let store = MemoryStore()

  private func engine() -> LiveQueries {
    store.save { objects in
      objects.cities = [
        1: City(name: "a", population: 1, isCapital: nil, country: nil),
        2: City(name: "b", population: 2, isCapital: nil, country: nil),
      ]
    }
    return LiveQueries(
      model: store.model, columns: store.columns, configuration: LiveConfiguration())
  }

  private func inTransaction(
    _ queries: inout LiveQueries,
    _ body: (inout LiveQueries, CatchUpContext) -> Void = { _, _ in }
  ) throws {
    try store.read { transaction throws(StoreError) in
      let context = CatchUpContext(transaction)
      try queries.catchUp(context)
      body(&queries, context)
    }
  }

  private func follow(_ queries: inout LiveQueries, since token: Token) throws -> Waiter {
    let waiter = Waiter()
    let request = FollowRequest(
      plan: Self.plan, only: nil, since: .token(token), deadline: nil, waiter: waiter)
    try inTransaction(&queries) { $0.follow(request, $1, now: .now) }
    return waiter
  }

  @Test func clientsWithTheSameFetchShareOneEncodedDiff() throws {
    var queries = engine()
    let token = store.token
    let waiters = try (0..<100).map { _ in try follow(&queries, since: token) }
    #expect(queries.queries.count == 1)
    store.save { $0.cities[1]?.name = "c" }
    try inTransaction(&queries)
    #expect(queries.undelivered.count == 1)
    #expect(queries.undelivered.first?.waiters.count == waiters.count)
    #expect(queries.counters.diffs == 1)
    #expect(queries.counters.delivered == 100)
    #expect(queries.counters.considered == 1)
    #expect(queries.counters.changed == 1)
  }

  @Test("Fetches share a result if they differ in their windows alone; a count ignores the order")
  func keys() {
    func key(only: ObjectID? = nil, _ change: (inout FetchPlan) -> Void = { _ in }) -> QueryKey {
      var plan = Self.plan
      change(&plan)
      return QueryKey(plan, only: only)
    }
    let unordered = ResultDefinition(entity: 0, predicate: .everything)
    #expect(key { $0.window = Window(offset: 1, limit: 2) } == key())
    #expect(key { $0.withTotal = true } == key())
    let count = key { $0.shape = .count }
    let unorderedCount = key {
      $0.shape = .count
      $0.definition = unordered
    }
    #expect(count == unorderedCount && count.hashValue == unorderedCount.hashValue)
    let different = [
      key(), count, key(only: .integer(1)), key(only: .integer(2)),
      key { $0.definition = unordered }, key { $0.selection = [] },
      key { $0.expansion = [PropertyPath(root: 0, steps: [0], target: .object)] },
      key { $0.integersAsStrings = true },
    ]
    #expect(Set(different).count == 8)
  }

  @Test func anIdleFetchIsDroppedAndResumedFromTheHistory() throws {
    var queries = engine()
    let token = store.token
    let waiter = try follow(&queries, since: token)
    queries.cancel(ObjectIdentifier(waiter))
    queries.dropIdle(unusedSince: .now + .seconds(1))
    #expect(queries.queries.isEmpty)
    #expect(queries.index.count == 0)
    store.save { $0.cities[1]?.name = "c" }
    store.save { $0.cities[2] = nil }
    _ = try follow(&queries, since: token)
    guard case .diff(let answered)? = queries.undelivered.first?.answer else {
      Issue.record("no diff")
      return
    }
    let diff = try #require(Diff(json: JSON(parsing: answered.json)))
    #expect(answered.to == store.token)
    #expect(diff.deleted.map(\.from) == [Position(section: 0, item: 1)])
    #expect(
      diff.updated.map { $0.changed.map { String(decoding: $0, as: UTF8.self) } }
        == ["{\"name\":\"c\"}"])
  }

  @Test func aFetchWithAWaiterIsKept() throws {
    var queries = engine()
    let waiter = try follow(&queries, since: store.token)
    queries.dropIdle(unusedSince: .now + .seconds(1))
    #expect(queries.queries.count == 1)
    withExtendedLifetime(waiter) {}
  }

  @Test func aSaveOfUnreadPropertiesConsidersNoFetch() throws {
    var queries = engine()
    let token = store.token
    let waiters = [
      try follow(&queries, since: token), try follow(&queries, since: token),
    ]
    store.save { $0.cities[1]?.isCapital = true }
    try inTransaction(&queries)
    #expect(queries.counters.considered == 0)
    store.save { $0.cities[1]?.name = "c" }
    try inTransaction(&queries)
    #expect(queries.counters.considered == 1)
    withExtendedLifetime(waiters) {}
  }

  /// Saves a city's name and prunes all history before it.
  private func saveAndPrune(_ name: String) {
    let token = store.save { $0.cities[1]?.name = name }
    store.state.withLock { $0.oldest = Int(token.position.number) }
  }

  private func hasExpired(_ queries: LiveQueries) -> Bool {
    if case .expired? = queries.undelivered.last?.answer { true } else { false }
  }

  @Test func aTokenWhoseHistoryWasPrunedIsExpired() throws {
    var queries = engine()
    let token = store.token
    try inTransaction(&queries)
    saveAndPrune("c")
    _ = try follow(&queries, since: token)
    #expect(hasExpired(queries))
  }

  @Test func anInactiveFetchIsRecomputedAfterPruning() throws {
    var queries = engine()
    let waiter = try follow(&queries, since: store.token)
    queries.cancel(ObjectIdentifier(waiter))
    let before = try #require(queries.queries.values.first)
    saveAndPrune("c")
    saveAndPrune("d")
    _ = try follow(&queries, since: store.token)
    #expect(queries.undelivered.isEmpty)
    #expect(queries.queries.values.first !== before)
  }

  @Test func aWaiterExpiresWhenTheHistoryIsPruned() throws {
    var queries = engine()
    _ = try follow(&queries, since: store.token)
    saveAndPrune("c")
    try inTransaction(&queries)
    #expect(hasExpired(queries))
    #expect(!queries.hasActiveQueries)
  }
}
