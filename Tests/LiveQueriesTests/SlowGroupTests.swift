// Groups with slow fetches: the whole group is answered at one token.

import FetchModel
import Foundation
import TestSupport
import Testing

@testable import LiveQueries

@Suite("Slow fetches of groups", .mayBlock)
struct SlowGroupTests {
  private let store = SlowStore()
  private let engine: LiveEngine
  private let start: Token

  init() {
    start = store.inner.saveTwoCities()
    engine = LiveEngine(store: store, delivery: RecordingDelivery())
  }

  private func plan(
    _ shape: ResultShape = .objects, limit: Int? = nil, isSorted: Bool = true
  ) -> FetchPlan {
    let path = { PropertyPath(root: 0, target: .attribute($0)) }
    return FetchPlan(
      definition: ResultDefinition(
        entity: 0, predicate: .everything,
        order: isSorted ? [OrderTerm(path: path(1), direction: .descending)] : []),
      window: Window(limit: limit), shape: shape,
      selection: [SelectedValue(key: "population", source: .path(path(1)))])
  }

  /// Follows the cities from ``start``, which is slow, and their count from the newest token.
  private func followBoth(mustAnswer: Bool = false) -> RecordingWaiter {
    store.inner.save { $0.cities[1]?.population = 30 }
    store.slow(before: 2)
    let group = RecordingWaiter()
    engine.follow(
      [
        GroupFetch(index: 0, plan: plan(), since: start),
        GroupFetch(index: 1, plan: plan(.count), since: store.inner.token),
      ], mustAnswer: mustAnswer, group)
    return group
  }

  private static let changed = #"""
    0: {"entity":"City","from":"t1-1-9e3779b1","to":"t1-2-3c6ef362","count":2,\#
    "sections":{"deleted":[],"inserted":[]},\#
    "items":{"deleted":[],"inserted":[],"moved":[],\#
    "updated":[{"from":[0,0],"to":[0,0],"id":1,"changed":{"population":30}}]}}
    """#

  @Test("Other clients are answered meanwhile, and the group then gets all diffs at one token")
  func othersGoOn() throws {
    let (group, other) = (followBoth(), RecordingWaiter())
    try #require(store.isAsked())
    engine.follow(plan(.count), since: .token(store.inner.token), until: nil, other)
    store.inner.save { $0.cities[2] = nil }
    engine.storeDidChange()
    let count = #"{"entity":"City","from":"t1-2-3c6ef362","to":"t1-3-daa66d13","total":1}"#
    #expect(other.next() == count)
    #expect(!group.hasAnswers)
    store.open()
    let expected = #"""
      0: {"entity":"City","from":"t1-1-9e3779b1","to":"t1-3-daa66d13","count":1,\#
      "sections":{"deleted":[],"inserted":[]},\#
      "items":{"deleted":[{"from":[0,1],"id":2}],"inserted":[],"moved":[],\#
      "updated":[{"from":[0,0],"to":[0,0],"id":1,"changed":{"population":30}}]}}; 1: \#(count)
      """#
    #expect(group.next() == expected)
    #expect(!group.hasAnswers)
  }

  @Test("A client that has to be answered gets the diffs once they are there")
  func atOnce() throws {
    let group = followBoth(mustAnswer: true)
    try #require(store.isAsked())
    #expect(!group.hasAnswers)
    store.open()
    #expect(group.next() == Self.changed)
  }

  @Test("Fetches that are ready wait on, and the next diff starts from the client's token")
  func next() throws {
    let group = followBoth()
    try #require(store.isAsked())
    store.open()
    #expect(group.next() == Self.changed)
    engine.follow([], mustAnswer: false, group)
    store.inner.save { $0.cities[2] = nil }
    engine.storeDidChange()
    let received = group.next()
    #expect(received.contains(#"0: {"entity":"City","from":"t1-2-3c6ef362","to":"t1-3-daa66d13""#))
    #expect(received.contains(#"1: {"entity":"City","from":"t1-2-3c6ef362","to":"t1-3-daa66d13""#))
  }

  @Test("A fetch that exceeds the store's limit expires")
  func endless() {
    store.state.withLock { $0.isEndless = true }
    #expect(followBoth().next() == "0: expired")
  }

  @Test("When their time is over, late fetches fail and the others are answered at one token")
  func overdue() throws {
    let group = followBoth()
    try #require(store.isAsked())
    store.inner.save { $0.cities[2] = nil }
    engine.storeDidChange()
    engine.endCatchUps(of: group)
    let count = #"{"entity":"City","from":"t1-2-3c6ef362","to":"t1-3-daa66d13","total":1}"#
    #expect(group.next() == "0: queryTimeout; 1: \(count)")
    #expect(eventually(within: .seconds(300)) { store.waiting == 0 })
    engine.cancel(group)
    #expect(eventually(within: .seconds(300)) { engine.counters.waiters == 0 })
  }

  @Test("Diffs that were dropped for a late fetch are answered when its time is over")
  func overdueWithDropped() throws {
    let group = followBoth()
    try #require(store.isAsked())
    store.inner.save { $0.cities[2] = nil }
    engine.storeDidChange()
    let other = RecordingWaiter()
    engine.follow(plan(.count), since: .token(store.inner.token), until: .now, other)
    _ = other.next()
    engine.endCatchUps(of: group)
    let count = #"{"entity":"City","from":"t1-2-3c6ef362","to":"t1-3-daa66d13","total":1}"#
    #expect(group.next() == "0: queryTimeout; 1: \(count)")
  }

  @Test("A group that is up to date waits on when the time for catching up is over")
  func notOverdue() {
    let group = RecordingWaiter()
    let fetch = GroupFetch(index: 0, plan: plan(.count), since: start)
    engine.follow([fetch], mustAnswer: false, group)
    let other = RecordingWaiter()
    engine.follow(plan(.count), since: .token(start), until: .now, other)
    _ = other.next()
    engine.endCatchUps(of: group)
    store.inner.save { $0.cities[2] = nil }
    engine.storeDidChange()
    let count = #"{"entity":"City","from":"t1-1-9e3779b1","to":"t1-2-3c6ef362","total":1}"#
    #expect(group.next() == "0: \(count)")
  }

  @Test("Once the groups of a caller have had their time, more fetches are not tried")
  func share() {
    store.inner.save { $0.cities[1]?.population = 30 }
    store.slow(before: 2)
    store.open()
    var configuration = LiveConfiguration()
    configuration.timeLimit = .zero
    let engine = LiveEngine(
      store: store, configuration: configuration, delivery: RecordingDelivery())
    let group = RecordingWaiter()
    engine.follow(
      [
        GroupFetch(index: 0, plan: plan(), since: start),
        GroupFetch(index: 1, plan: plan(isSorted: false), since: start),
      ], mustAnswer: false, group)
    #expect(group.next() == "\(Self.changed); 1: \(Self.changed.dropFirst(3))")
    // One fetch on the engine's thread, and both in the background.
    #expect(store.state.withLock(\.asked) == 3)
  }

  @Test("A fetch that is out of date again expires")
  func outOfDate() throws {
    let group = followBoth()
    try #require(store.isAsked())
    store.inner.save { $0.cities[2] = nil }
    engine.storeDidChange()
    // The changes made since take too long as well.
    store.slow(before: 3)
    let began = RecordingWaiter()
    engine.follow(plan(.count), since: .token(store.inner.token), until: .now, began)
    _ = began.next()
    store.open()
    #expect(group.next().hasPrefix("0: expired"))
  }

  @Test("If the engine ends meanwhile, the whole group expires")
  func ending() throws {
    let group = followBoth()
    try #require(store.isAsked())
    let other = RecordingWaiter()
    engine.follow(plan(.count), since: .token(store.inner.token), until: nil, other)
    store.inner.save { $0.cities[2] = nil }
    engine.storeDidChange()
    #expect(other.next().contains(#""total":1"#))
    engine.drain()
    #expect(group.next() == "0: expired; 1: expired")
    #expect(eventually(within: .seconds(300)) { store.waiting == 0 })
  }

  @Test("A client that disconnects cancels its slow fetches")
  func left() throws {
    let group = followBoth()
    try #require(store.isAsked())
    engine.cancel(group)
    #expect(eventually(within: .seconds(300)) { store.waiting == 0 })
    #expect(eventually(within: .seconds(300)) { engine.counters.waiters == 0 })
    #expect(!group.hasAnswers)
  }

  @Test("The effect of a save on a fetch of a group delays no client")
  func slowStep() {
    let group = RecordingWaiter()
    engine.follow([GroupFetch(index: 0, plan: plan(), since: start)], mustAnswer: false, group)
    let settled = RecordingWaiter()
    engine.follow(plan(.count), since: .token(start), until: .now, settled)
    _ = settled.next()
    store.slow(before: 2)
    store.open()
    store.inner.save { $0.cities[1]?.population = 30 }
    engine.storeDidChange()
    #expect(group.next() == Self.changed)
    // On the engine's thread, and in the background.
    #expect(store.state.withLock(\.asked) == 2)
  }

  @Test("One caller leaves a thread to others, however many slow fetches it follows")
  func callers() throws {
    var tokens = [start]
    for population in 30..<33 {
      tokens.append(store.inner.save { $0.cities[1]?.population = population })
    }
    store.slow(before: 4)
    let askers = (0..<3).map { _ in RecordingWaiter() }
    for (token, asker) in zip(tokens, askers) {
      engine.follow(plan(), since: .token(token), until: nil, for: "a", asker)
    }
    try #require(eventually(within: .seconds(300)) { store.waiting == 2 })
    let other = RecordingWaiter()
    engine.follow(
      [GroupFetch(index: 0, plan: plan(limit: 5), since: start)], mustAnswer: false, for: "b", other
    )
    try #require(eventually(within: .seconds(300)) { store.waiting == 3 })
    store.open()
    for waiter in askers + [other] {
      #expect(waiter.next().contains(#""changed":{"population":32}"#))
    }
  }

  @Test("A fetch that is read in the background is not read again for a query with fewer keys")
  func adopted() throws {
    store.inner.save { objects in
      for id in 3..<100 {
        objects.cities[id] = City(
          name: "\(id)", population: 0, isCapital: false, country: nil)
      }
    }
    store.state.withLock { $0.quickKeys = 20 }
    let (first, group) = (RecordingWaiter(), RecordingWaiter())
    let token = store.inner.token
    engine.follow(plan(limit: 1), since: .token(token), until: nil, first)
    let fetch = GroupFetch(index: 0, plan: plan(limit: 90), since: token)
    engine.follow([fetch], mustAnswer: false, group)
    try #require(store.isAsked())
    let reads = store.state.withLock(\.keyReads)
    store.open()
    try #require(eventually(within: .seconds(300)) { engine.counters.waiters == 2 })
    #expect(store.state.withLock(\.keyReads) == reads)
    store.inner.save { $0.cities[50]?.population = 1 }
    engine.storeDidChange()
    #expect(group.next().contains(#""changed":{"population":1}"#))
  }
}
