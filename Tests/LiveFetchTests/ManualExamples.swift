// The Swift blocks of the README and the manual, word for word, so that they compile. ManualSwiftTests runs
// them, and searches for each block in this file and in other tests.

import Foundation
import LiveFetch
import TestSupport
import Testing

/// A screen that draws the names of sections.
@MainActor
final class ManualScreen {
  private(set) var names: [String] = []

  private func draw(_ snapshot: ResultsSnapshot, _ sections: [FetchedSection<City>]) {
    names = sections.map(\.name)
  }

  func showCities(_ path: String) async throws {
    let context = ManagedObjectContext(store: try LocalStore(path: path))  // or RemoteStore(url)
    let controller = FetchedResultsController(
      fetchRequest: FetchRequest<City>(
        where: FetchPredicate("population >= %ld", 1_000_000), sortedBy: [.descending("population")]
      ),
      context: context, sectionKeyPath: "country.name")
    try await controller.performFetch()
    for await snapshot in controller.snapshots { draw(snapshot, controller.sections) }
  }

  func show(_ request: FetchRequest<City>, of store: any ObjectStore) async throws {
    let context = ManagedObjectContext(store: store)
    let controller = FetchedResultsController(
      fetchRequest: request, context: context, sectionKeyPath: "country.name")
    try await controller.performFetch()
    for await snapshot in controller.snapshots { draw(snapshot, controller.sections) }
  }
}

enum FirstLiveList {
  struct City: Codable, Fetchable, Identifiable, Sendable {
    static let entityName = "City"
    let id: Int
    var name: String
    var population: Int?
  }

  struct Cities {
    static func main(_ path: String) async throws {
      let store = try LocalStore(path: path)
      let request = FetchRequest<City>(
        where: FetchPredicate("population >= %ld", 1_000_000),
        sortedBy: [.descending("population")])
      for try await snapshot in store.live(request) {
        for city in snapshot.elements { print(city.name, city.population ?? 0) }
        print("---")
      }
    }
  }
}

enum ManualStores {
  /// A login service.
  actor Session {
    private(set) var count = 0

    func accessToken() throws -> String {
      count += 1
      return "token \(count)"
    }
  }

  private static func show(_ size: Int, _ error: ObjectStoreError?) {}
  private static func show(_ request: JSON, _ error: ObjectStoreError) {}

  static func offline(_ url: URL, _ folder: URL) throws -> OfflineStore {
    let store = try OfflineStore(
      RemoteStore(url), storage: FolderStorage(folder),
      onQueue: { size, error in show(size, error) },
      onRefused: { refused in show(refused.request, refused.error) })
    return store
  }

  static func renewing(_ address: URL, _ session: Session) -> RemoteStore {
    let store = RemoteStore(address, token: { try await session.accessToken() })
    return store
  }

  struct Tally: Decodable, Sendable {
    let country: Int
    let cities: Int
  }

  static func tallies(_ store: LocalStore) async throws -> [Tally] {
    let tallies = try await store.rows(
      "SELECT country, count(*) AS cities FROM City WHERE population > ? GROUP BY country",
      1_000_000, as: Tally.self)
    return tallies
  }
}

enum ManualModels {
  final class Country: ManagedObject, ManagedObjectType {
    static let entityName = "Country"
    enum Key: String, KeyCodable { case name, cities }

    @Managed(.name) var name = ""
    @ManagedToMany(.cities) var cities: ToManyProxy<City>
  }

  final class City: ManagedObject, ManagedObjectType {
    static let entityName = "City"
    enum Key: String, KeyCodable { case name, population, country }

    @Managed(.name) var name = ""
    @Managed(.population) var population: Int?
    @ManagedToOne(.country) var country: Fault<Country>?
  }

  static func create(_ path: String, _ file: String) throws -> LocalStore {
    let model = try ModelFile(of: [City.self, Country.self])
    let store = try LocalStore(creating: path, model: model)
    try Data(model.text).write(to: URL(fileURLWithPath: file))  // for `livefetch serve --model`
    return store
  }

  /// The values of a city.
  struct NamedCity: Codable, Fetchable {
    static let entityName = "City"
    let name: String
    let population: Int?
  }

  static func migrate(_ path: String, _ model: ModelFile, _ cities: [NamedCity]) throws {
    if try LocalStore.storedModel(path: path) != model {
      try LocalStore.migrate(path: path, to: model)
    }
    try LocalStore.importValues(cities, path: path, key: ["name"])
  }
}

enum ManualObjects {
  final class List: ManagedObject, ManagedObjectType {
    static let entityName = "List"
    enum Key: String, KeyCodable { case title, items }

    @Managed(.title) var title = ""
    @ManagedToMany(.items) var items: ToManyProxy<Item>
  }

  final class Item: ManagedObject, ManagedObjectType {
    static let entityName = "Item"
    enum Key: String, KeyCodable { case title, done, list }

    @Managed(.title) var title = ""
    @Managed(.done) var done = false
    @ManagedToOne(.list) var list: Fault<List>?
  }

  @MainActor
  static func insert(_ context: ManagedObjectContext) async throws {
    let item: Item = context.insertObject()
    item.title = "试试"
    try await context.save()  // item.objectID is permanent now
    let open = try await context.fetch(Item.sortedFetchRequest(where: "%K == FALSE", Item.Key.done))
    let list = try await open.first?.list?.materialize()
    #expect(item.objectID.permanentID != nil)
    #expect(open.map(\.title) == ["试试"])
    #expect(list?.title == nil)
  }
}
