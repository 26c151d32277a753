// The rows that the triggers record.

import FetchModel
import TestSupport
import Testing

@testable import SQLiteStore

@Suite("History: the rows that every save records", .mayBlock)
struct HistoryTests {
  @Test("an insert records its key; an update and a delete record the old row")
  func threeKinds() throws {
    let store = try TrackedFile(historyFixture)
    let start = try store.token
    try store.file.runExternally(
      """
      INSERT INTO City VALUES (30, 'Osaka', NULL, 2);
      UPDATE City SET population = 0.1 WHERE id = 10;
      DELETE FROM City WHERE id = 20;
      """)
    #expect(
      try store.history("City", after: start) == [
        "0|30|nil|nil|nil", "1|10|'Shanghai'|24.5|1", "1|20|'Tokyo'|9.7|2",
      ])
  }

  @Test("an update without changes records nothing")
  func silentUpdate() throws {
    let store = try TrackedFile(
      "CREATE TABLE t(id INTEGER PRIMARY KEY, a COLLATE NOCASE); INSERT INTO t VALUES (1, 'x')")
    let start = try store.token
    try store.file.runExternally("UPDATE t SET a = 'x', id = 1")
    #expect(try store.token == start)
    try store.file.runExternally("UPDATE t SET a = 'X'")
    #expect(try store.history("t", after: start) == ["1|1|'x'"])
  }

  @Test("a changed key is a deleted and an inserted row, under any name of the key column")
  func changedKey() throws {
    let store = try TrackedFile(historyFixture)
    let start = try store.token
    try store.file.runExternally("UPDATE Country SET rowid = 3 WHERE id = 2")
    #expect(Set(try store.history("Country", after: start)) == ["1|2|'Japan'", "0|3|nil"])
    #expect(try store.changeSet(after: start).objects == [0: [.integer(2), .integer(3)]])
  }

  @Test("rows that REPLACE deletes are recorded, on insert and on update")
  func replacedRows() throws {
    let store = try TrackedFile(
      """
      CREATE TABLE t(id INTEGER PRIMARY KEY, a TEXT UNIQUE COLLATE NOCASE, b INT, c TEXT);
      CREATE UNIQUE INDEX partly ON t(b) WHERE c IS NULL;
      CREATE UNIQUE INDEX expressed ON t(c || '!');
      INSERT INTO t VALUES (1, 'a', 1, NULL), (2, 'b', 2, NULL), (3, 'c', 2, 'x'), (4, 'd', 9, 'y');
      """)
    let start = try store.token
    try store.file.runExternally("REPLACE INTO t VALUES (1, 'B', 7, 'x')")
    #expect(try store.rows("SELECT id FROM t ORDER BY id") == ["1", "4"])
    #expect(
      Set(try store.history("t", after: start)) == [
        "1|1|'a'|1|nil", "1|2|'b'|2|nil", "1|3|'c'|2|'x'", "0|1|nil|nil|nil",
      ])
    #expect(
      try store.history("t", after: start).last == "0|1|nil|nil|nil", "the old row comes first")
    let later = try store.token
    try store.file.runExternally("UPDATE OR REPLACE t SET a = 'D' WHERE id = 1")
    #expect(
      try store.history("t", after: later) == ["1|4|'d'|9|'y'", "1|1|'B'|7|'x'"])
  }

  @Test("a table may have the name of a trigger's row", arguments: ["new", "NEW", "Old"])
  func tableNamedAsARow(_ name: String) throws {
    let store = try TrackedFile(
      """
      CREATE TABLE "\(name)"(id INTEGER PRIMARY KEY, a TEXT UNIQUE);
      INSERT INTO "\(name)" VALUES (1, 'a'), (2, 'b'), (3, 'c');
      """)
    let start = try store.token
    try store.file.runExternally("INSERT INTO \"\(name)\" VALUES (4, 'd')")
    #expect(try store.history(name, after: start) == ["0|4|nil"])
    let second = try store.token
    try store.file.runExternally("REPLACE INTO \"\(name)\" VALUES (5, 'a')")
    #expect(try store.history(name, after: second) == ["1|1|'a'", "0|5|nil"])
    let third = try store.token
    try store.file.runExternally("UPDATE OR REPLACE \"\(name)\" SET a = 'b' WHERE id = 3")
    #expect(try store.history(name, after: third) == ["1|2|'b'", "1|3|'c'"])
  }

  @Test("upserts, cascades and the user's triggers are recorded")
  func indirectWrites() throws {
    let file = try ScratchFile(
      historyFixture + """
        CREATE TRIGGER shout AFTER INSERT ON City BEGIN
          UPDATE City SET name = upper(name) WHERE id = NEW.id; END;
        """)
    let store = try TrackedFile(file)
    let start = try store.token
    try store.connection.execute(
      """
      INSERT INTO Country VALUES (1, 'PRC') ON CONFLICT DO UPDATE SET name = excluded.name;
      DELETE FROM Country WHERE id = 2;
      INSERT INTO City VALUES (30, 'Xi''an', 1.0, 1);
      """)
    let changeSet = try store.changeSet(after: start)
    #expect(
      changeSet.objects == [
        0: [.integer(1), .integer(2)], 1: [.integer(20), .integer(30)],
      ])
    #expect(
      try store.history("City", after: start) == [
        "1|20|'Tokyo'|9.7|2", "0|30|nil|nil|nil", "1|30|'Xi'an'|1.0|1",
      ], "the insert is reported before the trigger's update")
  }

  @Test("values are recorded exactly, for every declared type")
  func exactValues() throws {
    let store = try TrackedFile(
      """
      CREATE TABLE t(id INTEGER PRIMARY KEY, a, b TEXT, c NUMERIC, d REAL, e AS (d * 2));
      INSERT INTO t VALUES (1, '007', 7, '1.50', 3), (2, x'00ff', NULL, 9223372036854775807, 0.1);
      """)
    let start = try store.token
    let before = try store.rows("SELECT 1, typeof(a), * FROM t")
    try store.connection.execute("DELETE FROM t")
    let layout = store.history.tables[0].layout
    #expect(
      try store.rows(
        "SELECT livefetch_existed, typeof(a), id, a, b, c, d, e FROM \(layout.quotedName)")
        == before)
    #expect(before[1] == "1|'blob'|2|x[0, 255]|nil|9223372036854775807|0.1|0.2")
    #expect(try store.token.position > start.position)
  }

  @Test("tables and columns of any name are tracked, including tables without a rowid")
  func hostileNames() throws {
    let store = try TrackedFile(
      """
      CREATE TABLE "a""b'; --"("k""'" TEXT COLLATE NOCASE, "x y" INT UNIQUE, "order" TEXT,
        PRIMARY KEY("k""'", "x y")) WITHOUT ROWID;
      INSERT INTO "a""b'; --" VALUES ('1,2', 3, 'z');
      """)
    let start = try store.token
    try store.file.runExternally(
      """
      UPDATE "a""b'; --" SET "order" = 'y';
      REPLACE INTO "a""b'; --" VALUES ('%', 3, 'x');
      DELETE FROM "a""b'; --";
      """)
    #expect(try store.changeSet(after: start).objects == [0: [.text("1%2C2,3"), .text("%25,3")]])
  }

  @Test("a refused save records nothing")
  func refusedSave() throws {
    let store = try TrackedFile(historyFixture)
    let start = try store.token
    try store.connection.execute(
      "BEGIN; UPDATE City SET name = 'x'; DELETE FROM City_Tag; ROLLBACK")
    #expect(try store.token == start)
    #expect(throws: StoreError.self) {
      try store.connection.execute("INSERT INTO City VALUES (50, 'a', 1, 1), (10, 'b', 1, 1)")
    }
    #expect(try store.token == start)
    #expect(try store.history("City", after: start) == [])
  }
}
