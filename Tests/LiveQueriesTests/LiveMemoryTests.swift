// The memory limit of live fetches: which are dropped, and which clients are refused.

import TestSupport
import Testing

@testable import FetchModel
@testable import LiveQueries

@Suite("The memory of live fetches is limited", .mayBlock)
struct LiveMemoryTests {
  private static let name = PropertyPath(root: 0, target: .attribute(0))

  private final class Waiter: LiveWaiter {}

  private let store = MemoryStore()

  init() {
    store.save { objects in
      for id in 1...100 {
        objects.cities[id] = City(
          name: String(repeating: "n", count: 100) + "\(id)", population: id, isCapital: nil,
          country: nil)
      }
    }
  }

  /// Fetches of the same rows with different keys in their items.
  private func plan(_ key: String) -> FetchPlan {
    FetchPlan(
      definition: ResultDefinition(
        entity: 0, predicate: .everything, order: [OrderTerm(path: Self.name)]),
      selection: [SelectedValue(key: key, source: .path(Self.name))])
  }

  private func queries(maxBytes: Int = .max) -> LiveQueries {
    var configuration = LiveConfiguration()
    configuration.maxBytes = maxBytes
    return LiveQueries(model: store.model, columns: store.columns, configuration: configuration)
  }

  /// The memory of one of the fetches: about 100 keys of 120 bytes, and its own.
  private func sizeOfOne() throws -> Int {
    var queries = queries()
    let waiter = try follow(&queries, "a", since: store.token)
    queries.cancel(ObjectIdentifier(waiter))
    return queries.byteCount
  }

  private func follow(
    _ queries: inout LiveQueries, _ key: String, offset: Int = 0, since token: Token,
    waits: Bool = true
  ) throws -> Waiter {
    let waiter = Waiter()
    var plan = plan(key)
    plan.window = Window(offset: offset)
    let request = FollowRequest(
      plan: plan, only: nil, since: .token(token), deadline: waits ? nil : .now,
      waiter: waiter)
    try store.read { transaction throws(StoreError) in
      let context = CatchUpContext(transaction)
      try queries.catchUp(context)
      queries.follow(request, context, now: .now)
    }
    return waiter
  }

  private func keys(_ queries: LiveQueries) -> [String] {
    queries.queries.keys.compactMap { $0.selection.first?.key }.sorted()
  }

  @Test("A fetch without waiters is dropped if it is the least recently used one")
  func unused() throws {
    let size = try sizeOfOne()
    #expect((12_000...16_000).contains(size))
    var queries = queries(maxBytes: size * 7 / 2)
    for key in ["a", "b", "c"] {
      let waiter = try follow(&queries, key, since: store.token)
      queries.cancel(ObjectIdentifier(waiter))
    }
    #expect(keys(queries) == ["a", "b", "c"])
    #expect(queries.byteCount == 3 * size)
    let waiter = try follow(&queries, "d", since: store.token)
    #expect(keys(queries) == ["c", "d"])
    #expect(queries.byteCount == 2 * size)
    withExtendedLifetime(waiter) {}
  }

  @Test("Views of one fetch share the memory of its definition")
  func sharedDefinition() throws {
    var queries = queries()
    let waiters = try (0..<3).map {
      try follow(&queries, "a", offset: $0, since: store.token)
    }
    let views = queries.queries.values.flatMap(\.views.values)
    let plans = views.compactMap(\.plan)
    let addresses = plans.compactMap {
      $0.definition.order.withUnsafeBufferPointer { $0.baseAddress }
    }
    #expect(queries.queries.count == 1)
    #expect(plans.map(\.window.offset).sorted() == [0, 1, 2])
    #expect(addresses.count == 3 && Set(addresses).count == 1)
    withExtendedLifetime(waiters) {}
  }

  @Test("The memory of a view of dictionaries contains that of its conditions")
  func dictionaries() {
    let name = ResolvedExpression.path(ScopedPath(scope: 0, path: Self.name))
    func size(having: Condition) -> Int {
      var plan = plan("a")
      plan.shape = .dictionaries
      plan.groupedQuery = GroupedQuery(
        columns: [], aggregates: [], firstAggregate: 0, groups: [name],
        having: having, isDistinct: false, order: [], values: [Self.name], toManyPaths: [],
        isNondeterministic: false)
      return LiveView(key: ViewKey(plan, only: nil), now: .now).byteCount
    }
    let names = Membership(
      value: name, values: (1...1_000).map { .string("\($0)") }, includesNil: false,
      options: [], isNegated: false)
    #expect((256...1_024).contains(size(having: .constant(true))))
    #expect((100_000...300_000).contains(size(having: .membership(names))))
  }

  @Test("A client of a dropped fetch gets its diff from the history")
  func resumed() throws {
    let token = store.token
    var queries = queries(maxBytes: 1)
    _ = try follow(&queries, "a", since: token, waits: false)
    #expect(queries.queries.isEmpty && queries.byteCount == 0)
    store.save { $0.cities[1] = nil }
    _ = try follow(&queries, "a", since: token, waits: false)
    let answers = queries.undelivered.compactMap { outgoing -> EncodedDiff? in
      if case .diff(let diff) = outgoing.answer { diff } else { nil }
    }
    #expect(answers.map(\.isEmpty) == [true, false])
    let diff = try #require(Diff(json: JSON(parsing: answers[1].json)))
    #expect(diff.deleted.map(\.from) == [Position(section: 0, item: 0)])
  }

  @Test("A client is refused if others wait for as much as the memory holds, until one leaves")
  func refused() throws {
    var queries = queries(maxBytes: try sizeOfOne() * 7 / 2)
    let waiters = try ["a", "b", "c"].map { try follow(&queries, $0, since: store.token) }
    #expect(queries.undelivered.isEmpty)
    _ = try follow(&queries, "d", since: store.token)
    guard case .failed(.overloaded)? = queries.undelivered.first?.answer else {
      Issue.record("not refused")
      return
    }
    #expect(keys(queries) == ["a", "b", "c"])
    queries.undelivered = []
    queries.cancel(ObjectIdentifier(waiters[1]))
    let last = try follow(&queries, "d", since: store.token)
    #expect(queries.undelivered.isEmpty)
    #expect(keys(queries) == ["a", "c", "d"])
    store.save { $0.cities[1]?.name = "m" }
    try store.read { transaction throws(StoreError) in
      try queries.catchUp(CatchUpContext(transaction))
    }
    #expect(queries.undelivered.flatMap(\.waiters).count == 3)
    withExtendedLifetime(last) {}
  }

  @Test("Fetches that are dropped as soon as they are answered each get their own diff")
  func separateAnswers() throws {
    let token = store.token
    store.save { $0.cities[1]?.name = "m" }
    var queries = queries(maxBytes: 1)
    let keys = (1...100).map { "key\($0)" }
    for key in keys { _ = try follow(&queries, key, since: token, waits: false) }
    #expect(queries.undelivered.map(\.waiters.count) == Array(repeating: 1, count: 100))
    for (key, outgoing) in zip(keys, queries.undelivered) {
      guard case .diff(let diff) = outgoing.answer else {
        Issue.record("no diff")
        continue
      }
      #expect(String(decoding: diff.json, as: UTF8.self).contains("\"\(key)\":\"m\""))
    }
  }

  @Test(
    "The memory is that of the kept fetches after generated requests and saves", arguments: 1...3)
  func sum(seed: UInt64) throws {
    var random = SeededRandom(seed: seed)
    var queries = queries(maxBytes: try sizeOfOne() * 5)
    var waiters: [Waiter] = []
    for _ in 0..<300 {
      switch Int.random(in: 0...3, using: &random) {
      case 0:
        let id = Int.random(in: 1...100, using: &random)
        store.save { $0.cities[id]?.name = "\(UInt64.random(in: 0...9_999_999, using: &random))" }
      case 1:
        if let waiter = waiters.popLast() { queries.cancel(ObjectIdentifier(waiter)) }
      default:
        let key = "k\(Int.random(in: 0...9, using: &random))"
        let waits = Bool.random(using: &random)
        waiters.append(try follow(&queries, key, since: store.token, waits: waits))
      }
      queries.removeAnswered()
      for query in queries.queries.values { queries.measure(query) }
      #expect(queries.byteCount == queries.queries.values.reduce(0) { $0 + $1.byteCount })
      let areKept = queries.queries.values.allSatisfy { $0.isKept }
      #expect(areKept)
    }
  }
}
