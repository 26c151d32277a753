// The table of cases, run against a file and a PostgreSQL database: each predicate as written, negated, and in its canonical
// form.

import TestSupport
import Testing

@Suite("Predicates: the table of cases", .mayBlock)
struct PredicateCaseTests {
  private static let blocks: [(String, String)] = [
    ("equality", PredicateCases.equality), ("order, BETWEEN and IN", PredicateCases.order),
    ("logic and two key paths", PredicateCases.logic), ("text", PredicateCases.text),
    ("dates", PredicateCases.dates), ("ids, paths and arguments", PredicateCases.paths),
    ("expressions", PredicateCases.arithmetic), ("quantifiers", PredicateCases.quantifiers),
    ("aggregates", PredicateCases.aggregates), ("SUBQUERY", PredicateCases.subqueries),
    ("string options and patterns", PredicateCases.words),
  ]

  @Test(
    "each predicate finds the objects listed with it", arguments: blocks.map(\.0),
    CaseFixture.Database.allCases)
  func lines(name: String, database: CaseFixture.Database) throws {
    let block = try #require(Self.blocks.first { $0.0 == name })
    let fixture = try CaseFixture(database)
    for line in try PredicateCase.read(block.1) { fixture.check(line) }
  }

  @Test("the table has hundreds of cases, and none twice")
  func count() throws {
    let lines = try Self.blocks.flatMap { try PredicateCase.read($0.1) }.map(\.line)
    #expect(lines.count >= 500)
    #expect(Set(lines).count == lines.count)
  }
}
