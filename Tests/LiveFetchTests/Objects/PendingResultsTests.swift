// Results controllers that show the unsaved changes of their context.

import LiveFetch
import TestSupport
import Testing

@MainActor
@Suite("A controller that includes unsaved changes", .mayBlock)
struct PendingResultsTests {
  typealias City = SampleCities.City
  typealias Controller = FetchedResultsController<City>

  private func controller(
    _ context: ManagedObjectContext, _ request: FetchRequest<City> = City.sortedFetchRequest,
    section: SortTerm? = nil
  ) async throws -> Controller {
    let controller = Controller(fetchRequest: request, context: context, section: section)
    controller.includesPendingChanges = true
    try await controller.performFetch()
    return controller
  }

  private func names(_ controller: Controller) -> [String] {
    controller.fetchedObjects?.map(\.name) ?? []
  }

  /// Inserts a city that the controller shows. Returns what its delegate hears.
  private func insertNara(
    _ context: ManagedObjectContext, _ controller: Controller
  ) async throws -> (ChangeRecord, City) {
    let record = ChangeRecord()
    controller.delegate = record
    let city: City = context.insertObject()
    city.name = "Nara"
    try await eventually { names(controller) == ["Cusco", "Nara", "Osaka", "Tokyo"] }
    return (record, city)
  }

  @Test("shows a new object at its place, keeps it during its save", arguments: Kind.allCases)
  func insertion(kind: Kind) async throws {
    let (sample, _) = try await SampleCities.store(kind)
    let context = ManagedObjectContext(store: sample.store)
    let controller = try await controller(context)
    let (record, city) = try await insertNara(context, controller)
    #expect(record.types == [[.insert]])
    city.name = "Zama"
    try await eventually { names(controller) == ["Cusco", "Osaka", "Tokyo", "Zama"] }
    #expect(record.types == [[.insert], [.move]])
    let receipt = try #require(try await context.save())
    try await controller.caughtUp(to: receipt.token)
    try await eventually { controller.object(withID: city.objectID.permanentID!) === city }
    #expect(names(controller) == ["Cusco", "Osaka", "Tokyo", "Zama"])
    #expect(!record.types.dropFirst(2).joined().contains { $0 == .delete || $0 == .insert })
  }

  @Test("reports the save of a new object as an update, and finds it by its permanent id")
  func savedInsertion() async throws {
    let (sample, _) = try await SampleCities.store(.local)
    let context = ManagedObjectContext(store: sample.store)
    let controller = try await controller(context)
    let (record, city) = try await insertNara(context, controller)
    let temporaryID = ObjectID.text(city.objectID.description)
    #expect(controller.position(of: temporaryID) == Position(section: 0, item: 1))
    let receipt = try #require(try await context.save())
    try await controller.caughtUp(to: receipt.token)
    try await eventually { record.types.count > 1 }
    #expect(record.types[0] == [.insert])
    #expect(record.types[1] == [.update])
    let id = try #require(city.objectID.permanentID)
    #expect(controller.position(of: id) == Position(section: 0, item: 1))
    #expect(controller.object(withID: id) === city)
    #expect(controller.indexPath(for: city) == Position(section: 0, item: 1))
    #expect(controller.position(of: temporaryID) == nil)
    #expect(names(controller) == ["Cusco", "Nara", "Osaka", "Tokyo"])
  }

  @Test("shows changed values and their rollback, and hides deleted objects")
  func changes() async throws {
    let (sample, ids) = try await SampleCities.store(.local)
    let context = ManagedObjectContext(store: sample.store)
    let osaka = try await context.materializedObject(City.self, with: #require(ids["osaka"]))
    let controller = try await controller(
      context, City.sortedFetchRequest(where: "population > %ld", 1_000_000))
    #expect(names(controller) == ["Osaka", "Tokyo"])
    osaka.name = "Ube"
    try await eventually { names(controller) == ["Tokyo", "Ube"] }
    osaka.population = 1
    try await eventually { names(controller) == ["Tokyo"] }
    context.rollback()
    try await eventually { names(controller) == ["Osaka", "Tokyo"] }
    context.delete(osaka)
    try await eventually { names(controller) == ["Tokyo"] }
    context.rollback()
    try await eventually { names(controller) == ["Osaka", "Tokyo"] }
    context.delete(osaka)
    let receipt = try #require(try await context.save())
    try await controller.caughtUp(to: receipt.token)
    try await eventually { names(controller) == ["Tokyo"] }
  }

  @Test("applies the window to the changed result")
  func window() async throws {
    let (sample, ids) = try await SampleCities.store(.local)
    let context = ManagedObjectContext(store: sample.store)
    let cusco = try await context.materializedObject(City.self, with: #require(ids["cusco"]))
    var request = City.sortedFetchRequest
    request.fetchLimit = 2
    let controller = try await controller(context, request)
    #expect(names(controller) == ["Cusco", "Osaka"])
    context.delete(cusco)
    try await eventually { names(controller) == ["Osaka", "Tokyo"] }
    let city: City = context.insertObject()
    city.name = "Arica"
    try await eventually { names(controller) == ["Arica", "Osaka"] }
  }

  @Test("moves objects between sections, and creates and removes sections")
  func sections() async throws {
    let (sample, ids) = try await SampleCities.store(.local)
    let context = ManagedObjectContext(store: sample.store)
    let cusco = try await context.materializedObject(City.self, with: #require(ids["cusco"]))
    let controller = try await controller(context, section: .ascending("country.name"))
    func content() -> [String] {
      controller.sections.map { "\($0.name): " + $0.objects.map(\.name).joined(separator: ",") }
    }
    #expect(content() == ["Japan: Osaka,Tokyo", "Peru: Cusco"])
    let mali: SampleCities.Country = context.insertObject()
    mali.name = "Mali"
    cusco.country = Fault(mali)
    try await eventually { content() == ["Japan: Osaka,Tokyo", "Mali: Cusco"] }
    #expect(controller.sections.map(\.indexTitle) == ["J", "M"])
    context.rollback()
    try await eventually { content() == ["Japan: Osaka,Tokyo", "Peru: Cusco"] }
  }

  @Test("combines unsaved changes with those of other writers, and of parent contexts")
  func otherWriters() async throws {
    let (sample, ids) = try await SampleCities.store(.local)
    let context = ManagedObjectContext(store: sample.store)
    let child = ManagedObjectContext(parent: context)
    let osaka = try await child.materializedObject(City.self, with: #require(ids["osaka"]))
    let (above, below) = (try await controller(context), try await controller(child))
    osaka.name = "Ube"
    try await eventually { names(below) == ["Cusco", "Tokyo", "Ube"] }
    #expect(names(above) == ["Cusco", "Osaka", "Tokyo"])
    let cusco = try #require(ids["cusco"]).description
    try await sample.save(#"{"update":"City","id":\#(cusco),"values":{"name":"Xam"}}"#)
    try await eventually { names(below) == ["Tokyo", "Ube", "Xam"] }
    try await child.save()
    try await eventually { names(above) == ["Tokyo", "Ube", "Xam"] }
    let country: City = context.insertObject()
    country.name = "Ait"
    try await eventually { names(below) == ["Ait", "Tokyo", "Ube", "Xam"] }
  }

  @Test(
    "judges a saved object by the store again, also if the save did not change the result",
    arguments: Kind.allCases)
  func savesOutsideTheResult(kind: Kind) async throws {
    let (sample, ids) = try await SampleCities.store(kind)
    let context = ManagedObjectContext(store: sample.store)
    let cusco = try await context.materializedObject(City.self, with: #require(ids["cusco"]))
    let country = try #require(try await cusco.country?.materialize())
    let controller = try await controller(
      context, City.sortedFetchRequest(where: "country.name == 'Mali'"))
    #expect(names(controller) == [])
    cusco.population = 5
    try await context.save()
    country.name = "Mali"
    let nara: City = context.insertObject()
    (nara.name, nara.country) = ("Nara", Fault(country))
    // An object that was not changed is judged by its stored values.
    try await eventually { names(controller) == ["Nara"] }
    #expect(try await context.fetch(controller.fetchRequest).map(\.name) == ["Nara"])
  }

  @Test("retains no saved object that its result does not contain", arguments: Kind.allCases)
  func retainedObjects(kind: Kind) async throws {
    let (sample, _) = try await SampleCities.store(kind)
    let context = ManagedObjectContext(store: sample.store)
    let controller = try await controller(context, City.sortedFetchRequest(where: "name == 'Nara'"))
    weak var saved: City?
    do {
      let city: City = context.insertObject()
      city.name = "Ube"
      try await context.save()
      saved = city
    }
    try await eventually { saved == nil }
    #expect(names(controller) == [])
  }

  private func isOffline(_ controller: Controller) -> Bool {
    if case .offline = controller.state { true } else { false }
  }

  @Test("is offline while values cannot be read, and then shows what changed meanwhile")
  func unreadValues() async throws {
    let (sample, ids) = try await SampleCities.store(.local)
    let japan = try #require(ids["jp"])
    let store = PausingStore(sample.store)
    let context = ManagedObjectContext(store: store)
    let controller = try await controller(
      context, City.sortedFetchRequest(where: "country.name == 'Japan'"))
    #expect(names(controller) == ["Osaka", "Tokyo"])
    store.failReads(.unreachable(ServiceUnavailable("no network")))
    let city: City = context.insertObject()
    (city.name, city.country) = ("Nara", context.object(SampleCities.Country.self, with: japan))
    try await eventually { isOffline(controller) }
    let receipt = try await sample.save(
      #"{"insert":"City","values":{"name":"Ube","country":\#(japan)}}"#)
    #expect(names(controller) == ["Osaka", "Tokyo"])
    store.failReads(nil)
    try await controller.caughtUp(to: receipt.token)
    #expect(names(controller) == ["Nara", "Osaka", "Tokyo", "Ube"])
    #expect(!isOffline(controller))
  }

  @Test("has failed while the store refuses values, and asks again with the next change")
  func refusedValues() async throws {
    let (sample, ids) = try await SampleCities.store(.local)
    let japan = try #require(ids["jp"])
    let store = PausingStore(sample.store)
    let context = ManagedObjectContext(store: store)
    let controller = try await controller(
      context, City.sortedFetchRequest(where: "country.name == 'Japan'"))
    store.failReads(.notUnderstood("an answer"))
    let city: City = context.insertObject()
    (city.name, city.country) = ("Nara", context.object(SampleCities.Country.self, with: japan))
    try await eventually { if case .failed = controller.state { true } else { false } }
    try? await controller.performFetch()
    if case .failed = controller.state {} else { Issue.record("\(controller.state)") }
    store.failReads(nil)
    city.population = 5
    try await eventually { names(controller) == ["Nara", "Osaka", "Tokyo"] }
    if case .following = controller.state {} else { Issue.record("\(controller.state)") }
  }

  @Test("includes them also if the store could not be reached by the first fetch")
  func lateStore() async throws {
    let (sample, _) = try await SampleCities.store(.local)
    let store = PausingStore(sample.store)
    let context = ManagedObjectContext(store: store)
    let city: City = context.insertObject()
    city.name = "Nara"
    let controller = Controller(fetchRequest: City.sortedFetchRequest, context: context)
    controller.includesPendingChanges = true
    store.failFetches(.unreachable(ServiceUnavailable("no network")))
    try? await controller.performFetch()
    #expect(isOffline(controller))
    store.failFetches(nil)
    try await eventually { names(controller) == ["Cusco", "Nara", "Osaka", "Tokyo"] }
  }

  @Test("refuses sections by parts of values, which it cannot compute")
  func derivedSections() async throws {
    let (sample, _) = try await SampleCities.store(.local)
    let context = ManagedObjectContext(store: sample.store)
    await #expect(throws: FetchError.self) {
      _ = try await controller(context, section: .grouped(by: .initial, of: "name"))
    }
  }
}

/// Records the types of the object changes of each delegate call.
@MainActor
private final class ChangeRecord: @MainActor FetchedResultsControllerDelegate {
  typealias Element = SampleCities.City
  var types: [[ObjectChangeType]] = []

  func controllerWillChangeContent(_ controller: Controller) { types.append([]) }

  func controller(
    _ controller: Controller, didChange object: SampleCities.City, at indexPath: Position?,
    for type: ObjectChangeType, newIndexPath: Position?
  ) { types[types.count - 1].append(type) }
}
