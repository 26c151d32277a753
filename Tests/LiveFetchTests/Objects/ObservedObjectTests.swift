// Managed objects in views: `withObservationTracking` hears each change of an object that was read.

import LiveFetch
import Observation
import Synchronization
import TestSupport
import Testing

private final class Wheel: ManagedObject, ManagedObjectType {
  static let entityName = "Wheel"
  enum Key: String, KeyCodable { case size, label }

  @Managed(.size) var size = 1
  @Managed(.label) var label: String?
}

@MainActor
@Suite("A managed object that is read with observation", .mayBlock)
struct ObservedObjectTests {
  private let store: LocalStore

  init() throws {
    var wheel = ModelFile.Entity(name: "Wheel")
    wheel.attributes = [.init(name: "size", type: .integer64), .init(name: "label", type: .string)]
    var model = ModelFile()
    model.entities = [wheel]
    store = try LocalStore.inMemory(model)
  }

  private func changes(of read: () -> Void, by change: () async throws -> Void) async rethrows
    -> Int
  {
    let counter = Counter()
    withObservationTracking(read) { counter.count.withLock { $0 += 1 } }
    try await change()
    return counter.count.withLock { $0 }
  }

  private final class Counter: Sendable { let count = Mutex(0) }

  @Test("reports a value that is set, a rollback, a deletion and a change by others, once each")
  func reports() async throws {
    let context = ManagedObjectContext(store: store)
    let wheel: Wheel = context.insertObject()
    #expect(await changes(of: { _ = wheel.size }, by: { wheel.size = 2 }) == 1)
    try await context.save()
    #expect(await changes(of: { _ = wheel.size }, by: {}) == 0)
    #expect(await changes(of: { _ = wheel.size }, by: { wheel.size = 2 }) == 0)
    wheel.size = 3
    #expect(await changes(of: { _ = wheel.label }, by: { context.rollback() }) == 1)
    let other = ManagedObjectContext(store: store)
    let twin = try #require(try await other.fetch(Wheel.sortedFetchRequest).first)
    twin.size = 4
    try await other.save()
    let merged = try await changes(of: { _ = wheel.size }, by: { try await context.mergeChanges() })
    #expect(merged == 1)
    #expect(wheel.size == 4)
    #expect(await changes(of: { _ = wheel.size }, by: { context.delete(wheel) }) == 1)
  }

  @Test("reports a change of a to-many relationship of which only a member was looked for")
  func members() async throws {
    let (sample, ids) = try await SampleCities.store(.local)
    let context = ManagedObjectContext(store: sample.store)
    let tokyo = try await context.materializedObject(
      SampleCities.City.self, with: #require(ids["tokyo"]))
    let cusco = try await context.materializedObject(
      SampleCities.City.self, with: #require(ids["cusco"]))
    let japan = try #require(try await tokyo.country?.materialize())
    try await japan.cities.materialize()
    let count = await changes(
      of: { _ = japan.cities.contains(cusco) }, by: { japan.cities.insert(cusco) })
    #expect(count == 1)
  }

  @Test("is identified by its instance")
  func identity() {
    func id(of value: some Identifiable) -> AnyHashable { AnyHashable(value.id) }
    let context = ManagedObjectContext(store: store)
    let (first, second): (Wheel, Wheel) = (context.insertObject(), context.insertObject())
    #expect(id(of: first) == id(of: first))
    #expect(id(of: first) != id(of: second))
  }
}
