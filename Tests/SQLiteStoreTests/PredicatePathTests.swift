// Key paths over to-one relationships, and dates in every format.

import TestSupport
import Testing

@testable import SQLiteStore

@Suite("Predicates: key paths and dates", .mayBlock)
struct PredicatePathTests {
  @Test("each predicate becomes this SQL and finds these rows", arguments: rows)
  func table(row: PredicateRow) throws { try row.check() }

  private typealias Row = PredicateRow

  // Quotation marks are left out of the SQL.
  private static let rows: [PredicateRow] = [
    Row(
      "founded > '1300-01-01'",
      "t0.founded > livefetch_value(?, 22)",
      "3 5 6"),
    Row(
      "founded < CAST(0, 'NSDate')",
      "t0.founded < livefetch_value(?, 22)",
      "1 2 3"),
    Row(
      "founded == '2001-01-01T00:00:00Z'",
      "t0.founded = livefetch_value(?, 22)",
      "5"),
    Row(
      "founded == CAST(0, 'NSDate')",
      "t0.founded = livefetch_value(?, 22)",
      "5"),
    Row(
      "country == 1",
      "t0.country_id = ?",
      "1 2"),
    Row(
      "country != 1",
      "(t0.country_id <> ? OR t0.country_id IS NULL)",
      "3 4 5 6"),
    Row(
      "country == nil",
      "t0.country_id IS NULL",
      "4 6"),
    Row(
      "country.name == 'Japan'",
      "t1.name = ?",
      "3 5"),
    Row(
      "country.name != 'Japan'",
      "(t1.name <> ? OR t1.name IS NULL)",
      "1 2 4 6"),
    Row(
      "country.code == 'JP'",
      "t1.code COLLATE BINARY = ?",
      ""),
    Row(
      "country.code ==[c] 'JP'",
      "livefetch_fold(t1.code, 1) = ?",
      "3 5"),
    Row(
      "country.continent BEGINSWITH 'E'",
      "t1.continent >= ? AND t1.continent < ?",
      "1 2"),
    Row(
      "country.founded < '1900-01-01T12:00:00Z'",
      "t1.founded < livefetch_value(?, 16)",
      "1 2"),
    Row(
      "country_id == 2",
      "t0.country_id = ?",
      "3 5"),
    Row(
      "name == country.name",
      "t0.name IS t1.name",
      "6"),
    Row(
      "name IN {country.name, 'Berlin'}",
      "(t0.name IS t1.name OR t0.name = ?)",
      "1 6"),
    Row(
      "country.founded == founded",
      "livefetch_seconds(t1.founded) IS livefetch_seconds(t0.founded)",
      "4"),
  ]
}
