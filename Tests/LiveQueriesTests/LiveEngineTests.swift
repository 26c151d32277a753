// The live engine over a memory store: answers, waits, epochs, failures.

import FetchModel
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import LiveQueries

private final class Delivery: LiveDelivery {
  let groups = Mutex<[Int]>([])

  func deliver(_ answer: LiveAnswer, to waiters: [any LiveWaiter]) {
    groups.withLock { $0.append(waiters.count) }
    for case let waiter as RecordingWaiter in waiters { waiter.receive(answer.text) }
  }
}

@Suite(.mayBlock) struct LiveEngineTests {
  private let store = MemoryStore()
  private let delivery = Delivery()
  private let engine: LiveEngine

  init() {
    store.save { objects in
      objects.countries = [1: Country(name: "China", code: "cn")]
      objects.cities = [
        1: City(name: "Shanghai", population: 24, isCapital: false, country: 1),
        2: City(name: "Beijing", population: 18, isCapital: true, country: 1),
      ]
    }
    engine = LiveEngine(store: store, delivery: delivery)
  }

  private static func attribute(_ index: Int) -> PropertyPath {
    PropertyPath(root: 0, target: .attribute(index))
  }

  private func plan(
    shape: ResultShape = .objects, isSectioned: Bool = false, limit: Int? = nil
  ) -> FetchPlan {
    FetchPlan(
      definition: ResultDefinition(
        entity: 0, predicate: .everything,
        section: isSectioned
          ? OrderTerm(path: PropertyPath(root: 0, steps: [0], target: .attribute(0))) : nil,
        order: [OrderTerm(path: Self.attribute(1), direction: .descending)]),
      window: Window(limit: limit), shape: shape,
      selection: [
        SelectedValue(key: "name", source: .path(Self.attribute(0))),
        SelectedValue(key: "population", source: .path(Self.attribute(1))),
      ])
  }

  private var soon: ContinuousClock.Instant { .now + .milliseconds(20) }

  @Test("A save is sent as a diff with every array, in the order of the page Protocol")
  func diff() {
    let waiter = RecordingWaiter()
    engine.follow(plan(isSectioned: true), since: .token(store.token), until: nil, waiter)
    store.save {
      $0.countries[2] = Country(name: "India", code: "in")
      $0.cities[3] = City(name: "Mumbai", population: 12, isCapital: false, country: 2)
      $0.cities[2]?.population = 25
      $0.cities[1]?.name = "Shànghǎi"
    }
    engine.storeDidChange()
    #expect(
      waiter.next()
        == #"{"entity":"City","from":"t1-1-9e3779b1","to":"t1-2-3c6ef362","count":3,"#
        + #""sections":{"deleted":[],"inserted":[{"index":1,"name":"India","value":"India","#
        + #""indexTitle":"I"}]},"items":{"deleted":[],"#
        + #""inserted":[{"to":[1,0],"item":{"id":3,"name":"Mumbai","population":12}}],"#
        + #""moved":[{"from":[0,1],"to":[0,0],"id":2,"changed":{"population":25}}],"#
        + #""updated":[{"from":[0,0],"to":[0,1],"id":1,"changed":{"name":"Shànghǎi"}}]}}"#)
  }

  /// Waits until the engine has done what it was told before.
  private func settle() {
    let marker = RecordingWaiter()
    engine.follow(plan(shape: .count), since: .token(store.token), until: .now, marker)
    #expect(marker.next().hasPrefix("{"))
  }

  @Test("A count is sent as its total, and only when it changes")
  func count() {
    let waiter = RecordingWaiter()
    engine.follow(plan(shape: .count), since: .token(store.token), until: nil, waiter)
    store.save { $0.cities[1]?.name = "x" }
    engine.storeDidChange()
    settle()
    #expect(!waiter.hasAnswers)
    store.save { $0.cities[1] = nil }
    engine.storeDidChange()
    let received = waiter.next()
    #expect(received == #"{"entity":"City","from":"t1-1-9e3779b1","to":"t1-3-daa66d13","total":1}"#)
  }

  @Test("A poll that must not wait is not older than a read of this process")
  func pollAfterRead() {
    let waiter = RecordingWaiter()
    let before = store.token
    engine.follow(plan(shape: .count), since: .token(before), until: nil, waiter)
    settle()
    let newest = store.save { $0.cities[1] = nil }
    store.state.withLock { $0.newest = newest }
    let poll = RecordingWaiter()
    engine.follow(plan(shape: .count), since: .token(before), until: .now, poll)
    let diff = #"{"entity":"City","from":"t1-1-9e3779b1","to":"t1-2-3c6ef362","total":1}"#
    #expect(poll.next() == diff)
    #expect(waiter.next() == diff)
  }

  @Test("While a client waits, the store keeps the history that is still to be read")
  func demand() throws {
    let (waiter, late) = (RecordingWaiter(), RecordingWaiter())
    engine.follow(plan(), since: .token(store.token), until: nil, waiter)
    try #require(eventually(within: .seconds(300)) { store.demands.count == 2 })
    engine.follow(plan(), since: .token(store.token), until: nil, late)
    #expect(store.demands == [.new, .after(1)])
    store.save { $0.countries[2] = Country(name: "India", code: "in") }
    engine.storeDidChange()
    try #require(eventually(within: .seconds(300)) { store.demands.count == 3 })
    #expect(store.demands == [.new, .after(1), .after(2)])
    store.save { $0.cities[1]?.name = "x" }
    engine.storeDidChange()
    _ = waiter.next()
    #expect(store.demands == [.new, .after(1), .after(2), .nothing])
  }

  @Test("Changes and the deletion of an observed object are sent, those of others are not")
  func object() {
    let waiter = RecordingWaiter()
    engine.follow(plan(), object: .integer(1), since: .token(store.token), until: nil, waiter)
    store.save { $0.cities[2]?.name = "x" }
    engine.storeDidChange()
    settle()
    #expect(!waiter.hasAnswers)
    store.save { $0.cities[1]?.name = "y" }
    engine.storeDidChange()
    let changed = waiter.next()
    #expect(
      changed == #"{"id":1,"from":"t1-1-9e3779b1","to":"t1-3-daa66d13","changed":{"name":"y"}}"#)
    engine.follow(plan(), object: .integer(1), since: .token(store.token), until: nil, waiter)
    store.save { $0.cities[1] = nil }
    engine.storeDidChange()
    let deleted = waiter.next()
    #expect(
      deleted == #"{"id":1,"from":"t1-3-daa66d13","to":"t1-4-78dde6c4","deleted":true}"#)
  }

  @Test("An observed object that has its former values again says nothing")
  func reversedObject() {
    let waiter = RecordingWaiter()
    let start = store.token
    for name in ["y", "Shanghai"] {
      engine.follow(plan(), object: .integer(1), since: .token(store.token), until: nil, waiter)
      store.save { $0.cities[1]?.name = name }
      engine.storeDidChange()
      #expect(waiter.next().hasSuffix(#","changed":{"name":"\#(name)"}}"#))
    }
    engine.follow(plan(), object: .integer(1), since: .token(start), until: nil, waiter)
    settle()
    #expect(!waiter.hasAnswers)
    store.save { $0.cities[1]?.population = 25 }
    engine.storeDidChange()
    let changed = waiter.next()
    #expect(
      changed
        == #"{"id":1,"from":"t1-1-9e3779b1","to":"t1-4-78dde6c4","changed":{"population":25}}"#)
  }

  @Test("An observed object that is not in the result says nothing, and comes back whole")
  func objectThatLeft() {
    let waiter = RecordingWaiter()
    store.save { $0.cities[1] = nil }
    engine.follow(plan(), object: .integer(1), since: .token(store.token), until: nil, waiter)
    settle()
    // Inserted and deleted between two reads of the engine: nothing has changed.
    store.save { $0.cities[1] = City(name: "a", population: 1, isCapital: false, country: nil) }
    store.save { $0.cities[1] = nil }
    engine.storeDidChange()
    settle()
    #expect(!waiter.hasAnswers)
    store.save { $0.cities[1] = City(name: "b", population: 2, isCapital: false, country: nil) }
    engine.storeDidChange()
    #expect(waiter.next().hasSuffix(#""changed":{"name":"b","population":2}}"#))
  }

  @Test("A wait that ends without a change is answered with an advanced token")
  func expiry() {
    let waiter = RecordingWaiter()
    let plan = FetchPlan(
      definition: ResultDefinition(entity: 1, predicate: .everything), withDigest: true)
    let start = store.token
    store.save { $0.cities[1]?.name = "x" }
    engine.storeDidChange()
    engine.follow(plan, since: .token(start), until: soon, waiter)
    let received = waiter.next()
    #expect(received.hasPrefix(#"{"entity":"Country","from":"t1-1-9e3779b1","to":"t1-2-3c6ef362""#))
    #expect(received.contains(#""digest":"#))
    #expect(received.hasSuffix(#""moved":[],"updated":[]}}"#))
  }

  @Test("A save that the engine was notified of before is in the answer, without a wait")
  func freshness() {
    for number in 0..<200 {
      let waiter = RecordingWaiter()
      let start = store.token
      store.save { $0.cities[1]?.population = 100 + number }
      engine.storeDidChange()
      engine.follow(plan(limit: 1), since: .token(start), until: .now, waiter)
      #expect(waiter.next().contains("\"population\":\(100 + number)"))
    }
  }

  @Test("Tokens of another history, of the future or forged are expired")
  func expired() {
    let tokens = [
      Token(epoch: "t2", position: HistoryPosition(1), nonce: 0x9E37_79B1), MemoryStore.token(7),
      Token(epoch: "t1", position: HistoryPosition(1), nonce: 1),
      Token(epoch: "t1", position: -1, nonce: 0),
      Token(epoch: "t1", position: HistoryPosition(.max), nonce: 0),
    ]
    for token in tokens {
      let waiter = RecordingWaiter()
      engine.follow(plan(), since: .token(token), until: nil, waiter)
      #expect(waiter.next() == "expired")
    }
  }

  @Test("A new epoch expires everyone who waits")
  func epoch() {
    let waiter = RecordingWaiter()
    engine.follow(plan(), since: .token(store.token), until: nil, waiter)
    settle()
    store.state.withLock { $0.epoch = "t2" }
    engine.storeDidChange()
    #expect(waiter.next() == "expired")
  }

  @Test("A store error fails new requests, keeps waiting ones, and is retried")
  func failure() {
    let waiting = RecordingWaiter()
    engine.follow(plan(), since: .token(store.token), until: nil, waiting)
    settle()
    store.state.withLock { $0.failure = .busy }
    let asking = RecordingWaiter()
    engine.storeDidChange()
    engine.follow(plan(), since: .token(store.token), until: nil, asking)
    #expect(asking.next() == "busy")
    store.save { $0.cities[1]?.population = 99 }
    store.state.withLock { $0.failure = nil }
    #expect(waiting.next().contains("99"))
  }

  @Test("Requests are served once the store's changes can be read, however often they could not be")
  func newerState() {
    let waiting = RecordingWaiter()
    let start = store.token
    engine.follow(plan(), since: .token(start), until: nil, waiting)
    settle()
    store.save { $0.cities[1]?.population = 99 }
    store.readCounts.refusals.store(5, ordering: .relaxed)
    engine.storeDidChange()
    let asking = RecordingWaiter()
    engine.follow(plan(), since: .token(start), until: nil, asking)
    #expect(asking.next().contains("99"))
    #expect(waiting.next().contains("99"))
  }

  @Test("A catch-up in the background begins again however often it needs a newer state")
  func repeatedCatchUp() {
    let start = store.token
    store.save { $0.cities[1]?.population = 99 }
    store.readCounts.refusals.store(5, ordering: .relaxed)
    let waiter = RecordingWaiter()
    engine.follow(plan(), since: .token(start), until: nil, waiter)
    #expect(waiter.next().contains("99"))
  }

  @Test("Changes that can never be read are reported at the end of the longest wait")
  func changesThatCannotBeRead() {
    let waiting = RecordingWaiter()
    let start = store.token
    engine.follow(plan(), since: .token(start), until: nil, waiting)
    settle()
    store.save { $0.cities[1]?.population = 99 }
    store.readCounts.refusals.store(.max, ordering: .relaxed)
    engine.storeDidChange()
    let late = RecordingWaiter()
    let deadline = ContinuousClock.now - .seconds(60)
    engine.follow(plan(), since: .token(start), until: deadline, late)
    #expect(late.next() == "busy")
    #expect(!waiting.hasAnswers)
    store.readCounts.refusals.store(0, ordering: .relaxed)
    #expect(waiting.next().contains("99"))
  }

  @Test("Clients of one view share an answer; a client that cancelled gets none")
  func sharing() {
    let waiters = (0..<1_000).map { _ in RecordingWaiter() }
    let start = store.token
    for waiter in waiters { engine.follow(plan(), since: .token(start), until: nil, waiter) }
    let cancelled = waiters[500]
    engine.cancel(cancelled)
    let settled = RecordingWaiter()
    engine.follow(plan(), since: .token(store.token), until: .now, settled)
    _ = settled.next()
    store.save { $0.cities[1]?.population = 99 }
    engine.storeDidChange()
    for waiter in waiters where waiter !== cancelled { #expect(waiter.next().contains("99")) }
    #expect(!cancelled.hasAnswers)
    let most = delivery.groups.withLock { $0.max() }
    #expect(most == 999)
    #expect(engine.counters.diffs == 1)
  }

  @Test("Clients that return together after a save share an answer too")
  func sharedReturn() throws {
    let start = store.token
    store.save { $0.cities[1]?.population = 99 }
    var queries = LiveQueries(model: store.model, configuration: LiveConfiguration())
    try store.read { transaction throws(StoreError) in
      let context = CatchUpContext(transaction)
      try queries.catchUp(context)
      for _ in 0..<1_000 {
        let request = FollowRequest(
          plan: plan(), only: nil, since: .token(start), deadline: nil, waiter: RecordingWaiter())
        queries.follow(request, context, now: .now)
      }
    }
    #expect(queries.undelivered.map(\.waiters.count) == [1_000])
    #expect(queries.counters.diffs == 1)
  }

  @Test("Draining answers all clients, and those that follow later")
  func draining() {
    let waiters = (0..<10).map { _ in RecordingWaiter() }
    for waiter in waiters { engine.follow(plan(), since: .token(store.token), until: nil, waiter) }
    engine.drain()
    for waiter in waiters { #expect(waiter.hasAnswers) }
    let late = RecordingWaiter()
    engine.follow(plan(), since: .token(store.token), until: nil, late)
    #expect(late.next().hasPrefix("{"))
  }

  @Test("Without saves the store is not read for clients that return")
  func memory() {
    let first = RecordingWaiter()
    engine.follow(plan(), since: .token(store.token), until: .now, first)
    _ = first.next()
    let reads = store.state.withLock(\.reads)
    for _ in 0..<50 {
      let waiter = RecordingWaiter()
      engine.follow(plan(), since: .token(store.token), until: .now, waiter)
      #expect(waiter.next().hasPrefix("{"))
    }
    #expect(store.state.withLock(\.reads) == reads)
  }
}
