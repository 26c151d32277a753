// Predicates that are combined of others.

import LiveFetch
import Testing

@MainActor
@Suite("A combined predicate", .mayBlock)
struct FetchPredicateTests {
  private let a = FetchPredicate("name == %@", "a")
  private let b = FetchPredicate("population > %ld", 2)
  private let c = FetchPredicate("country == nil")

  @Test("nests only parts that another operator joins")
  func nesting() {
    #expect((a && b && c).format == "(name == %@) AND (population > %ld) AND (country == nil)")
    #expect((a && (b && c)) == (a && b && c))
    #expect((a && b && c).arguments == [.string("a"), .number("2")])
    #expect((a || b && c).format == "(name == %@) OR ((population > %ld) AND (country == nil))")
    #expect(
      ((a || b) && c).format == "((name == %@) OR (population > %ld)) AND (country == nil)")
    #expect(
      (!(a || b) || c).format
        == "(NOT ((name == %@) OR (population > %ld))) OR (country == nil)")
  }

  @Test("equals another one with the same text and arguments")
  func equality() {
    let text = FetchPredicate("(name == %@) OR (country == nil)", "a")
    #expect(text == (a || c))
    #expect(Set([text, a || c]).count == 1)
    #expect((text && b).format == "((name == %@) OR (country == nil)) AND (population > %ld)")
  }

  @Test("may have hundreds of parts", arguments: Kind.allCases)
  func parts(kind: Kind) async throws {
    let cities = try Cities(kind)
    let context = ManagedObjectContext(store: cities.store)
    let names = (0..<300).map { FetchPredicate("name == %@", "city \($0)") }
    let any = names.reduce(FetchPredicate("name == 'Lima'")) { $0 || $1 }
    let none = names.reduce(FetchPredicate("name == 'Lima'")) { $0 && !$1 }
    for predicate in [any, none] {
      let found = try await context.fetch(FetchRequest<City>(where: predicate))
      #expect(found.map(\.name) == ["Lima"])
    }
  }
}
