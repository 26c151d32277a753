// A context that is reset while a save is in progress.

import LiveFetch
import TestSupport
import Testing

@MainActor
@Suite("A reset during a save", .mayBlock)
struct ResetDuringSaveTests {
  typealias City = SampleCities.City

  @Test("leaves the deleted objects to nobody or their next context, and reports nothing")
  func deletions() async throws {
    let (sample, ids) = try await SampleCities.store(.local)
    let store = PausingStore(sample.store)
    let context = ManagedObjectContext(store: store)
    let cusco = try await context.materializedObject(City.self, with: #require(ids["cusco"]))
    let osaka = try await context.materializedObject(City.self, with: #require(ids["osaka"]))
    context.delete(cusco)
    context.delete(osaka)
    store.close(.saves)
    let save = Task { @MainActor in _ = try await context.save() }
    try await eventually { store.waiting(.saves) == 1 }
    var reported: [Set<ManagedObject>] = []
    let token = context.observe(ObjectsDidChange.self) { reported.append($0.deletedObjects) }
    context.reset()
    let other = ManagedObjectContext(store: sample.store)
    other.insert(osaka)
    store.open(.saves)
    try await save.value
    #expect(reported.isEmpty)
    #expect(cusco.managedObjectContext == nil && !cusco.isDeleted && cusco.name == "Cusco")
    #expect(osaka.managedObjectContext === other && osaka.isInserted)
    let fresh = ManagedObjectContext(store: sample.store)
    #expect(try await fresh.fetch(City.sortedFetchRequest).map(\.name) == ["Tokyo"])
    token.cancel()
  }
}
