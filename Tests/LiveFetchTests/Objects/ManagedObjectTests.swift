// Objects in a context: identity, properties, keys, faults, saves; in process and over HTTP alike.

import Foundation
import LiveFetch
import TestSupport
import Testing

@MainActor
@Suite("A managed object", .mayBlock)
struct ManagedObjectTests {
  typealias City = SampleCities.City
  typealias Country = SampleCities.Country
  typealias Person = SampleCities.Person

  @Test("is one instance per id in all fetches of a context", arguments: Kind.allCases)
  func uniquing(kind: Kind) async throws {
    let (sample, ids) = try await SampleCities.store(kind)
    let context = ManagedObjectContext(store: sample.store)
    let cities = try await context.fetch(City.sortedFetchRequest)
    #expect(cities.map(\.name) == ["Cusco", "Osaka", "Tokyo"])
    let again = try await context.fetch(
      City.sortedFetchRequest(where: "%K >= %ld", City.Key.population, 1_000_000))
    #expect(again.map(\.name) == ["Osaka", "Tokyo"])
    #expect(again[0] === cities[1])
    let tokyo = try #require(ids["tokyo"])
    #expect(try await context.materializedObject(City.self, with: tokyo) === cities[2])
    #expect(context.registeredObject(City.self, with: tokyo) === cities[2])
    #expect(cities[2].objectID == .permanent(tokyo))
    #expect(cities[2].population == 9_700_000)
    #expect(cities[2].latitude == nil)
  }

  @Test("is retained by its context while it has changes, and otherwise by its users only")
  func keeping() async throws {
    let (sample, ids) = try await SampleCities.store(.local)
    let context = ManagedObjectContext(store: sample.store)
    let tokyo = try #require(ids["tokyo"])
    let osaka = try #require(ids["osaka"])
    try await context.materializedObject(City.self, with: tokyo).population = 1
    _ = try await context.materializedObject(City.self, with: osaka)
    #expect(context.registeredObject(City.self, with: osaka) == nil)
    #expect(context.registeredObject(City.self, with: tokyo)?.population == 1)
    context.rollback()
    #expect(context.registeredObject(City.self, with: tokyo) == nil)
  }

  @Test("is saved, and gets a permanent id", arguments: Kind.allCases)
  func insertion(kind: Kind) async throws {
    let (sample, _) = try await SampleCities.store(kind)
    let context = ManagedObjectContext(store: sample.store)
    let city: City = context.insertObject()
    #expect(city.objectID.isTemporary)
    #expect(city.isInserted && city.name == "")
    city.name = "Poseidonis"
    city.latitude = 36.5
    let receipt = try #require(try await context.save())
    #expect(receipt.inserted == 1)
    #expect(!city.isInserted && !city.hasChanges && !context.hasChanges)
    let id = try #require(city.objectID.permanentID)
    let other = ManagedObjectContext(store: sample.store)
    let found = try await other.materializedObject(City.self, with: id)
    #expect(found.name == "Poseidonis")
    #expect(found.latitude == 36.5)
    #expect(found !== city)
  }

  @Test(
    "a to-do item titled 试试 is there when it is asked for by the id of a snapshot",
    arguments: Kind.allCases)
  func tryIt(kind: Kind) async throws {
    let sample = try await SampleStore(kind, "todo")
    let context = ManagedObjectContext(store: sample.store)
    let controller = FetchedResultsController(
      fetchRequest: ToDo.Item.sortedFetchRequest, context: context)
    try await controller.performFetch()
    let item: ToDo.Item = context.insertObject()
    item.title = "试试"
    #expect(controller.fetchedObjects?.isEmpty == true)
    try await context.save()
    try await eventually { controller.snapshot?.numberOfItems == 1 }
    let id = try #require(controller.snapshot?.itemIdentifiers.first)
    #expect(context.registeredObject(ToDo.Item.self, with: id) === item)
    #expect(controller.fetchedObjects?.first === item)
    let later = ManagedObjectContext(store: sample.store)
    #expect(try await later.materializedObject(ToDo.Item.self, with: id).title == "试试")
  }

  @Test("returns changed and committed values by keys")
  func keys() async throws {
    let (sample, ids) = try await SampleCities.store(.local)
    let context = ManagedObjectContext(store: sample.store)
    let city = try await context.materializedObject(City.self, with: #require(ids["osaka"]))
    #expect(city.changedValues().isEmpty)
    city.population = 5
    city.setValue("Ōsaka", for: .name)
    #expect(city.name == "Ōsaka")
    #expect(city.changedValues() == [.population: .number("5"), .name: .string("Ōsaka")])
    #expect(city.committedValue(for: .population) == .number("2700000"))
    #expect(try city.value(Int.self, for: .population) == 5)
    #expect(city.value(for: .name) == .string("Ōsaka"))
    #expect(throws: UnreadableValue("is a string, not a whole number")) {
      try city.value(Int.self, for: .name)
    }
    city.population = 2_700_000
    city.name = "Osaka"
    #expect(!city.hasChanges && !context.hasChanges)
  }

  @Test("shows related objects as faults until they are materialized", arguments: Kind.allCases)
  func faults(kind: Kind) async throws {
    let (sample, ids) = try await SampleCities.store(kind)
    let context = ManagedObjectContext(store: sample.store)
    let city = try await context.materializedObject(City.self, with: #require(ids["tokyo"]))
    #expect(city.hasFault(forRelationship: .mayor))
    #expect(city.mayor?.id.permanentID == ids["yuriko"])
    #expect(city.mayor?.object == nil)
    let mayor = try await city.mayor?.materialize()
    #expect(mayor?.name == "Yuriko")
    #expect(!city.hasFault(forRelationship: .mayor))
    #expect(city.mayor?.object === mayor)
    #expect(mayor?.mayorOf?.object === city)
    let osaka = try await context.materializedObject(City.self, with: #require(ids["osaka"]))
    #expect(osaka.mayor == nil)
    #expect(!osaka.hasFault(forRelationship: .mayor))

    let japan = try await city.country?.materialize()
    #expect(japan?.cities.ids == nil)
    #expect(japan?.hasFault(forRelationship: .cities) == true)
    #expect(try await japan?.cities.materialize().map(\.name) == ["Tokyo", "Osaka"])
    #expect(japan?.cities.count == 2)
    #expect(japan?.hasFault(forRelationship: .cities) == false)
    let gone = context.object(City.self, with: .integer(777_777))
    await #expect(throws: ContextError.self) { _ = try await gone.materialize() }
  }

  @Test("is prefetched with the objects that refer to it", arguments: Kind.allCases)
  func prefetching(kind: Kind) async throws {
    let (sample, _) = try await SampleCities.store(kind)
    let context = ManagedObjectContext(store: sample.store)
    var request = Country.sortedFetchRequest
    request.relationshipsToPrefetch = ["cities"]
    request.relationshipsToPrefetch.append("cities.mayor")
    let countries = try await context.fetch(request)
    #expect(countries.map { $0.cities.objects?.map(\.name) } == [["Tokyo", "Osaka"], ["Cusco"]])
    #expect(countries[0].cities.objects?[0].mayor?.object?.name == "Yuriko")
  }

  @Test(
    "of a subentity is prefetched through a relationship to its parent entity",
    arguments: Kind.allCases)
  func prefetchingSubentities(kind: Kind) async throws {
    let sample = try await SampleStore(kind, "heroes")
    try await sample.save(
      """
      {"insert":"Hero","temporaryID":"mentor","values":{"name":"Mentor","power":7}},
      {"insert":"Hero","values":{"name":"Pupil","mentor":{"temporaryID":"mentor"}}}
      """)
    let context = ManagedObjectContext(store: sample.store)
    var request = Heroes.Hero.sortedFetchRequest(where: "name == 'Pupil'")
    request.relationshipsToPrefetch = ["mentor"]
    let pupil = try #require(try await context.fetch(request).first)
    #expect((pupil.mentor?.object as? Heroes.Hero)?.power == 7)
    #expect(context.unreadableObjects.isEmpty)
  }

  @Test("is meant by faults that were made before it was saved")
  func faultsBeforeSave() async throws {
    let (sample, ids) = try await SampleCities.store(.local)
    let context = ManagedObjectContext(store: sample.store)
    let mayor: Person = context.insertObject()
    mayor.name = "Plato"
    let city: City = context.insertObject()
    city.name = "Poseidonis"
    let made = Fault(mayor)
    city.mayor = made
    let read = try #require(city.mayor)
    try await context.save()
    #expect(read.id == mayor.objectID && !read.id.isTemporary && read.object === mayor)
    #expect(try await read.materialize() === mayor)
    let osaka = try await context.materializedObject(City.self, with: #require(ids["osaka"]))
    osaka.mayor = made
    try await context.save()
    #expect(osaka.mayor?.object === mayor)
  }

  @Test("has no change once a value that cannot be stored is set back")
  func setBack() async throws {
    let (sample, ids) = try await SampleCities.store(.local)
    let context = ManagedObjectContext(store: sample.store)
    let city = try await context.materializedObject(City.self, with: #require(ids["osaka"]))
    city.latitude = .nan
    #expect(context.hasChanges)
    city.latitude = nil
    #expect(!context.hasChanges && !city.hasChanges)
  }

  @Test("new objects may refer to each other", arguments: Kind.allCases)
  func newRelations(kind: Kind) async throws {
    let (sample, _) = try await SampleCities.store(kind)
    let context = ManagedObjectContext(store: sample.store)
    let country: Country = context.insertObject()
    (country.code, country.name) = ("AT2", "Atlantica")
    let city: City = context.insertObject()
    city.name = "Poseidonis"
    city.country = Fault(country)
    let mayor: Person = context.insertObject()
    mayor.name = "Plato"
    city.mayor = Fault(mayor)
    let second: City = context.insertObject()
    second.name = "Kerne"
    country.cities.insert(second)
    #expect(city.country?.object === country)
    #expect(country.cities.objects?.map(\.name) == ["Kerne"])
    try await context.save()
    #expect(city.country?.id == country.objectID && !country.objectID.isTemporary)
    #expect(second.country?.object === country)
    #expect(mayor.mayorOf?.object === city)
    #expect(try await country.cities.materialize().map(\.name).sorted() == ["Kerne", "Poseidonis"])
    country.cities.remove(second)
    try await context.save()
    #expect(second.country == nil)
    #expect(country.cities.ids == [city.objectID])
  }

  @Test("is deleted with the object whose deletion cascades to it", arguments: Kind.allCases)
  func propagation(kind: Kind) async throws {
    let sample = try await SampleStore(kind, "todo")
    let context = ManagedObjectContext(store: sample.store)
    let list: ToDo.List = context.insertObject()
    list.title = "Home"
    let items = ["Sweep", "Cook"].map { title in
      let item: ToDo.Item = context.insertObject()
      item.title = title
      return item
    }
    list.items.replace(with: items)
    try await context.save()
    #expect(list.itemCount == 2)
    #expect(list.items.objects == items)
    #expect(items[0].list?.object === list)
    list.items.replace(with: items.reversed())
    try await context.save()
    #expect(try await list.items.materialize().map(\.title) == ["Cook", "Sweep"])
    var deleted: Set<ToDo.Item> = []
    let token = context.observe(ObjectsDidChange.self) {
      deleted.formUnion($0.deleted(ToDo.Item.self))
    }
    context.delete(list)
    #expect(list.isDeleted)
    try await context.save()
    #expect(deleted == Set(items))
    #expect(items.allSatisfy { $0.isDeleted && $0.managedObjectContext == nil })
    #expect(items[0].title == "Sweep")
    token.cancel()
  }

  @Test(
    "may be deleted together with its owner, or when it is already deleted",
    arguments: Kind.allCases)
  func repeatedDeletion(kind: Kind) async throws {
    let sample = try await SampleStore(kind, "todo")
    let context = ManagedObjectContext(store: sample.store)
    let list: ToDo.List = context.insertObject()
    list.title = "Home"
    let item: ToDo.Item = context.insertObject()
    item.title = "Sweep"
    item.list = Fault(list)
    let other: ToDo.Item = context.insertObject()
    other.title = "Cook"
    try await context.save()
    try await sample.save(#"{"delete":"Item","id":\#(try #require(other.objectID.permanentID))}"#)
    context.delete(list)
    context.delete(item)
    context.delete(other)
    try await context.save()
    #expect(!context.hasChanges && context.registeredObjects.isEmpty)
    #expect(try await context.count(ToDo.Item.sortedFetchRequest) == 0)
  }

  @Test("of a subentity is fetched by the order and the predicate that its class declares")
  func defaultsOfSubentities() async throws {
    let store = try LocalStore.inMemory(ModelFile(of: [Craft.self]))
    let context = ManagedObjectContext(store: store)
    for (name, isSunk) in [("Argo", false), ("Vasa", true), ("Bounty", false)] {
      let ship: Ship = context.insertObject()
      (ship.name, ship.isSunk) = (name, isSunk)
    }
    try await context.save()
    #expect(try await context.fetch(Ship.sortedFetchRequest).map(\.name) == ["Bounty", "Argo"])
    #expect(try await context.fetch(FetchRequest<Ship>()).map(\.name) == ["Bounty", "Argo"])
    #expect(try await context.count(Craft.sortedFetchRequest) == 3)
    store.close()
  }

  @Test("is refused where the store holds another type than is declared")
  func mistyped() async throws {
    let cities = try Cities(.local)
    let context = ManagedObjectContext(store: cities.store)
    do {
      _ = try await context.fetch(MistypedCity.sortedFetchRequest)
      Issue.record("it was made")
    } catch {
      guard case .materialization(let error) = error else { throw error }
      #expect(error.reason == "`name` is a string, not a whole number")
    }
    let readable = try await context.fetch(LenientCity.sortedFetchRequest(where: "id == 1"))
    #expect(
      readable.map(\.name) == [.failure(UnreadableValue("is a string, not a whole number"))])
  }
}

private final class MistypedCity: ManagedObject, ManagedObjectType {
  static let entityName = "City"
  enum Key: String, KeyCodable { case name }
  @Managed(.name) var name = 0
}

private final class LenientCity: ManagedObject, ManagedObjectType {
  static let entityName = "City"
  enum Key: String, KeyCodable { case name }
  @Managed(.name) var name: Result<Int, UnreadableValue> = .success(0)
}

private class Craft: ManagedObject, ManagedEntity {
  class var entityName: String { "Craft" }
  class var subentities: [any ManagedEntity.Type] { [Ship.self] }
  enum CraftKey: String, KeyCodable { case name, isSunk }
  @ManagedAttribute(CraftKey.name) var name = ""
  @ManagedAttribute(CraftKey.isSunk) var isSunk = false
}

private final class Ship: Craft, ManagedObjectType {
  override class var entityName: String { "Ship" }
  static var defaultSortDescriptors: [SortTerm] { [.descending(Key.name)] }
  static var defaultPredicate: FetchPredicate? { FetchPredicate("isSunk == FALSE") }
  enum Key: String, KeyCodable { case name, isSunk, masts }
  @Managed(.masts) var masts = 1
}
