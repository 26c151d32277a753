// Every operator × type × nil × modifier × negation × quantifier, against a model of the language that
// knows nothing but the order of a type's values.

import FetchModel
import Foundation
import TestSupport
import Testing

@testable import SQLiteStore

@Suite("Predicates: the matrix of operators and types", .mayBlock)
struct PredicateMatrixTests {
  /// The values of a type, ascending: how SQL and how a predicate spells each.
  struct Kind: Sendable, CustomTestStringConvertible {
    let type: String
    let values: [(sql: String, text: String)]
    var testDescription: String { type }
    var isRelationship: Bool { type.contains("REFERENCES") }

    /// The text for `path` as an operand of `operation`. A relationship has no order, but its ids
    /// have.
    func text(_ path: String, beside operation: String) -> String {
      isRelationship && !["==", "!=", "IN"].contains(operation) ? "\(path).id" : path
    }
  }

  static let kinds: [Kind] = [
    Kind(
      type: "INTEGER",
      values: [
        ("-9223372036854775808", "-9223372036854775808"), ("-1", "-1"), ("0", "0"),
        ("9007199254740993", "9007199254740993"), ("9223372036854775807", "9223372036854775807"),
      ]),
    Kind(
      type: "REAL",
      values: [
        ("-1e308", "-1e308"), ("-0.5", "-0.5"), ("0.0", "0"), ("2.5", "2.5"), ("9e999", "1e999"),
      ]),
    Kind(type: "BOOLEAN", values: [("0", "NO"), ("1", "YES")]),
    Kind(
      type: "TEXT",
      values: [
        ("''", "''"), ("'Z'", "'Z'"), ("'a'", "'a'"), ("'é'", "'é'"), ("char(65535)", "'\\uffff'"),
        ("'😀'", "'😀'"),
      ]),
    Kind(
      type: "DATETIME",
      values: [
        ("'0001-01-01T00:00:00Z'", "'0001-01-01'"),
        ("'1969-12-31T23:59:59Z'", "'1969-12-31T23:59:59Z'"),
        ("'2001-01-01T00:00:00Z'", "CAST(0, 'NSDate')"),
        ("'2024-02-29T10:00:00.5Z'", "'2024-02-29T12:00:00.5+02:00'"),
      ]),
    Kind(type: "DECIMAL", values: [("-2", "-2"), ("0.25", "0.25"), ("10", "10")]),
    Kind(type: "BLOB", values: [("x''", "''"), ("x'01'", "'AQ=='"), ("x'0102'", "'AQI='")]),
    Kind(
      type: "UUID",
      values: [
        ("'00000000-0000-0000-0000-000000000001'", "'00000000-0000-0000-0000-000000000001'"),
        ("'6F9619FF-8B86-D011-B42D-00C04FC964FF'", "'6f9619ff-8b86-d011-b42d-00c04fc964ff'"),
      ]),
    Kind(type: "INTEGER REFERENCES team", values: [("1", "1"), ("2", "2"), ("3", "3")]),
  ]

  /// One row for each pair of values, nil among them. `a` and `b` are places among the values.
  struct Row {
    let id: Int
    let a: Int?
    let b: Int?
    let team: Int?
  }

  private static func rows(_ kind: Kind) -> [Row] {
    let places: [Int?] = [nil] + kind.values.indices.map { $0 }
    var rows: [Row] = []
    for a in places {
      for b in places {
        // The last team has nothing, and some things have no team.
        let team = rows.count % 4 == 3 ? nil : rows.count % 4 + 1
        rows.append(Row(id: rows.count + 1, a: a, b: b, team: team))
      }
    }
    return rows
  }

  private static func fixture(_ kind: Kind, _ rows: [Row]) throws -> PredicateFixture {
    let fixture = try PredicateFixture(
      """
      CREATE TABLE team(id INTEGER PRIMARY KEY, name TEXT);
      CREATE TABLE thing(id INTEGER PRIMARY KEY, a \(kind.type), b \(kind.type),
        team_id INTEGER REFERENCES team);
      INSERT INTO team VALUES (1, 'x'), (2, NULL), (3, ''), (4, 'none');
      INSERT INTO thing VALUES \(rows.map { row in
        let a = row.a.map { kind.values[$0].sql } ?? "NULL"
        let b = row.b.map { kind.values[$0].sql } ?? "NULL"
        return "(\(row.id), \(a), \(b), \(row.team.map(String.init) ?? "NULL"))"
      }.joined(separator: ", "));
      CREATE INDEX thing_a ON thing(a);
      """)
    fixture.isHomogeneous = false
    return fixture
  }

  /// A comparison as text, and its meaning as a closure.
  private struct Condition {
    let text: String
    let holds: (Row) -> Bool
  }

  private typealias Relation = (String, @Sendable (Int?, Int?) -> Bool)
  private static let relations: [Relation] = [
    ("==", { $0 == $1 }), ("!=", { $0 != $1 }),
    ("<", { left, right in left.flatMap { l in right.map { l < $0 } } ?? false }),
    (">", { left, right in left.flatMap { l in right.map { l > $0 } } ?? false }),
    ("<=", { left, right in left.flatMap { l in right.map { l <= $0 } } ?? (left == right) }),
    (">=", { left, right in left.flatMap { l in right.map { l >= $0 } } ?? (left == right) }),
  ]

  private static func conditions(_ kind: Kind, on path: String) -> [Condition] {
    let places: [Int?] = [nil] + kind.values.indices.map { $0 }
    let spell = { (place: Int?) in place.map { kind.values[$0].text } ?? "nil" }
    var conditions: [Condition] = []
    for (name, relation) in relations {
      for place in places {
        conditions.append(
          Condition(text: "\(kind.text(path, beside: name)) \(name) \(spell(place))") {
            relation($0.a, place)
          })
      }
    }
    let (atLeast, atMost) = (relations[5].1, relations[4].1)
    for low in places {
      for high in places {
        conditions.append(
          Condition(
            text: "\(kind.text(path, beside: "BETWEEN")) BETWEEN {\(spell(low)), \(spell(high))}"
          ) {
            atLeast($0.a, low) && atMost($0.a, high)
          })
        conditions.append(
          Condition(text: "\(path) IN {\(spell(low)), \(spell(high))}") {
            $0.a == low || $0.a == high
          })
      }
    }
    return conditions
  }

  /// Comparisons of two columns of one row, and of constants with a column.
  private static func pairs(_ kind: Kind) -> [Condition] {
    var conditions: [Condition] = []
    for (name, relation) in relations {
      let (a, b) = (kind.text("a", beside: name), kind.text("b", beside: name))
      conditions.append(Condition(text: "\(a) \(name) \(b)") { relation($0.a, $0.b) })
      conditions.append(
        Condition(text: "\(kind.values[0].text) \(name) \(a)") { relation(0, $0.a) })
      conditions.append(Condition(text: "nil \(name) \(a)") { relation(nil, $0.a) })
    }
    conditions.append(Condition(text: "a IN {b, nil}") { $0.a == $0.b || $0.a == nil })
    conditions.append(
      Condition(text: "a IN {b, \(kind.values[0].text)}") { $0.a == $0.b || $0.a == 0 })
    let (a, b) = (kind.text("a", beside: "BETWEEN"), kind.text("b", beside: "BETWEEN"))
    conditions.append(Condition(text: "\(a) BETWEEN {\(b), \(b)}") { $0.a == $0.b })
    return conditions
  }

  @Test(
    "a column compares with values, nil and another column, plain and negated", arguments: kinds)
  func columns(kind: Kind) throws {
    let rows = Self.rows(kind)
    let fixture = try Self.fixture(kind, rows)
    for condition in Self.conditions(kind, on: "a") + Self.pairs(kind) {
      let expected = rows.filter(condition.holds).map { "\($0.id)" }
      try expect(condition.text, expected, rows.map { "\($0.id)" }, "thing", fixture)
    }
  }

  @Test(
    "elements of a collection under each quantifier, as they stand and negated", arguments: kinds)
  func quantifiers(kind: Kind) throws {
    let rows = Self.rows(kind)
    let fixture = try Self.fixture(kind, rows)
    let members = (1...4).map { team in rows.filter { $0.team == team } }
    // If several keys lead to a team, the inverses have the names of these keys.
    let things = kind.isRelationship ? "thing_by_team" : "thing"
    for condition in Self.conditions(kind, on: "\(things).a") {
      let holding = { (test: ([Row]) -> Bool) in
        (1...4).filter { test(members[$0 - 1]) }.map(String.init)
      }
      let any = holding { $0.contains(where: condition.holds) }
      let all = holding { $0.allSatisfy(condition.holds) }
      let none = holding { !$0.contains(where: condition.holds) }
      let teams = ["1", "2", "3", "4"]
      try expect("ANY \(condition.text)", any, teams, "team", fixture)
      try expect("ALL \(condition.text)", all, teams, "team", fixture)
      try expect("NONE \(condition.text)", none, teams, "team", fixture)
      let inner = condition.text.replacing("\(things).a", with: "$t.a")
      let counted = holding { $0.filter(condition.holds).count == 3 }
      try expect(
        "SUBQUERY(\(things), $t, \(inner)).@count == 3", counted, teams, "team", fixture)
    }
  }

  private func expect(
    _ text: String, _ expected: [String], _ all: [String], _ entity: String,
    _ fixture: PredicateFixture
  ) throws {
    do {
      let found = try fixture.run(try fixture.resolve(text, entity: entity), entity: entity).ids
      #expect(Set(found) == Set(expected), "\(text)")
      let negated = try fixture.run(
        try fixture.resolve("NOT (\(text))", entity: entity), entity: entity
      ).ids
      #expect(Set(negated) == Set(all).subtracting(expected), "NOT \(text)")
    } catch {
      Issue.record("\(text): \(error)")
    }
  }
}
