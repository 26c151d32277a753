// Real servers behind a proxy that misbehaves: whatever happens, a controller ends with what a fresh
// fetch gives, and says meanwhile where it stands; by long polls and by streams alike.

import Foundation
import LiveFetch
import TestSupport
import Testing

@MainActor
@Suite("A controller behind a gateway", .mayBlock)
struct RemoteFaultTests {
  @Test(
    "is offline while the gateway answers in the server's place, and goes on from its token",
    arguments: Stranger.passing, RemoteStore.Transport.all)
  fileprivate func strangers(stranger: Stranger, transport: RemoteStore.Transport) async throws {
    let bed = try await FaultBed(transport)
    let count = bed.proxy.requests.count
    bed.proxy.set(.answer(stranger.text))
    try await eventually(seconds: 10) { bed.unavailability?.status == stranger.status }
    #expect(bed.controller.fetchedObjects?.count == 5)
    try await bed.grow(5, to: 850)
    try await bed.grow(3, to: 801)
    bed.proxy.set(.none)
    try await bed.settle()
    #expect(bed.lines.sorted() == ["update Bamako", "update Lima"])
    #expect(bed.snapshots(since: count) == 0)
    try await bed.grow(5, to: 1)
    try await bed.settle()
  }

  @Test(
    "ends where the server refuses, or a gateway says no for good", arguments: Stranger.final,
    RemoteStore.Transport.all)
  fileprivate func final(stranger: Stranger, transport: RemoteStore.Transport) async throws {
    let bed = try await FaultBed(transport)
    bed.proxy.set(.answer(stranger.text))
    try await eventually(seconds: 10) {
      if case .failed = bed.controller.state { true } else { false }
    }
    let count = bed.proxy.requests.count
    try await Task.sleep(for: .milliseconds(300))
    #expect(bed.proxy.requests.count == count)
  }

  @Test("waits as long as it is asked to", arguments: RemoteStore.Transport.all)
  func retryAfter(transport: RemoteStore.Transport) async throws {
    let bed = try await FaultBed(transport)
    let start = ContinuousClock.now
    bed.proxy.set(
      .answer("HTTP/1.1 503 Busy\r\nRetry-After: 2\r\nContent-Length: 0\r\n\r\n"))
    try await eventually(seconds: 10) { bed.unavailability?.retryAfter == 2 }
    bed.proxy.set(.none)
    try await bed.grow(5, to: 850)
    try await bed.settle()
    #expect(start.duration(to: .now) >= .seconds(2))
    #expect(bed.lines == ["update Bamako"])
  }

  @Test("is back as soon as somebody answers, also where nothing happened")
  func quietReturn() async throws {
    for transport in RemoteStore.Transport.all {
      let bed = try await FaultBed(transport)
      bed.controller.holdTime = 25
      try await bed.controller.performFetch()
      bed.proxy.set(.refused)
      try await eventually(seconds: 10) { bed.unavailability != nil }
      bed.proxy.set(.none)
      try await eventually(seconds: 8) { bed.isFollowing }
      #expect(bed.lines.isEmpty)
    }
  }

  @Test("survives answers that break off anywhere", arguments: RemoteStore.Transport.all)
  func cuts(transport: RemoteStore.Transport) async throws {
    let bed = try await FaultBed(transport)
    for (step, most) in [0, 1, 20, 150, 300, 420, 500, 620].enumerated() {
      bed.proxy.set(.cut(after: most))
      try await bed.grow(1 + step % 5, to: 1000 + step)
      try await Task.sleep(for: .milliseconds(60))
      bed.proxy.set(.none)
      try await bed.settle("cut after \(most)")
    }
  }

  @Test(
    "a stream that ends now and then is opened again without a word of being offline")
  func reopening() async throws {
    let bed = try await FaultBed(.stream)
    var states: [String] = []
    bed.controller.stateDidChange = { states.append("\($0)") }
    for step in 0..<5 {
      try await bed.grow(1, to: 1000 + step)
      try await bed.settle()
      bed.proxy.breakConnections()
    }
    try await bed.grow(1, to: 2000)
    try await bed.settle()
    #expect(states.isEmpty)
  }

  @Test("a gateway that lets no stream through gets long polls")
  func heldBack() async throws {
    let bed = try await FaultBed(.stream)
    bed.proxy.set(.unstreamed)
    try await eventually(seconds: 10) { bed.proxy.requests.last?.contains("event-stream") == true }
    try await bed.grow(4, to: 1000)
    try await bed.settle()
    let count = bed.proxy.requests.count
    try await bed.grow(4, to: 1001)
    try await bed.settle()
    #expect(!bed.proxy.requests.dropFirst(count).contains { $0.contains("text/event-stream") })
  }
}

@MainActor
@Suite("A controller whose server is not what it was", .mayBlock)
struct RemoteServerTests {
  @Test("a wait that is none is refused by the server", arguments: ["-30", "-1e300"])
  func wait(text: String) async throws {
    let bed = try await FaultBed(.longPoll, isFollowing: false)
    let request = #"{"entity":"City","since":"now","wait":\#(text)}"#
    let body = try JSON(parsing: Array(request.utf8))
    do throws(ObjectStoreError) {
      _ = try await bed.store.fetch(body)
      Issue.record("it was granted")
    } catch {
      guard case .refused(let problem) = error else { throw error }
      #expect(problem.status == 400)
    }
  }

  @Test(
    "a content that does not match its digest is fetched anew", arguments: RemoteStore.Transport.all
  )
  func digests(transport: RemoteStore.Transport) async throws {
    let bed = try await FaultBed(transport)
    var errors: [String] = []
    bed.callbacks.didFail = { errors.append("\($0)") }
    bed.proxy.set(
      .altered { bytes in
        let text = String(decoding: bytes, as: UTF8.self)
        guard text.contains(#""from":"#) else { return bytes }
        return Array(
          text.replacing(/"digest":"[0-9a-f]{8}"/, with: #""digest":"00000000""#).utf8)
      })
    try await bed.grow(4, to: 1000)
    try await eventually(seconds: 10) { errors.contains { $0.contains("out of step") } }
    bed.proxy.set(.none)
    try await bed.settle()
    #expect(bed.lines.first == "move Cusco")
  }

  @Test("a server that restarts is resumed from the token", arguments: RemoteStore.Transport.all)
  func restart(transport: RemoteStore.Transport) async throws {
    let bed = try await FaultBed(transport)
    for step in 0..<3 {
      let count = bed.proxy.requests.count
      bed.server.stop()
      try await eventually(seconds: 10) { bed.unavailability != nil }
      try sqlite(bed.server.path, "UPDATE City SET population = \(1000 + step) WHERE id = 5")
      try bed.server.start()
      try await bed.settle()
      #expect(bed.snapshots(since: count) == 0)
    }
    #expect(bed.lines == ["update Bamako", "update Bamako", "update Bamako"])
  }

  @Test(
    "one that comes back with another file, or with other tables, is fetched anew",
    arguments: [
      "DELETE FROM City; INSERT INTO City VALUES (7, 'Ur', 1, 3), (1, 'Edo', 900, 1)",
      "ALTER TABLE City ADD COLUMN area INTEGER; UPDATE City SET population = 7 WHERE id = 4",
    ], RemoteStore.Transport.all)
  func otherFiles(statements: String, transport: RemoteStore.Transport) async throws {
    let bed = try await FaultBed(transport)
    bed.server.stop()
    for end in ["", "-wal", "-shm"] {
      try? FileManager.default.removeItem(atPath: bed.server.path + end)
    }
    try sqlite(bed.server.path, Cities.schema + statements)
    try bed.server.start()
    try await bed.settle()
    #expect(!bed.lines.isEmpty)
    try await bed.grow(1, to: 5)
    try await bed.settle()
  }

  @Test(
    "a schema that changes while it is served has the result fetched again",
    arguments: RemoteStore.Transport.all)
  func otherSchema(transport: RemoteStore.Transport) async throws {
    let bed = try await FaultBed(transport)
    for column in ["area", "mayor"] {
      let count = bed.proxy.requests.count
      try sqlite(
        bed.server.path,
        "ALTER TABLE City ADD COLUMN \(column) INTEGER; UPDATE City SET population = 7 WHERE id = 4"
      )
      try await eventually { bed.snapshots(since: count) > 0 }
      try await bed.settle()
      try await bed.grow(4, to: 1000)
      try await bed.settle()
    }
    #expect(bed.unavailability == nil)
  }

  @Test(
    "whatever happens in whatever order, what is shown in the end is true",
    arguments: RemoteStore.Transport.all)
  func storm(transport: RemoteStore.Transport) async throws {
    let seed = UInt64.random(in: 0...UInt64.max)
    let comment = Comment(rawValue: "seed \(seed)")
    var random = SeededRandom(seed: seed)
    let bed = try await FaultBed(transport)
    for step in 0..<60 {
      switch Int.random(in: 0...9, using: &random) {
      case 0: bed.proxy.set(.refused)
      case 1: bed.proxy.set(.answer(Stranger.passing[step % Stranger.passing.count].text))
      case 2, 3: bed.proxy.set(.cut(after: Int.random(in: 0...900, using: &random)))
      case 4: bed.proxy.set(.cutOnce(after: Int.random(in: 0...900, using: &random)))
      case 5: bed.proxy.breakConnections()
      case 6 where step % 3 == 0:
        bed.server.stop()
        try bed.server.start()
      default: bed.proxy.set(.none)
      }
      try await bed.grow(
        Int.random(in: 1...5, using: &random), to: Int.random(in: 0...1000, using: &random))
      try await Task.sleep(for: .milliseconds(Int.random(in: 0...40, using: &random)))
    }
    bed.proxy.set(.none)
    try await bed.settle(comment)
  }
}

@MainActor
@Suite("What begins while nobody answers", .mayBlock)
struct RemoteBeginningTests {
  @Test(
    "a controller whose first fetch fails has its content when there is a server",
    arguments: RemoteStore.Transport.all)
  func beginning(transport: RemoteStore.Transport) async throws {
    let bed = try await FaultBed(transport, isFollowing: false)
    bed.proxy.set(.refused)
    var snapshots = bed.controller.snapshots.makeAsyncIterator()
    await #expect(throws: FetchError.self) { try await bed.controller.performFetch() }
    #expect(bed.unavailability != nil)
    #expect(bed.controller.fetchedObjects == nil)
    bed.proxy.set(.none)
    let first = await snapshots.next()
    #expect(first?.itemIdentifiers.count == 5)
    try await bed.grow(4, to: 1000)
    try await bed.settle()
  }

  @Test(
    "a fetch that fails while something is followed leaves it offline until somebody answers",
    arguments: RemoteStore.Transport.all)
  func fetchingAgain(transport: RemoteStore.Transport) async throws {
    let bed = try await FaultBed(transport)
    bed.proxy.set(.refused)
    await #expect(throws: FetchError.self) { try await bed.controller.performFetch() }
    #expect(bed.unavailability != nil)
    try await bed.grow(4, to: 1000)
    try await Task.sleep(for: .milliseconds(300))
    #expect(bed.unavailability != nil)
    #expect(bed.controller.fetchedObjects?.count == 5)
    bed.proxy.set(.none)
    try await bed.settle()
    #expect(bed.lines == ["move Cusco"])
  }

  @Test(
    "a server that is not there at all is away",
    arguments: ["http://127.0.0.1:1", "https://127.0.0.1:1"])
  func nobody(address: String) async throws {
    let store = RemoteStore(try #require(URL(string: address)))
    let controller = FetchedResultsController(
      fetchRequest: FetchRequest<City>(), context: ManagedObjectContext(store: store))
    var isUnavailable = false
    do throws(FetchError) {
      try await controller.performFetch()
    } catch {
      isUnavailable = error.unavailability != nil
    }
    #expect(isUnavailable)
    guard case .offline = controller.state else { throw FetchError.outOfStep }
    controller.stop()
    guard case .initial = controller.state else { throw FetchError.outOfStep }
  }

  @Test("another request that cannot be fetched leaves the old one, which is followed on")
  func updating() async throws {
    let bed = try await FaultBed(.longPoll)
    bed.proxy.set(.refused)
    await #expect(throws: FetchError.self) {
      try await bed.controller.update(fetchRequest: FetchRequest(sortedBy: [.ascending("name")]))
    }
    #expect(bed.unavailability != nil)
    bed.proxy.set(.none)
    try await bed.grow(4, to: 1000)
    try await bed.settle()
    #expect(bed.controller.fetchRequest.sortDescriptors == [.descending("population")])
  }

  @Test("a controller that was stopped while it tried does not come back")
  func stopping() async throws {
    let bed = try await FaultBed(.longPoll, isFollowing: false)
    bed.proxy.set(.refused)
    await #expect(throws: FetchError.self) { try await bed.controller.performFetch() }
    bed.controller.stop()
    bed.proxy.set(.none)
    try await Task.sleep(for: .milliseconds(400))
    #expect(bed.controller.fetchedObjects == nil)
  }
}
