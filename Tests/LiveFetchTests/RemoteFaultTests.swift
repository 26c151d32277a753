// Real servers behind a faulty proxy: after every fault a controller's content equals a new fetch, and its
// state is correct meanwhile; by long polls and by streams alike.

import Foundation
import LiveFetch
import TestSupport
import Testing

@MainActor
@Suite("A controller behind a gateway", .mayBlock)
struct RemoteFaultTests {
  @Test(
    "is offline while the gateway answers in the server's place, and goes on from its token",
    arguments: ForeignResponse.passing, RemoteStore.Transport.all)
  fileprivate func gatewayResponse(response: ForeignResponse, transport: RemoteStore.Transport)
    async throws
  {
    let fixture = try await FaultFixture(transport)
    let count = fixture.proxy.requests.count
    fixture.proxy.set(.answer(response.text))
    try await eventually(seconds: 10) { fixture.unavailability?.status == response.status }
    #expect(fixture.controller.fetchedObjects?.count == 5)
    try await fixture.grow(5, to: 850)
    try await fixture.grow(3, to: 801)
    fixture.proxy.set(.none)
    try await fixture.settle()
    #expect(fixture.lines.sorted() == ["update Bamako", "update Lima"])
    #expect(fixture.snapshots(since: count) == 0)
    try await fixture.grow(5, to: 1)
    try await fixture.settle()
  }

  @Test(
    "fails if the server or a gateway refuses permanently", arguments: ForeignResponse.final,
    RemoteStore.Transport.all)
  fileprivate func finalResponse(response: ForeignResponse, transport: RemoteStore.Transport)
    async throws
  {
    let fixture = try await FaultFixture(transport)
    fixture.proxy.set(.answer(response.text))
    try await eventually(seconds: 10) {
      if case .failed = fixture.controller.state { true } else { false }
    }
    let count = fixture.proxy.requests.count
    try await Task.sleep(for: .milliseconds(300))
    #expect(fixture.proxy.requests.count == count)
  }

  @Test("waits for the time in Retry-After", arguments: RemoteStore.Transport.all)
  func retryAfter(transport: RemoteStore.Transport) async throws {
    let fixture = try await FaultFixture(transport)
    let start = ContinuousClock.now
    fixture.proxy.set(
      .answer("HTTP/1.1 503 Busy\r\nRetry-After: 2\r\nContent-Length: 0\r\n\r\n"))
    try await eventually(seconds: 10) { fixture.unavailability?.retryAfter == 2 }
    fixture.proxy.set(.none)
    try await fixture.grow(5, to: 850)
    try await fixture.settle()
    #expect(start.duration(to: .now) >= .seconds(2))
    #expect(fixture.lines == ["update Bamako"])
  }

  @Test("reconnects as soon as the server responds, also if nothing changed")
  func quietReturn() async throws {
    for transport in RemoteStore.Transport.all {
      let fixture = try await FaultFixture(transport)
      fixture.controller.holdTime = 25
      try await fixture.controller.performFetch()
      fixture.proxy.set(.refused)
      try await eventually(seconds: 10) { fixture.unavailability != nil }
      fixture.proxy.set(.none)
      try await eventually(seconds: 8) { fixture.isFollowing }
      #expect(fixture.lines.isEmpty)
    }
  }

  @Test("survives responses that are cut short anywhere", arguments: RemoteStore.Transport.all)
  func cuts(transport: RemoteStore.Transport) async throws {
    let fixture = try await FaultFixture(transport)
    for (step, most) in [0, 1, 20, 150, 300, 420, 500, 620].enumerated() {
      fixture.proxy.set(.cut(after: most))
      try await fixture.grow(1 + step % 5, to: 1000 + step)
      try await Task.sleep(for: .milliseconds(60))
      fixture.proxy.set(.none)
      try await fixture.settle("cut after \(most)")
    }
  }

  @Test(
    "a stream that ends now and then is opened again without a word of being offline")
  func reopening() async throws {
    let fixture = try await FaultFixture(.stream)
    var states: [String] = []
    fixture.controller.stateDidChange = { states.append("\($0)") }
    for step in 0..<5 {
      try await fixture.grow(1, to: 1000 + step)
      try await fixture.settle()
      fixture.proxy.breakConnections()
    }
    try await fixture.grow(1, to: 2000)
    try await fixture.settle()
    #expect(states.isEmpty)
  }

  @Test("a quiet stream that a gateway ends again and again is opened again as well")
  func quietReopening() async throws {
    let fixture = try await FaultFixture(.stream)
    var states: [String] = []
    fixture.controller.stateDidChange = { states.append("\($0)") }
    try await eventually { fixture.proxy.requests.last?.contains("event-stream") == true }
    for _ in 0..<2 {
      let count = fixture.proxy.requests.count
      // The stream lasts for more than a second from its first byte on.
      try await Task.sleep(for: .seconds(2))
      let received = fixture.proxy.received
      fixture.proxy.breakConnections()
      try await eventually {
        fixture.proxy.requests.count > count && fixture.proxy.received > received
      }
    }
    try await fixture.grow(1, to: 2000)
    try await fixture.settle()
    #expect(states.isEmpty)
  }

  @Test("a gateway that blocks streams gets long polls")
  func heldBack() async throws {
    let fixture = try await FaultFixture(.stream)
    fixture.proxy.set(.unstreamed)
    try await eventually(seconds: 10) {
      fixture.proxy.requests.last?.contains("event-stream") == true
    }
    try await fixture.grow(4, to: 1000)
    try await fixture.settle()
    let count = fixture.proxy.requests.count
    try await fixture.grow(4, to: 1001)
    try await fixture.settle()
    #expect(!fixture.proxy.requests.dropFirst(count).contains { $0.contains("text/event-stream") })
  }
}

@MainActor
@Suite("A controller whose server restarts or changes", .mayBlock)
struct RemoteServerTests {
  @Test("an invalid wait is refused by the server", arguments: ["-30", "-1e300"])
  func wait(text: String) async throws {
    let fixture = try await FaultFixture(.longPoll, isFollowing: false)
    let request = #"{"entity":"City","since":"now","wait":\#(text)}"#
    let body = try JSON(parsing: Array(request.utf8))
    do throws(ObjectStoreError) {
      _ = try await fixture.store.fetch(body)
      Issue.record("it was granted")
    } catch {
      guard case .refused(let problem) = error else { throw error }
      #expect(problem.status == 400)
    }
  }

  @Test(
    "a content that does not match its digest is fetched again",
    arguments: RemoteStore.Transport.all
  )
  func digests(transport: RemoteStore.Transport) async throws {
    let fixture = try await FaultFixture(transport)
    var errors: [String] = []
    fixture.callbacks.didFail = { errors.append("\($0)") }
    fixture.proxy.set(
      .altered { bytes in
        let text = String(decoding: bytes, as: UTF8.self)
        guard text.contains(#""from":"#) else { return bytes }
        return Array(
          text.replacing(/"digest":"[0-9a-f]{8}"/, with: #""digest":"00000000""#).utf8)
      })
    try await fixture.grow(4, to: 1000)
    try await eventually(seconds: 10) {
      errors.contains { $0.contains("did not lead to the store's state") }
    }
    fixture.proxy.set(.none)
    try await fixture.settle()
    #expect(fixture.lines.first == "move Cusco")
  }

  @Test("a server that restarts is resumed from the token", arguments: RemoteStore.Transport.all)
  func restart(transport: RemoteStore.Transport) async throws {
    let fixture = try await FaultFixture(transport)
    for step in 0..<3 {
      let count = fixture.proxy.requests.count
      fixture.server.stop()
      try await eventually(seconds: 10) { fixture.unavailability != nil }
      try sqlite(fixture.server.path, "UPDATE City SET population = \(1000 + step) WHERE id = 5")
      try fixture.server.start()
      try await fixture.settle()
      #expect(fixture.snapshots(since: count) == 0)
    }
    #expect(fixture.lines == ["update Bamako", "update Bamako", "update Bamako"])
  }

  @Test(
    "one that comes back with another file, or with other tables, is fetched again",
    arguments: [
      "DELETE FROM City; INSERT INTO City VALUES (7, 'Ur', 1, 3), (1, 'Edo', 900, 1)",
      "ALTER TABLE City ADD COLUMN area INTEGER; UPDATE City SET population = 7 WHERE id = 4",
    ], RemoteStore.Transport.all)
  func otherFiles(statements: String, transport: RemoteStore.Transport) async throws {
    let fixture = try await FaultFixture(transport)
    fixture.server.stop()
    for end in ["", "-wal", "-shm"] {
      try? FileManager.default.removeItem(atPath: fixture.server.path + end)
    }
    try sqlite(fixture.server.path, Cities.schema + statements)
    try fixture.server.start()
    try await fixture.settle()
    #expect(!fixture.lines.isEmpty)
    try await fixture.grow(1, to: 5)
    try await fixture.settle()
  }

  @Test(
    "a schema that changes while it is served has the result fetched again",
    arguments: RemoteStore.Transport.all)
  func otherSchema(transport: RemoteStore.Transport) async throws {
    let fixture = try await FaultFixture(transport)
    for column in ["area", "mayor"] {
      let count = fixture.proxy.requests.count
      try sqlite(
        fixture.server.path,
        "ALTER TABLE City ADD COLUMN \(column) INTEGER; UPDATE City SET population = 7 WHERE id = 4"
      )
      try await eventually { fixture.snapshots(since: count) > 0 }
      try await fixture.settle()
      try await fixture.grow(4, to: 1000)
      try await fixture.settle()
    }
    #expect(fixture.unavailability == nil)
  }

  @Test(
    "whatever happens in whatever order, what is shown in the end is true",
    arguments: RemoteStore.Transport.all)
  func storm(transport: RemoteStore.Transport) async throws {
    let seed = UInt64.random(in: 0...UInt64.max)
    let comment = Comment(rawValue: "seed \(seed)")
    var random = SeededRandom(seed: seed)
    let fixture = try await FaultFixture(transport)
    for step in 0..<60 {
      switch Int.random(in: 0...9, using: &random) {
      case 0: fixture.proxy.set(.refused)
      case 1:
        fixture.proxy.set(
          .answer(ForeignResponse.passing[step % ForeignResponse.passing.count].text))
      case 2, 3: fixture.proxy.set(.cut(after: Int.random(in: 0...900, using: &random)))
      case 4: fixture.proxy.set(.cutOnce(after: Int.random(in: 0...900, using: &random)))
      case 5: fixture.proxy.breakConnections()
      case 6 where step % 3 == 0:
        fixture.server.stop()
        try fixture.server.start()
      default: fixture.proxy.set(.none)
      }
      try await fixture.grow(
        Int.random(in: 1...5, using: &random), to: Int.random(in: 0...1000, using: &random))
      try await Task.sleep(for: .milliseconds(Int.random(in: 0...40, using: &random)))
    }
    fixture.proxy.set(.none)
    try await fixture.settle(comment)
  }
}

@MainActor
@Suite("Fetches that begin while the server is unreachable", .mayBlock)
struct RemoteBeginningTests {
  @Test(
    "a controller whose first fetch fails has its content when there is a server",
    arguments: RemoteStore.Transport.all)
  func beginning(transport: RemoteStore.Transport) async throws {
    let fixture = try await FaultFixture(transport, isFollowing: false)
    fixture.proxy.set(.refused)
    var snapshots = fixture.controller.snapshots.makeAsyncIterator()
    await #expect(throws: FetchError.self) { try await fixture.controller.performFetch() }
    #expect(fixture.unavailability != nil)
    #expect(fixture.controller.fetchedObjects == nil)
    fixture.proxy.set(.none)
    let first = await snapshots.next()
    #expect(first?.itemIdentifiers.count == 5)
    try await fixture.grow(4, to: 1000)
    try await fixture.settle()
  }

  @Test(
    "a fetch that fails while something is followed leaves it offline until somebody answers",
    arguments: RemoteStore.Transport.all)
  func fetchingAgain(transport: RemoteStore.Transport) async throws {
    let fixture = try await FaultFixture(transport)
    fixture.proxy.set(.refused)
    await #expect(throws: FetchError.self) { try await fixture.controller.performFetch() }
    #expect(fixture.unavailability != nil)
    try await fixture.grow(4, to: 1000)
    try await Task.sleep(for: .milliseconds(300))
    #expect(fixture.unavailability != nil)
    #expect(fixture.controller.fetchedObjects?.count == 5)
    fixture.proxy.set(.none)
    try await fixture.settle()
    #expect(fixture.lines == ["move Cusco"])
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
    guard case .offline = controller.state else { throw FetchError.diffNotApplicable }
    controller.stop()
    guard case .initial = controller.state else { throw FetchError.diffNotApplicable }
  }

  @Test("a new request that cannot be fetched leaves the old one in force")
  func updating() async throws {
    let fixture = try await FaultFixture(.longPoll)
    fixture.proxy.set(.refused)
    await #expect(throws: FetchError.self) {
      try await fixture.controller.update(
        fetchRequest: FetchRequest(sortedBy: [.ascending("name")]))
    }
    #expect(fixture.unavailability != nil)
    fixture.proxy.set(.none)
    try await fixture.grow(4, to: 1000)
    try await fixture.settle()
    #expect(fixture.controller.fetchRequest.sortDescriptors == [.descending("population")])
  }

  @Test("a controller that was stopped while it retried does not reconnect")
  func stopping() async throws {
    let fixture = try await FaultFixture(.longPoll, isFollowing: false)
    fixture.proxy.set(.refused)
    await #expect(throws: FetchError.self) { try await fixture.controller.performFetch() }
    fixture.controller.stop()
    fixture.proxy.set(.none)
    try await Task.sleep(for: .milliseconds(400))
    #expect(fixture.controller.fetchedObjects == nil)
  }
}
