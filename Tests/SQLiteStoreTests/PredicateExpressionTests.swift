// Arithmetic, functions and TERNARY.

import TestSupport
import Testing

@testable import SQLiteStore

@Suite("Predicates: expressions", .mayBlock)
struct PredicateExpressionTests {
  @Test("each predicate becomes this SQL and finds these rows", arguments: rows)
  func table(row: PredicateRow) throws { try row.check() }

  private typealias Row = PredicateRow

  // Quotation marks are left out of the SQL.
  private static let rows: [PredicateRow] = [
    Row(
      "population / 7 == 142857",
      "(livefetch_quantity(t0.population) / ?) = ?",
      "2"),
    Row(
      "rating / 2 == 1.5",
      "(livefetch_quantity(t0.rating) / CAST(? AS REAL)) = ?",
      "2"),
    Row(
      "population + 5 == 0",
      "(livefetch_quantity(t0.population) + ?) = ?",
      "6"),
    Row(
      "population / 0 == nil",
      "(livefetch_quantity(t0.population) / ?) IS NULL",
      "1 2 3 4 5 6"),
    Row(
      "population ** 2 == 25",
      "livefetch_power(t0.population, ?) = ?",
      "6"),
    Row(
      "abs(population) == 5",
      "livefetch_abs(t0.population) = ?",
      "6"),
    Row(
      "length(name) == 0",
      "livefetch_length(t0.name) = ?",
      "5"),
    Row(
      "uppercase(name) == 'KÖLN'",
      "livefetch_uppercase(t0.name) = ?",
      "2"),
    Row(
      "canonical(name) == 'koln'",
      "livefetch_canonical(t0.name) = ?",
      "2"),
    Row(
      "modulus:by:(population, 2) == 0",
      "(livefetch_quantity(t0.population) % ?) = ?",
      "1 2 3 5"),
    Row(
      "sqrt(population) == 1000",
      "livefetch_sqrt(t0.population) = ?",
      "2"),
    Row(
      "TERNARY(population > 1000000, 'big', 'small') == 'big'",
      "CASE WHEN t0.population > ? THEN ? ELSE ? END = ?",
      "1 3"),
    Row(
      "TERNARY(capital == YES, population, 0) > 5000000",
      "CASE WHEN t0.capital = ? THEN t0.population ELSE ? END > ?",
      "3"),
    Row(
      "founded < now()",
      "t0.founded < livefetch_value(?, 22)",
      "1 2 3 5 6"),
    Row(
      "CAST(founded, 'NSNumber') == 0",
      "livefetch_reference(t0.founded) = ?",
      "5"),
    Row(
      "bitwiseAnd:with:(population, 1) == 1",
      "(livefetch_quantity(t0.population) & ?) = ?",
      "6"),
    Row(
      "onesComplement:(population) == 4",
      "(~livefetch_quantity(t0.population)) = ?",
      "6"),
    Row(
      "floor(rating) == 4",
      "livefetch_floor(t0.rating) = ?",
      "1"),
    Row(
      "max({population, 100}) == 100",
      "(SELECT max(value) FROM (SELECT NULL AS value WHERE 0 UNION ALL VALUES "
        + "(t0.population), (?))) = ?",
      "4 5 6"),
    Row(
      "sum({population, rating}) == -4",
      "(SELECT livefetch_sum(value) FROM (SELECT NULL AS value WHERE 0 UNION ALL VALUES "
        + "(t0.population), (t0.rating))) = ?",
      "6"),
    Row(
      "min({name, 'C'}) == 'C'",
      "(SELECT min(value) FROM (SELECT NULL AS value WHERE 0 UNION ALL VALUES (t0.name), "
        + "(?))) = ?",
      "2 3 6"),
    Row(
      "max({founded, CAST(0, 'NSDate')}) == CAST(0, 'NSDate')",
      "(SELECT max(value) FROM (SELECT NULL AS value WHERE 0 UNION ALL VALUES "
        + "(t0.founded), (livefetch_value(?, 22)))) = livefetch_value(?, 22)",
      "1 2 3 4 5"),
    Row(
      "average({population, 5}) == 0",
      "(SELECT livefetch_average(value) FROM (SELECT NULL AS value WHERE 0 UNION ALL VALUES "
        + "(t0.population), (?))) = ?",
      "6"),
    Row(
      "TERNARY(capital == YES, founded, CAST(0,'NSDate')) == '2001-01-01'",
      "CASE WHEN t0.capital = ? THEN t0.founded ELSE livefetch_value(?, 22) END "
        + "= livefetch_value(?, 22)",
      "2 4 5 6"),
    Row(
      "TERNARY(capital == YES, founded, country.founded) < '1900-01-01'",
      "CASE WHEN t0.capital = ? THEN livefetch_seconds(t0.founded) ELSE "
        + "livefetch_seconds(t1.founded) END < ?",
      "1 2 3"),
  ]
}
