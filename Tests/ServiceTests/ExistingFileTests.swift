// A model on a file that already has tables.

import FetchModel
import SQLiteStore
import TestSupport
import Testing

/// A model on a file with tables: it is served if they match the model; otherwise every
/// difference is reported with its place and reason.
@Suite("A model on an existing file", .mayBlock)
struct ExistingFileTests {
  static let model = """
    {"entities":[
    {"name":"City","attributes":[{"name":"name","type":"String","optional":false},
      {"name":"people","type":"Integer 32"},{"name":"founded","type":"Date"}],
     "uniquenessConstraints":[["name"]],
     "relationships":[{"name":"country","destination":"Country","inverse":"cities"},
      {"name":"tags","destination":"Tag","toMany":true,"inverse":"cities"}]},
    {"name":"Country","relationships":[
      {"name":"cities","destination":"City","toMany":true,"inverse":"country","deleteRule":"Cascade"}]},
    {"name":"Tag","relationships":[
      {"name":"cities","destination":"City","toMany":true,"inverse":"tags"}]}]}
    """
  static let country = "CREATE TABLE Country(id INTEGER PRIMARY KEY);"
  static let city = """
    CREATE TABLE City(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, people INTEGER, founded TEXT,
      country_id INTEGER REFERENCES Country(id) ON DELETE CASCADE);
    """
  static let tag = """
    CREATE TABLE Tag(id INTEGER PRIMARY KEY);
    CREATE TABLE CityTag(city INTEGER NOT NULL REFERENCES City(id) ON DELETE CASCADE,
      tag INTEGER NOT NULL REFERENCES Tag(id) ON DELETE CASCADE, PRIMARY KEY(city, tag));
    """

  private static func refusal(
    _ sql: String, of text: String = ExistingFileTests.model
  ) throws -> [String] {
    do {
      _ = try SampleModel.served(text: text, sql: sql)
      return []
    } catch StoreError.unusable(let reason) {
      var lines = reason.split(separator: "\n").map(String.init)
      #expect(lines.removeFirst() == "the tables do not match the model:")
      return lines
    }
  }

  private static let matching =
    country + city + tag
      + """
      INSERT INTO Country VALUES (7); INSERT INTO City VALUES (1, 'Oslo', 5, '1048-01-01', 7);
      INSERT INTO Tag VALUES (3); INSERT INTO CityTag VALUES (1, 3);
      """

  @Test func aMatchingFileKeepsItsTables() throws {
    let tables =
      "SELECT sql FROM sqlite_schema WHERE name IN ('Country', 'City', 'Tag', 'CityTag') ORDER BY name"
    let directory = try TemporaryDirectory()
    let original = try directory.emptyFile()
    try SQLiteShell.run(Self.matching, path: original)
    let file = try SampleModel.served(text: Self.model, sql: Self.matching)
    let found = try sqlite(file.path, tables)
    #expect(found.count == 4)
    #expect(try found == sqlite(original, tables))
  }

  @Test func aMatchingFileIsServedWithItsRows() throws {
    let file = try SampleModel.served(text: Self.model, sql: Self.matching)
    #expect(
      try file.ask("/v1/objects/City/1?select=name,people,founded,country,tags").text
        == #"{"id":1,"name":"Oslo","people":5,"founded":"1048-01-01T00:00:00Z","country":7,"tags":[3]}"#
    )
  }

  @Test func theModelsRulesHoldInAMatchingFile() throws {
    let file = try SampleModel.served(text: Self.model, sql: Self.matching)
    #expect(
      try file.ask("POST", "/v1/objects/City", body: #"{"name":"Rome","people":3000000000}"#)
        .text.contains("out-of-range"))
    #expect(try file.ask("DELETE", "/v1/objects/Country/7").status == 204)
    #expect(try file.ask("/v1/objects/City/1").status == 404)
  }

  static let mismatches: [(sql: String, problems: [String])] = [
    (country + city, ["Tag: there is no table of this name"]),
    (
      country + tag + city.replacing(" people INTEGER,", with: ""),
      ["City.people: `City` has no column `people`"]
    ),
    (
      country + tag + city.replacing("people INTEGER", with: "people TEXT"),
      ["City.people is Integer 32, and the column is declared TEXT"]
    ),
    (
      country + tag + city.replacing("people INTEGER", with: "people INTEGER NOT NULL"),
      ["City.people is optional, and the column `people` of `City` is NOT NULL"]
    ),
    (
      country + tag + city.replacing("name TEXT NOT NULL UNIQUE", with: "name TEXT UNIQUE")
        + "INSERT INTO City(name) VALUES (NULL), ('a'), (NULL);",
      ["City.name is not optional, and 2 rows of `City` have no value in `name`"]
    ),
    (
      country + tag + city.replacing(" UNIQUE", with: ""),
      ["City.name has to be unique, and `City` has no unique index of `name`"]
    ),
    (
      country + tag + city.replacing(" ON DELETE CASCADE", with: ""),
      [
        "Country.cities has the delete rule Cascade, and the foreign key of City.country has ON DELETE NO ACTION"
      ]
    ),
    (
      country + tag + city.replacing("REFERENCES Country(id)", with: "REFERENCES Tag(id)"),
      ["City.country leads to Country, and the column refers to `Tag`"]
    ),
    (
      country + tag + city.replacing("founded TEXT", with: "founded TEXT, mayor TEXT NOT NULL"),
      ["`City`: the column `mayor` needs a value, and the model has no such property"]
    ),
    (
      country + tag + city.replacing("founded TEXT", with: "founded TEXT, name_id TEXT NOT NULL"),
      ["`City`: the column `name_id` needs a value, and the model has no such property"]
    ),
    (
      country + city + "CREATE TABLE Tag(id INTEGER PRIMARY KEY);",
      ["there is no table `City_tags` for a to-many relationship"]
    ),
    (
      country + city + tag.replacing("Tag(id) ON DELETE CASCADE", with: "Tag(id)"),
      [
        "Tag.cities has the delete rule Nullify, and the foreign key `tag` of `CityTag` has ON DELETE NO ACTION"
      ]
    ),
    (
      country.replacing(" PRIMARY KEY", with: "") + tag + city,
      ["Country: the table has no primary key"]
    ),
    (
      tag + city.replacing(" people INTEGER,", with: ""),
      ["Country: there is no table of this name"]
    ),
  ]

  @Test(arguments: mismatches.indices)
  func everyDifferenceIsReportedWithItsPlaceAndReason(_ index: Int) throws {
    let (sql, problems) = Self.mismatches[index]
    #expect(try Self.refusal(sql) == problems)
  }

  @Test func allDifferencesAreReportedTogether() throws {
    let reported = try Self.refusal(
      Self.country + Self.tag
        + Self.city.replacing(" people INTEGER,", with: "").replacing(
          "founded TEXT", with: "founded BLOB"))
    #expect(
      reported == [
        "City.people: `City` has no column `people`",
        "City.founded is Date, and the column is declared BLOB",
      ])
  }

  @Test(.onlyForFiles) func aSubentitysUniqueIndexHasAConditionOnTheEntity() throws {
    let model = """
      {"entities":[{"name":"City","attributes":[{"name":"name","type":"String"}]},
      {"name":"Capital","parent":"City","attributes":[{"name":"code","type":"String"}],
       "uniquenessConstraints":[["code"]]}]}
      """
    let city =
      "CREATE TABLE City(id INTEGER PRIMARY KEY, entity TEXT NOT NULL, name TEXT, code TEXT);"
    let index = "CREATE UNIQUE INDEX City_code ON City(code) WHERE "
    #expect(try Self.refusal(city + index + "entity = 'Capital'", of: model) == [])
    #expect(
      try Self.refusal(city + index + "code > 'M'", of: model)
        == ["Capital.code has to be unique, and `City` has no unique index of `code`"])
  }

  @Test func aRefusedFileIsUnchanged() throws {
    let file = try ServedFile(Self.country + Self.city)
    file.stop()
    var options = SQLiteStoreOptions()
    options.model = try ModelFile(parsing: Array(Self.model.utf8))
    let before = try sqlite(file.path, "SELECT name, sql FROM sqlite_schema")
    #expect(throws: StoreError.self) { _ = try SQLiteStore(path: file.path, options: options) }
    #expect(try sqlite(file.path, "SELECT name, sql FROM sqlite_schema") == before)
    let again = try ServedFile("", adopting: file)
    #expect(try again.ask("/v1/objects/City?as=count").json["total"]?.integer == 0)
  }

  @Test(.onlyForFiles) func aStoreThatWasServedWithTheModelIsServedAgainAlthoughAColumnNeedsAValue()
    throws
  {
    let directory = try TemporaryDirectory()
    let path = try directory.emptyFile()
    var options = SQLiteStoreOptions()
    options.model = try ModelFile(parsing: Array(Self.model.utf8))
    try SQLiteStore(path: path, options: options).close()
    try sqlite(
      path,
      """
      PRAGMA writable_schema = ON;
      UPDATE sqlite_schema SET sql = replace(sql, '"people"', '"mayor" TEXT NOT NULL, "people"')
      WHERE name = 'City';
      """)
    #expect(try sqlite(path, "SELECT name FROM pragma_table_info('City')").contains("mayor"))
    try SQLiteStore(path: path, options: options).close()
    let model = try #require(options.model)
    #expect(try SQLiteStore.mismatches(path: path, with: model) == [])
    var other = model
    other.version = "2"
    #expect(
      try SQLiteStore.mismatches(path: path, with: other)
        == ["`City`: the column `mayor` needs a value, and the model has no such property"])
  }

  // MARK: Triggers

  private static let dated = """
    {"entities":[{"name":"City","attributes":[{"name":"name","type":"String"},
      {"name":"changed","type":"Date","derivation":"now()"}]}]}
    """

  @Test(.onlyForFiles) func triggersOfOtherProgramsStayWhateverTheyAreCalled() throws {
    let file = try SampleModel.served(
      text: Self.model,
      sql: Self.matching + """
        CREATE TABLE model(id INTEGER PRIMARY KEY, title TEXT); CREATE TABLE log(t TEXT);
        CREATE TRIGGER model_ai AFTER INSERT ON model BEGIN INSERT INTO log VALUES('ai ' || NEW.id); END;
        CREATE TRIGGER model_links_au AFTER UPDATE ON model BEGIN INSERT INTO log VALUES('au'); END;
        """)
    file.stop()
    let changes = "INSERT INTO model VALUES (4, 'x'); UPDATE model SET title = 'y';"
    #expect(try sqlite(file.path, changes + "SELECT t FROM log") == ["ai 4", "au"])
  }

  @Test(.onlyForFiles) func aModelIsRefusedIfATriggerOfAnotherProgramHasANameThatItNeeds() throws {
    let directory = try TemporaryDirectory()
    let path = directory.file("store.sqlite")
    try SQLiteShell.run(
      """
      CREATE TABLE City(id INTEGER PRIMARY KEY, name TEXT, changed TIMESTAMP REAL);
      CREATE TRIGGER model_derived_city_changed_insert AFTER INSERT ON City BEGIN SELECT 1; END;
      """, path: path)
    let before = try sqlite(path, "SELECT sql FROM sqlite_schema")
    var options = SQLiteStoreOptions()
    options.model = try ModelFile(parsing: Array(Self.dated.utf8))
    #expect(
      throws: StoreError.unusable(
        """
        the model needs the names of triggers that LiveFetch did not make: \
        `model_derived_city_changed_insert` (drop them, or create them under other names)
        """)
    ) { _ = try SQLiteStore(path: path, options: options) }
    #expect(try sqlite(path, "SELECT sql FROM sqlite_schema") == before)
  }

  @Test(.onlyForFiles) func triggersThatLiveFetchMadeForAnotherModelAreReplaced() throws {
    let file = try SampleModel.served(text: Self.dated)
    file.stop()
    let text = """
      SELECT sql FROM sqlite_schema WHERE type = 'trigger' AND name LIKE 'model%' ORDER BY name
      """
    let made = try sqlite(file.path, text)
    #expect(made.count == 2)
    try SQLiteShell.run(
      """
      DROP TRIGGER model_derived_City_changed_insert;
      CREATE TRIGGER "model_derived_City_changed_insert" AFTER INSERT ON "City" BEGIN SELECT 1; END;
      CREATE TRIGGER "model_cascade_City_mayor" AFTER DELETE ON "City" BEGIN SELECT 2; END;
      """, path: file.path)
    let again = try ServedFile("", adopting: file)
    again.stop()
    #expect(try sqlite(file.path, text) == made)
  }
}
