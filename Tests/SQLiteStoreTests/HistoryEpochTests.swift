// The events that begin a new epoch, and the tokens that stay valid.

import FetchModel
import TestSupport
import Testing

@testable import SQLiteStore

@Suite("History: epochs and tokens", .mayBlock)
struct HistoryEpochTests {
  @Test("a reopened file continues its history")
  func continued() throws {
    let first = try TrackedFile(historyFixture)
    #expect(first.setup == .added)
    let token = try first.token
    try first.file.runExternally("DELETE FROM City")
    let second = try TrackedFile(first.file)
    #expect(second.setup == .continued)
    #expect(try second.history.validity(of: token, on: second.connection) == .known)
    #expect(try second.token.epoch == token.epoch)
    #expect(try second.changeSet(after: token).objects == [1: [.integer(10), .integer(20)]])
  }

  @Test(
    "another schema, or a gap in the history of a table, begins a new epoch",
    arguments: [
      "DROP TRIGGER livefetch_update_City",
      "ALTER TABLE City RENAME COLUMN name TO title",
      "ALTER TABLE City ADD COLUMN mayor TEXT",
      "ALTER TABLE City ADD COLUMN mayor INTEGER REFERENCES City(id)",
      """
      DROP TRIGGER livefetch_update_City; DROP TRIGGER livefetch_delete_City;
      ALTER TABLE City DROP COLUMN population
      """,
      """
      CREATE TABLE c2(id INTEGER PRIMARY KEY, name TEXT, population REAL, country INTEGER
        REFERENCES Country ON DELETE CASCADE);
      INSERT INTO c2 SELECT * FROM City; DROP TABLE City; ALTER TABLE c2 RENAME TO City;
      """,
      "DROP TABLE Tag",
      "CREATE TABLE River(id INTEGER PRIMARY KEY)",
      "CREATE VIEW v AS SELECT * FROM City",
      "CREATE UNIQUE INDEX u ON City(name)",
      "CREATE TRIGGER young AFTER INSERT ON City BEGIN UPDATE City SET name = 'x'; END",
      "DROP TABLE livefetch_history_City", "DROP TABLE livefetch_save",
      "DROP TABLE livefetch_answer",
      "UPDATE livefetch_store SET value = 'other' WHERE key = 'schema'",
    ])
  func newEpoch(_ sql: String) throws {
    let first = try TrackedFile(historyFixture)
    let token = try first.token
    try first.file.runExternally("UPDATE Country SET name = 'before' WHERE id = 1")
    try first.file.runExternally(sql)
    let second = try TrackedFile(first.file)
    #expect(second.setup == .restarted)
    #expect(try second.token.epoch != token.epoch)
    #expect(try second.validity(of: token) == .expired)
    #expect(try second.validity(of: second.token) == .known)
    let start = try second.token
    try first.file.runExternally("UPDATE City SET country = 2 WHERE id = 10")
    let city = try #require(second.history.model.entityIndex(named: "City"))
    #expect(try second.changeSet(after: start).objects == [city: [.integer(10)]])
    #expect(try second.history.changes(after: token, limit: 9, in: second.transaction) == nil)
    let third = try TrackedFile(first.file)
    #expect(third.setup == .continued)
    #expect(try third.validity(of: start) == .known)
    #expect(try History.detach(on: first.file.connect()))
    #expect(
      try first.file.connect().all("SELECT name FROM sqlite_schema WHERE name LIKE 'livefetch%'") {
        $0.text(0)
      } == [])
  }

  @Test(
    "an index, ANALYZE and VACUUM do not begin a new epoch",
    arguments: ["CREATE INDEX i ON City(name)", "ANALYZE", "VACUUM"])
  func noHole(_ sql: String) throws {
    let first = try TrackedFile("CREATE TABLE City(id INTEGER PRIMARY KEY, name TEXT)")
    try first.file.runExternally(sql)
    #expect(try TrackedFile(first.file).setup == .continued)
  }

  @Test(
    "a column that loses its last value keeps its form, and so does the history",
    arguments: [
      ("DATETIME", "'2021-01-01T05:00:00Z'", "5"),
      ("DATE", "'2021-01-01T05:00:00Z'", "'2021-01-01'"),
      ("TIMESTAMP", "'2021-01-01 05:00:00'", "'2021-01-01T05:00:00Z'"),
      ("DATE", "1600000000", "'2021-01-01'"),
      ("UUID", "'6f9619ff-8b86-d011-b42d-00c04fc964ff'", "'6F9619FF-8B86-D011-B42D-00C04FC964FF'"),
      ("UUID", "x'6f9619ff8b86d011b42d00c04fc964ff'", "'6f9619ff-8b86-d011-b42d-00c04fc964ff'"),
      ("", "5", "'X'"), ("", "1.5", "'X'"), ("", "x'00'", "'X'"),
    ])
  func emptiedColumn(type: String, value: String, other: String) throws {
    let first = try TrackedFile("CREATE TABLE T(id INTEGER PRIMARY KEY, v \(type))")
    try first.file.runExternally("INSERT INTO T VALUES (1, \(value))")
    let filled = try TrackedFile(first.file)
    try first.file.runExternally("DELETE FROM T")
    for _ in 1...2 {
      let emptied = try TrackedFile(first.file)
      #expect(emptied.setup == .continued)
      #expect(
        SchemaSignature(emptied.history.model, emptied.history.schema).text
          == SchemaSignature(filled.history.model, filled.history.schema).text)
    }
    // The next value may have another form: then a new epoch begins.
    try first.file.runExternally("INSERT INTO T VALUES (1, \(other))")
    #expect(try TrackedFile(first.file).setup == .restarted)
  }

  @Test(
    "a column keeps its form as long as one of its first values has it",
    arguments: [
      ("DATETIME", "'2021-01-01T05:00:00Z'", "'2021-01-01 05:00:00'"),
      ("DATETIME", "'2021-01-01 05:00:00'", "'soon'"),
      ("DATETIME", "'2021-01-01 05:00:00'", "'2021-02-30'"),
      ("DATE", "1600000000", "'2021-01-01'"),
      ("UUID", "'6f9619ff-8b86-d011-b42d-00c04fc964ff'", "'6F9619FF-8B86-D011-B42D-00C04FC964FF'"),
      ("UUID", "x'6f9619ff8b86d011b42d00c04fc964ff'", "'no'"),
    ])
  func changedFirstRow(type: String, value: String, other: String) throws {
    let first = try TrackedFile(
      """
      CREATE TABLE T(id INTEGER PRIMARY KEY, v \(type));
      INSERT INTO T VALUES (1, NULL), (2, \(value)), (3, \(value))
      """)
    let setup = SchemaSignature(first.history.model, first.history.schema).text
    try first.file.runExternally("UPDATE T SET v = \(other) WHERE id < 3")
    let second = try TrackedFile(first.file)
    #expect(second.setup == .continued)
    #expect(SchemaSignature(second.history.model, second.history.schema).text == setup)
  }

  @Test("the rows of a view, which decide its types and its key, do not begin a new epoch")
  func viewRows() throws {
    let first = try TrackedFile(
      """
      CREATE TABLE T(id INTEGER PRIMARY KEY, g INTEGER);
      CREATE VIEW V AS SELECT g AS id, count(*) AS n, max(g) AS top FROM T GROUP BY g;
      CREATE VIEW W AS SELECT g AS id FROM T;
      """)
    try first.file.runExternally("INSERT INTO T VALUES (1, 1), (2, 1)")
    #expect(try TrackedFile(first.file).setup == .continued)
    try first.file.runExternally("DELETE FROM T")
    #expect(try TrackedFile(first.file).setup == .continued)
  }

  @Test("VACUUM may change rowids, so that it is a gap in the history of tables without a key")
  func vacuum() throws {
    let keyed = historyFixture.replacing(
      "tag TEXT REFERENCES Tag ON UPDATE CASCADE",
      with: "tag TEXT REFERENCES Tag, PRIMARY KEY(city, tag)")
    for (sql, expected) in [(historyFixture, HistorySetup.restarted), (keyed, .continued)] {
      let first = try TrackedFile(sql)
      #expect(try TrackedFile(first.file).setup == .continued)
      try first.file.runExternally("VACUUM")
      #expect(try TrackedFile(first.file).setup == expected)
    }
  }

  @Test("only a token that this history issued is valid")
  func standing() throws {
    let store = try TrackedFile(historyFixture)
    let token = try store.token
    let others = [
      Token(epoch: "other", position: token.position, nonce: token.nonce),
      Token(epoch: token.epoch, position: token.position, nonce: token.nonce &+ 1),
      Token(
        epoch: token.epoch, position: HistoryPosition(token.position.number + 1), nonce: token.nonce
      ),
      Token(epoch: token.epoch, position: HistoryPosition(0), nonce: 0),
    ]
    #expect(try store.history.validity(of: token, on: store.connection) == .known)
    for other in others {
      #expect(try store.history.validity(of: other, on: store.connection) == .expired)
    }
    #expect(Token(token.description) == token)
  }

  @Test("a history of an older format begins a new epoch")
  func olderFormat() throws {
    let store = try TrackedFile(historyFixture)
    let token = try store.token
    try store.file.runExternally(
      """
      UPDATE livefetch_store SET value = 2 WHERE key = 'format';
      CREATE TABLE livefetch_table(name TEXT PRIMARY KEY);
      CREATE TABLE livefetch_column(name TEXT PRIMARY KEY)
      """)
    let second = try TrackedFile(store.file)
    #expect(second.setup == .upgraded(from: 2, to: 3))
    #expect(try second.validity(of: token) == .expired)
    #expect(try TrackedFile(store.file).setup == .continued)
    #expect(
      try store.rows(
        "SELECT name FROM sqlite_schema WHERE name IN ('livefetch_table', 'livefetch_column')")
        == [])
  }

  @Test("a file of a newer format is refused")
  func newerFormat() throws {
    let store = try TrackedFile(historyFixture)
    try store.file.runExternally("UPDATE livefetch_store SET value = 4 WHERE key = 'format'")
    #expect(
      throws: StoreError.unusable("the file's history has format 4; this version knows 3")
    ) { try TrackedFile(store.file) }
  }

  @Test("detaching removes all of the server's tables and triggers from the file")
  func detach() throws {
    let file = try ScratchFile(historyFixture)
    let before = try schemaText(file)
    let store = try TrackedFile(file)
    try store.file.runExternally("UPDATE City SET name = 'x'")
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
