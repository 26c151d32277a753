// The examples of the documentation's articles, word for word, so that they compile. ArticleExamplesTests
// runs them, and searches for each article's examples in this file and in the other tests.

import Foundation
import LiveFetch
import Synchronization
import TestSupport
import Testing

extension FetchedResultsController where Element == City {
  static func article(_ store: any ObjectStore) -> FetchedResultsController<City> {
    FetchedResultsController(
      fetchRequest: FetchRequest<City>(sortedBy: [.descending("population")]),
      context: ManagedObjectContext(store: store))
  }
}

@MainActor
enum ResultsControllerArticle {
  static func overview(_ store: any ObjectStore) async throws {
    let controller = FetchedResultsController(
      fetchRequest: FetchRequest<City>(sortedBy: [.descending("population")]),
      context: ManagedObjectContext(store: store), sectionKeyPath: "country.name")
    try await controller.performFetch()

    for section in controller.sections {
      print(section.name, section.numberOfObjects, section.objects.first?.name ?? "")
    }
    #expect(controller.sections.count == 3)
    try await places(controller)
    try await sections(store)
    try await another(controller)
    try await batches(store)
  }

  static func places(_ controller: FetchedResultsController<City>) async throws {
    let first = controller.object(at: Position(section: 0, item: 0))
    let same = controller.object(at: IndexPath(indexes: [0, 0]))
    if let first {
      print(controller.indexPath(for: first)?.indexPath ?? [])  // [0, 0]
    }
    let paris = controller.object(withID: .integer(2_988_507))
    #expect(first == same && paris == nil)
  }

  static func sections(_ store: any ObjectStore) async throws {
    let byInitial = FetchedResultsController(
      fetchRequest: FetchRequest<City>(sortedBy: [.ascending("name")]),
      context: ManagedObjectContext(store: store), section: .grouped(by: .initial, of: "name"))
    try await byInitial.performFetch()
    #expect(byInitial.sections.map(\.name) == ["B", "C", "L", "O", "T"])
  }

  static func another(_ controller: FetchedResultsController<City>) async throws {
    var request = controller.fetchRequest
    request.predicate = FetchPredicate("population >= %ld", 500_000)
    request.fetchLimit = 50
    try await controller.update(fetchRequest: request)
    #expect(controller.fetchedObjects?.isEmpty == true)
  }

  static func batches(_ store: any ObjectStore) async throws {
    var large = FetchRequest<City>(sortedBy: [.ascending("name")])
    large.fetchBatchSize = 100
    let list = FetchedResultsController(
      fetchRequest: large, context: ManagedObjectContext(store: store))
    try await list.performFetch()
    print(list.numberOfObjects)  // all of them
    let visible = try await list.load(0..<30)
    let later = try await list.object(loading: Position(section: 0, item: 4000))
    #expect(visible.count == 5 && later == nil)
  }
}

class Screen {
  var rows: [String] = []
  func beginUpdates() { rows.append("begin") }
  func endUpdates() { rows.append("end") }
  func insertSection(_ index: Int) { rows.append("insert section \(index)") }
  func deleteSection(_ index: Int) { rows.append("delete section \(index)") }
  func insertRow(_ city: City, _ place: Position) {
    rows.append("insert \(city.name) \(place.section).\(place.item)")
  }
  func deleteRow(_ place: Position) { rows.append("delete \(place.section).\(place.item)") }
  func showRow(_ city: City, _ place: Position) {}
}

enum DelegatesArticle {
  final class CitiesScreen: Screen, FetchedResultsControllerDelegate {
    typealias Element = City

    func controllerWillChangeContent(_ controller: Controller) { beginUpdates() }

    func controller(
      _ controller: Controller, didChange section: FetchedSection<City>, atSectionIndex index: Int,
      for type: SectionChangeType
    ) {
      switch type {
      case .insert: insertSection(index)
      case .delete: deleteSection(index)
      }
    }

    func controller(
      _ controller: Controller, didChange object: City, at indexPath: Position?,
      for type: ObjectChangeType, newIndexPath: Position?
    ) {
      switch (type, indexPath, newIndexPath) {
      case (.insert, _, let new?): insertRow(object, new)
      case (.delete, let old?, _): deleteRow(old)
      case (.move, let old?, let new?):
        deleteRow(old)
        insertRow(object, new)
      case (.update, _, let new?): showRow(object, new)
      default: break
      }
    }

    func controllerDidChangeContent(_ controller: Controller) { endUpdates() }
  }

  final class ListScreen<Element: Fetchable>: FetchedResultsControllerDelegate {
    let title: (Element) -> String
    var titles: [String] = []

    init(title: @escaping (Element) -> String) { self.title = title }

    func controller(_ controller: Controller, didChangeContentWith snapshot: ResultsSnapshot) {
      titles = controller.fetchedObjects?.map(title) ?? []
    }
  }

  @MainActor
  static func generic(_ controller: FetchedResultsController<City>) async throws -> [String] {
    let screen = ListScreen<City> { $0.name }
    controller.delegate = screen
    try await controller.performFetch()
    return screen.titles
  }
}

@MainActor
final class CitiesView {
  var draws = 0
  func redraw() { draws += 1 }
}

extension CitiesView: @MainActor FetchedResultsControllerDelegate {
  typealias Element = City

  func controllerDidChangeContent(_ controller: FetchedResultsController<City>) { redraw() }
}

@MainActor
enum SnapshotsArticle {
  static func sequence(_ controller: FetchedResultsController<City>) async {
    for await snapshot in controller.snapshots {
      for id in snapshot.itemIdentifiers {
        let mark = snapshot.reconfiguredItemIdentifiers.contains(id) ? "*" : " "
        print(mark, controller.object(withID: id)?.name ?? "")
      }
    }
  }

  static func mapping(_ snapshot: ResultsSnapshot, _ newer: ResultsSnapshot) {
    let old = snapshot.map(sections: { $0.name }, items: { "city-\($0)" })
    let new = newer.map(sections: { $0.name }, items: { "city-\($0)" })
    print(new.itemIdentifiers.difference(from: old.itemIdentifiers))
  }
}

@MainActor
enum AdapterArticle {
  typealias CitiesScreen = DelegatesArticle.CitiesScreen

  final class CitiesAdapter: FetchedResultsControllerAdapter<CitiesScreen> {}

  static func adapting(
    _ controller: FetchedResultsController<City>, _ screen: CitiesScreen,
    _ anotherScreen: CitiesScreen
  ) async throws {
    let adapter = CitiesAdapter(controller, delegate: screen)
    try await adapter.performFetch()
    adapter.delegate = anotherScreen
    #expect(adapter.controller === controller)
  }

  static func closures(_ controller: FetchedResultsController<City>) {
    let callbacks = FetchedResultsControllerCallbacks(controller)
    callbacks.didChangeObject = { change, city in
      print(change.type, city?.name ?? "", change.oldPosition as Any, change.newPosition as Any)
    }
    callbacks.didFail = { error in print(error) }
  }
}

enum RequestsArticle {
  struct CityName: Codable, Fetchable {
    static let entityName = "City"
    static var propertiesToFetch: [String]? { ["name"] }
    let name: String
  }

  @MainActor
  static func selecting(_ store: any ObjectStore) async throws {
    var brief = FetchRequest<City>(sortedBy: [.ascending("name")])
    brief.propertiesToFetch = ["name"]
    let context = ManagedObjectContext(store: store)
    #expect(try await context.fetch(brief).allSatisfy { $0.id > 0 && $0.population == nil })
    let names = try await context.fetch(FetchRequest<CityName>(sortedBy: [.ascending("name")]))
    #expect(names.map(\.name).first == "Bamako")
    #expect(try await context.fetch(comparing()).map(\.name) == ["Lima"])
  }

  static func comparing() throws -> FetchRequest<City> {
    let same = ComparisonResult.orderedSame
    let lima = try FetchRequest(
      where: #Predicate<City> { $0.name.caseInsensitiveCompare("lima") == same })
    return lima
  }

  static func requests() throws -> [FetchRequest<City>] {
    [
      // Text with arguments.
      FetchRequest<City>(where: FetchPredicate("%K BEGINSWITH[cd] %@", "name", "são")),

      // Swift's own, checked by the compiler.
      try FetchRequest(where: #Predicate<City> { ($0.population ?? 0) >= 1_000_000 }),

      // Ids.
      FetchRequest<City>(where: .ids([.integer(1), .integer(2)])),

      // Put together.
      FetchRequest<City>(
        where: FetchPredicate("population > 1000") && !FetchPredicate("country == nil"),
        sortedBy: [.ascending("name", options: [.caseInsensitive, .diacriticInsensitive])]),
    ]
  }
}

enum StoresArticle {
  static func stores(_ path: String, _ address: URL) throws {
    let file: any ObjectStore = try LocalStore(path: path)
    let server: any ObjectStore = RemoteStore(address, token: "secret")
    let streaming = RemoteStore(address)
    let polling = RemoteStore(address, transport: .longPoll)
    withExtendedLifetime((file, server, polling, streaming)) {}
  }

  static func creating(_ path: String) async throws -> LocalStore {
    var town = ModelFile.Entity(name: "Town")
    town.attributes = [.init(name: "name", type: .string), .init(name: "people", type: .integer64)]
    var model = ModelFile()
    model.entities = [town]
    let towns = try LocalStore(creating: path, model: model)
    return towns
  }

  static func reading(_ url: URL) throws -> ModelFile {
    let model = try ModelFile(parsing: [UInt8](Data(contentsOf: url)))
    return model
  }

  static func offlineStore(_ address: URL, _ folder: URL) throws -> OfflineStore {
    let store = try OfflineStore(
      RemoteStore(address), storage: FolderStorage(folder),
      onRefused: { refused in print(refused.error, refused.request) })
    return store
  }

  static func preview(_ model: ModelFile) throws -> LocalStore {
    let store = try LocalStore.inMemory(model, [City(id: 1, name: "Oslo", population: 700_000)])
    return store
  }

  @MainActor
  static func offline(_ controller: FetchedResultsController<City>) async throws {
    func show(_ text: String) {}
    func draw(_ snapshot: ResultsSnapshot) {}
    do throws(FetchError) {
      try await controller.performFetch()
    } catch {
      guard let unavailability = error.unavailability else { throw error }
      show("offline: \(unavailability.reason)")  // the controller tries again
    }
    for await snapshot in controller.snapshots { draw(snapshot) }
  }

  static func saving(_ store: RemoteStore, _ changes: JSON) async throws -> SaveReceipt {
    // As often as need be:
    let receipt = try await store.save(changes, idempotencyKey: "order-1042")
    return receipt
  }
}

@MainActor
enum DataStoresArticle {
  struct Town: Codable, Identifiable, InstanceIdentifiable, Sendable {
    let id: Int
    var name: String
    var people: Int
  }

  static func overview() async throws {
    let towns = ArrayDataStore<Town, FilterRequest<Town>>([
      Town(id: 1, name: "Aba", people: 30), Town(id: 2, name: "Bonn", people: 20),
    ])
    let controller = DataStoreResultsController(
      store: towns, request: FilterRequest { $0.people > 0 })
    controller.sectionName = { String($0.name.prefix(1)) }
    controller.itemOrder = { $0.people > $1.people }
    controller.filter = { $0.people < 1_000_000 }
    controller.controllerDidChangeResults = { change in
      for change in change.objects { print(change.type, change.object.name) }
    }
    controller.controllerDidFail = { error in print(error) }
    try await controller.performFetch()
    try await towns.insert(Town(id: 3, name: "Cork", people: 10))
    try await eventually { controller.sections.map(\.name) == ["A", "B", "C"] }
    try await drafts(towns)
  }

  static func drafts(_ towns: ArrayDataStore<Town, FilterRequest<Town>>) async throws {
    let draft = towns.draft()
    try await draft.update(Town(id: 1, name: "Aba", people: 31))
    try await draft.delete(Town(id: 2, name: "Bonn", people: 20))
    print(draft.changes.count)  // 2
    try await draft.commit()  // or draft.reset()
    #expect(towns.results.map(\.people) == [31, 10])
  }

  static func server(_ address: URL) async throws {
    let cities = ObjectDataStore<City>(RemoteStore(address))
    let live = DataStoreResultsController(
      store: cities, request: FetchRequest<City>(sortedBy: [.descending("population")]))
    try await live.performFetch()
    #expect(live.fetchedResults.map(\.id) == [1, 3, 2, 5, 4])
  }
}
