// Query plans → suggested indexes.

import FetchModel
import TestSupport
import Testing

@testable import SQLiteStore

@Suite("Index advice: suggested indexes for a query plan", .mayBlock)
struct IndexAdviceTests {
  /// A fetch, and the indexes that would make it faster.
  static let table: [(entity: String, query: String, indexes: [String])] = [
    ("City", "where=population==5", [#"CREATE INDEX "City_population" ON "City"("population")"#]),
    (
      "City", "where=population>5&sort=-population&limit=5",
      [#"CREATE INDEX "City_population" ON "City"("population" DESC)"#]
    ),
    (
      "City", "where=country==1 AND name BEGINSWITH 'A' AND population>9",
      [#"CREATE INDEX "City_country_name" ON "City"("country", "name")"#]
    ),
    (
      "City", "where=name=='x'&section=country&sort=-population,name&limit=9",
      [
        #"CREATE INDEX "City_name_country_population" ON "City"("name", "country", "population" DESC)"#
      ]
    ),
    (
      "City", "where=population BETWEEN {1,2} AND country IN {1,2}",
      [#"CREATE INDEX "City_country_population" ON "City"("country", "population")"#]
    ),
    ("City", "sort=name&limit=5", [#"CREATE INDEX "City_name" ON "City"("name")"#]),
    (
      "City", "as=dictionaries&select=country,n:@count&group=country",
      [#"CREATE INDEX "City_country" ON "City"("country")"#]
    ),
    (
      "City", "as=dictionaries&select=name&sort=-name&limit=3",
      [#"CREATE INDEX "City_name" ON "City"("name" DESC)"#]
    ),
    (
      "Country", "where=ANY City.population>5",
      [#"CREATE INDEX "City_country" ON "City"("country")"#]
    ),
    (
      "City", "where=ANY Tag.name=='big'",
      [#"CREATE INDEX "City_Tag_city_tag" ON "City_Tag"("city", "tag")"#]
    ),
    // Fetches that no index can make faster
    ("City", "", []), ("City", "where=id==5", []), ("City", "where=id==5&sort=name&limit=3", []),
    ("City", "where=name CONTAINS 'x'", []),
    ("City", "where=NOT (population>5)", []), ("City", "sort=name:cd", []),
    ("City", "where=country.name=='Peru'&limit=5", []),
  ]

  @Test(arguments: table)
  func anIndexIsNamedWhereItWouldSpareWork(
    entity: String, query: String, indexes: [String]
  ) throws {
    let file = try FetchFixture(FetchFixture.fixture)
    let explanation = try file.transaction.explanation(of: file.plan(entity, query))
    let hints = explanation.statements[0].hints
    #expect(hints.map(\.index) == indexes)
    guard let index = indexes.first else { return }
    // The statement is valid, and after it was run there are no more suggestions.
    try file.tracked.file.runExternally(index)
    let helped = try file.transaction.explanation(of: file.plan(entity, query))
    #expect(helped.statements[0].hints.isEmpty)
    #expect(helped.statements[0].plan != explanation.statements[0].plan)
  }

  @Test func ofTwoForeignKeysToATableTheOneWithoutAnIndexIsNamed() throws {
    let file = try FetchFixture(
      """
      CREATE TABLE Airport (id INTEGER PRIMARY KEY);
      CREATE TABLE Flight (
        id INTEGER PRIMARY KEY, seats INTEGER, origin INTEGER REFERENCES Airport (id),
        destination INTEGER REFERENCES Airport (id));
      CREATE INDEX Flight_origin ON Flight (origin);
      """)
    let query = "where=ANY Flight_by_origin.seats>5 AND ANY Flight_by_destination.seats>5"
    let explanation = try file.transaction.explanation(of: file.plan("Airport", query))
    #expect(
      explanation.statements[0].hints.map(\.index) == [
        #"CREATE INDEX "Flight_destination" ON "Flight"("destination")"#
      ])
  }

  @Test func anIndexWithAnotherCollationIsNotEnough() throws {
    let file = try FetchFixture(
      """
      CREATE TABLE City (id INTEGER PRIMARY KEY, name TEXT COLLATE NOCASE);
      CREATE INDEX City_folded ON City (name);
      """)
    let index = #"CREATE INDEX "City_name" ON "City"("name" COLLATE BINARY)"#
    let explanation = try file.transaction.explanation(of: file.plan("City", "sort=name&limit=5"))
    #expect(explanation.statements[0].hints.map(\.index) == [index])
    try file.tracked.file.runExternally(index)
    let helped = try file.transaction.explanation(of: file.plan("City", "sort=name&limit=5"))
    #expect(helped.statements[0].hints.isEmpty)
  }

  @Test func everyStatementOfAFetchIsShownWithTypesAndWithoutValues() throws {
    let file = try FetchFixture(FetchFixture.fixture)
    let explanation = try file.transaction.explanation(
      of: file.plan(
        "City", "where=name=='secret' AND population>1&count=exact&expand=country&limit=3"))
    #expect(explanation.statements.map(\.purpose) == ["items", "item", "total", "included"])
    #expect(explanation.statements[0].types == ["text", "integer", "integer"])
    #expect(
      explanation.statements[2].sql == #"SELECT count(*) FROM "City" AS "t0" "#
        + #"WHERE "t0"."name" = ? AND "t0"."population" > ?"#)
    #expect(!String(decoding: explanation.json, as: UTF8.self).contains("secret"))
  }
}
