// Predicates as deep as the limit lets them be: what the parser takes, SQLite runs, with the same
// result as the shallow predicate that it means.

import FetchModel
import TestSupport
import Testing

@testable import SQLiteStore

@Suite("Predicates: as deep as the limit", .mayBlock)
struct PredicateDepthTests {
  /// Surroundings that leave a number what it is, and conditions that leave one what it is.
  private struct Wrapping {
    var open: String
    var close: String
  }

  private static let numbers = [
    Wrapping(open: "(0 + ", close: ")"), Wrapping(open: "(", close: " + 0)"),
    Wrapping(open: "(", close: " - 0)"), Wrapping(open: "(1 * ", close: ")"),
    Wrapping(open: "(", close: " / 1)"), Wrapping(open: "- -", close: ""),
    Wrapping(open: "(0 - (0 - ", close: "))"), Wrapping(open: "max({", close: "})"),
    Wrapping(open: "multiply:by:(1, ", close: ")"), Wrapping(open: "add:to:(", close: ", 0)"),
    Wrapping(open: "bitwiseOr:with:(0, ", close: ")"),
    Wrapping(open: "onesComplement(onesComplement(", close: "))"),
    Wrapping(open: "TERNARY(id > 0, ", close: ", 7)"),
    Wrapping(open: "TERNARY(id < 0 OR name == 'no', 7, ", close: ")"),
    Wrapping(open: "FUNCTION('trunc', ", close: ")"),
    Wrapping(open: "CAST(CAST(", close: ", 'NSDate'), 'NSNumber')"),
  ]

  private static let conditions = [
    Wrapping(open: "(id > 0 AND (id < 0 OR ", close: "))"), Wrapping(open: "NOT ", close: ""),
    Wrapping(open: "NOT (id < 0 OR NOT ", close: ")"),
    Wrapping(open: "TERNARY(", close: ", 1, 0) == 1"),
    Wrapping(open: "NOT 1 != TERNARY(", close: ", 1, 0)"),
    Wrapping(open: "TERNARY(NOT ", close: ", 3, 2) IN {1, 2}"),
    Wrapping(open: "TERNARY(", close: ", 2, 5) BETWEEN {1, 3}"),
    Wrapping(open: "TERNARY(", close: ", name, nil) == name AND name != nil"),
    Wrapping(open: "SUBQUERY(country.city, $V, $V == SELF AND ", close: ").@count > 0"),
    Wrapping(open: "SUBQUERY(country.city, $V, $V == SELF AND ", close: ").@count == 1"),
    Wrapping(open: "SUBQUERY(country.city, $V, $V == SELF AND ", close: ").@max.id == SELF"),
  ]

  /// `text` in ever more of `wrappings`, as long as the parser takes it.
  private static func deepest(
    _ text: String, _ random: inout SeededRandom, from wrappings: [Wrapping], upTo limit: Int = 200
  ) -> String {
    var text = text
    for number in 0..<limit {
      let chosen = wrappings.randomElement(using: &random)!
      let isNegation = chosen.open == "NOT "
      let open = chosen.open.replacing("$V", with: "$v\(number)")
      let next =
        isNegation ? "NOT (NOT (\(text)))" : open + "(" + text + ")" + chosen.close
      // A number is compared in the end, which makes no level.
      let isPredicate = (try? Predicate(parsing: next)) != nil
      guard isPredicate || (try? Predicate(parsing: next + " == 1")) != nil else { return text }
      text = next
    }
    return text
  }

  @Test("one construct within itself, 60 and more levels", arguments: numbers.indices)
  func oneNumber(index: Int) throws {
    var random = SeededRandom(seed: 1)
    let fixture = try PredicateFixture()
    let deep = Self.deepest("population", &random, from: [Self.numbers[index]])
    #expect(try fixture.ids(deep + " == 1000000") == "2", "\(deep)")
    #expect(try fixture.ids("-5 < " + deep) == "1 2 3 5", "\(deep)")
    #expect(try fixture.ids(deep + " == nil") == "4", "\(deep)")
  }

  @Test("one condition within itself, 60 and more levels", arguments: conditions.indices)
  func oneCondition(index: Int) throws {
    var random = SeededRandom(seed: 1)
    let fixture = try PredicateFixture()
    let deep = Self.deepest("population > 5", &random, from: [Self.conditions[index]])
    let found = try fixture.ids(deep)
    #expect(found == "1 2 3", "\(deep)")
  }

  @Test("everything within everything", arguments: 1...24 as ClosedRange<UInt64>)
  func mixed(seed: UInt64) throws {
    var random = SeededRandom(seed: seed)
    let fixture = try PredicateFixture()
    let inner = Self.deepest(
      "population", &random, from: Self.numbers, upTo: Int.random(in: 0...30, using: &random))
    let shallow = ["> 5", "== 0", "!= 1000000", "IN {0, 3600000}", "<= 9", "BETWEEN {-5, 0}"]
      .randomElement(using: &random)!
    let deep = Self.deepest("\(inner) \(shallow)", &random, from: Self.conditions)
    let expected = try fixture.ids("population \(shallow) AND country != nil AND name != nil")
    // Without a SUBQUERY around it, and without a name, cities without a country match too.
    let found = try fixture.ids("(\(deep)) AND country != nil AND name != nil", orDeeper: deep)
    #expect(found == expected, "seed \(seed): \(deep)")
  }

  @Test("the 65th level is refused where it stands")
  func tooDeep() throws {
    let fixture = try PredicateFixture()
    for (open, close) in [("abs(", ")"), ("(1 + ", ")"), ("TERNARY(id > 0, ", ", 1)")] {
      let text = String(repeating: open, count: 65) + "rating" + String(repeating: close, count: 65)
      let error = #expect(throws: PredicateError.self) { try fixture.resolve(text + " > 1") }
      #expect(error?.code == .tooComplex)
      let last = open.utf8.count * 64
      #expect(last...(last + 2 * open.utf8.count) ~= error?.offset ?? 0)
      #expect(error?.expected == "at most 64 levels")
      let fitting = text.dropFirst(open.utf8.count).dropLast(close.utf8.count)
      #expect(throws: Never.self) { try fixture.ids(fitting + " > 1") }
    }
  }

  @Test("what many conditions would be made of is refused and not multiplied")
  func multiplied() throws {
    let fixture = try PredicateFixture()
    for (open, close) in [
      ("TERNARY(", " BETWEEN {rating, 5}, 1, 2)"), ("TERNARY(", " IN {rating, id, 7}, 1, 2)"),
    ] {
      let text =
        String(repeating: open, count: 40) + "population" + String(repeating: close, count: 40)
      let error = #expect(throws: PredicateError.self) { try fixture.resolve(text + " == 1") }
      #expect(error?.code == .tooComplex)
    }
    // Constants are no copies.
    let text =
      String(repeating: "TERNARY(", count: 60) + "population"
      + String(repeating: " IN {1, 2, 3}, 1, 2)", count: 60)
    #expect(try fixture.ids(text + " == 1") == "1 2 3 4 5 6")
  }

  @Test("columns of a deep part are compared as columns")
  func affinity() throws {
    let fixture = try PredicateFixture(
      """
      CREATE TABLE city(id INTEGER PRIMARY KEY, loose, name TEXT COLLATE NOCASE);
      INSERT INTO city VALUES (1, 12, 'A'), (2, 'x', 'a'), (3, NULL, NULL);
      """)
    func deep(_ text: String) -> String {
      String(repeating: "TERNARY(", count: 60) + text
        + String(repeating: ", 1, 0) == 1", count: 60)
    }
    for text in ["name == 'a'", "name < 'a'", "name != 'A'", "name IN {'a', 'b'}"] {
      #expect(try fixture.ids(deep(text)) == fixture.ids(text), "\(text)")
    }
  }

  @Test("shallow predicates are one statement, deep ones call others")
  func shallow() throws {
    let fixture = try PredicateFixture()
    let shallow = try fixture.run(
      fixture.resolve("SUBQUERY(country.city, $x, TERNARY($x.rating > 1, 1, 2) == 1).@count > 0"))
    #expect(!shallow.sql.contains("livefetch_apart"))
    let deep = String(repeating: "-", count: 60) + "population == 5 AND name == 'x'"
    #expect(try fixture.run(fixture.resolve(deep)).sql.contains("livefetch_apart"))
    #expect(try fixture.plan(deep).contains("city_by_name (name=?)"))
  }
}

extension PredicateFixture {
  /// The ids for `text`, or where that is one level too deep, those for `inner` that it means.
  fileprivate func ids(_ text: String, orDeeper inner: String) throws -> String {
    if let found = try? ids(text) { return found }
    let kept = Set(try ids("country != nil AND name != nil").split(separator: " "))
    return try ids(inner).split(separator: " ").filter { kept.contains($0) }.joined(separator: " ")
  }
}
