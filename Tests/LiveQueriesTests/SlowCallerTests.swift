// Callers whose fetches take long: other callers do not wait for them, and they get every diff.

import TestSupport
import Testing

@testable import FetchModel
@testable import LiveQueries

@Suite("Callers whose fetches take long", .mayBlock)
struct SlowCallerTests {
  private let store = SlowStore()
  private let engine: LiveEngine

  init() {
    store.inner.saveTwoCities()
    engine = LiveEngine(store: store, delivery: RecordingDelivery())
  }

  private func plan(limit: Int? = nil, _ shape: ResultShape = .objects) -> FetchPlan {
    let path = { PropertyPath(root: 0, target: .attribute($0)) }
    return FetchPlan(
      definition: ResultDefinition(
        entity: 0, predicate: .everything,
        order: [OrderTerm(path: path((limit ?? 1) > 1 ? 1 : 0), direction: .descending)]),
      window: Window(limit: limit), shape: shape,
      selection: [
        SelectedValue(key: "value\(limit ?? 0)", source: .path(path(1)))
      ])
  }

  private func follow(
    _ plan: FetchPlan, for caller: String, _ waiter: RecordingWaiter = RecordingWaiter()
  ) -> RecordingWaiter {
    engine.follow(plan, since: .token(store.inner.token), until: nil, for: caller, waiter)
    return waiter
  }

  private func isWaiting(_ count: Int) -> Bool {
    eventually(within: .seconds(300)) { engine.counters.waiters == count }
  }

  private func save(_ population: Int) {
    store.inner.save { $0.cities[1]?.population = population }
    engine.storeDidChange()
  }

  private func diff(_ key: String, from: Int, to: Int, _ population: Int) -> String {
    #"{"entity":"City","from":"\#(MemoryStore.token(from))","to":"\#(MemoryStore.token(to))","#
      + #""count":2,"sections":{"deleted":[],"inserted":[]},"#
      + #""items":{"deleted":[],"inserted":[],"moved":[],"#
      + #""updated":[{"from":[0,0],"to":[0,0],"id":1,"changed":{"\#(key)":\#(population)}}]}}"#
  }

  /// Expects that each of the waiters gets the diff of the first save; the first one has the fetch with
  /// this limit.
  private func expectDiffs(_ waiters: [RecordingWaiter], from limit: Int) {
    for (limit, waiter) in zip(limit..., waiters) {
      #expect(waiter.next() == diff("value\(limit)", from: 1, to: 2, 30))
    }
  }

  @Test("The diff of one caller does not wait for a hundred slow fetches of another")
  func light() throws {
    let slow = (10..<110).map { follow(plan(limit: $0), for: "slow") }
    let light = follow(plan(), for: "light")
    try #require(isWaiting(101))
    store.state.withLock { $0.delay = .milliseconds(10) }
    save(30)
    #expect(light.next() == diff("value0", from: 1, to: 2, 30))
    #expect(slow.count(where: \.hasAnswers) < 50)
    store.state.withLock { $0.delay = .zero }
    expectDiffs(slow, from: 10)
    #expect(isWaiting(0))
  }

  @Test("Of two callers that need much time, the one that needs most does not delay the other one")
  func most() throws {
    let slow = (10..<210).map { follow(plan(limit: $0), for: "slow") }
    let frequent = (300..<308).map { follow(plan(limit: $0), for: "frequent") }
    let light = follow(plan(), for: "light")
    try #require(isWaiting(209))
    store.state.withLock { $0.delay = .milliseconds(10) }
    save(30)
    #expect(light.next() == diff("value0", from: 1, to: 2, 30))
    expectDiffs(frequent, from: 300)
    #expect(slow.count(where: \.hasAnswers) < 100)
    store.state.withLock { $0.delay = .zero }
    expectDiffs(slow, from: 10)
    #expect(isWaiting(0))
  }

  @Test("A group that moves to another engine is served by the engine that gets its next requests")
  func movedOn() throws {
    let waiter = RecordingWaiter()
    var engines = SlowCallerEngines(limit: 1) { [engine] in engine }
    let isAdded = engines.add(["slow"], [], [], now: .now)
    #expect(isAdded)
    let group = Group(waiter, caller: "slow")
    group.add(GroupFetch(index: 0, plan: plan(), since: store.inner.token))
    let follow = GroupCommand(fetches: [], mustAnswer: false, caller: "slow", waiter: waiter)
    for command in [.adoptGroup(group), .followGroup(follow)] as [CommandBatch.Command] {
      var batch = CommandBatch()
      batch.commands = [command]
      let own = engines.passOn(batch, now: .now)
      #expect(own.isEmpty)
    }
    try #require(isWaiting(1))
    save(30)
    #expect(waiter.next() == "0: " + diff("value0", from: 1, to: 2, 30))
  }

  @Test("A caller that is alone stays on the thread that serves all")
  func alone() throws {
    let waiters = (10..<20).map { follow(plan(limit: $0), for: "one") }
    try #require(isWaiting(10))
    store.state.withLock { $0.delay = .milliseconds(10) }
    save(30)
    expectDiffs(waiters, from: 10)
    // Each fetch was a candidate of one save once.
    #expect(engine.counters.considered == 10)
  }

  /// Makes the group's caller slow by a save for 20 fetches, and returns the group after its answer.
  private func slowGroup(
    besides waiting: Int = 0, from start: Int = 1
  ) throws -> RecordingWaiter {
    let group = RecordingWaiter()
    let fetches = (10..<30).map {
      GroupFetch(index: $0, plan: plan(limit: $0), since: store.inner.token)
    }
    engine.follow(fetches, mustAnswer: false, for: "slow", group)
    let light = follow(plan(), for: "light")
    try #require(isWaiting(21 + waiting))
    store.state.withLock { $0.delay = .milliseconds(10) }
    save(30)
    #expect(light.next() == diff("value0", from: start, to: start + 1, 30))
    #expect(group.next() == results(from: start, to: start + 1, 30))
    store.state.withLock { $0.delay = .zero }
    return group
  }

  private func results(from: Int, to: Int, _ population: Int) -> String {
    (10..<30).map { "\($0): \(diff("value\($0)", from: from, to: to, population))" }
      .joined(separator: "; ")
  }

  @Test("A group of a slow caller gets the diffs of all its fetches at one token, save after save")
  func group() throws {
    let group = try slowGroup()
    for (number, population) in zip(2..., [31, 32, 33]) {
      engine.follow([], mustAnswer: false, for: "slow", group)
      try #require(isWaiting(20))
      save(population)
      #expect(group.next() == results(from: number, to: number + 1, population))
    }
    // A diff that was made while its client did not wait.
    save(34)
    engine.follow([], mustAnswer: false, for: "slow", group)
    #expect(group.next() == results(from: 5, to: 6, 34))
    engine.cancel(group)
    #expect(isWaiting(0))
  }

  @Test("A group of a slow caller is answered when its wait ends, and when the engine ends")
  func ends() throws {
    let group = try slowGroup()
    engine.follow([], mustAnswer: false, for: "slow", group)
    try #require(isWaiting(20))
    engine.endWait(of: group)
    #expect(group.next() == "")
    engine.follow([], mustAnswer: false, for: "slow", group)
    let single = follow(plan(.count), for: "slow")
    try #require(isWaiting(21))
    engine.drain()
    #expect(group.next() == "")
    let (from, to) = (MemoryStore.token(2), MemoryStore.token(2))
    #expect(single.next() == #"{"entity":"City","from":"\#(from)","to":"\#(to)","total":2}"#)
  }

  @Test("Clients with unchanged fetches move to the other engine too, and need no earlier history")
  func quiet() throws {
    let name = PropertyPath(root: 0, target: .attribute(0))
    let condition = Condition.comparison(
      Comparison(
        left: .path(ScopedPath(scope: 0, path: name)), relation: .equal,
        right: .constant(.string("Tianjin")), options: [], isNegated: false))
    let quiet = FetchPlan(
      definition: ResultDefinition(
        entity: 0, predicate: ResolvedPredicate(condition: condition, paths: [name])),
      shape: .count)
    let (single, members) = (follow(quiet, for: "slow"), RecordingWaiter())
    let fetches = [GroupFetch(index: 0, plan: quiet, since: store.inner.token)]
    engine.follow(fetches, mustAnswer: false, for: "slow", members)
    try #require(isWaiting(2))
    save(25)
    let now = MemoryStore.token(2)
    try #require(eventually(within: .seconds(300)) { engine.counters.current == now })
    store.inner.state.withLock { $0.oldest = 2 }
    let group = try slowGroup(besides: 2, from: 2)
    store.inner.save { objects in
      objects.cities[3] = City(name: "Tianjin", population: 13, isCapital: false, country: nil)
    }
    engine.storeDidChange()
    let (from, to) = (MemoryStore.token(1), MemoryStore.token(4))
    let diff = #"{"entity":"City","from":"\#(from)","to":"\#(to)","total":1}"#
    #expect(single.next() == diff)
    #expect(members.next() == "0: \(diff)")
    engine.cancel(group)
  }

  @Test("A client of a slow caller that leaves is removed")
  func cancel() throws {
    let group = try slowGroup()
    engine.cancel(group)
    let (gone, kept) = (follow(plan(), for: "slow"), follow(plan(limit: 5), for: "slow"))
    try #require(isWaiting(2))
    engine.cancel(gone)
    try #require(isWaiting(1))
    save(31)
    #expect(kept.next() == diff("value5", from: 2, to: 3, 31))
    #expect(!gone.hasAnswers)
  }
}
