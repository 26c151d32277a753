// Operands that have scopes of their own: subqueries and collections on either side of an operator.

import FetchModel
import TestSupport
import Testing

@testable import SQLiteStore

/// Operands with scopes of their own, in places where the other side opens the scope of a
/// collection's elements.
@Suite("Predicates: an operand has the same meaning in every scope", .mayBlock)
struct OperandScopeTests {
  static let schema = """
    CREATE TABLE o(id INTEGER PRIMARY KEY, n INTEGER);
    CREATE TABLE c(id INTEGER PRIMARY KEY, n INTEGER, o_id INTEGER REFERENCES o);
    CREATE TABLE t(id INTEGER PRIMARY KEY, n INTEGER, c_id INTEGER REFERENCES c);
    CREATE TABLE p(id INTEGER PRIMARY KEY, n INTEGER, o_id INTEGER REFERENCES o);
    INSERT INTO o VALUES (1, 1), (2, 2), (3, 0);
    INSERT INTO c VALUES (1, 1, 1), (2, 5, 2), (3, 6, 2);
    INSERT INTO t VALUES (1, 4, 1), (2, 5, 2), (3, 6, 3);
    INSERT INTO p VALUES (1, 1, 1), (2, 7, 1), (3, 1, 2), (4, 0, 3);
    """

  /// Predicate about `o` → ids.
  static let table: [(String, String)] = [
    ("SUBQUERY(c, $c, $c.t.@count > 0).@count IN p.n", "1 3"),
    ("SUBQUERY(c, $c, $c.t.@count > 0).@count + 5 IN p.n", ""),
    ("p.n CONTAINS SUBQUERY(c, $c, $c.t.@count > 0).@count", "1 3"),
    ("SUBQUERY(c, $c, ANY $c.t.n > 4).@max.n IN c.t.n", "2"),
    ("TERNARY(ANY c.n > 4, 1, 7) IN p.n", "1 2"),
    ("TERNARY(ALL c.n == 1, 7, 1) IN p.n", "1 2"),
    ("TERNARY(ANY c.t.n > 4, 1, 7) IN SUBQUERY(p, $p, $p.n > 0).n", "1 2"),
    ("c.@count IN p.n", "1 3"),
    ("max({c.@count, SUBQUERY(p, $p, $p.n > 5).@count}) IN p.n", "1 3"),
    ("abs(SUBQUERY(c, $c, SUBQUERY($c.t, $t, $t.n > 4).@count > 0).@count) IN p.n", "3"),
    ("ANY c.t.@count IN p.n", "1 2"),
    ("ANY c.t.@count == SUBQUERY(p, $p, $p.n == 1).@count", "1 2"),
    ("ALL c.n IN c.t.n", "2 3"),
    ("NONE c.n IN SUBQUERY(c, $c, ANY $c.t.n == $c.n).t.n", "refused"),
    ("ANY c.n BETWEEN {c.@count, SUBQUERY(p, $p, ANY $p.o.c.n > 0).@max.n}", "1"),
    ("ANY p.n == TERNARY(ANY c.n > 4, 1, 7)", "1 2"),
    ("SUBQUERY(p, $p, SUBQUERY(c, $c, $c.n > 0).@count IN p.n).@count == 2", "1"),
    ("SUBQUERY(p, $p, SUBQUERY($p.o.c, $c, ANY $c.t.n > 0).@count IN p.n).@count > 0", "1 3"),
    ("{1, 2} CONTAINS 1", "refused"),
  ]

  @Test(arguments: table)
  func anOperandIsResolvedWhereItStands(predicate: String, ids: String) throws {
    let fixture = try PredicateFixture(Self.schema)
    guard ids != "refused" else {
      #expect(throws: PredicateError.self) { try fixture.resolve(predicate, entity: "o") }
      return
    }
    let resolved = try fixture.resolve(predicate, entity: "o")
    let fault = ScopeCheck(model: fixture.model).fault(in: resolved.condition, of: "o")
    #expect(fault == nil, "\(predicate)")
    #expect(try fixture.run(resolved, entity: "o").ids.joined(separator: " ") == ids)
  }

  @Test func aToManyStepBehindASubqueryIsRefused() throws {
    let fixture = try PredicateFixture(Self.schema)
    let error = #expect(throws: PredicateError.self) {
      try fixture.resolve("SUBQUERY(c, $c, $c.n > 1).t.@count > 0", entity: "o")
    }
    #expect(error?.code == .typeMismatch)
    #expect(error?.offset == 26)
    #expect(error?.found == "`t`, a to-many relationship")
  }

  @Test(arguments: [
    ("t", "c.o > 1", 0), ("t", "1 < c.o", 4), ("o", "SUBQUERY(p, $p, $p.o > 1).@count > 0", 16),
    ("o", "ANY c > 1", 4), ("o", "ANY c BETWEEN {1, 2}", 4), ("o", "ANY p.o.c.o <= 1", 4),
  ])
  func aRelationshipHasNoOrder(entity: String, predicate: String, offset: Int) throws {
    let fixture = try PredicateFixture(Self.schema)
    let error = #expect(throws: PredicateError.self) {
      try fixture.resolve(predicate, entity: entity)
    }
    #expect(error?.code == .typeMismatch)
    #expect(error?.offset == offset)
  }
}
