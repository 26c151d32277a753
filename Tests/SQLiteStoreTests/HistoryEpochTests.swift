import FetchModel
import Testing

@testable import SQLiteStore

@Suite("History: epochs and tokens")
struct HistoryEpochTests {
  @Test("a reopened file continues its history")
  func continued() throws {
    let first = try FollowedFile(historyWorld)
    #expect(first.setup == .added)
    let token = try first.token
    try first.file.outsider("DELETE FROM City")
    let second = try FollowedFile(first.file)
    #expect(second.setup == .continued)
    #expect(try second.history.standing(of: token, on: second.connection) == .known)
    #expect(try second.token.epoch == token.epoch)
    #expect(try second.touches(after: token).objects == [1: [.integer(10), .integer(20)]])
  }

  @Test(
    "a hole in a table's history cuts that table's alone",
    arguments: [
      "DROP TRIGGER livefetch_update_City",
      "ALTER TABLE City RENAME COLUMN name TO title",
      """
      CREATE TABLE c2(id INTEGER PRIMARY KEY, name TEXT, population REAL, country INTEGER
        REFERENCES Country ON DELETE CASCADE);
      INSERT INTO c2 SELECT * FROM City; DROP TABLE City; ALTER TABLE c2 RENAME TO City;
      """,
      "CREATE UNIQUE INDEX u ON City(name)",
      "CREATE TRIGGER young AFTER INSERT ON City BEGIN UPDATE City SET name = 'x'; END",
      "DROP TABLE livefetch_history_City",
    ])
  func hole(_ sql: String) throws {
    let first = try FollowedFile(historyWorld)
    let token = try first.token
    try first.file.outsider("UPDATE Country SET name = 'before' WHERE id = 1")
    try first.file.outsider(sql)
    let second = try FollowedFile(first.file)
    #expect(second.setup == .mended)
    #expect(try second.token.epoch == token.epoch)
    #expect(try second.standing(of: token, "City") == .expired)
    #expect(try second.standing(of: second.token, "City") == .known)
    #expect(try second.standing(of: token, "Country") == .known)
    #expect(try second.standing(of: token, "Country", "name,City") == .expired)
    // What was written before is remembered of the others, of this one what comes.
    try first.file.outsider("UPDATE City SET population = 1 WHERE id = 10")
    let touched = try second.touches(after: token).objects
    let places = try ["Country", "City"].map {
      try #require(second.history.model.entityIndex(named: $0))
    }
    #expect(touched == [places[0]: [.integer(1)], places[1]: [.integer(10)]])
    // The saves between are not told as if nothing were missing.
    #expect(
      try second.history.changes(after: token, limit: 9, on: second.connection) == nil)
    #expect(try FollowedFile(first.file).setup == .continued)
  }

  @Test(
    "a column that comes cuts nothing but fetches that ask by it",
    arguments: [
      "mayor TEXT COLLATE NOCASE DEFAULT 'x'", "mayor GENERATED ALWAYS AS (name || '!') VIRTUAL",
      "mayor INTEGER REFERENCES City(id)",
    ])
  func columnThatComes(_ column: String) throws {
    let first = try FollowedFile(historyWorld)
    let token = try first.token
    try first.file.outsider("UPDATE City SET name = 'before' WHERE id = 10")
    try first.file.outsider("ALTER TABLE City ADD COLUMN \(column)")
    try first.file.outsider("UPDATE City SET name = 'between' WHERE id = 20")
    let second = try FollowedFile(first.file)
    #expect(second.setup == .mended)
    #expect(try second.standing(of: token, "City", "name") == .known)
    #expect(try second.standing(of: token, "Country", "name,City") == .known)
    #expect(try second.standing(of: token, "City", "name,mayor") == .widened([1]))
    #expect(try second.standing(of: token, "City", "@etag") == .widened([0]))
    guard case .widened(let indexes) = try second.standing(of: token, "City") else {
      Issue.record("not widened")
      return
    }
    #expect(indexes.count == 1)
    for (condition, standing) in [
      ("mayor == nil", TokenStanding.expired), ("name == 'a'", .known),
      ("country.name == 'a'", .known),
    ] {
      #expect(try second.standing(of: token, "City", "name", where: condition) == standing)
    }
    let later = try second.token
    #expect(try second.standing(of: later, "City") == .known)
    try first.file.outsider("UPDATE City SET population = 1 WHERE id = 10")
    #expect(
      try second.touches(after: token).objects.values.first == [.integer(10), .integer(20)])
    #expect(try second.touches(after: later).objects.values.first == [.integer(10)])
    // The saves between are not told as if nothing were missing.
    #expect(
      try second.history.changes(after: token, limit: 9, on: second.connection) == nil)
    #expect(try FollowedFile(first.file).setup == .continued)
    // Another one.
    try first.file.outsider("ALTER TABLE City ADD COLUMN area REAL")
    let third = try FollowedFile(first.file)
    #expect(third.setup == .mended)
    #expect(try third.standing(of: later, "City", "mayor") == .known)
    #expect(try third.standing(of: later, "City", "mayor,area") == .widened([1]))
    #expect(try third.standing(of: token, "City", "mayor,area") == .widened([0, 1]))
    #expect(try FollowedFile(first.file).setup == .continued)
    #expect(try History.detach(on: first.file.connect()))
    #expect(
      try first.file.connect().all("SELECT name FROM sqlite_schema WHERE name LIKE 'livefetch%'") {
        $0.text(0)
      } == [])
  }

  @Test("a column that comes beside a write that was not recorded, or a trigger, cuts the table")
  func columnThatComesWithAHole() throws {
    for hole in ["DROP TRIGGER livefetch_update_City", "CREATE UNIQUE INDEX u ON City(name)"] {
      let first = try FollowedFile(historyWorld)
      let token = try first.token
      try first.file.outsider("ALTER TABLE City ADD COLUMN mayor TEXT; \(hole)")
      let second = try FollowedFile(first.file)
      #expect(try second.standing(of: token, "City", "name") == .expired)
    }
  }

  @Test("a table that goes cuts no fetches of those that led to it but the ones over that key")
  func tableThatIsReferred() throws {
    let first = try FollowedFile(
      """
      CREATE TABLE Country(id INTEGER PRIMARY KEY, name TEXT);
      CREATE TABLE City(id INTEGER PRIMARY KEY, name TEXT, country_id INTEGER REFERENCES Country);
      INSERT INTO Country VALUES (1, 'a'); INSERT INTO City VALUES (10, 'b', 1)
      """)
    let token = try first.token
    try first.file.outsider("DROP TABLE Country")
    let second = try FollowedFile(first.file)
    #expect(second.setup == .mended)
    #expect(try second.standing(of: token, "City", "name") == .known)
    #expect(try second.standing(of: token, "City") == .expired)
    #expect(try second.standing(of: token, "City", "country_id") == .expired)
    #expect(try second.standing(of: token, "City", "name", where: "country_id == 1") == .expired)
    #expect(try second.standing(of: second.token, "City") == .known)
    #expect(try FollowedFile(first.file).setup == .continued)
  }

  @Test("a file that did not remember its columns does so from its next opening on")
  func columnsOfOlderFiles() throws {
    let first = try FollowedFile("CREATE TABLE City(id INTEGER PRIMARY KEY, name TEXT)")
    let token = try first.token
    try first.file.outsider("DROP TABLE livefetch_column")
    #expect(try FollowedFile(first.file).setup == .continued)
    try first.file.outsider("ALTER TABLE City ADD COLUMN mayor TEXT")
    #expect(try FollowedFile(first.file).standing(of: token, "City", "name") == .known)
  }

  @Test("a table that comes cuts nothing, one that goes what reaches it")
  func comingAndGoing() throws {
    let first = try FollowedFile(
      """
      CREATE TABLE Country(id INTEGER PRIMARY KEY);
      CREATE TABLE City(id INTEGER PRIMARY KEY, country REFERENCES Country)
      """)
    let token = try first.token
    try first.file.outsider("CREATE TABLE River(id INTEGER PRIMARY KEY, city REFERENCES City)")
    let second = try FollowedFile(first.file)
    #expect(second.setup == .mended)
    for entity in ["Country", "City"] {
      #expect(try second.standing(of: token, entity) == .known)
    }
    #expect(try second.standing(of: token, "River") == .expired)
    #expect(try second.history.changes(after: token, limit: 9, on: second.connection) != nil)
    let numbers = second.history.tables.map(\.number)
    #expect(Set(numbers).count == numbers.count)
    let later = try second.token
    try first.file.outsider("DROP TABLE River")
    let third = try FollowedFile(first.file)
    #expect(try third.standing(of: token, "City") == .known)
    #expect(try third.history.changes(after: later, limit: 9, on: third.connection) == nil)
    // A number is never another table's.
    try first.file.outsider("CREATE TABLE Lake(id INTEGER PRIMARY KEY)")
    let lake = try FollowedFile(first.file).history.tables.first { $0.layout.table == "Lake" }
    #expect(lake.map { !numbers.contains($0.number) } == true)
  }

  @Test("a relationship's name that comes to mean another table cuts the history of its owner")
  func otherMeaning() throws {
    let first = try FollowedFile(
      """
      CREATE TABLE a(id INTEGER PRIMARY KEY); CREATE TABLE b(id INTEGER PRIMARY KEY, a REFERENCES a);
      CREATE TABLE c(id INTEGER PRIMARY KEY)
      """)
    let token = try first.token
    // Both give `a` a relationship called `b`; the second one takes what the first one had.
    try first.file.outsider("DROP TABLE b")
    #expect(try FollowedFile(first.file).standing(of: token, "a") == .known)
    try first.file.outsider("CREATE TABLE b(id INTEGER PRIMARY KEY, x, a2 REFERENCES a)")
    let third = try FollowedFile(first.file)
    #expect(try third.standing(of: token, "a") == .expired)
    #expect(try third.standing(of: token, "c") == .known)
  }

  @Test(
    "changes that do not concern tracked tables keep the epoch",
    arguments: ["CREATE INDEX i ON City(name)", "CREATE VIEW v AS SELECT * FROM City", "VACUUM"])
  func noHole(_ sql: String) throws {
    let first = try FollowedFile("CREATE TABLE City(id INTEGER PRIMARY KEY, name TEXT)")
    try first.file.outsider(sql)
    #expect(try FollowedFile(first.file).setup == .continued)
  }

  @Test("VACUUM may change rowids, so that it is a gap in the history of tables without a key")
  func vacuum() throws {
    let keyed = historyWorld.replacing(
      "tag TEXT REFERENCES Tag ON UPDATE CASCADE",
      with: "tag TEXT REFERENCES Tag, PRIMARY KEY(city, tag)")
    for (sql, expected) in [(historyWorld, History.Setup.mended), (keyed, .continued)] {
      let first = try FollowedFile(sql)
      #expect(try FollowedFile(first.file).setup == .continued)
      try first.file.outsider("VACUUM")
      #expect(try FollowedFile(first.file).setup == expected)
    }
  }

  @Test("only a token that this history issued is known")
  func standing() throws {
    let store = try FollowedFile(historyWorld)
    let token = try store.token
    let others = [
      Token(epoch: "other", position: token.position, nonce: token.nonce),
      Token(epoch: token.epoch, position: token.position, nonce: token.nonce &+ 1),
      Token(epoch: token.epoch, position: token.position + 1, nonce: token.nonce),
      Token(epoch: token.epoch, position: 0, nonce: 0),
    ]
    #expect(try store.history.standing(of: token, on: store.connection) == .known)
    for other in others {
      #expect(try store.history.standing(of: other, on: store.connection) == .expired)
    }
    #expect(Token(token.description) == token)
  }

  @Test("a history of the first format begins again")
  func olderFormat() throws {
    let store = try FollowedFile(historyWorld)
    let token = try store.token
    try store.file.outsider(
      "UPDATE livefetch_store SET value = 1 WHERE key = 'format'; DROP TABLE livefetch_table")
    let second = try FollowedFile(store.file)
    #expect(second.setup == .restarted)
    #expect(try second.standing(of: token, "City") == .expired)
    #expect(try FollowedFile(store.file).setup == .continued)
  }

  @Test("a file of a newer format is refused")
  func newerFormat() throws {
    let store = try FollowedFile(historyWorld)
    try store.file.outsider("UPDATE livefetch_store SET value = 3 WHERE key = 'format'")
    #expect(
      throws: StoreError.unusable("the file's history has format 3; this version knows 2")
    ) { try FollowedFile(store.file) }
  }

  @Test("detaching removes everything of the server from the file")
  func detach() throws {
    let file = try ScratchFile(historyWorld)
    let before = try schemaText(file)
    let store = try FollowedFile(file)
    try store.file.outsider("UPDATE City SET name = 'x'")
    #expect(try History.detach(on: store.connection))
    #expect(try schemaText(file) == before)
    #expect(try History.detach(on: file.connect()) == false)
  }

  private func schemaText(_ file: ScratchFile) throws -> [String] {
    try file.connect().all("SELECT type || name || coalesce(sql, '') FROM sqlite_schema") {
      $0.text(0)
    }
  }
}
