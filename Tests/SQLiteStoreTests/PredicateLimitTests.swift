// Predicates at the limits, hostile ones among them, and the plans of those that indexes serve.

import FetchModel
import TestSupport
import Testing

@testable import SQLiteStore

@Suite("Predicates: limits and plans", .mayBlock)
struct PredicateLimitTests {
  @Test("a thousand comparisons run, and ten thousand values")
  func wide() throws {
    let fixture = try PredicateFixture()
    let chain = (0..<1_000).map { "population == \($0)" }.joined(separator: " OR ")
    #expect(try fixture.ids(chain) == "5")
    let negated = (0..<1_000).map { "population != \($0)" }.joined(separator: " AND ")
    #expect(try fixture.ids(negated) == "1 2 3 4 6")
    let values = (0..<10_000).map(String.init).joined(separator: ",")
    #expect(try fixture.ids("population IN {\(values)}") == "5")
    let array = JSON.array((0..<10_000).map { .number(String($0)) })
    #expect(try fixture.ids("population IN %@", [.json(array)]) == "5")
  }

  @Test("chains and sums may be as deep as the limit")
  func atTheLimit() throws {
    let fixture = try PredicateFixture()
    let mixed =
      String(repeating: "(population >= 0 AND (name == 'x' OR ", count: 31) + "rating > 1"
      + String(repeating: "))", count: 31)
    #expect(try fixture.ids(mixed) == "1 2")
    let sum = "population" + String(repeating: " - 1", count: 64) + " == -69"
    #expect(try fixture.ids(sum) == "6")
  }

  @Test(
    "predicates use indexes, also negations with a nil case",
    arguments: [
      ("name == 'x'", "city_by_name (name=?)"), ("name == nil", "city_by_name (name=?)"),
      ("name > 'x'", "city_by_name (name>?)"), ("population IN {1, 2}", "(population=?)"),
      ("population BETWEEN {1, 2}", "city_by_population (population>? AND population<?)"),
      ("name BEGINSWITH 'x'", "city_by_name (name>? AND name<?)"),
      ("name LIKE 'x*'", "city_by_name (name>? AND name<?)"),
      ("NOT population > 5", "MULTI-INDEX OR"), ("NOT population BETWEEN {1, 2}", "MULTI-INDEX OR"),
      ("country == 1", "city_by_country (country_id=?)"),
      ("SELF == 1", "INTEGER PRIMARY KEY (rowid=?)"),
      ("name IN {'x', nil}", "MULTI-INDEX OR"),
    ])
  func plans(text: String, expected: String) throws {
    let plan = try PredicateFixture().plan(text)
    #expect(plan.contains(expected), "\(plan)")
  }

  @Test("values that a declared type cannot hold equal nothing of it and sort after it")
  func strangers() throws {
    let fixture = try PredicateFixture(
      """
      CREATE TABLE city(id INTEGER PRIMARY KEY, population INTEGER, name TEXT);
      INSERT INTO city VALUES (1, 5, 'a'), (2, 'many', x'61'), (3, NULL, NULL);
      """)
    #expect(try fixture.ids("population == 5") == "1")
    #expect(try fixture.ids("population > 100") == "2")
    #expect(try fixture.ids("population < 100") == "1")
    #expect(try fixture.ids("name CONTAINS 'a'") == "1")
    #expect(try fixture.ids("name ==[c] 'A'") == "1")
    #expect(try fixture.ids("name > 'z'") == "2")
  }

  @Test("the range of BEGINSWITH ends directly after the last text with the prefix")
  func successors() {
    #expect(TextPrefix.successor(of: "A") == "B")
    #expect(TextPrefix.successor(of: "\u{D7FF}") == "\u{E000}")
    #expect(TextPrefix.successor(of: "a\u{10FFFF}") == "b")
    #expect(TextPrefix.successor(of: "\u{10FFFF}") == nil)
  }

  @Test("a hostile LIKE ends quickly")
  func hostileLike() throws {
    let text = String(repeating: "a", count: 20_000)
    let fixture = try PredicateFixture(
      "CREATE TABLE city(id INTEGER PRIMARY KEY, name TEXT); INSERT INTO city VALUES(1,'\(text)')")
    let pattern = String(repeating: "*a", count: 200) + "b"
    var found = "1"
    let time = try processorTime { found = try fixture.ids("name LIKE '\(pattern)'") }
    #expect(found.isEmpty)
    #expect(time < .seconds(2))
  }
}
