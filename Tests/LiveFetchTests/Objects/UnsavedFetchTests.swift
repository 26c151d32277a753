// Fetches of a context with unsaved changes: the objects found, their order and the window.

import Foundation
import LiveFetch
import TestSupport
import Testing

@MainActor
@Suite("A fetch with unsaved changes", .mayBlock)
struct UnsavedFetchTests {
  typealias City = SampleCities.City
  typealias Country = SampleCities.Country

  private static let byPopulation = FetchRequest<City>(sortedBy: [.descending("population")])

  @Test("finds new objects that match, where they belong", arguments: Kind.allCases)
  func insertions(kind: Kind) async throws {
    let (sample, _) = try await SampleCities.store(kind)
    let context = ManagedObjectContext(store: sample.store)
    let nara: City = context.insertObject()
    (nara.name, nara.population) = ("Nara", 5_000_000)
    let village: City = context.insertObject()
    (village.name, village.population) = ("Asuka", 5000)
    let large = FetchRequest<City>(
      where: FetchPredicate("population >= %ld", 1_000_000), sortedBy: [.descending("population")])
    #expect(try await context.fetch(large).map(\.name) == ["Tokyo", "Nara", "Osaka"])
    #expect(try await context.fetch(large)[1] === nara)
    #expect(try await context.count(large) == 3)
    let named = City.sortedFetchRequest(where: "name == 'Nara'")
    #expect(try await context.fetchSingleObject(named) === nara)
    var stored = large
    stored.includesPendingChanges = false
    #expect(try await context.fetch(stored).map(\.name) == ["Tokyo", "Osaka"])
    #expect(try await context.count(stored) == 2)
    try await context.save()
    #expect(try await context.fetch(large).map(\.name) == ["Tokyo", "Nara", "Osaka"])
  }

  @Test("evaluates changed objects by their unsaved values", arguments: Kind.allCases)
  func updates(kind: Kind) async throws {
    let (sample, ids) = try await SampleCities.store(kind)
    let context = ManagedObjectContext(store: sample.store)
    let osaka = try await context.materializedObject(City.self, with: #require(ids["osaka"]))
    let cusco = try await context.materializedObject(City.self, with: #require(ids["cusco"]))
    osaka.population = 3
    cusco.population = 20_000_000
    let large = FetchRequest<City>(
      where: FetchPredicate("population >= %ld", 1_000_000), sortedBy: [.descending("population")])
    #expect(try await context.fetch(large).map(\.name) == ["Cusco", "Tokyo"])
    #expect(try await context.count(large) == 2)
    // Read again with the edits kept, and with the edits discarded.
    try await context.refresh(osaka, mergeChanges: true)
    #expect(try await context.count(large) == 2)
    try await context.refresh(osaka, mergeChanges: false)
    #expect(try await context.fetch(large).map(\.name) == ["Cusco", "Tokyo", "Osaka"])
    context.rollback()
    #expect(try await context.fetch(large).map(\.name) == ["Tokyo", "Osaka"])
  }

  @Test("leaves out what is to be deleted, and its window is full", arguments: Kind.allCases)
  func windows(kind: Kind) async throws {
    let (sample, ids) = try await SampleCities.store(kind)
    let context = ManagedObjectContext(store: sample.store)
    context.delete(try await context.materializedObject(City.self, with: #require(ids["tokyo"])))
    var request = Self.byPopulation
    request.fetchLimit = 1
    #expect(try await context.fetch(request).map(\.name) == ["Osaka"])
    request.fetchOffset = 1
    #expect(try await context.fetch(request).map(\.name) == ["Cusco"])
    let nara: City = context.insertObject()
    (nara.name, nara.population) = ("Nara", 1_000_000)
    #expect(try await context.fetch(request).map(\.name) == ["Nara"])
    request.fetchOffset = 2
    request.fetchLimit = 5
    #expect(try await context.fetch(request).map(\.name) == ["Cusco"])
    #expect(try await context.count(request) == 1)
    request.fetchOffset = 9
    #expect(try await context.count(request) == 0)
    #expect(try await context.fetch(request).isEmpty)
  }

  @Test("follows relationships of changed objects, fetching what is not in memory")
  func relationships() async throws {
    let (sample, ids) = try await SampleCities.store(.local)
    let context = ManagedObjectContext(store: sample.store)
    let osaka = try await context.materializedObject(City.self, with: #require(ids["osaka"]))
    osaka.country = context.object(Country.self, with: try #require(ids["pe"]))
    let inPeru = City.sortedFetchRequest(where: "country.code == 'PE'")
    #expect(try await context.fetch(inPeru).map(\.name) == ["Cusco", "Osaka"])
    let aotearoa: Country = context.insertObject()
    (aotearoa.code, aotearoa.name) = ("NZ", "Aotearoa")
    let tokyo = try await context.materializedObject(City.self, with: #require(ids["tokyo"]))
    tokyo.country = Fault(aotearoa)
    let byCountry = FetchRequest<City>(sortedBy: [.descending("country.name"), .ascending("name")])
    #expect(try await context.fetch(byCountry).map(\.name) == ["Cusco", "Osaka", "Tokyo"])
    #expect(
      try await context.fetch(City.sortedFetchRequest(where: "country.name == 'Aotearoa'"))
        == [tokyo])
    let japan = try await context.materializedObject(Country.self, with: #require(ids["jp"]))
    let crowded = Country.sortedFetchRequest(where: "ANY cities.population > 5000000")
    #expect(try await context.fetch(crowded) == [japan], "the store's word about its cities")
    japan.cities.remove(tokyo)
    #expect(try await context.fetch(crowded).isEmpty)
    aotearoa.cities.insert(tokyo)
    #expect(try await context.fetch(crowded) == [aotearoa])
    #expect(
      try await context.count(Country.sortedFetchRequest(where: "cities.@count >= 1")) == 3)
    try await context.save()
    #expect(try await context.fetch(crowded) == [aotearoa])
  }

  final class Shelf: ManagedObject, ManagedObjectType {
    static let entityName = "Shelf"
    enum Key: String, KeyCodable { case name, boxes }
    @Managed(.name) var name = ""
    @ManagedToMany(.boxes) var boxes: ToManyProxy<Box>
  }

  final class Box: ManagedObject, ManagedObjectType {
    static let entityName = "Box"
    enum Key: String, KeyCodable { case number, shelf, parts }
    @Managed(.number) var number = 0
    @ManagedToOne(.shelf) var shelf: Fault<Shelf>?
    @ManagedToMany(.parts) var parts: ToManyProxy<Part>
  }

  final class Part: ManagedObject, ManagedObjectType {
    static let entityName = "Part"
    enum Key: String, KeyCodable { case weight, box }
    @Managed(.weight) var weight = 0
    @ManagedToOne(.box) var box: Fault<Box>?
  }

  @Test("follows two lists, one of them with many members that are not in memory")
  func membersOfMembers() async throws {
    let store = try LocalStore.inMemory(ModelFile(of: [Shelf.self]))
    defer { store.close() }
    let writer = ManagedObjectContext(store: store)
    for weight in 0..<40 {
      let box: Box = writer.insertObject()
      let part: Part = writer.insertObject()
      (part.weight, part.box) = (weight, Fault(box))
    }
    try await writer.save()
    let context = ManagedObjectContext(store: store)
    let shelf: Shelf = context.insertObject()
    shelf.boxes.replace(with: try await context.fetch(Box.sortedFetchRequest))
    let heavy = Shelf.sortedFetchRequest(where: "ANY boxes.parts.weight == 39")
    #expect(try await context.fetch(heavy) == [shelf])
    let heavier = Shelf.sortedFetchRequest(where: "ANY boxes.parts.weight == 40")
    #expect(try await context.fetch(heavier).isEmpty)
  }

  @Test("leaves out a changed object that another client has deleted")
  func deletedElsewhere() async throws {
    let (sample, ids) = try await SampleCities.store(.local)
    let context = ManagedObjectContext(store: sample.store)
    let peru = try #require(ids["pe"])
    try await context.materializedObject(Country.self, with: peru).name = "Perú"
    try await sample.save(
      """
      {"delete":"City","id":\(try #require(ids["cusco"]))},{"delete":"Country","id":\(peru)}
      """)
    let inhabited = Country.sortedFetchRequest(where: "ANY cities.population > 1000")
    #expect(try await context.fetch(inhabited).map(\.code) == ["JP"])
  }

  @Test("uses the store's result for properties that the classes do not declare")
  func undeclared() async throws {
    let (sample, ids) = try await SampleCities.store(.local)
    let context = ManagedObjectContext(store: sample.store)
    let osaka = try await context.materializedObject(City.self, with: #require(ids["osaka"]))
    osaka.population = 3
    let tokyo = try await context.materializedObject(City.self, with: #require(ids["tokyo"]))
    context.delete(tokyo)
    let nara: City = context.insertObject()
    nara.name = "Nara"
    var request = City.sortedFetchRequest(where: "country.capital == nil")
    request.fetchLimit = 2
    #expect(try await context.fetch(request).map(\.name) == ["Cusco", "Osaka"])
    await #expect(throws: ContextError.self) {
      _ = try await context.fetch(City.sortedFetchRequest(where: "nonsense == 1"))
    }
  }

  @Test("of a child sees what the contexts above have not saved")
  func children() async throws {
    let (sample, ids) = try await SampleCities.store(.local)
    let parent = ManagedObjectContext(store: sample.store)
    let nara: City = parent.insertObject()
    (nara.name, nara.population) = ("Nara", 5_000_000)
    try await parent.materializedObject(City.self, with: #require(ids["osaka"])).population = 1
    parent.delete(try await parent.materializedObject(City.self, with: #require(ids["tokyo"])))
    let child = ManagedObjectContext(parent: ManagedObjectContext(parent: parent))
    let found = try await child.fetch(Self.byPopulation)
    #expect(found.map(\.name) == ["Nara", "Cusco", "Osaka"])
    #expect(found.allSatisfy { $0.managedObjectContext === child })
    #expect(try await child.count(Self.byPopulation) == 3)
    #expect(try await child.findOrFetch(City.self, where: .name, equals: "Tokyo") == nil)
    let again = try await child.findOrCreate(City.self, where: .name, equals: "Nara")
    #expect(again === found[0])
  }

  @Test("of a child leaves out what its parent deletes and the child edited")
  func deletedAbove() async throws {
    let (sample, ids) = try await SampleCities.store(.local)
    let parent = ManagedObjectContext(store: sample.store)
    let child = ManagedObjectContext(parent: parent)
    let id = try #require(ids["tokyo"])
    try await child.materializedObject(City.self, with: id).name = "Edo"
    let edited = try #require(child.updatedObjects.first)
    parent.delete(try await parent.materializedObject(City.self, with: id))
    #expect(try await child.fetch(Self.byPopulation).map(\.name) == ["Osaka", "Cusco"])
    #expect(try await child.count(Self.byPopulation) == 2)
    var request = Self.byPopulation
    request.fetchLimit = 1
    #expect(try await child.fetch(request).map(\.name) == ["Osaka"])
    let controller = FetchedResultsController(fetchRequest: Self.byPopulation, context: child)
    controller.includesPendingChanges = true
    try await controller.performFetch()
    #expect(controller.fetchedObjects?.map(\.name) == ["Osaka", "Cusco"])
    withExtendedLifetime(edited) {}
  }

  @Test("findOrCreate uses the unsaved objects of the context", arguments: Kind.allCases)
  func findOrCreate(kind: Kind) async throws {
    let (sample, ids) = try await SampleCities.store(kind)
    let context = ManagedObjectContext(store: sample.store)
    let peru = try await context.materializedObject(Country.self, with: #require(ids["pe"]))
    peru.code = "P2"
    #expect(try await context.findOrFetch(Country.self, where: .code, equals: "PE") == nil)
    #expect(try await context.findOrFetch(Country.self, where: .code, equals: "P2") === peru)
    let other = try await context.findOrCreate(Country.self, where: .code, equals: "PE")
    #expect(other.isInserted && other !== peru)
    context.delete(peru)
    #expect(try await context.findOrFetch(Country.self, where: .code, equals: "P2") == nil)
    context.delete(other)
    let third = try await context.findOrCreate(Country.self, where: .code, equals: "PE")
    #expect(third !== other && third.isInserted)
    context.rollback()
    #expect(try await context.findOrFetch(Country.self, where: .code, equals: "PE") === peru)
  }

  @Test("applies the class's default predicate to unsaved objects")
  func defaultPredicate() async throws {
    let sample = try await SampleStore(.local, "todo")
    try await sample.save(#"{"insert":"Item","values":{"title":"Bread","done":false}}"#)
    let context = ManagedObjectContext(store: sample.store)
    let open = ToDo.OpenItem.self
    let bread = try #require(
      try await context.findOrFetch(open, where: .title, equals: "Bread"))
    #expect(try await context.findOrFetch(open, where: .title, equals: "Bread") === bread)
    bread.done = true
    #expect(try await context.findOrFetch(open, where: .title, equals: "Bread") == nil)
    #expect(try await context.count(open.sortedFetchRequest) == 0)
    var all = open.sortedFetchRequest
    all.ignoresDefaultPredicate = true
    #expect(try await context.fetch(all) == [bread])
    let milk = try await context.findOrCreate(open, where: .title, equals: "Milk")
    #expect(try await context.findOrCreate(open, where: .title, equals: "Milk") === milk)
  }

  @Test("compares dates, truth values and nil as the store does")
  func types() async throws {
    let sample = try await SampleStore(.local, "todo")
    let context = ManagedObjectContext(store: sample.store)
    let start = Date(timeIntervalSince1970: 1_700_000_000)
    for (index, title) in ["a", "b", "c", "d"].enumerated() {
      let item: ToDo.Item = context.insertObject()
      item.title = title
      item.done = index % 2 == 0
      item.due = index == 3 ? nil : start + Double(index) / 2
    }
    let requests = [
      ToDo.Item.sortedFetchRequest(where: "due > %@", start),
      ToDo.Item.sortedFetchRequest(where: "due <= %@ OR due == nil", start + 0.5),
      ToDo.Item.sortedFetchRequest(where: "done == TRUE"),
      ToDo.Item.sortedFetchRequest(where: "list == nil AND title IN {'a', 'd'}"),
      FetchRequest<ToDo.Item>(sortedBy: [.descending("due")]),
      FetchRequest<ToDo.Item>(sortedBy: [SortTerm("due", nils: .last), .descending("done")]),
    ]
    var unsaved: [[String]] = []
    for request in requests { unsaved.append(try await context.fetch(request).map(\.title)) }
    #expect(
      unsaved[0] == ["b", "c"] && unsaved[1] == ["a", "b", "d"] && unsaved[2] == ["a", "c"])
    try await context.save()
    var saved: [[String]] = []
    for request in requests { saved.append(try await context.fetch(request).map(\.title)) }
    #expect(unsaved == saved)
  }

  @Test("of a parent entity finds new objects of those below")
  func subentities() async throws {
    let sample = try await SampleStore(.local, "heroes", data: true)
    let context = ManagedObjectContext(store: sample.store)
    let before = try await context.count(Heroes.Human.sortedFetchRequest)
    let hero: Heroes.Hero = context.insertObject()
    hero.name = "Aardvark"
    #expect(try await context.count(Heroes.Human.sortedFetchRequest) == before + 1)
    #expect(try await context.fetch(Heroes.Human.sortedFetchRequest).first === hero)
    #expect(try await context.fetch(Heroes.Villain.sortedFetchRequest).allSatisfy { $0 !== hero })
    var alone = Heroes.Human.sortedFetchRequest
    alone.includesSubentities = false
    #expect(try await context.fetch(alone).isEmpty)
  }

  @Test("batches act on the store, past unsaved changes, and these then conflict or go on")
  func batches() async throws {
    let (sample, ids) = try await SampleCities.store(.local)
    let context = ManagedObjectContext(store: sample.store)
    let cities = try await context.fetch(City.sortedFetchRequest)  // Cusco, Osaka, Tokyo
    cities[0].population = 99_000_000
    cities[1].latitude = 7
    let nara: City = context.insertObject()
    (nara.name, nara.population) = ("Nara", 99_000_000)
    let changed = try await context.batchUpdate(
      City.self, where: FetchPredicate("population < 5000000"), set: [.population: 1])
    #expect(changed == 2, "Cusco and Osaka, as they are stored; not the new one")
    #expect(cities.map(\.population) == [99_000_000, 1, 9_700_000])
    #expect(cities[1].latitude == 7 && nara.isInserted)
    do {
      try await context.save()
      Issue.record("it was not refused")
    } catch {
      guard case .refused(let refusal) = error else { throw error }
      #expect(refusal.conflicts.map(\.objectID) == [cities[0].objectID])
    }
    context.delete(cities[2])
    let gone = try await context.batchDelete(
      City.self, where: FetchPredicate("name IN {'Tokyo', 'Osaka', 'Nara'}"))
    #expect(gone == 2)
    #expect(cities[2].isDeleted && context.deletedObjects.isEmpty)
    #expect(!cities[1].isDeleted, "with an unsaved value it stays, so that the save tells")
    #expect(nara.isInserted)
    try await context.refresh(cities[0], mergeChanges: true)
    await #expect(throws: ContextError.self) { try await context.save() }
    context.delete(cities[1])
    try await context.save()
    let names = try await context.fetch(City.sortedFetchRequest).map(\.name)
    #expect(names == ["Cusco", "Nara"])
    #expect(ids.count == 6)
  }
}
