// A program that imports Foundation and the library: Foundation's names refer to Foundation's types.

import Foundation
import LiveFetch
import TestSupport
import Testing

@Suite("Imported with Foundation, the library", .mayBlock)
struct FoundationNamesTests {
  @Test("leaves Predicate and Expression what they are")
  @MainActor func names() async throws {
    let predicate: Predicate<City> = #Predicate { ($0.population ?? 0) > 500 }
    let twice: Expression<City, Int> = #Expression { ($0.population ?? 0) * 2 }
    let tokyo = City(id: 1, name: "Tokyo", population: 900, country: 1)
    #expect(try predicate.evaluate(tokyo))
    #expect(try twice.evaluate(tokyo) == 1800)
    let cities = try Cities(.local)
    let request = try FetchRequest(where: predicate, sortedBy: [.ascending("name")])
    let found = try await ManagedObjectContext(store: cities.store).fetch(request)
    #expect(found.map(\.name) == ["Lima", "Tokyo"])
  }
}
