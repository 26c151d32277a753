// Generated saves and clients: every client's snapshot stays equal to a new fetch.

import FetchModel
import TestSupport
import Testing

@testable import LiveQueries

/// A client that applies diffs to its snapshot.
final class Client: LiveWaiter {
  let plan: FetchPlan
  nonisolated(unsafe) var held: ResultSnapshot
  /// The snapshot at its token, computed by brute force.
  nonisolated(unsafe) var expected: ResultSnapshot
  nonisolated(unsafe) var token: Token
  nonisolated(unsafe) var isWaiting = false
  nonisolated(unsafe) var answers = 0

  init(plan: FetchPlan, held: ResultSnapshot, token: Token) {
    self.plan = plan
    self.held = held
    expected = held
    self.token = token
  }
}

/// Objects with clients, driven on one thread.
final class Simulation {
  let seed: UInt64
  var generator: Generator
  let store: MemoryStore
  var queries: LiveQueries
  var clients: [Client] = []
  var diffs = 0
  private let maxLoggedChanges: Int

  init(seed: UInt64, cities: Int = 20, maxLoggedChanges: Int = 12) {
    self.seed = seed
    self.maxLoggedChanges = maxLoggedChanges
    generator = Generator(seed: seed, cities: cities)
    store = MemoryStore(reportsValues: seed % 5 != 0)
    queries = Self.engine(store, maxLoggedChanges)
    let objects = generator.objects()
    store.save { $0 = objects }
  }

  static func engine(_ store: MemoryStore, _ maxLoggedChanges: Int = 12) -> LiveQueries {
    LiveQueries(
      model: MemoryStore.cityModel, columns: store.columns,
      configuration: LiveConfiguration(maxLoggedChanges: maxLoggedChanges))
  }

  func join() {
    let token = store.token
    let objects = store.objects(at: token.position)
    let plan = generator.oneIn(3) ? clients.randomElement(using: &generator.random)?.plan : nil
    let chosen = plan ?? generator.plan(objects)
    let held = objects.snapshot(of: chosen, at: token, in: store.model)
    clients.append(Client(plan: chosen, held: held, token: token))
  }

  func follow(_ client: Client) throws {
    client.isWaiting = true
    let request = FollowRequest(
      plan: client.plan, only: nil, since: .token(client.token), deadline: nil, waiter: client)
    let isFresh = queries.current == store.token
    if !isFresh || !queries.followFromMemory(request, now: .now) {
      try inTransaction { queries.follow(request, $0, now: .now) }
    }
    try takeAnswers()
  }

  func inTransaction(_ body: (CatchUpContext) throws(StoreError) -> Void) throws {
    try store.read { transaction throws(StoreError) in
      let context = CatchUpContext(transaction)
      try queries.catchUp(context)
      try body(context)
    }
  }

  func takeAnswers() throws {
    let undelivered = queries.undelivered
    queries.undelivered = []
    for outgoing in undelivered {
      for case let client as Client in outgoing.waiters { try take(outgoing.answer, client) }
    }
    queries.removeAnswered()
  }

  private func take(_ answer: LiveAnswer, _ client: Client) throws {
    guard case .diff(let answered) = answer else {
      Issue.record("no diff, seed \(seed)")
      return
    }
    let (json, to, isEmpty) = (answered.json, answered.to, answered.isEmpty)
    #expect(client.isWaiting, "answered once, seed \(seed)")
    client.isWaiting = false
    client.answers += 1
    let diff = try #require(Diff(json: JSON(parsing: json)))
    #expect(diff.json == json, "seed \(seed)")
    let fresh = store.objects(at: to.position).snapshot(of: client.plan, at: to, in: store.model)
    let old = client.expected
    checkIncluded(diff, old)
    #expect(throws: Never.self, "seed \(seed)") { try client.held.apply(diff) }
    compare(client.held, fresh)
    // With `as=ids` a value may have changed that the snapshot does not show.
    let mayDiffer = client.plan.shape == .ids && !diff.updated.isEmpty
    let isToldSomething = isEmpty || mayDiffer || isDifferent(old, fresh)
    #expect(isToldSomething, "seed \(seed): \(String(decoding: json, as: UTF8.self))")
    client.expected = fresh
    client.token = to
    diffs += isEmpty ? 0 : 1
  }

  /// Related objects are sent only if they differ from the snapshot at `from`.
  private func checkIncluded(_ diff: Diff, _ old: ResultSnapshot) {
    for (entity, objects) in diff.included ?? [:] {
      for (id, json) in objects { #expect(old.included?[entity]?[id] != json, "seed \(seed)") }
    }
  }

  private func compare(_ held: ResultSnapshot, _ fresh: ResultSnapshot) {
    #expect(held.token == fresh.token, "seed \(seed)")
    #expect(held.summary == fresh.summary, "seed \(seed)")
    #expect(held.sections == fresh.sections, "seed \(seed)")
    #expect((held.included == nil) == (fresh.included == nil), "seed \(seed)")
    for (entity, objects) in fresh.included ?? [:] {
      for (id, json) in objects { #expect(held.included?[entity]?[id] == json, "seed \(seed)") }
    }
    if let digest = fresh.summary.digest { #expect(held.digest == digest, "seed \(seed)") }
  }

  private func isDifferent(_ held: ResultSnapshot, _ fresh: ResultSnapshot) -> Bool {
    if held.summary != fresh.summary || held.sections != fresh.sections { return true }
    return (fresh.included ?? [:]).contains { entity, objects in
      objects.contains { held.included?[entity]?[$0.key] != $0.value }
    }
  }

  /// No change affects a client that still waits.
  func checkSilence() {
    let token = store.token
    let objects = store.objects(at: token.position)
    for client in clients where client.isWaiting {
      let fresh = objects.snapshot(of: client.plan, at: token, in: store.model)
      let isMissed = isDifferent(client.expected, fresh)
      #expect(!isMissed, "seed \(seed): \(client.held) \(fresh) \(client.plan)")
    }
  }

  func round() throws {
    let before = store.objects(at: store.token.position)
    store.save { generator.save(&$0) }
    if generator.oneIn(4) {
      // A client may know a state that the engine passes.
      if clients.count < 8 { join() }
      let isUndone = generator.oneIn(2)
      store.save { if isUndone { $0 = before } else { generator.save(&$0) } }
    }
    if generator.oneIn(15) { restart() }
    if !generator.oneIn(3) {
      try inTransaction { _ in }
      try takeAnswers()
      checkSilence()
    }
    if generator.oneIn(10) {
      queries.expireAll()
      try takeAnswers()
    }
    if generator.oneIn(20) { queries.dropIdle(unusedSince: .now) }
    for client in clients where !client.isWaiting && generator.oneIn(2) { try follow(client) }
    if generator.oneIn(12) { leave() }
    if clients.count < 8, generator.oneIn(2) { join() }
  }

  /// Replaces the engine by a new one, as after a restart; waiting clients repeat their requests.
  private func restart() {
    queries = Self.engine(store, maxLoggedChanges)
    for client in clients { client.isWaiting = false }
  }

  private func leave() {
    guard let client = clients.randomElement(using: &generator.random) else { return }
    queries.cancel(ObjectIdentifier(client))
    clients.removeAll { $0 === client }
  }
}

@Suite(.mayBlock) struct LiveQueriesTests {
  @Test(
    "Clients that apply every diff have the result of a new fetch, and get no other answer",
    arguments: 0..<2)
  func generated(part: Int) throws {
    var diffs = 0
    for number in 0..<25 {
      let simulation = Simulation(seed: UInt64(part * 25 + number))
      for _ in 0..<4 { simulation.join() }
      for _ in 0..<60 { try simulation.round() }
      diffs += simulation.diffs
    }
    #expect(diffs > 500)
  }
}
