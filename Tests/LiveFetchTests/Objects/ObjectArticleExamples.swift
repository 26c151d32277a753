// The examples of the articles about managed objects, word for word, so that they compile. The test at the
// end compares them with the articles.

import Foundation
import LiveFetch
import TestSupport
import Testing

enum ArticleMood: String, AttributeValue { case calm, stormy }

private enum ManagedObjectsArticle {
  final class City: ManagedObject, ManagedObjectType {
    static let entityName = "City"
    static var defaultSortDescriptors: [SortTerm] { [.ascending(Key.name)] }
    enum Key: String, KeyCodable { case name, population, founded, country, mayor }

    @Managed(.name) var name = ""
    @Managed(.population) var population: Int?
    @Managed(.founded) var founded: Date?
    @ManagedToOne(.country) var country: Fault<Country>?
    @ManagedToOne(.mayor) var mayor: Fault<Person>?
  }

  final class Country: ManagedObject, ManagedObjectType {
    static let entityName = "Country"
    enum Key: String, KeyCodable { case code, cityCount, cities }

    @Managed(.code) var code = ""
    @ManagedDerived(.cityCount) var cityCount: Int?
    @ManagedToMany(.cities) var cities: ToManyProxy<City>
  }

  final class Person: ManagedObject, ManagedObjectType {
    static let entityName = "Person"
    enum Key: String, KeyCodable { case name, mood }

    @Managed(.name) var name = ""
    typealias Mood = ArticleMood
    @Managed(.mood) var mood: Result<Mood, UnreadableValue> = .success(.calm)
  }

  @MainActor
  static func faults(
    _ city: City, _ country: Country, _ context: ManagedObjectContext
  ) async throws {
    if let mayor = city.mayor {
      print(mayor.id, mayor.isFault, mayor.object?.name ?? "not in memory")
      print(try await mayor.materialize().name)
    }
    for city in try await country.cities.materialize() { print(city.name) }
    print(city.hasFault(forRelationship: .mayor))

    var request = Country.sortedFetchRequest
    request.relationshipsToPrefetch = ["cities", "cities.mayor"]
    let countries = try await context.fetch(request)
    print(countries.first?.cities.objects?.first?.mayor?.object?.name ?? "no mayor")
  }

  static func changes(_ city: City, _ village: City, _ country: Country, _ person: Person) throws {
    city.mayor = Fault(person)
    country.cities.insert(city)
    country.cities.remove(village)

    city.population = 5
    print(city.changedValues())  // [.population: 5]
    print(city.committedValue(for: .population) ?? "none")
    print(try city.value(Int.self, for: .population))
    city.setValue("Ōsaka", for: .name)
  }

  final class Guest: ManagedObject, ManagedObjectType {
    static let entityName = "Guest"
    enum Key: String, KeyCodable { case name, arrival, departure }

    @Managed(.name) var name = ""
    @Managed(.arrival) var arrival: Date?
    @Managed(.departure) var departure: Date?

    func validateValue(for key: Key) throws {
      if key == .name, name.isEmpty { throw ValidationFailure(Key.name, "needs a name") }
    }

    override func validateForUpdate() throws {
      guard let arrival, let departure, departure < arrival else { return }
      throw ValidationFailure(Key.departure, code: "too-early", "is before the arrival")
    }
  }

  class Vehicle: ManagedObject, ManagedEntity {
    class var entityName: String { "Vehicle" }
    class var subentities: [any ManagedEntity.Type] { [Car.self, Boat.self] }
    enum VehicleKey: String, KeyCodable { case name }

    @ManagedAttribute(VehicleKey.name) var name = ""
  }

  final class Car: Vehicle, ManagedObjectType {
    override class var entityName: String { "Car" }
    enum Key: String, KeyCodable { case name, doors }

    @Managed(.doors) var doors = 4
  }

  final class Boat: Vehicle, ManagedObjectType {
    override class var entityName: String { "Boat" }
    enum Key: String, KeyCodable { case name, draught }

    @Managed(.draught) var draught: Double?
  }
}

private enum ContextsArticle {
  typealias City = ManagedObjectsArticle.City
  typealias Country = ManagedObjectsArticle.Country

  @MainActor
  static func fetching(_ store: any ObjectStore) async throws {
    let context = ManagedObjectContext(store: store)
    let large = try await context.fetch(
      City.sortedFetchRequest(where: "%K >= %ld", City.Key.population, 1_000_000))
    let count = try await context.count(City.sortedFetchRequest)
    let lima = try await context.fetchSingleObject(City.sortedFetchRequest(where: "name == 'Lima'"))
    let tokyo = try await context.materializedObject(City.self, with: .integer(1_850_147))
    let peru = try await context.findOrFetch(Country.self, where: .code, equals: "PE")

    var stored = City.sortedFetchRequest
    stored.includesPendingChanges = false  // everything as the store has it
    print(large, count, lima as Any, tokyo, peru as Any, stored)
  }

  @MainActor
  static func saving(
    _ context: ManagedObjectContext, _ country: Country, _ village: City
  ) async throws {
    let city: City = context.insertObject()
    city.name = "Poseidonis"
    city.country = Fault(country)
    context.delete(village)
    try await context.save()
    print(city.objectID.permanentID ?? "never")

    try await context.performChanges {
      city.population = 2
      country.cities.insert(city)
    }

    do throws(ContextError) {
      try await context.save()
    } catch {
      guard case .refused(let refusal) = error else { throw error }
      for failure in refusal.failures(of: city) {
        print(failure.key(City.Key.self) as Any, failure.code, failure.reason)
      }
      for conflict in refusal.conflicts { print(conflict.stored as Any, conflict.given as Any) }
    }

    try await context.refresh(city, mergeChanges: true)  // my values go over the store's now
    try await context.refresh(city, mergeChanges: false)  // the store's values, mine are gone

    try await context.mergeChanges()
  }

  @MainActor
  static func more(_ context: ManagedObjectContext) async throws {
    let swept = try await context.batchUpdate(
      City.self, where: FetchPredicate("population < %ld", 100), set: [.population: 0])
    let gone = try await context.batchDelete(City.self, where: FetchPredicate("population == 0"))
    print(swept, gone)

    let editor = ManagedObjectContext(parent: context)
    let draft = try await editor.materializedObject(City.self, with: .integer(1_850_147))
    draft.name = "Edo"
    try await editor.save()  // the parent's Tokyo is called Edo
    context.rollback()  // it is not, and the editor shows Tokyo again
  }

  struct PlainCity: Codable, Fetchable {
    static let entityName = "City"
    var id: Int?
    var name: String
    var population: Int?
  }

  @MainActor
  static func values(_ context: ManagedObjectContext, _ old: PlainCity) async throws {
    let inserted = try context.insert(PlainCity(id: nil, name: "Nara", population: 360_000))
    var changed = old
    changed.population = 9
    try context.update(changed, from: old)
    try await context.save()
    print(context.permanentID(for: inserted) ?? "never")
  }
}

private enum TransformersArticle {
  struct Address: CodableAttributeValue {
    var street: String
    var town: String
  }

  class Power: PolymorphicValue {
    class var concreteClasses: [any PolymorphicValue.Type] { [Flight.self] }
    class var className: String { "Power" }
    let name: String

    init(name: String) { self.name = name }
  }

  final class Flight: Power {
    override class var className: String { "Flight" }
    let ceiling: Int

    init(name: String, ceiling: Int) {
      self.ceiling = ceiling
      super.init(name: name)
    }

    private enum CodingKeys: String, CodingKey { case ceiling }

    required init(from decoder: any Decoder) throws {
      ceiling = try decoder.container(keyedBy: CodingKeys.self).decode(Int.self, forKey: .ceiling)
      try super.init(from: decoder)
    }

    override func encode(to encoder: any Encoder) throws {
      try super.encode(to: encoder)
      var container = encoder.container(keyedBy: CodingKeys.self)
      try container.encode(ceiling, forKey: .ceiling)
    }
  }

  struct Colour: Codable, Sendable {
    var text: String
    init(text: String) throws { self.text = text }

    static let hexadecimal = AttributeTransformer<Colour, String>(
      transform: { $0.text },
      reverseTransform: { try Colour(text: $0) })
  }

  final class Hero: ManagedObject, ManagedObjectType {
    static let entityName = "Hero"
    enum Key: String, KeyCodable { case address, power, light, dark }

    @Managed(.address) var address: Address?

    @Managed(.power) var power: Power?

    @Managed(.light, transformer: Colour.hexadecimal) var light: Colour?
    @Managed(.dark, transformer: "HexColour") var dark: Colour?
  }

  static func transformers(_ path: String, _ sealed: AttributeTransformer<Colour, Data>) throws {
    let hexadecimal = AttributeTransformer<Colour, String>(
      transform: { $0.text },
      reverseTransform: { try Colour(text: $0) })
    hexadecimal.register(as: "HexColour")

    var options = LocalStore.Options()
    options.register(sealed, as: "Sealed")
    let store = try LocalStore(path: path, options: options)
    store.close()
  }
}

private enum ObservingArticle {
  typealias City = ManagedObjectsArticle.City

  @MainActor
  static func observing(_ context: ManagedObjectContext, _ city: City) async throws {
    let controller = FetchedResultsController(
      fetchRequest: City.sortedFetchRequest, context: context, sectionKeyPath: "country.code")
    try await controller.performFetch()

    let observer = ManagedObjectObserver(city) { change in
      switch change {
      case .update: print(city.name)
      case .delete: print("gone")
      }
    }
    observer.didFail = { error in print("not followed any more: \(error)") }
    observer.cancel()

    let token = context.observe(ObjectsDidChange.self) { change in
      for city in change.updated(City.self) { print(city.name, "was assigned to") }
      for city in change.refreshed(City.self) { print(city.name, "has the store's values") }
    }
    for await event in context.events(DidSave.self) {
      print(event.inserted(City.self).count, "new cities")
    }
    token.cancel()
  }
}

@Suite("The articles about managed objects", .mayBlock)
struct ObjectArticleTests {
  @Test(
    "show nothing that is not compiled here",
    arguments: ["ManagedObjects", "Contexts", "Transformers", "Observing"])
  func examples(name: String) throws {
    let here = URL(fileURLWithPath: #filePath)
    let article = here.appendingPathComponent(
      "../../../../Sources/LiveFetch/LiveFetch.docc/\(name).md"
    ).standardized
    let source = Self.plain(try String(contentsOf: here, encoding: .utf8))
    let parts = try String(contentsOf: article, encoding: .utf8).components(separatedBy: "```")
    let blocks = parts.filter { $0.hasPrefix("swift\n") }.map {
      Self.plain(String($0.dropFirst(6)))
    }
    #expect(blocks.count >= 3)
    for block in blocks {
      #expect(source.contains(block), "\(block)")
    }
  }

  /// The lines without their common indentation.
  private static func plain(_ text: String) -> String {
    text.split(separator: "\n", omittingEmptySubsequences: false)
      .map { String($0.drop { $0 == " " }) }.joined(separator: "\n")
      .trimmingCharacters(in: .newlines)
  }
}
