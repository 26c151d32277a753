// The table of cases, run against a file and a PostgreSQL database: each predicate as written, negated,
// and in its canonical form.

import TestSupport
import Testing

@Suite("Predicates: the table of cases", .mayBlock)
struct PredicateCaseTests {
  private static func cases() throws -> [PredicateCase] {
    try [
      PredicateCases.equality, PredicateCases.order, PredicateCases.logic, PredicateCases.text,
      PredicateCases.dates, PredicateCases.paths, PredicateCases.expressions,
      PredicateCases.quantifiers, PredicateCases.aggregates, PredicateCases.subqueries,
      PredicateCases.words,
    ].flatMap(PredicateCase.read)
  }

  @Test(
    "each predicate finds the objects listed with it", arguments: CaseFixture.Database.allCases)
  func lines(database: CaseFixture.Database) throws {
    let fixture = try CaseFixture(database)
    for line in try Self.cases() { fixture.check(line) }
  }

  @Test("the table has hundreds of cases, and none twice")
  func count() throws {
    let lines = try Self.cases().map(\.line)
    #expect(lines.count >= 500)
    #expect(Set(lines).count == lines.count)
  }
}
