// Fetches that are followed together when the engine has too little time for all of them.

import FetchModel
import TestSupport
import Testing

@testable import LiveQueries

/// An engine that has time for one fetch at a time.
@Suite("Groups whose fetches exceed the time limit", .mayBlock) struct GroupTests {
  private let store = MemoryStore()
  private let engine: LiveEngine

  init() {
    store.saveTwoCities()
    var configuration = LiveConfiguration()
    configuration.longTimeLimit = .zero
    engine = LiveEngine(store: store, configuration: configuration, delivery: RecordingDelivery())
  }

  private var fetches: [GroupFetch] {
    (0..<8).map { index in
      GroupFetch(
        index: index,
        plan: FetchPlan(
          definition: ResultDefinition(entity: 0, predicate: .everything),
          window: Window(limit: index + 1), shape: .ids),
        since: store.token)
    }
  }

  @Test("A group's fetches are followed one after the other, and its client waits on")
  func oneAfterTheOther() throws {
    let group = RecordingWaiter()
    engine.follow(fetches, mustAnswer: false, group)
    try #require(eventually(within: .seconds(300)) { engine.counters.waiters == 8 })
    #expect(!group.hasAnswers)
    let single = RecordingWaiter()
    engine.follow(fetches[0].plan, since: .token(store.token), until: .now, single)
    #expect(single.next().contains(#""count":1"#))
    #expect(!group.hasAnswers)
  }

  @Test("If the client has to be answered, fetches without enough time begin with snapshots")
  func atOnce() {
    let group = RecordingWaiter()
    engine.follow(fetches, mustAnswer: true, group)
    #expect(group.next() == (1..<8).map { "\($0): expired" }.joined(separator: "; "))
  }

  @Test("A diff that another client got before a save leads the group to the newest token, too")
  func sharedDiff() {
    let engine = LiveEngine(store: store, delivery: RecordingDelivery())
    let start = store.token
    let plan = { (entity: Int) in
      FetchPlan(
        definition: ResultDefinition(entity: entity, predicate: .everything), shape: .count)
    }
    store.save { $0.cities[2] = nil }
    let single = RecordingWaiter()
    engine.follow(plan(0), since: .token(start), until: nil, single)
    #expect(
      single.next()
        == #"{"entity":"City","from":"t1-1-9e3779b1","to":"t1-2-3c6ef362","total":1}"#)
    store.save { $0.countries[1] = Country(name: "China", code: "cn") }
    engine.storeDidChange()
    let group = RecordingWaiter()
    let fetches = [0, 1].map { GroupFetch(index: $0, plan: plan($0), since: start) }
    engine.follow(fetches, mustAnswer: false, group)
    #expect(
      group.next() == #"""
        0: {"entity":"City","from":"t1-1-9e3779b1","to":"t1-3-daa66d13","total":1}; \#
        1: {"entity":"Country","from":"t1-1-9e3779b1","to":"t1-3-daa66d13","total":1}
        """#)
  }

  @Test("Diffs of a group that are too large together expire from the one on that does not fit")
  func tooLarge() throws {
    var groups = LiveGroups()
    groups.maxBytes = 500
    let follow = { (groups: inout LiveGroups, waiter: RecordingWaiter) in
      groups.follow(
        GroupCommand(
          fetches: Array(self.fetches.prefix(4)), mustAnswer: false, caller: "", waiter: waiter)
      ).compactMap(\.waiter.groupMember)
    }
    let diff = EncodedDiff(
      json: Array(repeating: 0x20, count: 300), to: store.token, isEmpty: false, fromEnd: 0,
      toEnd: 0)
    let members = follow(&groups, RecordingWaiter())
    for member in members.prefix(2) {
      #expect(!member.group.isFull)
      _ = groups.collect(OutgoingAnswer(answer: .diff(diff), waiters: [member]))
    }
    #expect(members[0].group.isFull)
    groups.expire(members[2])
    groups.expire(members[3])
    let answer = try #require(groups.takeAnswers(isDraining: false).first)
    let texts = answer.results.map { "\($0.index): \($0.answer.text.count)" }
    #expect(texts == ["0: 300", "1: 7", "2: 7", "3: 7"])
    #expect(!members[0].group.isFull)
  }

  @Test("The changes that a fetch keeps are bounded by their number and by their memory")
  func log() {
    let change = RowChange(id: .integer(1), old: nil, new: nil)
    var log = RowChangeLog(start: HistoryPosition(0))
    for position in 1...4 as ClosedRange<Int64> {
      log.append([change], from: HistoryPosition(position - 1), to: HistoryPosition(position))
    }
    log.trim(to: 3)
    #expect(log.start == HistoryPosition(1))
    log.trim(to: 3, bytes: 2 * change.byteCount)
    #expect(log.start == HistoryPosition(2))
    log.trim(to: 3, bytes: change.byteCount - 1)
    #expect(log.start == HistoryPosition(4))
    #expect(log.byteCount == 0)
  }

  @Test("A wait that ends after the group was answered gets no second answer")
  func endAfterAnswer() {
    let (group, marker) = (RecordingWaiter(), RecordingWaiter())
    engine.follow(fetches, mustAnswer: true, group)
    #expect(group.next() == (1..<8).map { "\($0): expired" }.joined(separator: "; "))
    engine.endWait(of: group)
    engine.cancel(group)
    engine.endWait(of: group)
    engine.follow(fetches[0].plan, since: .token(store.token), until: .now, marker)
    #expect(marker.next().contains(#""count":1"#))
    #expect(!group.hasAnswers)
  }

  @Test("A wait that ends without changes is answered with no results")
  func endWithoutChanges() throws {
    let group = RecordingWaiter()
    engine.follow(fetches, mustAnswer: false, group)
    try #require(eventually(within: .seconds(300)) { engine.counters.waiters == 8 })
    #expect(!group.hasAnswers)
    engine.endWait(of: group)
    #expect(group.next() == "")
  }

  @Test("A client that disconnects cancels its postponed fetches")
  func left() throws {
    let (gone, kept) = (RecordingWaiter(), RecordingWaiter())
    engine.follow(fetches, mustAnswer: false, gone)
    engine.cancel(gone)
    engine.follow(fetches, mustAnswer: false, kept)
    try #require(eventually(within: .seconds(300)) { engine.counters.waiters == 8 })
    engine.cancel(kept)
    #expect(eventually(within: .seconds(300)) { engine.counters.waiters == 0 })
  }
}
