// Comparisons, their negations and nil: predicate, SQL and rows side by side.

import TestSupport
import Testing

@testable import SQLiteStore

@Suite("Predicates: comparisons, nil and logic", .mayBlock)
struct PredicateComparisonTests {
  @Test("each predicate becomes this SQL and finds these rows", arguments: rows)
  func table(row: PredicateRow) throws { try row.check() }

  private typealias Row = PredicateRow

  // Quotation marks are left out of the SQL.
  private static let rows: [PredicateRow] = [
    Row("name MATCHES 'B.*n'", "livefetch_matches(t0.name, ?, 0)", "1"),
    Row("name MATCHES 'erlin'", "livefetch_matches(t0.name, ?, 0)", ""),
    Row("NOT name MATCHES '.*o.*'", "NOT livefetch_matches(t0.name, ?, 0)", "1 2 4 5 6"),
    Row("name MATCHES[cd] 'KOLN|tokyo'", "livefetch_matches(t0.name, ?, 3)", "2 3"),
    Row("name MATCHES '\\w{5}'", "livefetch_matches(t0.name, ?, 0)", "3"),
    Row("name MATCHES ''", "livefetch_matches(t0.name, ?, 0)", "5"),
    Row(
      "population > 1000000",
      "t0.population > ?",
      "1 3"),
    Row(
      "NOT population > 1000000",
      "(t0.population <= ? OR t0.population IS NULL)",
      "2 4 5 6"),
    Row(
      "population <= 1000000",
      "t0.population <= ?",
      "2 5 6"),
    Row(
      "population != 0",
      "(t0.population <> ? OR t0.population IS NULL)",
      "1 2 3 4 6"),
    Row(
      "population == nil",
      "t0.population IS NULL",
      "4"),
    Row(
      "population != nil",
      "t0.population IS NOT NULL",
      "1 2 3 5 6"),
    Row(
      "population <= nil",
      "t0.population IS NULL",
      "4"),
    Row(
      "population < nil",
      "0",
      ""),
    Row(
      "NOT (population >= nil)",
      "t0.population IS NOT NULL",
      "1 2 3 5 6"),
    Row(
      "name == 'Berlin'",
      "t0.name = ?",
      "1"),
    Row(
      "name != 'Berlin'",
      "(t0.name <> ? OR t0.name IS NULL)",
      "2 3 4 5 6"),
    Row(
      "name == ''",
      "t0.name = ?",
      "5"),
    Row(
      "name < 'C'",
      "t0.name < ?",
      "1 4 5"),
    Row(
      "NOT name < 'C'",
      "(t0.name >= ? OR t0.name IS NULL)",
      "2 3 6"),
    Row(
      "name ==[c] 'KÖLN'",
      "livefetch_fold(t0.name, 1) = ?",
      "2"),
    Row(
      "name ==[cd] 'koln'",
      "livefetch_fold(t0.name, 3) = ?",
      "2"),
    Row(
      "name !=[cd] 'koln'",
      "(livefetch_fold(t0.name, 3) <> ? OR livefetch_fold(t0.name, 3) IS NULL)",
      "1 3 4 5 6"),
    Row(
      "name BEGINSWITH 'B'",
      "t0.name >= ? AND t0.name < ?",
      "1"),
    Row(
      "NOT name BEGINSWITH 'B'",
      "(t0.name < ? OR t0.name >= ? OR t0.name IS NULL)",
      "2 3 4 5 6"),
    Row(
      "name BEGINSWITH[cd] 'ko'",
      "livefetch_begins(t0.name, ?, 3)",
      "2"),
    Row(
      "NOT name BEGINSWITH[cd] 'ko'",
      "NOT livefetch_begins(t0.name, ?, 3)",
      "1 3 4 5 6"),
    Row(
      "name CONTAINS 'o'",
      "livefetch_contains(t0.name, ?, 0)",
      "3"),
    Row(
      "NOT name CONTAINS 'o'",
      "NOT livefetch_contains(t0.name, ?, 0)",
      "1 2 4 5 6"),
    Row(
      "name ENDSWITH 'o'",
      "livefetch_ends(t0.name, ?, 0)",
      "3"),
    Row(
      "name CONTAINS ''",
      "0",
      ""),
    Row(
      "NOT name CONTAINS ''",
      "",
      "1 2 3 4 5 6"),
    Row(
      "name LIKE '*o*'",
      "livefetch_contains(t0.name, ?, 0)",
      "3"),
    Row(
      "name LIKE '?erlin'",
      "livefetch_like(t0.name, ?, 0)",
      "1"),
    Row(
      "name LIKE[c] 'b*n'",
      "livefetch_like(t0.name, ?, 1)",
      "1"),
    Row(
      "name LIKE '*'",
      "livefetch_like(t0.name, ?, 0)",
      "1 2 3 4 5"),
    Row(
      "name IN {'Berlin', 'Tokyo'}",
      "t0.name IN (?, ?)",
      "1 3"),
    Row(
      "NOT name IN {'Berlin', 'Tokyo'}",
      "(t0.name NOT IN (?, ?) OR t0.name IS NULL)",
      "2 4 5 6"),
    Row(
      "name IN {'Berlin', nil}",
      "(t0.name = ? OR t0.name IS NULL)",
      "1 6"),
    Row(
      "NOT name IN {'Berlin', nil}",
      "t0.name <> ?",
      "2 3 4 5"),
    Row(
      "name IN {}",
      "0",
      ""),
    Row(
      "NOT name IN {}",
      "",
      "1 2 3 4 5 6"),
    Row(
      "name IN[cd] {'BERLIN', 'koln'}",
      "livefetch_fold(t0.name, 3) IN (?, ?)",
      "1 2"),
    Row(
      "name IN 'Berlin and Tokyo'",
      "livefetch_contains(?, t0.name, 0)",
      "1 3"),
    Row(
      "'er' IN name",
      "livefetch_contains(t0.name, ?, 0)",
      "1"),
    Row(
      "population BETWEEN {0, 1000000}",
      "t0.population BETWEEN ? AND ?",
      "2 5"),
    Row(
      "NOT population BETWEEN {0, 1000000}",
      "(t0.population < ? OR t0.population > ? OR t0.population IS NULL)",
      "1 3 4 6"),
    Row(
      "capital == YES",
      "t0.capital = ?",
      "1 3"),
    Row(
      "capital == 1",
      "t0.capital = ?",
      "1 3"),
    Row(
      "capital != TRUE",
      "(t0.capital <> ? OR t0.capital IS NULL)",
      "2 4 5 6"),
    Row(
      "rating > 2",
      "t0.rating > ?",
      "1 2"),
    Row(
      "rating == 3",
      "t0.rating = ?",
      "2"),
    Row(
      "SELF == 3",
      "t0.id = ?",
      "3"),
    Row(
      "SELF IN {1, 3}",
      "t0.id IN (?, ?)",
      "1 3"),
    Row(
      "id > 2",
      "t0.id > ?",
      "3 4 5 6"),
    Row(
      "population == rating",
      "t0.population IS t0.rating",
      ""),
    Row(
      "population <= rating",
      "(t0.population <= t0.rating OR (t0.population IS NULL AND t0.rating IS NULL))",
      "6"),
    Row(
      "NOT population <= rating",
      "(t0.population > t0.rating OR (t0.population IS NULL) <> (t0.rating IS NULL))",
      "1 2 3 4 5"),
    Row(
      "population < rating",
      "t0.population < t0.rating",
      "6"),
    Row(
      "NOT population < rating",
      "(t0.population >= t0.rating OR t0.population IS NULL OR t0.rating IS NULL)",
      "1 2 3 4 5"),
    Row(
      "-population == 5",
      "(? - livefetch_quantity(t0.population)) = ?",
      "6"),
    Row(
      "TRUEPREDICATE",
      "",
      "1 2 3 4 5 6"),
    Row(
      "FALSEPREDICATE OR name == 'Berlin'",
      "t0.name = ?",
      "1"),
    Row(
      "NOT (name == 'Berlin' AND (population > 1 OR capital == YES))",
      "(t0.name <> ? OR t0.name IS NULL OR (t0.population <= ? OR t0.population IS NULL) AND "
        + "(t0.capital <> ? OR t0.capital IS NULL))",
      "2 3 4 5 6"),
    Row(
      "population IN {1000000, 0, nil} AND name != nil",
      "(t0.population IN (?, ?) OR t0.population IS NULL) AND t0.name IS NOT NULL",
      "2 4 5"),
    Row(
      "(population > 1 OR name == 'x') AND (rating > 1 OR rating < 0)",
      "(t0.population > ? OR t0.name = ?) AND (t0.rating > ? OR t0.rating < ?)",
      "1 2"),
    Row(
      "CAST(name, 'NSNumber') == nil",
      "livefetch_number(t0.name) IS NULL",
      "1 2 3 4 5 6"),
    Row(
      "name ==[n] 'Berlin'",
      "t0.name = ?",
      "1"),
    Row(
      "population == 1.5 OR population == 1e3",
      "(t0.population = ? OR t0.population = ?)",
      ""),
  ]
}
