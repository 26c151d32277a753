// Unsaved changes: the observers that receive them, and the time of the reports.

import LiveFetch
import TestSupport
import Testing

@MainActor
@Suite("Unsaved changes", .mayBlock)
struct PendingChangesTests {
  typealias City = SampleCities.City

  @Test("are reported once per turn of the actor, without a call to processPendingChanges")
  func events() async throws {
    let (sample, ids) = try await SampleCities.store(.local)
    let context = ManagedObjectContext(store: sample.store)
    let osaka = try await context.materializedObject(City.self, with: #require(ids["osaka"]))
    var received: [Set<ManagedObject>] = []
    let token = context.observe(ObjectsDidChange.self) { received.append($0.updatedObjects) }
    osaka.name = "Ōsaka"
    osaka.population = 1
    #expect(received == [])
    try await eventually { received.count == 1 }
    #expect(received == [[osaka]])
    osaka.population = 2
    try await eventually { received.count == 2 }
    #expect(received == [[osaka], [osaka]])
    token.cancel()
  }

  @Test("of an object reach an observer that includes them, as does their rollback")
  func observer() async throws {
    let (sample, ids) = try await SampleCities.store(.local)
    let context = ManagedObjectContext(store: sample.store)
    let osaka = try await context.materializedObject(City.self, with: #require(ids["osaka"]))
    var pending: [Int?] = []
    var saved: [Int?] = []
    let all = ManagedObjectObserver(osaka, includesPendingChanges: true) { _ in
      pending.append(osaka.population)
    }
    let savedOnly = ManagedObjectObserver(osaka) { _ in saved.append(osaka.population) }
    osaka.population = 1
    try await eventually { pending == [1] }
    context.rollback()
    try await eventually { pending == [1, 2_700_000] }
    #expect(saved == [])
    osaka.population = 3
    try await context.save()
    try await eventually { pending.last == 3 && saved.last == 3 }
    all.cancel()
    savedOnly.cancel()
    osaka.population = 4
    context.processPendingChanges()
    #expect(pending.last == 3)
  }
}
