// A context fetches, saves and merges objects, with a local store and over HTTP.

import Foundation
import LiveFetch
import LiveFetchPredicates
import TestSupport
import Testing

@MainActor
@Suite("A context", .mayBlock)
struct ContextTests {
  typealias City = SampleCities.City
  typealias Country = SampleCities.Country
  typealias PlainCity = SampleCities.PlainCity

  @Test("fetches by keys, builder and values", arguments: Kind.allCases)
  func fetching(kind: Kind) async throws {
    let (sample, _) = try await SampleCities.store(kind)
    let context = ManagedObjectContext(store: sample.store)
    #expect(try await context.count(City.sortedFetchRequest) == 3)
    let large = City.sortedFetchRequest(
      where: SampleCities.CityKeys.predicate(\.population >= 1_000_000 && \.name != "Osaka"))
    #expect(try await context.fetch(large).map(\.name) == ["Tokyo"])
    #expect(try await context.fetchSingleObject(large)?.name == "Tokyo")
    let translated = try FetchRequest(where: #Predicate<SampleCities.City> { $0.name == "Osaka" })
    #expect(try await context.fetch(translated).map(\.population) == [2_700_000])
    let none = City.sortedFetchRequest(where: "name == %@", "Nowhere")
    #expect(try await context.fetchSingleObject(none) == nil)
    do {
      _ = try await context.fetchSingleObject(City.sortedFetchRequest)
      Issue.record("one of three objects was returned")
    } catch {
      guard case .notUnique(entity: "City") = error else { throw error }
    }
    let peru = try await context.findOrFetch(Country.self, where: .code, equals: "PE")
    #expect(peru?.name == "Peru")
    #expect(try await context.findOrFetch(Country.self, where: .code, equals: "XX") == nil)
    let plain = try await context.fetch(PlainCity.sortedFetchRequest(where: "name == 'Cusco'"))
    #expect(plain.map(\.population) == [430_000])
    do {
      _ = try await context.fetch(City.sortedFetchRequest(where: "popluation > 1"))
      Issue.record("it was not refused")
    } catch {
      guard case .store(let error) = error else { throw error }
      #expect(error.code == "unknown-key-path")
    }
  }

  @Test("finds an object by its key, or inserts one", arguments: Kind.allCases)
  func findOrCreate(kind: Kind) async throws {
    let (sample, _) = try await SampleCities.store(kind)
    let context = ManagedObjectContext(store: sample.store)
    let mali = try await context.findOrCreate(Country.self, where: .code, equals: "ML") {
      $0.name = "Mali"
    }
    #expect(mali.isInserted && mali.code == "ML" && mali.name == "Mali")
    let again = try await context.findOrCreate(Country.self, where: .code, equals: "ML")
    #expect(again === mali)
    try await context.save()
    #expect(try await context.count(Country.sortedFetchRequest) == 3)
  }

  @Test("performs all changes of a block, or none of them", arguments: Kind.allCases)
  func performing(kind: Kind) async throws {
    let (sample, _) = try await SampleCities.store(kind)
    let context = ManagedObjectContext(store: sample.store)
    let country = try await context.performChanges {
      let country: Country = context.insertObject()
      (country.code, country.name) = ("ML", "Mali")
      return country
    }
    #expect(!country.objectID.isTemporary)
    await #expect(throws: ContextError.self) {
      try await context.performChanges {
        country.name = "Mali Federation"
        let other: Country = context.insertObject()
        other.code = "much too long"
      }
    }
    #expect(country.name == "Mali")
    #expect(!context.hasChanges)
    #expect(try await context.count(Country.sortedFetchRequest) == 3)
  }

  @Test("a refused save keeps the changes of blocks that ran during it", arguments: Kind.allCases)
  func performingTwice(kind: Kind) async throws {
    let (sample, ids) = try await SampleCities.store(kind)
    let context = ManagedObjectContext(store: sample.store)
    let osaka = try await context.materializedObject(City.self, with: #require(ids["osaka"]))
    let refused = Task { @MainActor in
      try await context.performChanges {
        let other: Country = context.insertObject()
        other.code = "much too long"
      }
    }
    await Task.yield()
    try await context.performChanges { osaka.population = 5 }
    await #expect(throws: ContextError.self) { try await refused.value }
    #expect(osaka.population == 5)
    let fresh = ManagedObjectContext(store: sample.store)
    let stored = try await fresh.materializedObject(City.self, with: #require(ids["osaka"]))
    #expect(stored.population == 5)
  }

  @Test("saves plain values together with objects", arguments: Kind.allCases)
  func values(kind: Kind) async throws {
    let (sample, ids) = try await SampleCities.store(kind)
    let context = ManagedObjectContext(store: sample.store)
    let inserted = try context.insert(PlainCity(id: nil, name: "Nara", population: 360_000))
    let kyoto: City = context.insertObject()
    kyoto.name = "Kyoto"
    let old = try await context.fetch(PlainCity.sortedFetchRequest(where: "name == 'Osaka'"))
    var osaka = try #require(old.first)
    osaka.population = nil
    try context.update(osaka, from: old[0])
    context.delete(PlainCity.self, with: try #require(ids["cusco"]))
    let receipt = try #require(try await context.save())
    #expect((receipt.inserted, receipt.updated, receipt.deleted) == (2, 1, 1))
    let id = try #require(context.permanentID(for: inserted))
    #expect(try await context.materializedObject(City.self, with: id).name == "Nara")
    let cities = try await context.fetch(
      FetchRequest<PlainCity>(sortedBy: [.ascending("name")]))
    #expect(cities.map(\.name) == ["Kyoto", "Nara", "Osaka", "Tokyo"])
    #expect(cities[2].population == nil)
  }

  @Test("writes all properties of a plain value without its old one", arguments: Kind.allCases)
  func wholeValue(kind: Kind) async throws {
    let (sample, _) = try await SampleCities.store(kind)
    let context = ManagedObjectContext(store: sample.store)
    let osakas = PlainCity.sortedFetchRequest(where: "name == 'Osaka'")
    var osaka = try #require(try await context.fetch(osakas).first)
    osaka.population = nil
    try context.update(osaka)
    try await context.save()
    #expect(try await context.fetch(osakas).map(\.population) == [nil])
  }

  @Test(
    "refuses a plain value that another client changed after it was read",
    arguments: Kind.allCases)
  func outdatedValue(kind: Kind) async throws {
    let (sample, ids) = try await SampleCities.store(kind)
    let context = ManagedObjectContext(store: sample.store)
    let osakas = PlainCity.sortedFetchRequest(where: "name == 'Osaka'")
    let old = try #require(try await context.fetch(osakas).first)
    var new = old
    new.name = "Ōsaka"
    try await sample.save(
      #"{"update":"City","id":\#(try #require(ids["osaka"])),"values":{"name":"Naniwa"}}"#)
    try context.update(new, from: old)
    do {
      try await context.save()
      Issue.record("it was not refused")
    } catch {
      guard case .refused(let refusal) = error else { throw error }
      #expect(refusal.conflicts.map(\.stored) == [.string("Naniwa")])
      #expect(refusal.conflicts.map(\.objectID) == [ids["osaka"].map { .permanent($0) }])
    }
  }

  @Test("updates and deletes all objects that match", arguments: Kind.allCases)
  func batches(kind: Kind) async throws {
    let (sample, _) = try await SampleCities.store(kind)
    let context = ManagedObjectContext(store: sample.store)
    let cities = try await context.fetch(City.sortedFetchRequest)
    let updated = try await context.batchUpdate(
      City.self,
      where: FetchPredicate("population > %ld AND name IN %@", 1_000_000, ["Osaka", "Tokyo"]),
      set: [.population: 7, .latitude: 1.5])
    #expect(updated == 2)
    #expect(cities.map(\.population) == [430_000, 7, 7])
    #expect(cities.map(\.latitude) == [nil, 1.5, 1.5])
    let deleted = try await context.batchDelete(City.self, where: FetchPredicate("population == 7"))
    #expect(deleted == 2)
    #expect(cities.map(\.isDeleted) == [false, true, true])
    do {
      try await context.batchDelete(City.self, where: FetchPredicate("popluation == 7"))
      Issue.record("it was not refused")
    } catch {
      guard case .store(let error) = error else { throw error }
      #expect(error.code == "unknown-key-path")
    }
  }

  @Test("saves its changes into its parent", arguments: Kind.allCases)
  func children(kind: Kind) async throws {
    let (sample, ids) = try await SampleCities.store(kind)
    let parent = ManagedObjectContext(store: sample.store)
    let osaka = try #require(ids["osaka"])
    let tokyo = try #require(ids["tokyo"])
    let parentOsaka = try await parent.materializedObject(City.self, with: osaka)
    parentOsaka.name = "Naniwa"
    let child = ManagedObjectContext(parent: parent)
    let childOsaka = try await child.materializedObject(City.self, with: osaka)
    #expect(childOsaka.name == "Naniwa", "the parent's unsaved value")
    childOsaka.population = 5
    let city: City = child.insertObject()
    city.name = "Nara"
    let country: Country = child.insertObject()
    (country.code, country.name) = ("YM", "Yamato")
    city.country = Fault(country)
    child.delete(try await child.materializedObject(City.self, with: tokyo))
    #expect(parentOsaka.population == 2_700_000)
    #expect(try await child.save() == nil)
    #expect(!child.hasChanges && parent.hasChanges)
    #expect(parentOsaka.population == 5)
    #expect(city.objectID.isTemporary)
    let twin = parent.insertedObjects.compactMap { $0 as? City }.first
    #expect(twin?.name == "Nara" && twin !== city)
    #expect(twin?.country?.object?.name == "Yamato")
    var stored = City.sortedFetchRequest
    stored.includesPendingChanges = false
    #expect(try await parent.count(stored) == 3, "the store has no change of the child")
    let receipt = try #require(try await parent.save())
    #expect((receipt.inserted, receipt.updated, receipt.deleted) == (2, 1, 1))
    #expect(city.objectID == twin?.objectID && !city.objectID.isTemporary)
    #expect(city.country?.id == country.objectID && !country.objectID.isTemporary)
    #expect(city.country?.object === country)
    city.population = 9
    try await child.save()
    try await parent.save()
    let fresh = try await ManagedObjectContext(store: sample.store)
      .fetch(City.sortedFetchRequest)
    #expect(fresh.map(\.name) == ["Cusco", "Naniwa", "Nara"])
    #expect(fresh.map(\.population) == [430_000, 5, 9])
  }

  @Test(
    "a child's rollback discards the child's changes only; rollback and reset discard the context's"
  )
  func discarding() async throws {
    let (sample, ids) = try await SampleCities.store(.local)
    let context = ManagedObjectContext(store: sample.store)
    let city = try await context.materializedObject(City.self, with: #require(ids["osaka"]))
    let child = ManagedObjectContext(parent: context)
    try await child.materializedObject(City.self, with: #require(ids["osaka"])).population = 1
    child.rollback()
    #expect(!context.hasChanges && city.population == 2_700_000)
    let new: City = context.insertObject()
    city.population = 2
    context.delete(city)
    context.rollback()
    #expect(new.managedObjectContext == nil && !new.isInserted)
    #expect(!city.isDeleted && city.population == 2_700_000)
    context.reset()
    #expect(city.managedObjectContext == nil && city.name == "Osaka")
    #expect(context.registeredObjects.isEmpty)
    let again = try await context.materializedObject(City.self, with: #require(ids["osaka"]))
    #expect(again !== city)
  }

  @Test("assigns permanent ids before a save on request", arguments: Kind.allCases)
  func permanentIDs(kind: Kind) async throws {
    let (sample, _) = try await SampleCities.store(kind)
    let context = ManagedObjectContext(store: sample.store)
    let country: Country = context.insertObject()
    (country.code, country.name) = ("ML", "Mali")
    let city: City = context.insertObject()
    city.name = "Bamako"
    city.country = Fault(country)
    context.obtainPermanentIDs(for: [country])
    let id = try #require(country.objectID.permanentID)
    #expect(city.country?.id == .permanent(id))
    #expect(city.country?.object === country)
    try await context.save()
    #expect(country.objectID == .permanent(id))
    let other = ManagedObjectContext(store: sample.store)
    #expect(try await other.materializedObject(Country.self, with: id).name == "Mali")
  }

  /// A city whose save changes its country.
  final class CountedCity: ManagedObject, ManagedObjectType {
    static let entityName = "City"
    enum Key: String, KeyCodable { case name, country }
    @Managed(.name) var name = ""
    @ManagedToOne(.country) var country: Fault<CountedCountry>?

    override func willSave() { country?.object?.population = 1 }
  }

  final class CountedCountry: ManagedObject, ManagedObjectType {
    static let entityName = "Country"
    enum Key: String, KeyCodable { case name, population }
    @Managed(.name) var name = ""
    @Managed(.population) var population: Int?

    override func willSave() { name = "Counted" }
  }

  @Test("prepares the objects that change while others are prepared for a save")
  func preparation() async throws {
    let (sample, ids) = try await SampleCities.store(.local)
    let context = ManagedObjectContext(store: sample.store)
    let osaka = try await context.materializedObject(
      CountedCity.self, with: #require(ids["osaka"]))
    let japan = try await osaka.country?.materialize()
    osaka.name = "Naniwa"
    try await context.save()
    #expect(japan?.name == "Counted" && japan?.population == 1)
    #expect(!context.hasChanges)
  }

  @Test(
    "runs one save after the other, and keeps values that are assigned during a save",
    arguments: Kind.allCases)
  func overlappingSaves(kind: Kind) async throws {
    let (sample, ids) = try await SampleCities.store(kind)
    let context = ManagedObjectContext(store: sample.store)
    let city = try await context.materializedObject(City.self, with: #require(ids["osaka"]))
    city.population = 1
    let first = Task { try await context.save() }
    let second = Task {
      city.population = 2
      try await context.save()
    }
    _ = try await (first.value, second.value)
    #expect(city.population == 2 && !context.hasChanges)
    let fresh = try await ManagedObjectContext(store: sample.store)
      .materializedObject(City.self, with: #require(ids["osaka"]))
    #expect(fresh.population == 2)
  }
}
