// A remote store with a storage: starts without a server, saves that wait, and refusals.

import Foundation
import LiveFetch
import Synchronization
import TestSupport
import Testing

/// Records the reports of an offline store; sizes that repeat the last one are left out.
final class Reports: Sendable {
  private let values = Mutex<(sizes: [Int], errors: Int, refused: [RefusedSave])>(([], 0, []))
  var sizes: [Int] { values.withLock { $0.sizes } }
  var errors: Int { values.withLock { $0.errors } }
  var refused: [RefusedSave] { values.withLock { $0.refused } }

  func queue(_ size: Int, _ error: ObjectStoreError?) {
    values.withLock { values in
      if values.sizes.last != size { values.sizes.append(size) }
      if error != nil { values.errors += 1 }
    }
  }

  func refuse(_ save: RefusedSave) { values.withLock { $0.refused.append(save) } }
}

/// Passes requests on, as a store does that logs them.
struct PassingStore: ObjectStore {
  let store: OfflineStore

  func fetch(_ request: JSON) async throws(ObjectStoreError) -> JSON {
    try await store.fetch(request)
  }

  func save(_ request: JSON) async throws(ObjectStoreError) -> SaveReceipt {
    try await store.save(request)
  }

  func submit(
    _ request: JSON, idempotencyKey: String
  ) async throws(ObjectStoreError) -> SubmittedSave {
    try await store.submit(request, idempotencyKey: idempotencyKey)
  }
}

@MainActor
@Suite("An offline store", .mayBlock)
struct OfflineStoreTests {
  private let server: Restarting
  private let storage = MemoryStorage()
  private let reports = Reports()

  init() throws { server = try Restarting() }

  private func open(_ storage: (any OfflineStorage)? = nil) throws -> OfflineStore {
    let reports = reports
    return try OfflineStore(
      RemoteStore(server.address), storage: storage ?? self.storage,
      onQueue: { reports.queue($0, $1) }, onRefused: { reports.refuse($0) })
  }

  private func controller(_ store: OfflineStore) -> FetchedResultsController<City> {
    let controller = FetchedResultsController(
      fetchRequest: FetchRequest<City>(sortedBy: [.ascending("name")]),
      context: ManagedObjectContext(store: store), sectionKeyPath: "country.name")
    controller.holdTime = 2
    return controller
  }

  private func names(_ controller: FetchedResultsController<City>) -> [String] {
    controller.fetchedObjects?.map(\.name) ?? []
  }

  private func json(_ text: String) throws -> JSON { try JSON(parsing: Array(text.utf8)) }

  private func grow(_ id: Int, to population: Int) throws -> JSON {
    try json(
      #"{"changes":[{"update":"City","id":\#(id),"values":{"population":\#(population)}}]}"#)
  }

  private func direct(_ request: String) async throws -> JSON {
    try await RemoteStore(server.address).fetch(json(request))
  }

  @Test("shows the last state without a server, marked, and goes on when the server is back")
  func start() async throws {
    var store = try open()
    var first: FetchedResultsController? = controller(store)
    try await first?.performFetch()
    _ = try await store.save(json(#"{"changes":[{"delete":"City","id":5}]}"#))
    try await eventually { first.map(names)?.count == 4 }
    first = nil
    store.close()
    server.stop()

    store = try open()
    let second = controller(store)
    try await second.performFetch()
    #expect(names(second) == ["Osaka", "Tokyo", "Cusco", "Lima"])
    #expect(second.sections.map(\.name) == ["Japan", "Peru"])
    if case .following = second.state { Issue.record("marked as current without a server") }
    try await eventually { if case .offline = second.state { true } else { false } }

    try server.start()
    try await eventually { if case .following = second.state { true } else { false } }
    _ = try await RemoteStore(server.address).save(grow(4, to: 41))
    try await eventually { second.fetchedObjects?[2].population == 41 }
    store.close()
  }

  @Test("marks the snapshots of a live sequence until the server has answered")
  func live() async throws {
    var store = try open()
    let request = FetchRequest<City>(sortedBy: [.ascending("name")])
    for try await snapshot in store.live(request) {
      #expect(!snapshot.isStored)
      break
    }
    store.close()
    store = try open()
    var marks: [Bool] = []
    for try await snapshot in store.live(request) {
      marks.append(snapshot.isStored)
      #expect(snapshot.elements.count == 5)
      if marks.count == 2 { break }
    }
    #expect(marks == [true, false])
    store.close()
  }

  @Test("takes a temporary id that two saves insert for the object of the later one")
  func reusedTemporaryID() async throws {
    server.stop()
    let store = try open()
    var saves: [Task<SaveReceipt, any Error>] = []
    for save in [
      #"{"changes":[{"insert":"City","temporaryID":"t1","values":{"name":"Ur","population":1}}]}"#,
      #"{"changes":[{"insert":"City","temporaryID":"t1","values":{"name":"Uruk","population":1}}]}"#,
      #"{"changes":[{"update":"City","id":{"temporaryID":"t1"},"values":{"population":2}}]}"#,
    ] {
      let save = try json(save)
      saves.append(Task { try await store.save(save) })
      try await eventually { store.queuedSaves.count == saves.count }
    }
    try server.start()
    for save in saves { _ = try await save.value }
    let found = try await direct(#"{"entity":"City","where":"population == 2","select":["name"]}"#)
    guard case .array(let sections)? = found["sections"],
      case .array(let items)? = sections.first?["items"]
    else { throw FetchError.diffNotApplicable }
    #expect(items.first?["name"]?.string == "Uruk")
    store.close()
  }

  @Test("sends saves of an earlier run once each, in their order")
  func queued() async throws {
    let directory = try TemporaryDirectory()
    let folder = try FolderStorage(URL(fileURLWithPath: directory.file("offline")))
    server.stop()
    var store = try open(folder)
    let insert = try json(
      #"{"changes":[{"insert":"City","temporaryID":"t1","values":{"name":"Ur","population":1}}]}"#)
    let update = try json(
      #"{"changes":[{"update":"City","id":{"temporaryID":"t1"},"values":{"population":2}}]}"#)
    var saves: [Task<SaveReceipt, any Error>] = []
    for save in [insert, update] {
      let store = store
      saves.append(Task { try await store.save(save) })
      try await eventually { store.queuedSaves.count == saves.count }
    }
    try await eventually { reports.errors > 0 }
    #expect(store.queuedSaves == [insert, update])
    store.close()
    for save in saves {
      await #expect(throws: ObjectStoreError.self) { try await save.value }
    }

    store = try open(folder)
    #expect(store.queuedSaves.count == 2)
    try server.start()
    try await eventually { store.queuedSaves.isEmpty }
    let found = try await direct(#"{"entity":"City","where":"name == 'Ur'"}"#)
    #expect(found["count"]?.integer == 1)
    guard case .array(let sections)? = found["sections"],
      case .array(let items)? = sections.first?["items"]
    else { throw FetchError.diffNotApplicable }
    #expect(items.first?["population"]?.integer == 2)
    #expect(reports.refused.isEmpty)
    #expect(try folder.keys().filter { $0.hasPrefix("save-") }.isEmpty)
    store.close()
  }

  @Test("gives a refusal to the caller, or to the application if the caller is gone")
  func refused() async throws {
    let store = try open()
    let conflict = try json(
      """
      {"changes":[{"update":"City","id":3,"values":{"population":2},"base":{"population":1}}]}
      """)
    do {
      _ = try await store.save(conflict)
      Issue.record("saved")
    } catch {
      #expect(error.code == "conflict")
    }
    #expect(reports.refused.isEmpty)

    server.stop()
    let caller = Task { try await store.save(conflict) }
    try await eventually { store.queuedSaves.count == 1 }
    caller.cancel()
    await #expect(throws: ObjectStoreError.self) { try await caller.value }
    #expect(store.queuedSaves.count == 1)
    try server.start()
    try await eventually { reports.refused.count == 1 }
    #expect(reports.refused.first?.error.code == "conflict")
    #expect(reports.refused.first?.request == conflict)
    #expect(store.queuedSaves.isEmpty)
    store.close()
  }

  @Test("returns to a caller that waits when the server is back, and reports the queue's size")
  func waitingCaller() async throws {
    server.stop()
    let store = try open()
    let save = try grow(3, to: 801)
    let waiting = Task { try await store.save(save) }
    try await eventually { store.queuedSaves.count == 1 }
    try server.start()
    #expect(try await waiting.value.updated == 1)
    try await eventually { reports.sizes == [1, 0] }
    store.close()
  }

  @Test("does not count a save as sent while no connection was made")
  func neverSent() async throws {
    server.stop()
    let store = try open()
    let saving = Task { try await store.save(grow(3, to: 1)) }
    try await eventually { reports.errors > 1 }
    // While an attempt is made, the save counts as sent.
    try await eventually {
      let data = storage.value(forKey: "save-1") ?? Data()
      return (try? JSON(parsing: Array(data))).map { $0["sent"] == nil } ?? false
    }
    if case .unreachable? = store.queueError {} else { Issue.record("no reason") }
    try server.start()
    #expect(try await saving.value.updated == 1)
    #expect(store.queueError == nil)
    store.close()
  }

  @Test("keeps a save that it gave up until the application has received it")
  func givenUp() async throws {
    server.stop()
    let old = #"{"number":1,"idempotencyKey":"k","body":{"changes":[]},"sent":1}"#
    storage.setValue(Data(old.utf8), forKey: "save-1")
    let silent = try OfflineStore(RemoteStore(server.address), storage: storage)
    try await eventually { silent.refusedSaves.count == 1 && silent.queuedSaves.isEmpty }
    silent.close()

    let store = try open()
    try await eventually { reports.refused.count == 1 && store.refusedSaves.isEmpty }
    #expect(reports.refused.first?.error.code == "outcome-unknown")
    #expect(try reports.refused.first?.request == json(#"{"changes":[]}"#))
    try await eventually { !storage.keys().contains { $0.hasPrefix("refused-") } }
    store.close()
  }

  @Test("leaves a damaged save in the storage, and does not use its number again")
  func damaged() async throws {
    server.stop()
    storage.setValue(Data("{".utf8), forKey: "save-7")
    let store = try open()
    let saving = Task { try await store.save(grow(3, to: 1)) }
    try await eventually { store.queuedSaves.count == 1 }
    #expect(storage.keys().sorted() == ["save-7", "save-8"])
    #expect(storage.value(forKey: "save-7") == Data("{".utf8))
    store.close()
    await #expect(throws: ObjectStoreError.self) { try await saving.value }
  }

  @Test("does not send a save again whose refusal is stored")
  func refusedBefore() async throws {
    let save = #"{"changes":[{"update":"City","id":3,"values":{"population":1}}]}"#
    let entry = #"{"number":3,"idempotencyKey":"k","body":\#(save)}"#
    let refusal =
      #"{"request":\#(save),"status":409,"problem":{"code":"conflict","detail":"Changed."}}"#
    storage.setValue(Data(entry.utf8), forKey: "save-3")
    storage.setValue(Data(refusal.utf8), forKey: "refused-3")
    let store = try open()
    #expect(store.queuedSaves.isEmpty)
    #expect(try await store.save(grow(4, to: 41)).updated == 1)
    #expect(reports.refused.map(\.error.code) == ["conflict"])
    let unchanged = try await direct(#"{"entity":"City","where":"population == 800"}"#)
    #expect(unchanged["count"]?.integer == 1)
    try await eventually { storage.keys().isEmpty }
    store.close()
  }

  @Test("makes a save of a data store once, also through a store that passes saves on")
  func passedOn() async throws {
    server.stop()
    let store = try open()
    let cities = ObjectDataStore<City>(PassingStore(store: store))
    let saving = Task {
      try await cities.insert(City(id: 9, name: "Ur", population: 1, country: nil))
    }
    try await eventually { reports.errors > 1 }
    #expect(store.queuedSaves.count == 1)
    try server.start()
    try await saving.value
    #expect(store.queuedSaves.isEmpty && reports.refused.isEmpty)
    store.close()
  }

  @Test("reports why a save waits that another server answers, and refuses what can never send")
  func notUnderstood() async throws {
    let upstream = try FaultProxy(host: "127.0.0.1", port: 1)
    let proxy = try FaultProxy(host: "127.0.0.1", port: upstream.port)
    proxy.set(.answer("HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\n\r\nPage"))
    let address = try #require(URL(string: "http://127.0.0.1:\(proxy.port)"))
    let store = try OfflineStore(RemoteStore(address), storage: storage)
    let saving = Task { try await store.save(grow(3, to: 1)) }
    // On a busy machine the first connection may end before the answer is read.
    try await eventually {
      if case .notUnderstood? = store.queueError { true } else { false }
    }
    #expect(store.queuedSaves.count == 1)
    store.close()
    await #expect(throws: ObjectStoreError.self) { try await saving.value }
    let invalid = RemoteStore(address, token: "a\nb")
    #expect(throws: ObjectStoreError.self) { try OfflineStore(invalid, storage: storage) }
  }

  @Test(
    "refuses an address with a user, a password or a query, which requests would not contain",
    arguments: [
      "http://me:secret@127.0.0.1:1", "http://me@127.0.0.1:1", "http://127.0.0.1:1/api?key=secret",
    ])
  func credentialInAddress(address: String) async throws {
    let remote = RemoteStore(try #require(URL(string: address)))
    let error = await #expect(throws: ObjectStoreError.self) {
      try await remote.fetch(JSON.object([]))
    }
    guard case .notUnderstood(let reason)? = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(reason.contains("has a user, a password or a query"))
    #expect(throws: ObjectStoreError.self) { try OfflineStore(remote, storage: storage) }
  }

  @Test("is replaced in previews by a store in memory with rows")
  func canned() async throws {
    let model = try ModelFile(
      parsing: Array(
        #"""
        {"version":"1","entities":[{"name":"City","attributes":[
          {"name":"name","type":"String"},{"name":"population","type":"Integer 64"},
          {"name":"country","type":"Integer 64"}]}]}
        """#.utf8))
    let cities = [
      City(id: 1, name: "Oslo", population: 9, country: nil),
      City(id: 2, name: "Ur", population: nil, country: nil),
    ]
    let store = try LocalStore.inMemory(model, cities)
    let found = try await ManagedObjectContext(store: store).fetch(
      FetchRequest<City>(sortedBy: [.descending("name")]))
    #expect(found == cities.reversed())
    store.close()
  }
}
