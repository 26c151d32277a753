// A controller whose token has expired while its stream is silent.

import LiveFetch
import Synchronization
import TestSupport
import Testing

@MainActor
@Suite("A controller whose token has expired", .mayBlock)
struct ExpiredTokenTests {
  @Test("catches up by another fetch if its stream is silent", .timeLimit(.minutes(3)))
  func silentStream() async throws {
    let cities = try Cities(.local)
    let controller = FetchedResultsController(
      fetchRequest: FetchRequest<City>(sortedBy: [.descending("population")]),
      context: ManagedObjectContext(store: ForgetfulStore(cities.store)))
    try await controller.performFetch()
    var changes: [[ObjectID]] = []
    let callbacks = FetchedResultsControllerCallbacks(controller)
    callbacks.didChangeObject = { change, _ in changes.append([change.id]) }
    let receipt = try await cities.save(#"{"delete":"City","id":1}"#)
    try await controller.caughtUp(to: receipt.token)
    #expect(controller.fetchedObjects?.map(\.name) == ["Lima", "Osaka", "Bamako", "Cusco"])
    #expect(changes == [[.integer(1)]])
    controller.stop()
  }
}

/// A store whose history does not reach back to the first token that it gave, and whose feeds have no
/// news.
private final class ForgetfulStore: ObjectStore {
  private struct SilentFeed: FetchFeed {
    func next(since token: String, hold: Double) async throws(ObjectStoreError) -> JSON {
      try? await Task.sleep(for: .seconds(86_400))
      throw .cancelled
    }
  }

  private let store: any ObjectStore
  private let firstToken = Mutex<JSON?>(nil)

  init(_ store: any ObjectStore) { self.store = store }

  func fetch(_ request: JSON) async throws(ObjectStoreError) -> JSON {
    if let since = request["since"], since == firstToken.withLock({ $0 }) { throw .tokenExpired }
    let answer = try await store.fetch(request)
    firstToken.withLock { $0 = $0 ?? answer["token"] }
    return answer
  }

  func save(_ request: JSON) async throws(ObjectStoreError) -> SaveReceipt {
    try await store.save(request)
  }

  func feed(of request: JSON) -> any FetchFeed { SilentFeed() }
}
