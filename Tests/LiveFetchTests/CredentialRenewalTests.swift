// A remote store whose program renews its credential, against a server with API keys.

import FetchModel
import Foundation
import LiveFetch
import LiveFetchHTTPServer
import SQLiteStore
import Service
import Synchronization
import TestSupport
import Testing

/// A server that requires API keys.
private final class KeyedServer: Sendable {
  let address: URL
  private let directory: TemporaryDirectory
  private let path: String
  private let end: @Sendable () -> Void

  init(_ keys: [(name: String, key: APIKey, scopes: [String])]) throws {
    directory = try TemporaryDirectory()
    path = directory.file("store.sqlite")
    try sqlite(path, Cities.schema)
    for (name, key, scopes) in keys {
      let record = APIKeyRecord(
        id: key.id, name: name, digest: key.digest, scopes: scopes, roles: [], userID: name,
        created: 1)
      let isAdded = try SQLiteStore.addAPIKey(record, path: path)
      #expect(isAdded)
    }
    let file = try SQLiteStore(path: path)
    let service = try Service(store: file)
    var configuration = HTTPServerConfiguration()
    configuration.port = 0
    let http = try HTTPServer(configuration, handler: service)
    address = try #require(URL(string: "http://127.0.0.1:\(http.port)"))
    end = {
      service.drain()
      http.stop()
      file.close()
    }
  }

  deinit { end() }

  func revoke(_ name: String) throws {
    let revoked = try SQLiteStore.revokeAPIKey(name, path: path)
    #expect(revoked?.name == name)
  }
}

/// Counts the calls of a store's `token`.
private final class Calls: Sendable {
  private let number = Mutex(0)

  var count: Int { number.withLock { $0 } }

  func next() -> Int {
    number.withLock { number in
      number += 1
      return number
    }
  }
}

@Suite("A remote store renews its credential", .mayBlock)
struct CredentialRenewalTests {
  private let request = JSON.object([.init(name: "entity", value: .string("City"))])

  private func rename(_ name: String) throws -> JSON {
    try JSON(
      parsing: Array(#"{"changes":[{"update":"City","id":1,"values":{"name":"\#(name)"}}]}"#.utf8))
  }

  @Test(
    "A fetch that is followed continues from its token", arguments: RemoteStore.Transport.all)
  func following(transport: RemoteStore.Transport) async throws {
    let (first, second) = (APIKey(), APIKey())
    let scopes = ["read", "write"]
    let server = try KeyedServer([("first", first, scopes), ("second", second, scopes)])
    let calls = Calls()
    let store = RemoteStore(
      server.address, token: { calls.next() == 1 ? first.text : second.text },
      transport: transport)
    let token = try #require(try await store.fetch(request)["token"]?.string)
    let feed = store.feed(of: request)
    let next = Task { try await feed.next(since: token, hold: 60) }
    try server.revoke("first")
    try await eventually { calls.count == 2 }
    let other = RemoteStore(server.address, token: second.text)
    _ = try await other.save(rename("Edo"))
    let diff = try await next.value
    #expect(diff["from"]?.string == token)
    guard case .array(let updated)? = diff["items"]?["updated"] else {
      Issue.record("no diff with updates: \(diff)")
      return
    }
    #expect(updated.count == 1)
    #expect(calls.count == 2)
  }

  @Test(
    "A request that is cancelled does not wait for the credential", .timeLimit(.minutes(3)))
  func cancelled() async throws {
    let calls = Calls()
    let address = try #require(URL(string: "http://127.0.0.1:1"))
    let store = RemoteStore(address) {
      _ = calls.next()
      try await Task.sleep(for: .seconds(86_400))
      return "late"
    }
    let fetch = Task { try await store.fetch(request) }
    try await eventually { calls.count == 1 }
    fetch.cancel()
    do {
      _ = try await fetch.value
      Issue.record("it was not cancelled")
    } catch ObjectStoreError.cancelled {}
  }

  @Test("A credential that is refused and not renewed is 401; a missing scope is 403")
  func refusals() async throws {
    let reader = APIKey()
    let server = try KeyedServer([("reader", reader, ["read"])])
    let calls = Calls()
    let refused = RemoteStore(server.address) {
      _ = calls.next()
      return "nonsense"
    }
    let error = await #expect(throws: ObjectStoreError.self) {
      try await refused.fetch(request)
    }
    #expect(error?.code == "unauthorized")
    if case .refused(let problem)? = error { #expect(problem.status == 401) }
    #expect(calls.count == 2)
    let limited = RemoteStore(server.address) {
      _ = calls.next()
      return reader.text
    }
    _ = try await limited.fetch(request)
    let forbidden = await #expect(throws: ObjectStoreError.self) {
      try await limited.save(rename("x"))
    }
    #expect(forbidden?.code == "forbidden")
    if case .refused(let problem)? = forbidden { #expect(problem.status == 403) }
    #expect(calls.count == 3)
  }

  @Test("A store that temporarily has no credential is unreachable, and requests one again")
  func providerFails() async throws {
    struct SignedOut: Error {}
    let key = APIKey()
    let server = try KeyedServer([("a", key, ["read"])])
    let calls = Calls()
    let store = RemoteStore(server.address) {
      guard calls.next() > 1 else { throw SignedOut() }
      return key.text
    }
    let error = await #expect(throws: ObjectStoreError.self) { try await store.fetch(request) }
    guard case .unreachable? = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    _ = try await store.fetch(request)
    #expect(calls.count == 2)
  }

  @Test("Requests at the same time share one renewal")
  func shared() async throws {
    let key = APIKey()
    let server = try KeyedServer([("a", key, ["read"])])
    let calls = Calls()
    let store = RemoteStore(server.address) {
      _ = calls.next()
      try await Task.sleep(for: .milliseconds(50))
      return key.text
    }
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<20 { group.addTask { _ = try await store.fetch(request) } }
      try await group.waitForAll()
    }
    #expect(calls.count == 1)
  }

  @Test("Headers of the options are sent; an invalid one is refused before a request")
  func headers() async throws {
    let reader = APIKey()
    let server = try KeyedServer([("reader", reader, ["read"])])
    let credential = "Bearer \(reader.text)"
    let store = RemoteStore(
      server.address, options: .init(headers: ["authorization": credential, "X-Tenant": "north"]))
    #expect(try await store.fetch(request)["token"] != nil)
    let replaced = RemoteStore(
      server.address, token: "nonsense", options: .init(headers: ["authorization": credential]))
    let error = await #expect(throws: ObjectStoreError.self) { try await replaced.fetch(request) }
    #expect(error?.code == "unauthorized")
    for headers in [["": "a"], ["X Y": "a"], ["X": "a\r\nY: b"]] {
      let invalid = RemoteStore(server.address, options: .init(headers: headers))
      let error = await #expect(throws: ObjectStoreError.self) { try await invalid.fetch(request) }
      guard case .notUnderstood? = error else { throw error ?? .cancelled }
    }
  }

  @Test("A server that sends nothing within the time limit is unreachable")
  func timeLimit() async throws {
    let server = try KeyedServer([])
    let proxy = try FaultProxy(
      host: #require(server.address.host), port: #require(server.address.port))
    proxy.set(.heldBack)
    let address = try #require(URL(string: "http://127.0.0.1:\(proxy.port)"))
    let store = RemoteStore(address, options: .init(timeout: 0.2))
    let error = await #expect(throws: ObjectStoreError.self) { try await store.fetch(request) }
    #expect(error?.unavailability != nil)
  }
}
