// Real servers behind a proxy that misbehaves: whatever happens, a controller ends with what a fresh
// fetch gives, and says meanwhile where it stands; by long polls and by streams alike.

import Foundation
import LiveFetch
import TestSupport
import Testing

/// A server, a proxy in front of it, and stores through and past the proxy.
@MainActor
private final class FaultBed {
  let server: Restarting
  let proxy: FaultProxy
  let store: RemoteStore
  let direct: RemoteStore
  let controller: FetchedResultsController<City>
  let callbacks: FetchedResultsControllerCallbacks<City>
  var lines: [String] = []

  init(_ transport: RemoteStore.Transport, isFollowing: Bool = true) async throws {
    server = try Restarting()
    proxy = try FaultProxy(host: #require(server.address.host), port: server.port)
    let address = try #require(URL(string: "http://127.0.0.1:\(proxy.port)"))
    store = RemoteStore(address, transport: transport)
    direct = RemoteStore(server.address)
    controller = FetchedResultsController(
      fetchRequest: FetchRequest<City>(sortedBy: [.descending("population")]),
      context: ManagedObjectContext(store: store), sectionKeyPath: "country.name")
    controller.holdTime = 2
    callbacks = FetchedResultsControllerCallbacks(controller)
    callbacks.didChangeObject = { [unowned self] change, city in
      lines.append("\(change.type) \(city?.name ?? "?")")
    }
    if isFollowing { try await controller.performFetch() }
  }

  func save(_ changes: String) async throws {
    _ = try await direct.save(JSON(parsing: Array(#"{"changes":[\#(changes)]}"#.utf8)))
  }

  func grow(_ id: Int, to population: Int) async throws {
    try await save(#"{"update":"City","id":\#(id),"values":{"population":\#(population)}}"#)
  }

  /// Waits until the controller shows what a fetch past the proxy gives, and follows.
  func settle(_ comment: Comment? = nil) async throws {
    let fresh = FetchedResultsController(
      fetchRequest: controller.fetchRequest, context: ManagedObjectContext(store: direct),
      section: controller.section)
    try await fresh.performFetch()
    fresh.stop()
    try await eventually(seconds: 20) {
      sections(of: controller) == sections(of: fresh) && isFollowing
    }
    #expect(sections(of: controller) == sections(of: fresh), comment)
  }

  func sections(of controller: FetchedResultsController<City>) -> [[City]] {
    controller.sections.map(\.objects)
  }

  var isFollowing: Bool { if case .following = controller.state { true } else { false } }

  var outage: Outage? {
    guard case .offline(.unreachable(let outage)) = controller.state else { return nil }
    return outage
  }

  /// Requests for a whole result, of those since the first `count`.
  func snapshots(since count: Int) -> Int {
    proxy.requests.dropFirst(count).count { !$0.contains(#""since""#) && $0.contains("/v1/fetch") }
  }
}

@MainActor
private func eventually(seconds: Double, _ isTrue: () -> Bool) async throws {
  let end = ContinuousClock.now + .seconds(seconds)
  while !isTrue(), ContinuousClock.now < end { try await Task.sleep(for: .milliseconds(5)) }
  #expect(isTrue(), "it never came")
}

extension RemoteStore.Transport {
  fileprivate static let all: [Self] = [.longPoll, .stream]
}

/// What stands in place of an answer.
private struct Stranger: Sendable, CustomTestStringConvertible {
  let testDescription: String
  let status: Int
  let text: String

  init(_ status: Int, _ headers: String = "", body: String, name: String) {
    self.status = status
    testDescription = "\(status) \(name)"
    text =
      "HTTP/1.1 \(status) Status\r\n\(headers)Content-Length: \(body.utf8.count)\r\n"
      + "Connection: close\r\n\r\n\(body)"
  }

  static let page = "<html><body><h1>Bad Gateway</h1></body></html>"
  static let passing = [
    Stranger(502, "Content-Type: text/html\r\n", body: page, name: "page"),
    Stranger(502, body: "", name: "empty"),
    Stranger(
      503, "Content-Type: application/problem+json\r\n",
      body: #"{"type":"about:blank","title":"No upstream","status":503}"#, name: "problem"),
    Stranger(504, body: "upstream request timeout", name: "text"),
    Stranger(429, "Retry-After: 0\r\n", body: "", name: "empty"),
    Stranger(500, body: "", name: "empty"),
    Stranger(200, "Content-Type: text/html\r\n", body: page, name: "page"),
    Stranger(200, "Content-Type: application/json\r\n", body: #"{"entity":"Ci"#, name: "half"),
  ]
  static let final = [
    Stranger(403, "Content-Type: text/html\r\n", body: page, name: "page"),
    Stranger(
      401, "Content-Type: application/problem+json\r\n",
      body: #"{"status":401,"code":"unauthorized","detail":"A token is required."}"#,
      name: "problem"),
    Stranger(
      400, "Content-Type: application/problem+json\r\n",
      body: #"{"status":400,"code":"bad-token","detail":"No token."}"#, name: "problem"),
  ]
}

@MainActor
@Suite("A controller behind a gateway")
struct RemoteFaultTests {
  @Test(
    "is offline while the gateway answers in the server's place, and goes on from its token",
    arguments: Stranger.passing, RemoteStore.Transport.all)
  fileprivate func strangers(stranger: Stranger, transport: RemoteStore.Transport) async throws {
    let bed = try await FaultBed(transport)
    let count = bed.proxy.requests.count
    bed.proxy.set(.answer(stranger.text))
    try await eventually(seconds: 10) { bed.outage?.status == stranger.status }
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
    try await eventually(seconds: 10) { bed.outage?.retryAfter == 2 }
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
      try await eventually(seconds: 10) { bed.outage != nil }
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
@Suite("A controller whose server is not what it was")
struct RemoteServerTests {
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
      try await eventually(seconds: 10) { bed.outage != nil }
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
@Suite("What begins while nobody answers")
struct RemoteBeginningTests {
  @Test(
    "a controller whose first fetch fails has its content when there is a server",
    arguments: RemoteStore.Transport.all)
  func beginning(transport: RemoteStore.Transport) async throws {
    let bed = try await FaultBed(transport, isFollowing: false)
    bed.proxy.set(.refused)
    var snapshots = bed.controller.snapshots.makeAsyncIterator()
    await #expect(throws: FetchError.self) { try await bed.controller.performFetch() }
    #expect(bed.outage != nil)
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
    #expect(bed.outage != nil)
    try await bed.grow(4, to: 1000)
    try await Task.sleep(for: .milliseconds(300))
    #expect(bed.outage != nil)
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
    var isOutage = false
    do throws(FetchError) {
      try await controller.performFetch()
    } catch {
      isOutage = error.outage != nil
    }
    #expect(isOutage)
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
    #expect(bed.outage != nil)
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

@Suite("A save whose answer is lost")
struct RemoteSaveTests {
  private struct Bed {
    let server: Restarting
    let proxy: FaultProxy
    let store: RemoteStore
    let direct: RemoteStore

    init() throws {
      server = try Restarting()
      proxy = try FaultProxy(host: #require(server.address.host), port: server.port)
      store = RemoteStore(try #require(URL(string: "http://127.0.0.1:\(proxy.port)")))
      direct = RemoteStore(server.address)
    }

    func count(_ name: String) async throws -> Int64? {
      let request = #"{"entity":"City","as":"count","where":"name == '\#(name)'"}"#
      return try await direct.fetch(JSON(parsing: Array(request.utf8)))["total"]?.integer
    }
  }

  private let insert = #"{"changes":[{"insert":"City","values":{"name":"Ur","population":1}}]}"#

  private func json(_ text: String) throws -> JSON { try JSON(parsing: Array(text.utf8)) }

  @Test("is asked for again, and made once", arguments: [0, 10, 180])
  func once(cut: Int) async throws {
    let bed = try Bed()
    bed.proxy.set(.cutOnce(after: cut))
    let receipt = try await bed.store.save(json(insert))
    #expect(receipt.inserted == 1)
    #expect(try await bed.count("Ur") == 1)
    #expect(bed.proxy.requests.count == 2)
  }

  @Test("is an error that has the status where it stays lost, and can be asked for by its key")
  func lost() async throws {
    let bed = try Bed()
    bed.proxy.set(.cut(after: 0))
    do {
      _ = try await bed.store.save(json(insert), idempotencyKey: "one")
      Issue.record("saved")
    } catch ObjectStoreError.unreachable(let outage) {
      #expect(outage.status == nil)
      #expect(outage.code == nil)
    }
    bed.proxy.set(.answer("HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n"))
    do {
      _ = try await bed.store.save(json(insert), idempotencyKey: "one")
      Issue.record("saved")
    } catch ObjectStoreError.unreachable(let outage) {
      #expect(outage.status == 502)
    }
    bed.proxy.set(.none)
    let receipt = try await bed.store.save(json(insert), idempotencyKey: "one")
    #expect(receipt.inserted == 1)
    #expect(try await bed.count("Ur") == 1)
  }

  @Test("is not asked for again where the server said no")
  func refused() async throws {
    let bed = try Bed()
    let twice = #"{"changes":[{"insert":"City","values":{"id":1,"name":"Ur"}}]}"#
    await #expect(throws: ObjectStoreError.self) { try await bed.store.save(json(twice)) }
    #expect(bed.proxy.requests.count == 1)
    bed.proxy.set(
      .answer(
        "HTTP/1.1 503 Busy\r\nContent-Length: 44\r\n\r\n"
          + #"{"code":"overloaded","detail":"Later, ok??"}"#))
    do {
      _ = try await bed.store.save(json(insert))
    } catch ObjectStoreError.unreachable(let outage) {
      #expect(outage.code == "overloaded")
    }
    #expect(bed.proxy.requests.count == 2)
  }
}

/// A city as an object.
private final class ObservedTown: ManagedObject, ManagedObjectType {
  static let entityName = "City"
  enum Key: String, KeyCodable { case name, population }

  @Managed(.name) var name = ""
  @Managed(.population) var population: Int?
}

@MainActor
@Suite("An observer made while nobody answers")
struct RemoteObserverTests {
  private func observed(
    _ transport: RemoteStore.Transport, until count: Int, _ change: (FaultBed) async throws -> Void
  ) async throws -> [String] {
    let bed = try await FaultBed(transport, isFollowing: false)
    let context = ManagedObjectContext(store: bed.store)
    let town = try await context.materializedObject(ObservedTown.self, with: .integer(1))
    bed.proxy.set(.refused)
    var told: [String] = []
    let observer = ManagedObjectObserver(town) { told.append("\($0) \(town.population ?? 0)") }
    try await change(bed)
    try await Task.sleep(for: .milliseconds(150))
    #expect(told.isEmpty)
    bed.proxy.set(.none)
    try await eventually(seconds: 10) { told.count == 1 }
    if count > 1 {
      try await bed.grow(1, to: 77)
      try await eventually(seconds: 10) { told.count == 2 }
    }
    #expect(observer.isEnded == (count == 1))
    return told
  }

  @Test("tells what happened meanwhile, and follows", arguments: RemoteStore.Transport.all)
  func update(transport: RemoteStore.Transport) async throws {
    let told = try await observed(transport, until: 2) { try await $0.grow(1, to: 5000) }
    #expect(told == ["update 5000", "update 77"])
  }

  @Test("tells that the object went meanwhile", arguments: RemoteStore.Transport.all)
  func delete(transport: RemoteStore.Transport) async throws {
    let told = try await observed(transport, until: 1) {
      try await $0.save(#"{"delete":"City","id":1}"#)
    }
    #expect(told == ["delete 900"])
  }
}
