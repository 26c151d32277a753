// Generated changes and requests: a fetch has the same result before and after the save of the changes.

import LiveFetch
import TestSupport
import Testing

@MainActor
@Suite("Unsaved changes, generated", .mayBlock)
struct GeneratedUnsavedTests {
  typealias City = SampleCities.City

  @Test("are found as they are after the save", arguments: 0..<6)
  func parity(round: UInt64) async throws {
    let seed = UInt64.random(in: 0...UInt64.max / 2) &+ round
    var random = SeededRandom(seed: seed)
    let (sample, ids) = try await SampleCities.store(.local)
    let seeded = ManagedObjectContext(store: sample.store)
    for number in 0..<20 { Self.change(seeded.insertObject(City.self), number, ids, &random) }
    try await seeded.save()
    let context = ManagedObjectContext(store: sample.store)
    let cities = try await context.fetch(City.sortedFetchRequest)
    for (number, city) in cities.enumerated() {
      switch Int.random(in: 0...3, using: &random) {
      case 0: context.delete(city)
      case 1: Self.change(city, 100 + number, ids, &random)
      default: continue
      }
    }
    for number in 200..<204 { Self.change(context.insertObject(City.self), number, ids, &random) }
    var requests: [FetchRequest<City>] = []
    for _ in 0..<40 { requests.append(Self.request(&random)) }
    var (before, counts) = ([[String]](), [Int]())
    for request in requests {
      before.append(try await context.fetch(request).map(\.name))
      counts.append(try await context.count(request))
    }
    try await context.save()
    let fresh = ManagedObjectContext(store: sample.store)
    for (number, request) in requests.enumerated() {
      let comment = Comment(rawValue: "seed \(seed), \(request)")
      #expect(before[number] == (try await fresh.fetch(request).map(\.name)), comment)
      #expect(counts[number] == (try await fresh.count(request)), comment)
      #expect(counts[number] == before[number].count, comment)
    }
  }

  private static func change(
    _ city: City, _ number: Int, _ ids: [String: ObjectID], _ random: inout SeededRandom
  ) {
    let letters = ["a", "B", "á", "N", "n", "Ö"]
    city.name = (letters.randomElement(using: &random) ?? "") + "-\(number)"
    city.population = [nil, 0, 7, 500, 2_000_000].randomElement(using: &random) ?? nil
    city.latitude = [nil, -3.5, 0, 41.25].randomElement(using: &random) ?? nil
    let countries = [ids["jp"], ids["pe"], nil]
    let country = countries.randomElement(using: &random) ?? nil
    city.country = country.flatMap { id in
      city.managedObjectContext?.object(SampleCities.Country.self, with: id)
    }
  }

  private static func request(_ random: inout SeededRandom) -> FetchRequest<City> {
    let predicates: [FetchPredicate?] = [
      nil, FetchPredicate("population >= %ld", 7), FetchPredicate("population != 7"),
      FetchPredicate("NOT (population BETWEEN {1, 1000})"),
      FetchPredicate("population == nil OR latitude > 0.5"),
      FetchPredicate("latitude * 2 < population / 3"), FetchPredicate("country.code == 'JP'"),
      FetchPredicate("country == nil"), FetchPredicate("country.name BEGINSWITH[c] 'p'"),
      FetchPredicate("name BEGINSWITH[cd] 'A'"), FetchPredicate("name CONTAINS '1'"),
      FetchPredicate("name LIKE '?-2*'"), FetchPredicate("name MATCHES '[aB].*'"),
      FetchPredicate("mayor.name == 'Yuriko' OR population IN {0, 500}"),
      FetchPredicate("TERNARY(latitude > 0, population, 7) == 7"),
    ]
    let orders: [[SortTerm]] = [
      [], [.descending("population")], [.ascending("name")],
      [SortTerm("name", options: [.caseInsensitive, .diacriticInsensitive])],
      [.descending("country.name"), .ascending("name")],
      [SortTerm("latitude", .descending, nils: .first), .ascending("population")],
    ]
    var request = FetchRequest<City>(
      where: predicates.randomElement(using: &random) ?? nil,
      sortedBy: orders.randomElement(using: &random) ?? [])
    request.fetchLimit = [nil, 0, 3, 10].randomElement(using: &random) ?? nil
    request.fetchOffset = [0, 0, 2, 9].randomElement(using: &random) ?? 0
    return request
  }
}
