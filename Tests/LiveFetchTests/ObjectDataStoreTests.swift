// Files and servers as data stores: their changes, saves with conflicts, servers that stop and restart.

import Foundation
import LiveFetch
import LiveFetchHTTPServer
import SQLiteStore
import Service
import Synchronization
import TestSupport
import Testing

extension City: InstanceIdentifiable {}

/// A server on a file that can stop and restart on the same port.
final class Restarting: @unchecked Sendable {
  private let directory: TemporaryDirectory
  let path: String
  // A separate loopback address, so that no other process takes the port while the server is stopped.
  private let host = "127.0.0.\(Int.random(in: 2...250))"
  private(set) var port = 0
  private var end: () -> Void = {}

  init() throws {
    directory = try TemporaryDirectory()
    path = directory.file("store.sqlite")
    try sqlite(path, Cities.schema)
    try start()
  }

  deinit { end() }

  func start() throws {
    let path = path
    let service = try ServiceHost(try SQLiteStore(path: path)) { () throws(StoreError) in
      try SQLiteStore(path: path)
    }
    var configuration = HTTPServerConfiguration()
    (configuration.host, configuration.port) = (host, port)
    let http = try HTTPServer(configuration, handler: service)
    port = http.port
    end = {
      service.drain()
      http.stop()
      service.close()
    }
  }

  func stop() {
    end()
    end = {}
  }

  var address: URL { URL(string: "http://\(host):\(port)") ?? URL(filePath: "/") }
}

@MainActor
@Suite("A file or a server as a data store", .mayBlock)
struct ObjectDataStoreTests {
  typealias Controller = DataStoreResultsController<City, FetchRequest<City>>

  private func loaded(
    _ store: DataStore<City, FetchRequest<City>>, limit: Int? = nil
  ) async throws -> (Controller, Log) {
    var request = FetchRequest<City>(sortedBy: [.descending("population")])
    request.fetchLimit = limit
    let controller = Controller(store: store, request: request)
    let log = Log(controller)
    try await controller.performFetch()
    log.lines = []
    return (controller, log)
  }

  @MainActor final class Log {
    var lines: [String] = []
    private let controller: Controller

    init(_ controller: Controller) {
      self.controller = controller
      controller.controllerWillChangeContent = { [weak self] in self?.lines.append("will") }
      controller.controllerDidChangeResults = { [weak self] change in
        self?.lines += change.objects.map { ChangeLog.line($0, $0.object.name) }
      }
      controller.controllerDidChangeContent = { [weak self] in self?.lines.append("did") }
      controller.controllerDidFail = { [weak self] _ in self?.lines.append("failed") }
    }
  }

  @Test("keeps the store's order and window, and reports the changes", arguments: Kind.allCases)
  func following(kind: Kind) async throws {
    let cities = try Cities(kind)
    let (controller, log) = try await loaded(ObjectDataStore(cities.store), limit: 3)
    #expect(controller.fetchedResults.map(\.name) == ["Tokyo", "Lima", "Osaka"])
    try await cities.save(
      #"{"delete":"City","id":3},{"update":"City","id":2,"values":{"population":950}}"#)
    try await eventually { log.lines.count == 5 }
    #expect(
      log.lines == [
        "will", "delete Lima 0.1 -", "insert Bamako - 0.2", "move Osaka 0.2 0.0", "did",
      ])
  }

  @Test("inserts, updates and deletes; a draft saves all or nothing", arguments: Kind.allCases)
  func saving(kind: Kind) async throws {
    let cities = try Cities(kind)
    let store = ObjectDataStore<City>(cities.store)
    let (controller, _) = try await loaded(store)
    try await store.insert(City(id: 9, name: "Ur", population: 1, country: 3))
    try await eventually { controller.fetchedResults.map(\.id) == [1, 3, 2, 5, 4, 9] }
    let draft = store.draft()
    let (drafted, _) = try await loaded(draft)
    try await draft.update(City(id: 9, name: "Ur", population: nil, country: nil))
    try await draft.delete(try #require(controller.fetchedResults.first))
    try await eventually { drafted.fetchedResults.count == 5 }
    #expect(controller.fetchedResults.count == 6)
    try await draft.commit()
    try await eventually {
      controller.fetchedResults.last == City(id: 9, name: "Ur", population: nil, country: nil)
        && controller.fetchedResults.count == 5
    }
  }

  @Test("an update without a base sets nil as well", arguments: Kind.allCases)
  func settingNil(kind: Kind) async throws {
    let cities = try Cities(kind)
    let store = ObjectDataStore<City>(cities.store)
    let (controller, _) = try await loaded(store)
    try await store.update(City(id: 1, name: "Edo", population: nil, country: nil))
    try await eventually {
      controller.fetchedResults.last == City(id: 1, name: "Edo", population: nil, country: nil)
    }
  }

  @Test("a source's window refills for what a draft takes out of it", arguments: Kind.allCases)
  func draftWindows(kind: Kind) async throws {
    let cities = try Cities(kind)
    let draft = ObjectDataStore<City>(cities.store).draft()
    var request = FetchRequest<City>(sortedBy: [.descending("population")])
    (request.fetchOffset, request.fetchLimit) = (1, 2)
    let controller = Controller(store: draft, request: request)
    let log = Log(controller)
    try await controller.performFetch()
    #expect(controller.fetchedResults.map(\.name) == ["Lima", "Osaka"])
    log.lines = []
    // One in the window, then one before it.
    try await draft.delete(City(id: 3, name: "Lima"))
    try await eventually { controller.fetchedResults.map(\.name) == ["Osaka", "Bamako"] }
    try await draft.delete(City(id: 1, name: "Tokyo"))
    try await eventually { controller.fetchedResults.map(\.name) == ["Bamako", "Cusco"] }
    try await cities.save(#"{"insert":"City","values":{"id":7,"name":"Quito","population":250}}"#)
    try await eventually { controller.fetchedResults.map(\.name) == ["Quito", "Bamako"] }
    let child = draft.draft()
    let below = Controller(store: child, request: request)
    try await below.performFetch()
    try await child.delete(City(id: 7, name: "Quito"))
    try await eventually { below.fetchedResults.map(\.name) == ["Bamako", "Cusco"] }
    #expect(controller.fetchedResults.map(\.name) == ["Quito", "Bamako"])
    draft.reset()
    try await eventually { controller.fetchedResults.map(\.name) == ["Lima", "Osaka"] }
    #expect(!log.lines.contains("failed"))
    // A draft that has changes before a controller shows it.
    let second = draft.draft()
    try await second.delete(City(id: 1, name: "Tokyo"))
    let late = Controller(store: second, request: request)
    try await late.performFetch()
    try await eventually { late.fetchedResults.map(\.name) == ["Osaka", "Quito"] }
    try await second.commit()
    try await draft.commit()
    try await eventually { controller.fetchedResults.map(\.name) == ["Osaka", "Quito"] }
    try await eventually { late.fetchedResults.map(\.name) == ["Osaka", "Quito"] }
  }

  @Test("a result that the store leaves out leaves a draft with the commit")
  func committedOutside() async throws {
    let cities = try Cities(.local)
    let draft = ObjectDataStore<City>(cities.store).draft()
    let controller = Controller(
      store: draft, request: FetchRequest(where: FetchPredicate("population < 300")))
    try await controller.performFetch()
    try await draft.insert(City(id: 9, name: "Ur", population: 400, country: 3))
    try await draft.insert(City(id: 10, name: "Uruk", population: 100, country: 3))
    try await eventually { controller.fetchedResults.map(\.id) == [4, 5, 9, 10] }
    try await draft.commit()
    try await eventually { controller.fetchedResults.map(\.id) == [4, 5, 10] }
    #expect(controller.fetchedResults.map(\.id) == [4, 5, 10])
  }

  @Test(
    "a draft leaves a negative window to the store, which refuses it",
    arguments: [(-1, 0), (3, -2), (nil, -2)] as [(Int?, Int)])
  func negativeWindows(window: (limit: Int?, offset: Int)) async throws {
    let cities = try Cities(.local)
    let draft = ObjectDataStore<City>(cities.store).draft()
    try await draft.delete(City(id: 1, name: "Tokyo"))
    var request = FetchRequest<City>(sortedBy: [.descending("population")])
    (request.fetchLimit, request.fetchOffset) = window
    #expect(request.window == nil)
    let controller = Controller(store: draft, request: request)
    do {
      try await controller.performFetch()
      Issue.record("it was not refused")
    } catch let error as FetchError {
      guard case .store(let reason) = error else { throw error }
      #expect(reason.code == "bad-parameter")
    }
    // One more change needs no further fetch.
    try await draft.delete(City(id: 2, name: "Osaka"))
    try await Task.sleep(for: .milliseconds(50))
    #expect(controller.fetchedResults.isEmpty)
  }

  @Test("a draft overwrites what other programs saved on request only")
  func conflicts() async throws {
    let cities = try Cities(.local)
    let store = ObjectDataStore<City>(cities.store)
    let (drafted, _) = try await loaded(store)
    let draft = store.draft()
    let tokyo = try #require(drafted.fetchedResults.first)
    try await draft.update(
      City(id: 1, name: tokyo.name, population: 1, country: tokyo.country), from: tokyo)
    try await cities.save(#"{"update":"City","id":1,"values":{"population":901}}"#)
    await #expect(throws: ObjectStoreError.self) { try await draft.commit() }
    #expect(draft.hasChanges)
    let forcing = ObjectDataStore<City>(cities.store, mergePolicy: .objectWins)
    try await forcing.save(draft.changes)
    try await eventually { drafted.fetchedResults.last?.population == 1 }
  }

  @Test("changes that are made during a draft's commit are on top of the committed ones")
  func changedDuringCommit() async throws {
    let cities = try Cities(.local)
    let pausing = PausingStore(cities.store)
    let store = ObjectDataStore<City>(pausing)
    let (controller, _) = try await loaded(store)
    let draft = store.draft()
    try await draft.insert(City(id: 9, name: "Ur", population: 1, country: 3))
    try await draft.update(City(id: 2, name: "Osaka", population: 5, country: 1))
    try await draft.delete(City(id: 3, name: "Lima"))
    pausing.close(.saves)
    let commit = Task { @MainActor in try await draft.commit() }
    try await eventually { pausing.waiting(.saves) == 1 }
    try await draft.update(City(id: 9, name: "Uruk", population: 1, country: 3))
    try await draft.update(City(id: 2, name: "Osaka", population: 6, country: 1))
    try await draft.insert(City(id: 3, name: "Lima", population: 7, country: 2))
    #expect(draft.changes.map(\.type) == [.insert, .update, .update])
    #expect(draft.changes.map(\.result.name) == ["Uruk", "Osaka", "Lima"])
    pausing.open(.saves)
    try await commit.value
    #expect(draft.changes.map(\.type) == [.update, .update, .insert])
    #expect(draft.changes.map(\.base?.population) == [1, 5, nil])
    // Two clicks: everything is committed once.
    let second = Task { @MainActor in try await draft.commit() }
    try await draft.commit()
    try await second.value
    #expect(!draft.hasChanges)
    try await eventually { controller.fetchedResults.suffix(3).map(\.id) == [3, 2, 9] }
    #expect(controller.fetchedResults.suffix(3).map(\.name) == ["Lima", "Osaka", "Uruk"])
    #expect(controller.fetchedResults.suffix(3).map(\.population) == [7, 6, 1])
  }

  @Test("a refusal of the store is thrown")
  func refusals() async throws {
    let cities = try Cities(.local)
    let controller = Controller(
      store: ObjectDataStore(cities.store),
      request: FetchRequest(where: FetchPredicate("popluation > 1")))
    await #expect(throws: FetchError.self) { try await controller.performFetch() }
    guard case .failed = controller.state else { throw FetchError.diffNotApplicable }
  }

  @Test("a server that stops is reported, and one that restarts is resumed from its token")
  func restarting() async throws {
    let server = try Restarting()
    let (controller, log) = try await loaded(
      ObjectDataStore(RemoteStore(server.address), holdTime: 2))
    server.stop()
    try await eventually { log.lines.contains("failed") }
    guard case .offline = controller.state else { throw FetchError.diffNotApplicable }
    #expect(controller.fetchedResults.count == 5)
    try sqlite(
      server.path, "UPDATE City SET name = 'Edo' WHERE id = 1; DELETE FROM City WHERE id = 5")
    try server.start()
    try await eventually {
      controller.fetchedResults.map(\.name) == ["Edo", "Lima", "Osaka", "Cusco"]
    }
    guard case .following = controller.state else { throw FetchError.diffNotApplicable }
    #expect(
      log.lines.filter { $0 != "failed" } == [
        "will", "delete Bamako 0.3 -", "update Edo 0.0 0.0", "did",
      ])
  }

  @Test("a controller that began without a server has its results when there is one")
  func beginningOffline() async throws {
    let server = try Restarting()
    server.stop()
    let controller = Controller(
      store: ObjectDataStore(RemoteStore(server.address)), request: FetchRequest())
    await #expect(throws: FetchError.self) { try await controller.performFetch() }
    guard case .offline = controller.state else { throw FetchError.diffNotApplicable }
    try server.start()
    try await eventually { controller.fetchedResults.count == 5 }
  }

  @Test("one controller shows a file and a server alike")
  func alike() async throws {
    var names: [[String]] = []
    for kind in Kind.allCases {
      let cities = try Cities(kind)
      let controller = Controller(
        store: ObjectDataStore(cities.store), request: FetchRequest(),
        arrangement: .init(
          sectionName: { String($0.name.prefix(1)) }, itemOrder: { $0.name > $1.name }))
      try await controller.performFetch()
      names.append(controller.sections.flatMap { [$0.name] + $0.objects.map(\.name) })
    }
    let expected = ["B", "Bamako", "C", "Cusco", "L", "Lima", "O", "Osaka", "T", "Tokyo"]
    #expect(names == [expected, expected, expected])
  }
}
