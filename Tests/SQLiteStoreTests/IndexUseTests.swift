// Fetches and the indexes in their query plans.

import FetchModel
import TestSupport
import Testing

@testable import SQLiteStore

@Suite("Fetches use the indexes that a file has", .mayBlock)
struct IndexUseTests {
  static let fixture = """
    CREATE TABLE Country(id INTEGER PRIMARY KEY, name TEXT NOT NULL, continent TEXT);
    CREATE TABLE City(id INTEGER PRIMARY KEY, name TEXT, code TEXT COLLATE NOCASE,
      population INTEGER, rank INTEGER NOT NULL, founded DATETIME,
      country INTEGER REFERENCES Country);
    CREATE TABLE Tag(name TEXT PRIMARY KEY NOT NULL);
    CREATE TABLE City_Tag(city INTEGER REFERENCES City, tag TEXT REFERENCES Tag,
      PRIMARY KEY(city, tag));
    CREATE INDEX Country_name ON Country(name);
    CREATE INDEX City_name ON City(name);
    CREATE INDEX City_code ON City(code COLLATE BINARY);
    CREATE INDEX City_population ON City(population);
    CREATE INDEX City_rank ON City(rank);
    CREATE INDEX City_founded ON City(founded);
    CREATE INDEX City_country_population ON City(country, population);
    INSERT INTO Country VALUES (1, 'Peru', 'America');
    INSERT INTO City VALUES (1, 'a', 'x', 4, 1, '2001-01-01T00:00:00Z', 1),
      (2, 'b', 'y', 5, 2, NULL, 1);
    """

  /// A fetch of cities, or of another entity, and SQLite's query plan for its objects.
  struct Row: Sendable, CustomTestStringConvertible {
    let entity: String
    let query: String
    let plan: String

    init(_ query: String, _ plan: String, entity: String = "City") {
      (self.entity, self.query, self.plan) = (entity, query, plan)
    }

    var testDescription: String { "\(entity) \(query)" }
  }

  private static let sorted = "; USE TEMP B-TREE FOR ORDER BY"

  static let table: [Row] = [
    // Equality
    Row("where=population==5", "SEARCH t0 USING INDEX City_population (population=?)"),
    Row("where=population==nil", "SEARCH t0 USING INDEX City_population (population=?)"),
    Row("where=name=='A'", "SEARCH t0 USING INDEX City_name (name=?)"),
    Row("where=code=='A'", "SEARCH t0 USING INDEX City_code (code=?)"),
    Row("where=id==5", "SEARCH t0 USING INTEGER PRIMARY KEY (rowid=?)"),
    Row("where=country==3", "SEARCH t0 USING INDEX City_country_population (country=?)" + sorted),
    Row(
      "where=country.id==3", "SEARCH t0 USING INDEX City_country_population (country=?)" + sorted),
    // Ranges. For a range with one bound whose order or count is requested, SQLite expects a
    // quarter of all rows, and reads them in the order of ids instead of sorting them.
    Row(
      "where=population BETWEEN {1, 9}",
      "SEARCH t0 USING INDEX City_population (population>? AND population<?)" + sorted),
    Row(
      "where=population>=5 AND population<9",
      "SEARCH t0 USING INDEX City_population (population>? AND population<?)" + sorted),
    Row(
      "where=population>5&sort=population&limit=50",
      "SEARCH t0 USING COVERING INDEX City_population (population>?)"),
    Row(
      "where=population>5&sort=-population&limit=50",
      "SEARCH t0 USING COVERING INDEX City_population (population>?); "
        + "USE TEMP B-TREE FOR RIGHT PART OF ORDER BY"),
    Row(
      "as=count&where=population>5",
      "SEARCH t0 USING COVERING INDEX City_population (population>?)"),
    Row(
      "as=count&where=founded>'2001-01-01T00:00:00Z'",
      "SEARCH t0 USING COVERING INDEX City_founded (founded>?)"),
    Row("where=id>5", "SEARCH t0 USING INTEGER PRIMARY KEY (rowid>?)"),
    Row(
      "where=country==3 AND population>5",
      "SEARCH t0 USING INDEX City_country_population (country=? AND population>?)" + sorted),
    // BEGINSWITH and equivalent predicates
    Row(
      "where=name BEGINSWITH 'A'", "SEARCH t0 USING INDEX City_name (name>? AND name<?)" + sorted),
    Row("where=name LIKE 'A*'", "SEARCH t0 USING INDEX City_name (name>? AND name<?)" + sorted),
    Row(
      "where=code BEGINSWITH 'A'", "SEARCH t0 USING INDEX City_code (code>? AND code<?)" + sorted),
    // IN
    Row(
      "where=population IN {1, 2, 3}",
      "SEARCH t0 USING INDEX City_population (population=?)" + sorted),
    Row("where=code IN {'a','b'}", "SEARCH t0 USING INDEX City_code (code=?)" + sorted),
    Row("where=SELF IN {1,2,3}", "SEARCH t0 USING INTEGER PRIMARY KEY (rowid=?)"),
    Row(
      "where=population IN {1, NULL}",
      "MULTI-INDEX OR [INDEX 1 [SEARCH t0 USING INDEX City_population (population=?)]; "
        + "INDEX 2 [SEARCH t0 USING INDEX City_population (population=?)]]" + sorted),
    Row(
      "where=population==5 OR name=='x'",
      "MULTI-INDEX OR [INDEX 1 [SEARCH t0 USING INDEX City_population (population=?)]; "
        + "INDEX 2 [SEARCH t0 USING INDEX City_name (name=?)]]" + sorted),
    // Negations with their nil case
    Row(
      "as=count&where=NOT (population>5)",
      "MULTI-INDEX OR [INDEX 1 [SEARCH t0 USING COVERING INDEX City_population (population<?)]; "
        + "INDEX 2 [SEARCH t0 USING COVERING INDEX City_population (population=?)]]"),
    Row(
      "as=count&where=NOT population BETWEEN {1, 9}",
      "MULTI-INDEX OR [INDEX 1 [SEARCH t0 USING COVERING INDEX City_population (population<?)]; "
        + "INDEX 2 [SEARCH t0 USING COVERING INDEX City_population (population>?)]; "
        + "INDEX 3 [SEARCH t0 USING COVERING INDEX City_population (population=?)]]"),
    Row(
      "as=count&where=NOT name BEGINSWITH 'A'",
      "MULTI-INDEX OR [INDEX 1 [SEARCH t0 USING COVERING INDEX City_name (name<?)]; "
        + "INDEX 2 [SEARCH t0 USING COVERING INDEX City_name (name>?)]; "
        + "INDEX 3 [SEARCH t0 USING COVERING INDEX City_name (name=?)]]"),
    Row("as=count&where=NOT (rank>5)", "SEARCH t0 USING COVERING INDEX City_rank (rank<?)"),
    Row(
      "as=count&where=population!=nil",
      "SEARCH t0 USING COVERING INDEX City_population (population>?)"),
    Row(
      "as=count&where=country==nil OR population>5",
      "MULTI-INDEX OR [INDEX 1 [SEARCH t0 USING COVERING INDEX City_country_population (country=?)]; "
        + "INDEX 2 [SEARCH t0 USING INDEX City_population (population>?)]]"),
    // Almost all rows differ from one value: SQLite reads the index as a smaller table.
    Row("as=count&where=population!=5", "SCAN t0 USING COVERING INDEX City_population"),
    Row("as=count&where=name!='A'", "SCAN t0 USING COVERING INDEX City_name"),
    Row(
      "sort=population&limit=5&where=population!=5", "SCAN t0 USING COVERING INDEX City_population"
    ),
    // Orders and sections
    Row("sort=population&limit=5", "SCAN t0 USING COVERING INDEX City_population"),
    Row("sort=code&limit=5", "SCAN t0 USING COVERING INDEX City_code"),
    Row("sort=population:nullslast&limit=5", "SCAN t0 USING COVERING INDEX City_population"),
    Row(
      "sort=-rank&limit=5",
      "SCAN t0 USING COVERING INDEX City_rank; USE TEMP B-TREE FOR RIGHT PART OF ORDER BY"),
    Row(
      "section=country&sort=population&limit=5",
      "SCAN t0 USING COVERING INDEX City_country_population"),
    Row(
      "where=country==3&sort=population&limit=5",
      "SEARCH t0 USING COVERING INDEX City_country_population (country=?)"),
    // Counts
    Row("as=count", "SCAN City USING COVERING INDEX City_founded"),
    Row(
      "as=count&where=country IN {3,4}",
      "SEARCH t0 USING COVERING INDEX City_country_population (country=?)"),
    // Relationships: SQLite starts with the country if it must exist
    Row(
      "where=country.name=='Peru'",
      "SEARCH t1 USING COVERING INDEX Country_name (name=?); "
        + "SEARCH t0 USING INDEX City_country_population (country=?)" + sorted),
    Row(
      "where=country.name IN {'Peru','Chile'} AND population>5",
      "SEARCH t1 USING COVERING INDEX Country_name (name=?); "
        + "SEARCH t0 USING INDEX City_country_population (country=? AND population>?)" + sorted),
    Row(
      "where=country.name BEGINSWITH 'P'",
      "SEARCH t1 USING COVERING INDEX Country_name (name>? AND name<?); "
        + "SEARCH t0 USING INDEX City_country_population (country=?)" + sorted),
    Row(
      "where=country.name!='Peru'",
      "SCAN t0; SEARCH t1 USING INTEGER PRIMARY KEY (rowid=?) LEFT-JOIN"),
    Row(
      "where=ANY City.population>5",
      "SCAN t0; CORRELATED SCALAR SUBQUERY 1 "
        + "[SEARCH t1 USING COVERING INDEX City_country_population (country=? AND population>?)]",
      entity: "Country"),
    Row(
      "where=City.@count>3",
      "SCAN t0; CORRELATED SCALAR SUBQUERY 1 "
        + "[SEARCH t1 USING COVERING INDEX City_country_population (country=?)]",
      entity: "Country"),
    // Dictionaries
    Row(
      "as=dictionaries&select=country,n:@count&group=country",
      "SCAN t0 USING COVERING INDEX City_country_population"),
    Row(
      "as=dictionaries&select=@max.population", "SEARCH t0 USING COVERING INDEX City_population"),
    Row(
      "as=dictionaries&select=country,m:@max.population&group=country&where=country==3",
      "SEARCH t0 USING COVERING INDEX City_country_population (country=?)"),
    Row(
      "as=dictionaries&select=population&distinct=true",
      "SCAN t0 USING COVERING INDEX City_population"),
    Row(
      "as=dictionaries&select=name&sort=population&limit=4", "SCAN t0 USING INDEX City_population"),
  ]

  @Test(arguments: table)
  func aFetchUsesItsIndex(row: Row) throws {
    let file = try FetchFixture(Self.fixture)
    let explanation = try file.transaction.explanation(of: file.plan(row.entity, row.query))
    #expect(Self.text(explanation.statements[0].plan) == row.plan)
    #expect(explanation.statements.flatMap(\.hints) == [])
  }

  /// Fetches whose next page is requested, and SQLite's query plan for it.
  static let pages: [Row] = [
    Row("", "SEARCH t0 USING INTEGER PRIMARY KEY (rowid>?)"),
    Row("sort=name", "SEARCH t0 USING COVERING INDEX City_name (name>?)"),
    Row(
      "sort=-rank,population",
      "SEARCH t0 USING INDEX City_rank (rank<?); USE TEMP B-TREE FOR RIGHT PART OF ORDER BY"),
    Row(
      "where=country==1&sort=population",
      "SEARCH t0 USING COVERING INDEX City_country_population (country=? AND population>?)"),
    Row(
      "where=population>1&sort=-population",
      "SEARCH t0 USING COVERING INDEX City_population (population>? AND population<?); "
        + "USE TEMP B-TREE FOR RIGHT PART OF ORDER BY"),
    Row(
      "where=population!=nil&section=country&sort=-population",
      "SEARCH t0 USING COVERING INDEX City_country_population (country>?); "
        + "USE TEMP B-TREE FOR RIGHT PART OF ORDER BY"),
    // Nil comes last here, so the rows after the cursor are two ranges: SQLite reads the index in
    // order.
    Row(
      "sort=-population",
      "SCAN t0 USING COVERING INDEX City_population; "
        + "USE TEMP B-TREE FOR RIGHT PART OF ORDER BY"),
  ]

  @Test(arguments: pages)
  func theNextPageUsesTheIndexOfItsOrder(row: Row) throws {
    let file = try FetchFixture(Self.fixture)
    let query = row.query.isEmpty ? "" : row.query + "&"
    let first = try file.transaction.snapshot(of: file.plan("City", query + "limit=1"))
    let next = try #require(JSON(parsing: first.json)["next"]?.string)
    let explanation = try file.transaction.explanation(
      of: file.plan("City", query + "limit=5&after=\(next)"))
    #expect(Self.text(explanation.statements[0].plan) == row.plan)
  }

  @Test func optionalRelationshipsUseALeftJoinAndKeepTheOrderOfNil() throws {
    let file = try FetchFixture(FetchFixture.fixture)
    for (query, ids) in [
      ("where=country.name IN {'Peru','China'}", "[10,11,30]"),
      ("where=country.continent!='Asia'", "[30,40]"),
      ("where=country.continent!=nil&sort=country.continent:nullslast,-name", "[20,10,11]"),
      ("where=country.continent==nil OR population>20", "[10,30,40]"),
      ("where=NOT country.name IN {'Peru'}&sort=-country.name", "[20,10,11,40]"),
      ("where=country.name BETWEEN {'C','K'}&sort=-population", "[10,11,20]"),
    ] {
      let sections = try file.sections("City", "as=ids&\(query)")
      #expect(sections.hasSuffix("\"items\":\(ids)}]"), "\(query): \(sections)")
    }
  }

  static func text(_ steps: [Explanation.Step]) -> String {
    steps.map { step in
      step.detail + (step.children.isEmpty ? "" : " [\(text(step.children))]")
    }.joined(separator: "; ")
  }
}

@Suite("Links that hold an equal of the key use the indexes that can serve them", .mayBlock)
struct LooseLinkIndexTests {
  static let fixture = """
    CREATE TABLE land(k TEXT COLLATE NOCASE PRIMARY KEY NOT NULL, title TEXT);
    CREATE TABLE city(id INTEGER PRIMARY KEY, name TEXT, land TEXT REFERENCES land);
    CREATE TABLE town(id INTEGER PRIMARY KEY, land TEXT COLLATE NOCASE REFERENCES land);
    CREATE TABLE code(k TEXT PRIMARY KEY NOT NULL);
    CREATE TABLE use(id INTEGER PRIMARY KEY, code TEXT COLLATE NOCASE REFERENCES code);
    CREATE INDEX town_land ON town(land); CREATE INDEX use_code ON use(code);
    """

  @Test(arguments: [
    (
      "city", "where=land.title!='x'&as=count",
      "SCAN t0; SEARCH t1 USING INDEX sqlite_autoindex_land_1 (k=?) LEFT-JOIN"
    ),
    (
      "land", "where=town.@count>3&as=count",
      "SCAN t0 USING COVERING INDEX sqlite_autoindex_land_1; CORRELATED SCALAR SUBQUERY 1 "
        + "[SEARCH t1 USING COVERING INDEX town_land (land=?)]"
    ),
    (
      "code", "where=use.@count>3&as=count",
      "SCAN t0; CORRELATED SCALAR SUBQUERY 1 "
        + "[SEARCH t1 USING COVERING INDEX use_code (code=?)]"
    ),
  ])
  func aLinkUsesItsIndex(_ row: (entity: String, query: String, plan: String)) throws {
    let file = try FetchFixture(Self.fixture)
    let explanation = try file.transaction.explanation(of: file.plan(row.entity, row.query))
    #expect(IndexUseTests.text(explanation.statements[0].plan) == row.plan)
  }

  @Test func anIndexWithTheOwnersCollationIsSuggestedAndServes() throws {
    let file = try FetchFixture(Self.fixture)
    let plan = try file.plan("land", "where=city.@count>3&as=count")
    let hints = try file.transaction.explanation(of: plan).statements.flatMap(\.hints)
    #expect(
      hints.map(\.index) == [#"CREATE INDEX "city_land" ON "city"("land" COLLATE "NOCASE")"#])
    try file.tracked.file.runExternally(hints[0].index)
    #expect(
      try IndexUseTests.text(file.transaction.explanation(of: plan).statements[0].plan)
        == "SCAN t0 USING COVERING INDEX sqlite_autoindex_land_1; CORRELATED SCALAR SUBQUERY 1 "
        + "[SEARCH t1 USING COVERING INDEX city_land (land=?)]")
  }
}
