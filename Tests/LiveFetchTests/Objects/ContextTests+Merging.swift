// Changes by other clients: conflicts, merge policies and merging on request.

import LiveFetch
import TestSupport
import Testing

extension ContextTests {
  @Test("detects changes by other clients, and reports both versions", arguments: Kind.allCases)
  func conflicts(kind: Kind) async throws {
    let (sample, ids) = try await SampleCities.store(kind)
    let context = ManagedObjectContext(store: sample.store)
    let osaka = try #require(ids["osaka"])
    let city = try await context.materializedObject(City.self, with: osaka)
    city.population = 3
    try await sample.save(
      #"{"update":"City","id":\#(osaka),"values":{"population":4,"name":"Ōsaka"}}"#)
    do {
      try await context.save()
      Issue.record("it was not refused")
    } catch {
      guard case .refused(let refusal) = error else { throw error }
      let conflict = try #require(refusal.conflicts(of: city).first)
      #expect(refusal.conflicts.count == 1)
      #expect(conflict.key(City.Key.self) == .population)
      #expect(conflict.stored == .number("4"))
      #expect(conflict.given == .number("3"))
      #expect(conflict.base == .number("2700000"))
    }
    // Fetched again, the edit stays and is still one of the old value.
    _ = try await context.fetch(City.sortedFetchRequest)
    #expect(city.name == "Ōsaka" && city.population == 3)
    await #expect(throws: ContextError.self) { try await context.save() }
    try await context.refresh(city, mergeChanges: true)
    #expect(city.population == 3)
    try await context.save()
    try await context.refresh(city, mergeChanges: false)
    #expect(city.population == 3)
  }

  @Test("merges as its policy says", arguments: Kind.allCases)
  func policies(kind: Kind) async throws {
    let expected: [(MergePolicy, Int?)] = [(.overwrite, 3), (.storeWins, 4), (.objectWins, 3)]
    let (sample, ids) = try await SampleCities.store(kind)
    let osaka = try #require(ids["osaka"])
    for (policy, population) in expected {
      let context = ManagedObjectContext(store: sample.store)
      context.mergePolicy = policy
      let city = try await context.materializedObject(City.self, with: osaka)
      city.population = 3
      city.latitude = Double(population ?? 0)
      try await sample.save(#"{"update":"City","id":\#(osaka),"values":{"population":4}}"#)
      try await context.save()
      #expect(city.population == population, "\(policy)")
      #expect(city.latitude == population.map(Double.init), "\(policy)")
      try await sample.save(
        #"{"update":"City","id":\#(osaka),"values":{"population":2700000,"latitude":null}}"#)
    }
  }

  @Test("merges every save if the history comes in small parts", arguments: Kind.allCases)
  func smallHistoryParts(kind: Kind) async throws {
    let (sample, ids) = try await SampleCities.store(kind)
    let store = PausingStore(sample.store)
    store.shortenHistory()
    let context = ManagedObjectContext(store: store)
    let osaka = try #require(ids["osaka"])
    let cusco = try #require(ids["cusco"])
    let first = try await context.materializedObject(City.self, with: osaka)
    let second = try await context.materializedObject(City.self, with: cusco)
    try await sample.save(#"{"update":"City","id":\#(osaka),"values":{"population":3}}"#)
    try await sample.save(#"{"update":"City","id":\#(cusco),"values":{"population":4}}"#)
    try await context.mergeChanges()
    #expect(first.population == 3)
    #expect(second.population == 4)
  }

  @Test("reports a conflict if the object was deleted", arguments: Kind.allCases)
  func deletedElsewhere(kind: Kind) async throws {
    let (sample, ids) = try await SampleCities.store(kind)
    let context = ManagedObjectContext(store: sample.store)
    let cities = try await context.fetch(City.sortedFetchRequest)
    cities[0].population = 1
    try await sample.save(#"{"delete":"City","id":\#(try #require(ids["cusco"]))}"#)
    try await sample.save(#"{"delete":"City","id":\#(try #require(ids["osaka"]))}"#)
    try await context.mergeChanges()
    #expect(cities.map(\.isDeleted) == [false, true, false])
    do {
      try await context.save()
      Issue.record("it was not refused")
    } catch {
      guard case .refused(let refusal) = error else { throw error }
      #expect(refusal.conflicts(of: cities[0]).map(\.isDeletion) == [true])
    }
    context.rollback()
    try await context.mergeChanges()
    await #expect(throws: ContextError.self) {
      try await context.refresh(cities[0], mergeChanges: false)
    }
  }

  @Test("drops the changes of a deleted object if the store wins", arguments: Kind.allCases)
  func droppedChanges(kind: Kind) async throws {
    let (sample, ids) = try await SampleCities.store(kind)
    let context = ManagedObjectContext(store: sample.store)
    context.mergePolicy = .storeWins
    let cities = try await context.fetch(City.sortedFetchRequest)
    (cities[0].population, cities[1].population) = (1, 2)
    try await sample.save(#"{"delete":"City","id":\#(try #require(ids["cusco"]))}"#)
    try await context.save()
    #expect(cities.map(\.isDeleted) == [true, false, false])
    #expect(!context.hasChanges)
    let others = ManagedObjectContext(store: sample.store)
    let stored = try await others.fetch(City.sortedFetchRequest)
    #expect(stored.map(\.population) == [2, 9_700_000])
  }

  final class Note: ManagedObject, ManagedObjectType {
    static let entityName = "Note"
    static var defaultSortDescriptors: [SortTerm] { [.ascending(Key.title)] }
    enum Key: String, KeyCodable { case title }

    @Managed(.title) var title = ""
  }

  @Test("drops no change of an object that exists, and no insertion, if the store wins")
  func keptChanges() async throws {
    let directory = try TemporaryDirectory()
    let path = directory.file("store.sqlite")
    try sqlite(
      path,
      """
      CREATE TABLE Note(id INTEGER PRIMARY KEY, title TEXT NOT NULL);
      CREATE TABLE Place(id INTEGER PRIMARY KEY);
      CREATE TABLE Visit(id INTEGER PRIMARY KEY, place INTEGER REFERENCES Place(id));
      INSERT INTO Note VALUES (1, 'a');
      CREATE TRIGGER changed AFTER UPDATE ON Note BEGIN INSERT INTO Visit(place) VALUES (9); END;
      CREATE TRIGGER added AFTER INSERT ON Note BEGIN INSERT INTO Visit(place) VALUES (9); END;
      """)
    let store = try LocalStore(path: path)
    let context = ManagedObjectContext(store: store)
    context.mergePolicy = .storeWins
    let note = try #require(try await context.fetch(Note.sortedFetchRequest).first)
    note.title = "b"
    await #expect(throws: ContextError.self) { try await context.save() }
    #expect(note.title == "b")
    #expect(!note.isDeleted)
    context.rollback()
    let other: Note = context.insertObject()
    other.title = "c"
    await #expect(throws: ContextError.self) { try await context.save() }
    #expect(other.isInserted)
    #expect(context.hasChanges)
    store.close()
    withExtendedLifetime(directory) {}
  }

  @Test("merges what other programs saved on request", arguments: Kind.allCases)
  func merging(kind: Kind) async throws {
    let (sample, ids) = try await SampleCities.store(kind)
    let context = ManagedObjectContext(store: sample.store)
    let cities = try await context.fetch(City.sortedFetchRequest)
    let japan = try #require(try await cities[1].country?.materialize())
    try await japan.cities.materialize()
    try await sample.save(
      """
      {"update":"City","id":\(try #require(ids["cusco"])),"values":{"name":"Qosqo",
        "country":\(try #require(ids["jp"]))}}
      """)
    #expect(cities[0].name == "Cusco")
    var refreshed: Set<City> = []
    let token = context.observe(ObjectsDidChange.self) {
      refreshed.formUnion($0.refreshed(City.self))
    }
    try await context.mergeChanges()
    #expect(cities[0].name == "Qosqo")
    #expect(refreshed == [cities[0]])
    #expect(japan.cities.count == 3)
    token.cancel()
  }
}
