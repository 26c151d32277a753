// Saves of an offline store that are never made: refused by a gateway, by the server itself, or removed
// from the queue. Each is reported once, and the saves behind it are sent.

import Foundation
import TestSupport
import Testing

@testable import LiveFetch

@MainActor
@Suite("A save of an offline store that is never made", .mayBlock)
struct OfflineRefusalTests {
  private let server: Restarting
  private let proxy: FaultProxy
  private let storage = MemoryStorage()
  private let reports = Reports()

  init() throws {
    server = try Restarting()
    proxy = try FaultProxy(host: #require(server.address.host), port: server.port)
  }

  /// Opens a store behind the proxy.
  ///
  /// - Parameter isReopened: the proxy passes requests on once a refusal was reported.
  private func open(isReopened: Bool = false) throws -> OfflineStore {
    let address = try #require(URL(string: "http://127.0.0.1:\(proxy.port)"))
    let reports = reports
    let proxy = proxy
    return try OfflineStore(
      RemoteStore(address), storage: storage, onQueue: { reports.queue($0, $1) },
      onRefused: { refused in
        if isReopened { proxy.set(.none) }
        reports.refuse(refused)
      })
  }

  private func grow(_ id: Int, to population: Int) throws -> JSON {
    let text =
      #"{"changes":[{"update":"City","id":\#(id),"values":{"population":\#(population)}}]}"#
    return try JSON(parsing: Array(text.utf8))
  }

  private func response(_ status: Int, _ body: String = "<html></html>") -> FaultProxy.Fault {
    .answer(
      "HTTP/1.1 \(status) Status\r\nContent-Length: \(body.utf8.count)\r\n"
        + "Connection: close\r\n\r\n\(body)")
  }

  private func count(where predicate: String) async throws -> Int {
    let context = ManagedObjectContext(store: RemoteStore(server.address))
    return try await context.count(FetchRequest<City>(where: FetchPredicate(predicate)))
  }

  @Test(
    "is given to the application if a gateway refuses it for good, and the next one is sent",
    arguments: [400, 413, 422])
  func gateway(status: Int) async throws {
    proxy.set(.refused)
    let store = try open(isReopened: true)
    let (first, second) = (try grow(3, to: 801), try grow(4, to: 41))
    let caller = Task { try await store.save(first) }
    try await eventually { store.queuedSaves == [first] }
    caller.cancel()
    let behind = Task { try await store.save(second) }
    try await eventually { store.queuedSaves == [first, second] }
    proxy.set(response(status))
    #expect(try await behind.value.updated == 1)
    #expect(reports.refused.map(\.request) == [first])
    #expect(reports.refused.map(\.error.code) == ["no-problem-object"])
    #expect(reports.refused.map(\.error.status) == [status])
    try await eventually { storage.keys().isEmpty }
    #expect(try await count(where: "population == 41") == 1)
    #expect(try await count(where: "population == 801") == 0)
    store.close()
  }

  @Test("is thrown to a caller that waits, and reported nowhere else")
  func waitingCaller() async throws {
    proxy.set(response(413))
    let store = try open()
    let save = try grow(3, to: 801)
    let error = await #expect(throws: ObjectStoreError.self) { try await store.save(save) }
    #expect(error?.status == 413)
    try await eventually { reports.sizes.last == 0 }
    #expect(reports.refused.isEmpty && store.queuedSaves.isEmpty && store.queueError == nil)
    store.close()
  }

  @Test("is refused by an internal error of the server, which would repeat itself")
  func internalError() async throws {
    proxy.set(response(500, #"{"status":500,"code":"internal-error","detail":"What?"}"#))
    let store = try open()
    let save = try grow(3, to: 801)
    let error = await #expect(throws: ObjectStoreError.self) { try await store.save(save) }
    #expect(error?.code == "internal-error")
    try await eventually { reports.sizes.last == 0 }
    store.close()
  }

  @Test("is one whose refusal does not concern the address or the credential")
  func waitingStatuses() {
    let body = Array("<html></html>".utf8)
    for status in [302, 401, 403, 404, 405, 407, 408, 421, 425, 429, 500, 502, 503, 504] {
      #expect(RemoteResponse(status: status, body: body).error.leavesQueued, "\(status)")
    }
    let damaged = Array(#"{"status":500,"code":"file-damaged","detail":"Damaged."}"#.utf8)
    #expect(RemoteResponse(status: 500, body: damaged).error.leavesQueued)
    for (status, code) in [(421, "unknown-host"), (404, "unknown-path")] {
      let problem = Array(#"{"status":\#(status),"code":"\#(code)","detail":"Wrong."}"#.utf8)
      #expect(RemoteResponse(status: status, body: problem).error.leavesQueued, "\(code)")
    }
    for status in [400, 406, 409, 410, 411, 413, 414, 415, 422, 431, 451] {
      #expect(!RemoteResponse(status: status, body: body).error.leavesQueued, "\(status)")
    }
  }

  @Test("may be removed from the queue, and the next one is sent")
  func removed() async throws {
    proxy.set(.refused)
    let store = try open()
    let (first, second) = (try grow(3, to: 801), try grow(4, to: 41))
    let caller = Task { try await store.save(first) }
    try await eventually { store.queuedSaves == [first] }
    let behind = Task { try await store.save(second) }
    try await eventually { store.queuedSaves == [first, second] && reports.errors > 0 }
    store.removeQueuedSaves { $0 == first }
    #expect(store.queuedSaves == [second])
    #expect(storage.keys() == ["save-2"])
    // The removed save is not being sent any more once the next one was tried.
    let errors = reports.errors
    try await eventually { reports.errors > errors }
    let error = await #expect(throws: ObjectStoreError.self) { try await caller.value }
    #expect(error?.code == "removed")
    proxy.set(.none)
    #expect(try await behind.value.updated == 1)
    #expect(try await count(where: "population == 801") == 0)
    #expect(reports.refused.isEmpty)
    store.close()
  }

  @Test("is unsaved again in its context after its removal")
  func removedFromContext() async throws {
    proxy.set(.refused)
    let store = try open()
    let context = ManagedObjectContext(store: store)
    let city: ManagedCity = context.insertObject()
    city.name = "Ur"
    #expect(try await context.save() == nil)
    #expect(!context.hasChanges && store.queuedSaves.count == 1)
    store.removeQueuedSaves()
    #expect(store.queuedSaves.isEmpty && storage.keys().isEmpty)
    try await eventually { context.insertedObjects == [city] }
    let errors = reports.errors
    #expect(try await context.save() == nil)
    try await eventually { reports.errors > errors }
    proxy.set(.none)
    try await eventually { store.queuedSaves.isEmpty && !city.objectID.isTemporary }
    #expect(try await count(where: "name == 'Ur'") == 1)
    #expect(reports.refused.isEmpty)
    store.close()
  }

  @Test("is unsaved again in its context after its removal from behind one that waits")
  func removedBehind() async throws {
    proxy.set(.refused)
    let store = try open()
    let context = ManagedObjectContext(store: store)
    let first: ManagedCity = context.insertObject()
    first.name = "Ur"
    #expect(try await context.save() == nil)
    let second: ManagedCity = context.insertObject()
    second.name = "Uruk"
    #expect(try await context.save() == nil)
    let last = try #require(store.queuedSaves.last)
    store.removeQueuedSaves { $0 == last }
    #expect(store.queuedSaves.count == 1)
    try await eventually { context.insertedObjects == [second] }
    context.rollback()
    #expect(!context.hasChanges && second.managedObjectContext == nil)
    proxy.set(.none)
    try await eventually { store.queuedSaves.isEmpty && !first.objectID.isTemporary }
    #expect(try await count(where: "name == 'Ur'") == 1)
    #expect(try await count(where: "name == 'Uruk'") == 0)
    store.close()
  }

  @Test("is not stored if no request can hold its key")
  func invalidKey() async throws {
    let store = try open()
    let save = try grow(3, to: 801)
    await #expect(throws: ObjectStoreError.self) {
      try await store.submit(save, idempotencyKey: "key of Zoë")
    }
    #expect(store.queuedSaves.isEmpty && storage.keys().isEmpty)
    store.close()
  }

  @Test("is reported once through a store that passes saves on")
  func passedOn() async throws {
    proxy.set(.refused)
    let store = try open()
    let cities = ObjectDataStore<City>(PassingStore(store: store))
    let saving = Task {
      try await cities.update(
        City(id: 3, name: "Lima", population: 2, country: nil),
        from: City(id: 3, name: "Lima", population: 1, country: nil))
    }
    try await eventually { reports.errors > 1 && store.queuedSaves.count == 1 }
    proxy.set(.none)
    let error = await #expect(throws: ObjectStoreError.self) { try await saving.value }
    #expect(error?.code == "conflict")
    try await eventually { reports.sizes.last == 0 }
    #expect(reports.refused.isEmpty && store.refusedSaves.isEmpty)
    store.close()
  }
}
