// Transient errors: a locked file, a query timeout, a full disk. A local store and a server report them
// alike, and a followed fetch continues when the error has passed.

import Foundation
import SQLiteStore
import TestSupport
import Testing

@testable import LiveFetch

@MainActor
@Suite("A transient error", .mayBlock)
struct TransientErrorTests {
  /// Returns the error that a local store throws, and the one that a client receives over HTTP.
  private func received(_ error: StoreError) -> [ObjectStoreError] {
    let problem = Problem(error)
    let pause = problem.headers.first { $0.name == "Retry-After" }?.value
    let answer = RemoteResponse(status: problem.status, body: problem.json, retryAfter: pause)
    return [ObjectStoreError(problem), answer.error]
  }

  @Test(
    "is an unavailability with the store's own code, of a file as of a server on it",
    arguments: [
      (.busy, 503, "busy", 1), (.storageFailed("disk I/O error"), 503, "storage-failed", 1),
      (.unusable("malformed"), 503, "storage-failed", 1),
      (.queryTimeout, 504, "query-timeout", nil), (.tooSlow, 504, "query-timeout", nil),
      (.diskFull, 507, "disk-full", nil), (.damaged("zeros"), 500, "file-damaged", nil),
      (.failed("what?"), 500, "internal-error", nil),
    ] as [(StoreError, Int, String, Double?)])
  func passing(error: StoreError, status: Int, code: String, pause: Double?) throws {
    for received in received(error) {
      let unavailability = try #require(received.unavailability)
      #expect(unavailability.reason == Problem(error).detail)
      #expect(
        unavailability.status == status && unavailability.code == code
          && unavailability.retryAfter == pause)
      #expect(received.status == status && received.code == code)
      #expect(FetchError.store(received).unavailability == unavailability)
      #expect(received.isTransient && !unavailability.isAnswerLost)
    }
  }

  @Test(
    "is none where the store will refuse again",
    arguments: [
      (.readOnly, 403, "read-only"), (.schemaChanged(entity: "City"), 410, "schema-changed"),
    ]
      as [(StoreError, Int, String)])
  func lasting(error: StoreError, status: Int, code: String) {
    for received in received(error) {
      #expect(received.unavailability == nil && !received.isTransient)
      #expect(received.status == status && received.code == code)
    }
  }

  @Test("is identified by its status alone")
  func statuses() {
    let page = RemoteResponse(status: 502, body: Array("<html>".utf8))
    #expect(page.error.status == 502 && page.error.code == nil)
    #expect(ObjectStoreError.unreachable(ServiceUnavailable("connection refused")).status == nil)
    #expect(ObjectStoreError.tokenExpired.status == 410)
    #expect(ObjectStoreError.cancelled.status == nil)
    #expect(ObjectStoreError.notUnderstood("no snapshot").status == nil)
  }

  @Test("can be thrown by a custom store")
  func storeOfOnesOwn() {
    let received = ObjectStoreError.refused(
      Problem(503, "resting", "Service unavailable", "The store rests."))
    #expect(
      received.unavailability
        == ServiceUnavailable("The store rests.", status: 503, code: "resting"))
    #expect(received.isTransient)
  }

  @Test("of a save means that nothing was saved", arguments: [Kind.local, .remote])
  func heldFile(kind: Kind) async throws {
    let cities = try Cities(kind)
    let change = try JSON(
      parsing: Array(#"{"changes":[{"insert":"City","values":{"name":"Nara"}}]}"#.utf8))
    let holder = try WriteLockHolder(cities.opened.path)
    do throws(ObjectStoreError) {
      _ = try await cities.store.save(change)
      Issue.record("the file was held")
    } catch {
      #expect(error.unavailability?.code == "busy" && error.unavailability?.status == 503)
      #expect(error.unavailability?.retryAfter == 1)
    }
    holder.release()
    #expect(try await cities.store.save(change).inserted == 1)
    let request = FetchRequest<City>(where: FetchPredicate("name == 'Nara'"))
    #expect(try await ManagedObjectContext(store: cities.store).count(request) == 1)
  }

  @Test("of a fetch is waited for, as the article shows it", arguments: Kind.allCases)
  func slowQuery(kind: Kind) async throws {
    var options = SQLiteStoreOptions()
    options.queryTimeout = 0.5
    let opened = try OpenedStore(
      kind, options,
      sql: Cities.schema + """
        WITH RECURSIVE n(i) AS (SELECT 10 UNION ALL SELECT i + 1 FROM n WHERE i < 400)
        INSERT INTO City SELECT i, hex(randomblob(10000)), 1, NULL FROM n;
        """)
    // Each term scans every name.
    let patterns = (0..<8).map { "name MATCHES '.*[a-z]+\($0)?kyo'" }
    let controller = FetchedResultsController(
      fetchRequest: FetchRequest<City>(
        where: FetchPredicate(format: patterns.joined(separator: " OR "), arguments: [])),
      context: ManagedObjectContext(store: opened.store))
    let article = Task { try await StoresArticle.offline(controller) }
    try await eventually(seconds: 30) {
      if case .offline = controller.state { true } else { false }
    }
    guard case .offline(let error) = controller.state else { return }
    #expect(error.unavailability?.code == "query-timeout" && error.unavailability?.status == 504)
    try sqlite(opened.path, "DELETE FROM City WHERE id >= 10")
    try await eventually(seconds: 30) { controller.fetchedObjects?.map(\.name) == ["Tokyo"] }
    controller.stop()
    try await article.value
  }
}
