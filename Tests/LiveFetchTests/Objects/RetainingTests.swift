// The lifetime of objects in memory, and the events of reading their relationships.

import LiveFetch
import TestSupport
import Testing

@MainActor
@Suite("Objects in memory", .mayBlock)
struct RetainingTests {
  typealias City = SampleCities.City
  typealias Country = SampleCities.Country
  typealias Hero = Heroes.Hero

  @Test("leave it with their last user, also if relationships were materialized both ways")
  func bothWays() async throws {
    let (sample, _) = try await SampleCities.store(.local)
    let context = ManagedObjectContext(store: sample.store)
    do {
      let cities = try await context.fetch(City.sortedFetchRequest)
      for city in cities {
        let country = try await city.country?.materialize()
        try await country?.cities.materialize()
        let mayor = try await city.mayor?.materialize()
        try await mayor?.mayorOf?.materialize()
        try await context.refresh(city, mergeChanges: true)
      }
      #expect(context.registeredObjects.count == 6)
      #expect(cities.map { $0.country?.object?.code } == ["PE", "JP", "JP"])
    }
    #expect(context.registeredObjects.isEmpty)
  }

  @Test("leave it with their last user, also if prefetched and set both ways")
  func prefetchedAndSet() async throws {
    let (sample, _) = try await SampleCities.store(.local)
    let context = ManagedObjectContext(store: sample.store)
    do {
      var request = Country.sortedFetchRequest
      request.relationshipsToPrefetch = ["cities"]
      request.relationshipsToPrefetch += ["cities.country", "cities.mayor.mayorOf"]
      let countries = try await context.fetch(request)
      #expect(countries[0].cities.objects?.map(\.name) == ["Tokyo", "Osaka"])
      let city: City = context.insertObject()
      city.name = "Kyoto"
      city.country = Fault(countries[0])
      let members = try #require(countries[0].cities.objects)
      countries[0].cities.insert(city)
      countries[0].cities.replace(with: members + [city])
      try await context.save()
    }
    #expect(context.registeredObjects.isEmpty)
  }

  @Test("leave it with their last user, also if references form a ring or lead to the same object")
  func rings() async throws {
    let sample = try await SampleStore(.local, "heroes")
    let context = ManagedObjectContext(store: sample.store)
    do {
      let heroes = (0..<5).map { number in
        let hero: Hero = context.insertObject()
        hero.name = "Hero \(number)"
        return hero
      }
      for (index, hero) in heroes.enumerated() {
        hero.mentor = Fault(index == 4 ? heroes[0] : heroes[index + 1])
      }
      try await context.save()
      heroes[4].mentor = Fault(heroes[4])
      heroes[4].mentor = Fault(heroes[0])
    }
    context.rollback()
    #expect(context.registeredObjects.isEmpty)
  }

  @Test("retain what was materialized or prefetched through them")
  func retaining() async throws {
    let (sample, ids) = try await SampleCities.store(.local)
    let context = ManagedObjectContext(store: sample.store)
    let japan: Country
    do {
      let tokyo = try await context.materializedObject(City.self, with: #require(ids["tokyo"]))
      japan = try #require(try await tokyo.country?.materialize())
    }
    #expect(context.registeredObjects == [japan])
    try await japan.cities.materialize()
    #expect(japan.cities.objects?.map(\.name) == ["Tokyo", "Osaka"])
    // A second list that refers to an object in memory retains it as well.
    var request = City.sortedFetchRequest(where: "name == 'Cusco'")
    request.relationshipsToPrefetch = ["country"]
    let first = try await context.fetch(request)
    var again = try await context.fetch(request)
    #expect(first == again)
    again = []
    #expect(first[0].country?.object?.name == "Peru")
  }

  @Test("retain the members that remain after another client's change of the list")
  func remainingMembers() async throws {
    let (sample, ids) = try await SampleCities.store(.local)
    let context = ManagedObjectContext(store: sample.store)
    let id = try #require(ids["jp"])
    let japan = try await context.materializedObject(Country.self, with: id)
    try await japan.cities.materialize()
    try await sample.save(
      """
      {"insert":"City","values":{"name":"Nara","country":\(id)}},
      {"update":"City","id":\(try #require(ids["osaka"])),"values":{"country":null}}
      """)
    try await context.mergeChanges()
    #expect(japan.cities.count == 2)
    #expect(context.registeredObject(City.self, with: try #require(ids["tokyo"])) != nil)
    #expect(context.registeredObject(City.self, with: try #require(ids["osaka"])) == nil)
  }

  @Test("leave it at once, also if each of thirty thousand retains the next")
  func chain() {
    var first: Hero? = Hero()
    weak var last: Hero?
    if var hero = first {
      for _ in 0..<30_000 {
        let next = Hero()
        hero.mentor = Fault(next)
        hero = next
      }
      last = hero
    }
    #expect(last != nil)
    first = nil
    #expect(last == nil)
  }

  @Test("a page of objects retains what an earlier page retained")
  func pages() async throws {
    let (sample, _) = try await SampleCities.store(.local)
    let context = ManagedObjectContext(store: sample.store)
    func page(_ name: String) async throws -> [City] {
      var request = City.sortedFetchRequest(where: "name == %@", name)
      request.relationshipsToPrefetch = ["country"]
      return try await context.fetch(request)
    }
    var cities = try await page("Tokyo")
    #expect(cities.map { $0.country?.object?.code } == ["JP"])
    let next = try await page("Osaka")
    cities = []
    #expect(next.map { $0.country?.object?.code } == ["JP"])
    withExtendedLifetime(next) { #expect(context.registeredObjects.count == 2) }
  }

  @Test("are not refreshed by reading a to-many relationship", arguments: Kind.allCases)
  func reading(kind: Kind) async throws {
    let (sample, ids) = try await SampleCities.store(kind)
    let context = ManagedObjectContext(store: sample.store)
    let countries = try await context.fetch(Country.sortedFetchRequest)
    var changes: [ObjectsDidChange] = []
    let token = context.observe(ObjectsDidChange.self) { changes.append($0) }
    defer { token.cancel() }
    #expect(try await countries[0].cities.materialize().map(\.name) == ["Tokyo", "Osaka"])
    var request = Country.sortedFetchRequest
    request.relationshipsToPrefetch = ["cities"]
    _ = try await context.fetch(request)
    context.processPendingChanges()
    #expect(changes.isEmpty)
    let japan = try #require(ids["jp"])
    _ = try await sample.save(
      #"{"insert":"City","values":{"name":"Nara","country":\#(japan)}}"#)
    _ = try await context.fetch(request)
    #expect(changes.map { $0.refreshed(Country.self).map(\.code) } == [["JP"]])
    withExtendedLifetime(countries) {}
  }
}
