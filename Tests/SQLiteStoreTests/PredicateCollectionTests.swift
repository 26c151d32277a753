// Quantifiers, aggregates and SUBQUERY.

import TestSupport
import Testing

@testable import SQLiteStore

@Suite("Predicates: collections", .mayBlock)
struct PredicateCollectionTests {
  @Test("each predicate becomes this SQL and finds these rows", arguments: rows)
  func table(row: PredicateRow) throws { try row.check() }

  private typealias Row = PredicateRow

  // Quotation marks are left out of the SQL.
  private static let rows: [PredicateRow] = [
    Row(
      "country", "ANY city.population > 5000000",
      "EXISTS (SELECT 1 FROM city AS t1 WHERE t1.country_id = t0.id AND t1.population > ?)",
      "2"),
    Row(
      "country", "ALL city.population > 500000",
      "NOT EXISTS (SELECT 1 FROM city AS t1 WHERE t1.country_id = t0.id AND (t1.population "
        + "<= ? OR t1.population IS NULL))",
      "1 3"),
    Row(
      "country", "NONE city.population > 5000000",
      "NOT EXISTS (SELECT 1 FROM city AS t1 WHERE t1.country_id = t0.id AND t1.population > "
        + "?)",
      "1 3"),
    Row(
      "country", "NOT ANY city.population > 5000000",
      "NOT EXISTS (SELECT 1 FROM city AS t1 WHERE t1.country_id = t0.id AND t1.population > "
        + "?)",
      "1 3"),
    Row(
      "country", "NOT ALL city.population > 500000",
      "EXISTS (SELECT 1 FROM city AS t1 WHERE t1.country_id = t0.id AND (t1.population <= ? "
        + "OR t1.population IS NULL))",
      "2"),
    Row(
      "country", "ANY city.name == ''",
      "EXISTS (SELECT 1 FROM city AS t1 WHERE t1.country_id = t0.id AND t1.name = ?)",
      "2"),
    Row(
      "country", "ANY city.tag.label == 'Old'",
      "EXISTS (SELECT 1 FROM city AS t1 JOIN city_tag AS t2 ON t2.city_id = t1.id JOIN tag "
        + "AS t3 ON t3.id = t2.tag_id WHERE t1.country_id = t0.id "
        + "AND typeof(t3.id) <> 'blob' AND t3.label = ?)",
      "1"),
    Row(
      "country", "city.@count > 1",
      "(SELECT count(*) FROM city AS t1 WHERE t1.country_id = t0.id) > ?",
      "1 2"),
    Row(
      "country", "city.@count == 0",
      "NOT EXISTS (SELECT 1 FROM city AS t1 WHERE t1.country_id = t0.id)",
      "3"),
    Row(
      "country", "city.@count > 0",
      "EXISTS (SELECT 1 FROM city AS t1 WHERE t1.country_id = t0.id)",
      "1 2"),
    Row(
      "country", "city.@sum.population > 5000000",
      "(SELECT livefetch_sum(t1.population) FROM city AS t1 WHERE t1.country_id = t0.id) > ?",
      "2"),
    Row(
      "country", "city.@sum.population == 0",
      "(SELECT livefetch_sum(t1.population) FROM city AS t1 WHERE t1.country_id = t0.id) = ?",
      "3"),
    Row(
      "country", "city.@avg.population > 3000000",
      "(SELECT livefetch_average(t1.population) FROM city AS t1 WHERE t1.country_id = t0.id) > ?",
      "2"),
    Row(
      "country", "city.@min.population == 0",
      "(SELECT min(t1.population) FROM city AS t1 WHERE t1.country_id = t0.id) = ?",
      "2"),
    Row(
      "country", "city.@max.population == nil",
      "(SELECT max(t1.population) FROM city AS t1 WHERE t1.country_id = t0.id) IS NULL",
      "3"),
    Row(
      "country", "city.@max.founded > '1900-01-01'",
      "(SELECT max(t1.founded) FROM city AS t1 WHERE t1.country_id = t0.id) "
        + "> livefetch_value(?, 22)",
      "2"),
    Row(
      "country", "city.tag.@count == 2",
      "(SELECT count(DISTINCT t3.id) FROM city AS t1 JOIN city_tag AS t2 ON t2.city_id = "
        + "t1.id JOIN tag AS t3 ON t3.id = t2.tag_id WHERE t1.country_id = t0.id "
        + "AND typeof(t3.id) <> 'blob') = ?",
      "1"),
    Row(
      "country", "city.@distinctUnionOfObjects.capital.@count == 2",
      "(SELECT count(DISTINCT t1.capital) FROM city AS t1 WHERE t1.country_id = t0.id) = ?",
      "1 2"),
    Row(
      "country", "'Tokyo' IN city.name",
      "EXISTS (SELECT 1 FROM city AS t1 WHERE t1.country_id = t0.id AND t1.name = ?)",
      "2"),
    Row(
      "country", "NOT 'Tokyo' IN city.name",
      "NOT EXISTS (SELECT 1 FROM city AS t1 WHERE t1.country_id = t0.id AND t1.name = ?)",
      "1 3"),
    Row(
      "country", "5 IN city",
      "EXISTS (SELECT 1 FROM city AS t1 WHERE t1.country_id = t0.id AND t1.id = ?)",
      "2"),
    Row(
      "country", "SUBQUERY(city, $x, $x.population > 1000000 AND $x.capital == YES).@count > 0",
      "EXISTS (SELECT 1 FROM city AS t1 WHERE t1.country_id = t0.id AND t1.population > ? "
        + "AND t1.capital = ?)",
      "1 2"),
    Row(
      "country", "SUBQUERY(city, $x, $x.population > 1000000).@count == 1",
      "(SELECT count(*) FROM city AS t1 WHERE t1.country_id = t0.id AND t1.population > ?) = "
        + "?",
      "1 2"),
    Row(
      "country",
      "SUBQUERY(city, $x, SUBQUERY($x.tag, $t, $t.label == 'Old' AND $x.capital == NO).@count > 0).@count > 0",
      "EXISTS (SELECT 1 FROM city AS t1 WHERE EXISTS (SELECT 1 FROM city_tag AS t2 JOIN "
        + "tag AS t3 ON t3.id = t2.tag_id WHERE t2.city_id = t1.id "
        + "AND typeof(t3.id) <> 'blob' AND t3.label = ? AND "
        + "t1.capital = ?) AND t1.country_id = t0.id)",
      "1"),
    Row(
      "country", "ANY city.country.name == name",
      "EXISTS (SELECT 1 FROM city AS t1 LEFT JOIN country AS t2 ON t2.id = t1.country_id "
        + "WHERE t2.name = t0.name AND t1.country_id = t0.id)",
      "1 2"),
    Row(
      "SUBQUERY(country.city, $x, $x.population > population).@count > 0",
      "EXISTS (SELECT 1 FROM city AS t2 WHERE t2.country_id = t1.id AND t2.population > "
        + "t0.population)",
      "2 5"),
    Row(
      "ANY tag.label == nil",
      "EXISTS (SELECT 1 FROM city_tag AS t1 JOIN tag AS t2 ON t2.id = t1.tag_id WHERE "
        + "t1.city_id = t0.id AND typeof(t2.id) <> 'blob' AND t2.label IS NULL)",
      "4"),
    Row(
      "ALL tag.label != nil",
      "NOT EXISTS (SELECT 1 FROM city_tag AS t1 JOIN tag AS t2 ON t2.id = t1.tag_id WHERE "
        + "t1.city_id = t0.id AND typeof(t2.id) <> 'blob' AND t2.label IS NULL)",
      "1 2 3 5 6"),
    Row(
      "ANY country.city.name == 'Tokyo'",
      "EXISTS (SELECT 1 FROM city AS t2 WHERE t2.country_id = t1.id AND t2.name = ?)",
      "3 5"),
    Row(
      "SELF IN country.city",
      "EXISTS (SELECT 1 FROM city AS t2 WHERE t2.country_id = t1.id AND t0.id = t2.id)",
      "1 2 3 5"),
    Row(
      "ANY tag == 'big'",
      "EXISTS (SELECT 1 FROM city_tag AS t1 JOIN tag AS t2 ON t2.id = t1.tag_id WHERE "
        + "t1.city_id = t0.id AND typeof(t2.id) <> 'blob' AND t2.id = ?)",
      "1 3"),
    Row(
      "tag.@count == 2 OR tag.@count == 0",
      "(NOT EXISTS (SELECT 1 FROM city_tag AS t1 JOIN tag AS t2 ON t2.id = t1.tag_id WHERE "
        + "t1.city_id = t0.id AND typeof(t2.id) <> 'blob') "
        + "OR (SELECT count(*) FROM city_tag AS t3 JOIN tag AS t4 ON t4.id "
        + "= t3.tag_id WHERE t3.city_id = t0.id AND typeof(t4.id) <> 'blob') = ?)",
      "1 5 6"),
    Row(
      "ANY country.city.tag.@count > 1",
      "EXISTS (SELECT 1 FROM city AS t2 WHERE (SELECT count(*) FROM city_tag AS t3 JOIN "
        + "tag AS t4 ON t4.id = t3.tag_id WHERE t3.city_id = t2.id "
        + "AND typeof(t4.id) <> 'blob') > ? AND t2.country_id = "
        + "t1.id)",
      "1 2"),
    Row(
      "NONE country.city.tag.@count > 1",
      "EXISTS (SELECT 1 FROM city AS t2 WHERE (SELECT count(*) FROM city_tag AS t3 JOIN "
        + "tag AS t4 ON t4.id = t3.tag_id WHERE t3.city_id = t2.id "
        + "AND typeof(t4.id) <> 'blob') > ? AND t2.country_id = "
        + "t1.id) = 0",
      "3 4 5 6"),
    Row(
      "country", "ANY SUBQUERY(city, $x, $x.population > 1000000).name == 'Berlin'",
      "EXISTS (SELECT 1 FROM city AS t1 WHERE t1.country_id = t0.id AND t1.population > ? "
        + "AND t1.name = ?)",
      "1"),
    Row(
      "country", "SUBQUERY(city, $x, $x.population > 1000000).@max.population > 5000000",
      "(SELECT max(t1.population) FROM city AS t1 WHERE t1.country_id = t0.id AND "
        + "t1.population > ?) > ?",
      "2"),
    Row(
      "country", "max(city.population) > 5000000",
      "(SELECT max(t1.population) FROM city AS t1 WHERE t1.country_id = t0.id) > ?",
      "2"),
    Row(
      "country", "count(city) == 2",
      "(SELECT count(*) FROM city AS t1 WHERE t1.country_id = t0.id) = ?",
      "1 2"),
    Row(
      "country", "sum(city.rating) == 7.5",
      "(SELECT livefetch_sum(t1.rating) FROM city AS t1 WHERE t1.country_id = t0.id) = ?",
      "1"),
  ]
}
