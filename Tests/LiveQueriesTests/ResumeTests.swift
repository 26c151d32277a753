// Resumes that exceed the engine's time limit continue in the background.

import FetchModel
import Foundation
import TestSupport
import Testing

@testable import LiveQueries

@Suite("Slow resumes", .mayBlock)
struct ResumeTests {
  private let store = SlowStore()
  private let engine: LiveEngine
  private let start: Token

  init() {
    start = store.inner.saveTwoCities()
    engine = LiveEngine(store: store, delivery: RecordingDelivery())
  }

  private func plan(_ shape: ResultShape = .objects) -> FetchPlan {
    let path = { PropertyPath(root: 0, target: .attribute($0)) }
    return FetchPlan(
      definition: ResultDefinition(
        entity: 0, predicate: .everything,
        order: [OrderTerm(path: path(1), direction: .descending)]),
      shape: shape,
      selection: [
        SelectedValue(key: "name", source: .path(path(0))),
        SelectedValue(key: "population", source: .path(path(1))),
      ])
  }

  /// Changes a city in two saves; the second one restores the first value if `isBack`.
  private func change(isBack: Bool = false) {
    store.inner.save { $0.cities[1]?.population = 30 }
    store.inner.save { $0.cities[1]?.population = isBack ? 24 : 31 }
    store.slow(before: 3)
  }

  /// Saves a population and expects its diff at `client`.
  private func expectDiff(of population: Int, at token: String, _ client: RecordingWaiter) {
    store.inner.save { $0.cities[1]?.population = population }
    engine.storeDidChange()
    let received = client.next()
    #expect(received.contains(#""from":"t1-1-9e3779b1","to":"\#(token)""#))
    #expect(received.contains(#""changed":{"population":\#(population)}"#))
  }

  @Test("Other clients are answered meanwhile, and the answer contains saves made meanwhile")
  func othersGoOn() throws {
    change()
    let (slow, other) = (RecordingWaiter(), RecordingWaiter())
    engine.follow(plan(), since: .token(start), until: nil, slow)
    engine.follow(plan(.count), since: .token(store.inner.token), until: nil, other)
    try #require(store.isAsked())
    store.inner.save { $0.cities[2] = nil }
    engine.storeDidChange()
    #expect(
      other.next() == #"{"entity":"City","from":"t1-3-daa66d13","to":"t1-4-78dde6c4","total":1}"#)
    #expect(!slow.hasAnswers)
    store.open()
    let received = slow.next()
    let expected = #"""
      {"entity":"City","from":"t1-1-9e3779b1","to":"t1-4-78dde6c4","count":1,\#
      "sections":{"deleted":[],"inserted":[]},\#
      "items":{"deleted":[{"from":[0,1],"id":2}],"inserted":[],"moved":[],\#
      "updated":[{"from":[0,0],"to":[0,0],"id":1,"changed":{"population":31}}]}}
      """#
    #expect(received == expected)
  }

  @Test("Without changes the client keeps waiting, from its own token")
  func unchanged() {
    change(isBack: true)
    store.open()
    let (waiting, leaving) = (RecordingWaiter(), RecordingWaiter())
    engine.follow(plan(), since: .token(start), until: nil, waiting)
    engine.follow(plan(), since: .token(start), until: .now, leaving)
    let empty = leaving.next()
    #expect(empty.contains(#""from":"t1-1-9e3779b1","to":"t1-3-daa66d13""#))
    #expect(empty.hasSuffix(#""moved":[],"updated":[]}}"#))
    #expect(!waiting.hasAnswers)
    expectDiff(of: 99, at: "t1-4-78dde6c4", waiting)
  }

  @Test("A slow step for waiting clients continues in the background, with the same answer")
  func slowStep() {
    let waiting = RecordingWaiter()
    engine.follow(plan(), since: .token(start), until: nil, waiting)
    let settled = RecordingWaiter()
    engine.follow(plan(.count), since: .token(start), until: .now, settled)
    _ = settled.next()
    store.slow(before: 2)
    store.open()
    expectDiff(of: 30, at: "t1-2-3c6ef362", waiting)
  }

  @Test("All reads of a resume together have a quarter of a second")
  func oneLimit() throws {
    // No load makes these reads exceed a limit of minutes.
    var configuration = LiveConfiguration()
    #expect(configuration.timeLimit == .milliseconds(250))
    configuration.timeLimit = .seconds(250)
    configuration.longTimeLimit = .seconds(1_000)
    let engine = LiveEngine(
      store: store, configuration: configuration, delivery: RecordingDelivery())
    let client = RecordingWaiter()
    engine.follow(plan(), since: .token(start), until: .now, client)
    #expect(client.next().hasPrefix("{"))
    let limits = store.state.withLock { $0.limits.compactMap { $0 } }
      .filter { $0 <= .seconds(250) }
    try #require(limits.count == 3, "\(limits)")
    #expect(limits[0] == .seconds(250))
    #expect(limits[0] > limits[1] && limits[1] > limits[2])
  }

  @Test("Clients of one resume share it, and a client that cancelled gets no answer")
  func cancelled() throws {
    change()
    let (gone, kept) = (RecordingWaiter(), RecordingWaiter())
    engine.follow(plan(), since: .token(start), until: nil, gone)
    try #require(store.isAsked())
    engine.follow(plan(), since: .token(start), until: nil, kept)
    engine.cancel(gone)
    store.open()
    #expect(kept.next().contains(#""changed":{"population":31}"#))
    #expect(!gone.hasAnswers)
    #expect(engine.counters.diffs == 1)
  }

  @Test("A resume without a waiting client is cancelled, and the next client is answered")
  func left() throws {
    change()
    let (gone, other) = (RecordingWaiter(), RecordingWaiter())
    engine.follow(plan(), since: .token(start), until: nil, gone)
    try #require(store.isAsked())
    engine.cancel(gone)
    #expect(eventually(within: .seconds(300)) { store.waiting == 0 })
    engine.follow(plan(), since: .token(start), until: nil, other)
    try #require(store.isAsked())
    store.open()
    #expect(other.next().contains(#""changed":{"population":31}"#))
    #expect(!gone.hasAnswers)
  }

  @Test("An engine that stops cancels resumes and reports it")
  func ending() throws {
    change()
    let client = RecordingWaiter()
    engine.follow(plan(), since: .token(start), until: nil, client)
    try #require(store.isAsked())
    engine.drain()
    #expect(client.next() == "busy")
    #expect(eventually(within: .seconds(300)) { store.waiting == 0 })
    let late = RecordingWaiter()
    engine.follow(plan(), since: .token(start), until: nil, late)
    #expect(late.next() == "busy")
  }

  @Test("A waiting client gets its answer under continuous saves")
  func alwaysFurther() throws {
    change()
    let (first, late) = (RecordingWaiter(), RecordingWaiter())
    engine.follow(plan(), since: .token(start), until: nil, first)
    try #require(store.isAsked())
    store.inner.save { $0.cities[2] = nil }
    engine.storeDidChange()
    engine.follow(plan(), since: .token(start), until: nil, late)
    // The changes made since take too long as well.
    store.slow(before: 4)
    let began = RecordingWaiter()
    engine.follow(plan(.count), since: .token(store.inner.token), until: .now, began)
    _ = began.next()
    store.open()
    let received = first.next()
    #expect(
      received.contains(#""from":"t1-1-9e3779b1","to":"t1-3-daa66d13","count":2"#), "\(received)")
    #expect(received.contains(#""changed":{"population":31}"#))
    // Its answer may contain the save that preceded its request.
    let whole = late.next()
    #expect(whole.contains(#""from":"t1-1-9e3779b1","to":"t1-4-78dde6c4","count":1"#), "\(whole)")
    let next = RecordingWaiter()
    engine.follow(plan(), since: .token(Token("t1-3-daa66d13")!), until: nil, next)
    #expect(next.next().contains(#""deleted":[{"from":[0,1],"id":2}]"#))
  }

  @Test("Resumes from one token share their reads")
  func together() throws {
    change()
    let askers = (0..<40).map { _ in RecordingWaiter() }
    for (number, asker) in askers.enumerated() {
      var plan = plan()
      plan.selection.append(SelectedValue(key: "n\(number)", source: plan.selection[0].source))
      engine.follow(plan, since: .token(start), until: nil, asker)
    }
    try #require(store.isAsked())
    store.open()
    for asker in askers {
      #expect(asker.next().contains(#""from":"t1-1-9e3779b1","to":"t1-3-daa66d13""#))
    }
    #expect(store.unlimitedReads < 10)
  }

  @Test("A new request after all clients left is not answered by their attempt")
  func askedAgain() throws {
    change()
    let (gone, again) = (RecordingWaiter(), RecordingWaiter())
    engine.follow(plan(), since: .token(start), until: nil, gone)
    try #require(store.isAsked())
    engine.cancel(gone)
    store.inner.save { $0.cities[2] = nil }
    engine.storeDidChange()
    // The result of the first attempt could not be brought up to date in time.
    store.slow(before: 4)
    engine.follow(plan(), since: .token(start), until: nil, again)
    let began = RecordingWaiter()
    engine.follow(plan(.count), since: .token(store.inner.token), until: .now, began)
    _ = began.next()
    store.open()
    let received = again.next()
    #expect(
      received.contains(#""from":"t1-1-9e3779b1","to":"t1-4-78dde6c4","count":1"#), "\(received)")
  }

  @Test("Without changes to its fetch, a client keeps waiting although saves exceed the time limit")
  func unchangedAndNoTime() throws {
    change()
    let request = try FetchRequest(
      entity: "City", query: [("where", "population < 40"), ("as", "count")])
    let few = try FetchResolver(model: MemoryStore.cityModel, maxItems: 10).resolve(request)
    let client = RecordingWaiter()
    engine.follow(few, since: .token(start), until: nil, client)
    try #require(store.isAsked())
    store.inner.save { $0.cities[2] = nil }
    engine.storeDidChange()
    store.slow(before: 4)
    let began = RecordingWaiter()
    engine.follow(plan(), since: .token(store.inner.token), until: .now, began)
    _ = began.next()
    store.open()
    #expect(
      client.next() == #"{"entity":"City","from":"t1-1-9e3779b1","to":"t1-4-78dde6c4","total":1}"#)
  }

  @Test(
    "Clients with many tokens in a long step get diffs from their own token, by one read of the history"
  )
  func postponed() throws {
    var tokens = [start]
    let askers = (0..<5).map { _ in RecordingWaiter() }
    for (number, asker) in askers.enumerated() {
      if number > 0 { tokens.append(store.inner.save { $0.countries[number] = nil }) }
      engine.storeDidChange()
      engine.follow(plan(), since: .token(tokens[number]), until: nil, asker)
      let settled = RecordingWaiter()
      engine.follow(plan(.count), since: .token(tokens[number]), until: .now, settled)
      _ = settled.next()
    }
    store.slow(before: HistoryPosition(tokens[4].position.number + 1))
    store.open()
    store.inner.save { $0.cities[1]?.population = 30 }
    engine.storeDidChange()
    for (token, asker) in zip(tokens, askers) {
      let received = asker.next()
      #expect(received.contains("\"from\":\"\(token)\""), "\(received)")
      #expect(received.contains(#""changed":{"population":30}"#))
    }
    #expect(store.unlimitedReads == 1)
  }
}
