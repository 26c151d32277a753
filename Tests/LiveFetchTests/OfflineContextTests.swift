// Saves of a context over an offline store: stored and treated as saved while the server is away.

import Foundation
import LiveFetch
import TestSupport
import Testing

/// The entity City as a class.
final class ManagedCity: ManagedObject, ManagedObjectType {
  static let entityName = "City"
  static var defaultSortDescriptors: [SortTerm] { [.ascending(Key.name)] }
  enum Key: String, KeyCodable { case name, population }

  @Managed(.name) var name = ""
  @Managed(.population) var population: Int?
}

/// The same with a relationship, whose destination a context compares with the server's model.
private final class CityInCountry: ManagedObject, ManagedObjectType {
  static let entityName = "City"
  static var defaultSortDescriptors: [SortTerm] { [.ascending(Key.name)] }
  enum Key: String, KeyCodable { case name, country }

  @Managed(.name) var name = ""
  @ManagedToOne(.country) var country: Fault<CountryOfCities>?
}

private final class CountryOfCities: ManagedObject, ManagedObjectType {
  static let entityName = "country"
  enum Key: String, KeyCodable { case name }

  @Managed(.name) var name = ""
}

@MainActor
@Suite("A context over an offline store", .mayBlock)
struct OfflineContextTests {
  private let server: Restarting
  private let storage = MemoryStorage()

  init() throws { server = try Restarting() }

  private func open() throws -> (OfflineStore, ManagedObjectContext) {
    let store = try OfflineStore(RemoteStore(server.address), storage: storage)
    return (store, ManagedObjectContext(store: store))
  }

  private func controller(
    _ context: ManagedObjectContext
  ) async throws -> FetchedResultsController<ManagedCity> {
    let controller = FetchedResultsController(
      fetchRequest: ManagedCity.sortedFetchRequest, context: context)
    controller.includesPendingChanges = true
    controller.holdTime = 2
    try await controller.performFetch()
    return controller
  }

  private func names(_ controller: FetchedResultsController<ManagedCity>) -> [String] {
    controller.fetchedObjects?.map(\.name) ?? []
  }

  /// The names and populations that the server has.
  private func stored() async throws -> [String] {
    let request = FetchRequest<City>(sortedBy: [.ascending("name")])
    let context = ManagedObjectContext(store: RemoteStore(server.address))
    return try await context.fetch(request).map { "\($0.name) \($0.population ?? -1)" }
  }

  /// Opens the store while the server is away, after a run that has stored the result.
  private func away() async throws -> (
    OfflineStore, ManagedObjectContext, FetchedResultsController<ManagedCity>
  ) {
    let (first, before) = try open()
    _ = try await controller(before)
    first.close()
    server.stop()
    let (store, context) = try open()
    return (store, context, try await controller(context))
  }

  @Test("saves while the server is away, fetches meanwhile, and loses nothing by a restart")
  func restarted() async throws {
    let (store, context, list) = try await away()
    let ur: ManagedCity = context.insertObject()
    (ur.name, ur.population) = ("Ur", 1)
    #expect(try await context.save() == nil)
    #expect(!context.hasChanges && !ur.hasChanges && ur.objectID.isTemporary)
    ur.population = 2
    list.fetchedObjects?.first { $0.name == "Tokyo" }?.population = 901
    #expect(context.hasChanges)
    #expect(try await context.save() == nil)
    list.fetchedObjects?.first { $0.name == "Tokyo" }?.population = 902
    #expect(try await context.save() == nil)
    #expect(store.queuedSaves.count == 3 && !context.hasChanges)
    try await list.performFetch()
    #expect(names(list) == ["Bamako", "Cusco", "Lima", "Osaka", "Tokyo", "Ur"])
    store.close()

    let (again, _) = try open()
    #expect(again.queuedSaves.count == 3)
    try server.start()
    try await eventually { again.queuedSaves.isEmpty }
    #expect(again.refusedSaves.isEmpty)
    #expect(
      try await stored() == [
        "Bamako 200", "Cusco 40", "Lima 800", "Osaka 300", "Tokyo 902", "Ur 2",
      ])
    again.close()
  }

  @Test("shows stored objects and saves without waiting for the model of a server that is silent")
  func silent() async throws {
    let (first, before) = try open()
    let request = CityInCountry.sortedFetchRequest
    try await FetchedResultsController(fetchRequest: request, context: before).performFetch()
    first.close()
    let proxy = try FaultProxy(host: #require(server.address.host), port: server.port)
    proxy.set(.heldBack)
    let address = try #require(URL(string: "http://127.0.0.1:\(proxy.port)"))
    let store = try OfflineStore(RemoteStore(address), storage: storage)
    let context = ManagedObjectContext(store: store)
    let list = FetchedResultsController(fetchRequest: request, context: context)
    try await list.performFetch()
    #expect(
      list.fetchedObjects?.map(\.name) == ["Bamako", "Cusco", "Lima", "Osaka", "Tokyo"])
    list.fetchedObjects?.first?.name = "Bamakó"
    #expect(try await context.save() == nil)
    #expect(!proxy.requests.contains { $0.contains("/v1/model") })
    list.stop()
    store.close()
  }

  @Test("gives new objects their permanent ids when the server is back, and shows them once")
  func settled() async throws {
    let (store, context, list) = try await away()
    let ur: ManagedCity = context.insertObject()
    ur.name = "Ur"
    try await context.save()
    (ur.name, ur.population) = ("Uruk", 2)
    try await context.save()
    context.delete(try #require(list.fetchedObjects?.first { $0.name == "Lima" }))
    try await context.save()
    ur.population = 3
    try server.start()
    try await eventually { store.queuedSaves.isEmpty && !ur.objectID.isTemporary }
    #expect(ur.population == 3 && context.updatedObjects == [ur])
    try await context.save()
    try await eventually { store.queuedSaves.isEmpty && !context.hasChanges }
    try await eventually { names(list) == ["Bamako", "Cusco", "Osaka", "Tokyo", "Uruk"] }
    try await eventually { if case .following = list.state { true } else { false } }
    #expect(list.fetchedObjects?.last === ur)
    #expect(
      try await stored() == ["Bamako 200", "Cusco 40", "Osaka 300", "Tokyo 900", "Uruk 3"])
    store.close()
  }

  @Test("sends a value that is set back, and a deletion of an object that waits")
  func reversed() async throws {
    let (store, context, list) = try await away()
    let tokyo = try #require(list.fetchedObjects?.first { $0.name == "Tokyo" })
    let ur: ManagedCity = context.insertObject()
    ur.name = "Ur"
    tokyo.population = 1
    try await context.save()
    tokyo.population = 900
    context.delete(ur)
    #expect(context.updatedObjects == [tokyo] && context.deletedObjects == [ur])
    try await context.save()
    tokyo.population = 5
    context.rollback()
    #expect(tokyo.population == 900 && !context.hasChanges && ur.isDeleted)
    try server.start()
    try await eventually { store.queuedSaves.isEmpty && ur.managedObjectContext == nil }
    #expect(tokyo.population == 900 && !context.hasChanges)
    #expect(
      try await stored() == ["Bamako 200", "Cusco 40", "Lima 800", "Osaka 300", "Tokyo 900"])
    #expect(store.refusedSaves.isEmpty)
    store.close()
  }

  @Test("has the changes of a refused save as unsaved ones again")
  func refusedLater() async throws {
    let (store, context, list) = try await away()
    let tokyo = try #require(list.fetchedObjects?.first { $0.name == "Tokyo" })
    tokyo.population = 901
    try await context.save()
    try sqlite(server.path, "UPDATE City SET population = 7 WHERE id = 1")
    try server.start()
    try await eventually { !store.refusedSaves.isEmpty && context.hasChanges }
    #expect(store.refusedSaves.map(\.error.code) == ["conflict"])
    #expect(context.updatedObjects == [tokyo] && tokyo.population == 901)
    context.rollback()
    #expect(!context.hasChanges)
    try await context.refresh(tokyo, mergeChanges: false)
    #expect(tokyo.population == 7)
    store.close()
  }

  @Test("throws a refusal of a server that answers")
  func refusedAtOnce() async throws {
    let (store, context) = try open()
    let tokyo = try await context.materializedObject(ManagedCity.self, with: .integer(1))
    _ = try await RemoteStore(server.address).save(
      JSON(
        parsing: Array(#"{"changes":[{"update":"City","id":1,"values":{"population":7}}]}"#.utf8)))
    tokyo.population = 901
    await #expect(throws: ContextError.self) { try await context.save() }
    #expect(context.hasChanges && store.refusedSaves.isEmpty)
    store.close()
  }
}
