// Waiting until a save is shown, and in-memory stores, which leave no files.

import Foundation
import LiveFetch
import TestSupport
import Testing

@MainActor
@Suite("A controller that catches up with a token", .mayBlock)
struct CatchingUpTests {
  private func controller(_ cities: Cities) async throws -> FetchedResultsController<City> {
    let controller = FetchedResultsController(
      fetchRequest: FetchRequest<City>(
        where: FetchPredicate("population >= 200"), sortedBy: [.descending("population")]),
      context: ManagedObjectContext(store: cities.store))
    try await controller.performFetch()
    return controller
  }

  @Test("shows the save when the call returns", arguments: Kind.allCases)
  func shown(kind: Kind) async throws {
    let cities = try Cities(kind)
    let controller = try await controller(cities)
    for id in [1, 3, 2] {
      let receipt = try await cities.save(#"{"delete":"City","id":\#(id)}"#)
      try await controller.caughtUp(to: receipt.token)
      #expect(controller.object(withID: .integer(Int64(id))) == nil)
    }
    #expect(controller.fetchedObjects?.map(\.name) == ["Bamako"])
  }

  @Test("returns for a save that does not change its result", arguments: Kind.allCases)
  func unaffected(kind: Kind) async throws {
    let cities = try Cities(kind)
    let controller = try await controller(cities)
    let receipt = try await cities.save(
      #"{"update":"City","id":4,"values":{"population":41}}"#)
    try await controller.caughtUp(to: receipt.token)
    #expect(controller.fetchedObjects?.count == 4)
  }

  @Test("throws without a fetch, after stop, and for a text that is no token")
  func refusals() async throws {
    let cities = try Cities(.local)
    let controller = try await controller(cities)
    let token = try #require(controller.token)
    await #expect(throws: FetchError.self) { try await controller.caughtUp(to: "yesterday") }
    let epoch = try #require(token.split(separator: "-").first)
    let cancelled = Task { try await controller.caughtUp(to: "\(epoch)-999999-00000000") }
    cancelled.cancel()
    await #expect(throws: FetchError.self) { try await cancelled.value }
    controller.stop()
    await #expect(throws: FetchError.self) { try await controller.caughtUp(to: token) }
  }
}

@Suite("A store in memory", .mayBlock)
struct InMemoryStoreTests {
  @Test("has the model's tables, takes saves, and leaves no file")
  func leavesNothing() async throws {
    let model = try ModelFile(
      parsing: Array(
        #"""
        {"version":"1","entities":[{"name":"City","attributes":[
          {"name":"name","type":"String","optional":false},
          {"name":"population","type":"Integer 64"}]}]}
        """#.utf8))
    let before = folders()
    let store = try LocalStore.inMemory(model)
    _ = try await store.save(
      JSON(parsing: Array(#"{"changes":[{"insert":"City","values":{"name":"Lima"}}]}"#.utf8)))
    for try await snapshot in store.live(FetchRequest<City>()) {
      #expect(snapshot.elements.map(\.name) == ["Lima"])
      break
    }
    store.close()
    #expect(folders().subtracting(before).isEmpty)
  }

  private func folders() -> Set<String> {
    let parents = ["/dev/shm", FileManager.default.temporaryDirectory.path]
    let names = parents.flatMap { (try? FileManager.default.contentsOfDirectory(atPath: $0)) ?? [] }
    return Set(names.filter { $0.hasPrefix("livefetch-memory-") })
  }
}
