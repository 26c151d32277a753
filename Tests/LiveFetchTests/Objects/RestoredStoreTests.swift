// A context whose store is restored from a backup with the same epoch: tokens and values go back.

import LiveFetch
import SQLiteStore
import Synchronization
import TestSupport
import Testing

/// Forwards requests to one store, and to another one once ``restore()`` was called.
private final class RestorableStore: ObjectStore {
  private struct State {
    var current: any ObjectStore
    var fetches = 0
  }

  private let backup: any ObjectStore
  private let state: Mutex<State>

  init(_ store: any ObjectStore, backup: any ObjectStore) {
    self.backup = backup
    state = Mutex(State(current: store))
  }

  func restore() { state.withLock { ($0.current, $0.fetches) = (backup, 0) } }

  /// The number of fetches since the restore.
  var fetches: Int { state.withLock { $0.fetches } }

  private var current: any ObjectStore { state.withLock { $0.current } }

  func fetch(_ request: JSON) async throws(ObjectStoreError) -> JSON {
    state.withLock { $0.fetches += 1 }
    return try await current.fetch(request)
  }

  func save(_ request: JSON) async throws(ObjectStoreError) -> SaveReceipt {
    try await current.save(request)
  }

  func changes(since token: String) async throws(ObjectStoreError) -> JSON {
    try await current.changes(since: token)
  }
}

@MainActor
@Suite("A store that is restored from a backup", .mayBlock)
struct RestoredStoreTests {
  private let cities: Cities
  private let directory: TemporaryDirectory
  private let store: RestorableStore
  private let context: ManagedObjectContext

  /// Makes a backup, and then two saves, which the context has merged.
  init() async throws {
    cities = try Cities(.local)
    directory = try TemporaryDirectory()
    let path = directory.file("backup.sqlite")
    _ = try SQLiteStore.backUp(path: cities.opened.path, to: path)
    store = RestorableStore(cities.store, backup: try LocalStore(path: path))
    context = ManagedObjectContext(store: store)
    _ = try await context.fetch(ManagedCity.sortedFetchRequest)
    try await cities.save(#"{"update":"City","id":3,"values":{"population":1}}"#)
    try await cities.save(#"{"delete":"City","id":4}"#)
    try await context.mergeChanges()
  }

  private func populations() async throws -> [Int?] {
    try await context.fetch(ManagedCity.sortedFetchRequest).map(\.population)
  }

  @Test("is fetched with its own values, and without a second request from then on")
  func fetched() async throws {
    #expect(try await populations() == [200, 1, 300, 900])
    store.restore()
    #expect(try await populations() == [200, 40, 800, 300, 900])
    let fetches = store.fetches
    #expect(try await populations() == [200, 40, 800, 300, 900])
    #expect(store.fetches == fetches + 1)
  }

  @Test("is merged into the objects in memory")
  func merged() async throws {
    let lima = try await context.materializedObject(ManagedCity.self, with: .integer(3))
    #expect(lima.population == 1)
    store.restore()
    try await context.mergeChanges()
    #expect(lima.population == 800)
  }
}
