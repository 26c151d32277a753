// Saves that constraints, triggers or the disk refuse.

import FetchModel
import LiveFetchCSQLite
import SQLComposer
import TestSupport
import Testing

@testable import SQLiteStore

@Suite("Save execution: refusals", .mayBlock)
struct SaveExecutionFailureTests {
  @Test("every failure of a save is listed, and nothing is stored")
  func allOrNothing() throws {
    let fixture = try SaveExecutionFixture(sampleSQL)
    let before = try fixture.rows(of: "City") + fixture.rows(of: "Country")
    #expect(
      try fixture.refusal(
        """
        {"changes":[
          {"update":"City","id":10,"values":{"population":1}},
          {"update":"City","id":11,"values":{"population":-1}},
          {"insert":"Country","values":{"name":"X","code":"JP"}},
          {"insert":"City","values":{"name":"Tokyo","country":1}},
          {"insert":"City","values":{"name":"X","country":77,"twin":78}},
          {"insert":"City","values":{"id":10,"name":"X","country":1}},
          {"delete":"Country","id":1},
          {"delete":"City","id":99},
          {"insert":"City","values":{"name":"Kyoto","country":1}}]}
        """) == [
          "422 1 population check-failed", "422 2 code not-unique", "422 3 country not-unique",
          "422 4 country no-such-object", "422 4 twin no-such-object", "422 5 id not-unique",
          "422 6 City still-referenced", "422 7 - no-such-object",
        ])
    #expect(try fixture.rows(of: "City") + fixture.rows(of: "Country") == before)
  }

  @Test("a value that SQLite does not bind is refused, not stored as NULL")
  func tooLargeValues() throws {
    let fixture = try SaveExecutionFixture("CREATE TABLE t(id INTEGER PRIMARY KEY, a TEXT, b BLOB)")
    sqlite3_limit(fixture.connection.handle, SQLITE_LIMIT_LENGTH, 1_000)
    let values: [SQLValue] = [
      .text(String(repeating: "x", count: 1_001)), .blob([UInt8](repeating: 7, count: 1_001)),
    ]
    let sql = "INSERT INTO t(a) VALUES (?)"
    for value in values {
      #expect(throws: StoreError.failed("SQLite 18: string or blob too big")) {
        try fixture.connection.run(sql, [value])
      }
      #expect(try fixture.connection.attempt(sql, [value])?.kind == .other)
      #expect(try fixture.connection.attempt(sql, [], then: [value])?.kind == .other)
    }
    #expect(try fixture.rows(of: "t") == [])
    #expect(try fixture.connection.attempt(sql, [.text(String(repeating: "x", count: 900))]) == nil)
    #expect(try fixture.rows("SELECT length(a) FROM t") == ["900"])
  }

  @Test("a conflict with the store is 409, a missing object of a single-object request 404")
  func statuses() throws {
    let fixture = try SaveExecutionFixture(sampleSQL)
    #expect(
      try fixture.refusal {
        try fixture.single(.insert, "Country", nil, #"{"name":"X","code":"JP"}"#)
      }
        == ["409 0 code not-unique"])
    #expect(
      try fixture.refusal {
        try fixture.single(.update, "City", .integer(99), #"{"population":1}"#)
      }
        == ["404 0 - no-such-object"])
    #expect(
      try fixture.refusal { try fixture.single(.delete, "City", .integer(99)) }
        == ["404 0 - no-such-object"])
    #expect(
      try fixture.refusal { try fixture.single(.update, "City", .integer(10), #"{"country":9}"#) }
        == ["409 0 country no-such-object"])
    #expect(
      try fixture.refusal { try fixture.single(.delete, "Country", .integer(2)) }
        == ["409 0 City still-referenced"])
  }

  @Test("nil in a NOT NULL column is refused, also from a default or a delete rule")
  func notNull() throws {
    let fixture = try SaveExecutionFixture(
      """
      CREATE TABLE t(id INTEGER PRIMARY KEY, a INT NOT NULL DEFAULT NULL, b INT);
      CREATE TABLE u(id INTEGER PRIMARY KEY, t_id INT NOT NULL REFERENCES t ON DELETE SET NULL);
      INSERT INTO t VALUES (1, 1, 1); INSERT INTO u VALUES (1, 1);
      """)
    #expect(try fixture.refusal(#"{"changes":[{"insert":"t"}]}"#) == ["422 0 a not-optional"])
    #expect(
      try fixture.refusal(#"{"changes":[{"delete":"t","id":1}]}"#) == ["409 0 - still-referenced"])
  }

  @Test("a trigger's refusal has the trigger's message; RAISE(IGNORE) is a refusal as well")
  func triggers() throws {
    let fixture = try SaveExecutionFixture(
      """
      CREATE TABLE t(id INTEGER PRIMARY KEY, a INT);
      INSERT INTO t VALUES (1, 1);
      CREATE TRIGGER x BEFORE INSERT ON t WHEN new.a > 5
        BEGIN SELECT RAISE(ABORT, 'too many apples'); END;
      CREATE TRIGGER y BEFORE INSERT ON t WHEN new.a < 0 BEGIN SELECT RAISE(IGNORE); END;
      CREATE TRIGGER z BEFORE UPDATE ON t BEGIN SELECT RAISE(IGNORE); END;
      CREATE TRIGGER w BEFORE DELETE ON t BEGIN SELECT RAISE(IGNORE); END;
      """)
    #expect(
      try fixture.refusal(
        """
        {"changes":[{"insert":"t","values":{"a":6}},{"insert":"t","values":{"a":-1}},
          {"update":"t","id":1,"values":{"a":2}},{"delete":"t","id":1}]}
        """) == ["422 0 - refused", "422 1 - refused", "422 2 - refused", "422 3 - refused"])
    let error = #expect(throws: SaveError.self) {
      try fixture.save(#"{"changes":[{"insert":"t","values":{"a":6}}]}"#)
    }
    guard case .invalid(let problems)? = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(problems.map(\.detail) == ["a rule of the store: too many apples"])
  }

  @Test("a trigger that ignores the link to an object of the same save refuses the save")
  func ignoredLink() throws {
    let fixture = try SaveExecutionFixture(
      """
      CREATE TABLE b(id INTEGER PRIMARY KEY, name TEXT);
      CREATE TABLE a(id INTEGER PRIMARY KEY, b_id INT REFERENCES b(id));
      INSERT INTO a VALUES (1, NULL);
      CREATE TRIGGER z BEFORE UPDATE ON a BEGIN SELECT RAISE(IGNORE); END;
      """)
    #expect(
      try fixture.refusal(
        """
        {"changes":[{"update":"a","id":1,"values":{"b":{"temporaryID":"q"}}},
          {"insert":"b","temporaryID":"q","values":{"name":"x"}}]}
        """) == ["422 0 - refused"])
  }

  @Test("a table's expression that fails on a value refuses the value")
  func failingExpressions() throws {
    let fixture = try SaveExecutionFixture(
      "CREATE TABLE t(id INTEGER PRIMARY KEY, a INT, b INT AS (abs(a)) STORED)")
    #expect(
      try fixture.refusal(#"{"changes":[{"insert":"t","values":{"a":-9223372036854775808}}]}"#)
        == ["422 0 - refused"])
  }

  @Test("a strict table's refusal names the property")
  func strictTables() throws {
    let fixture = try SaveExecutionFixture(
      "CREATE TABLE t(id INTEGER PRIMARY KEY, a INT, b INT) STRICT")
    let request = SaveRequest(changes: [
      Change(
        .insert(temporaryID: nil), entity: 0,
        values: [PropertyValue(.attribute(1, .string("x")))])
    ])
    #expect(try fixture.refusal { try fixture.execute(request) } == ["422 0 b wrong-type"])
  }

  @Test("partial indexes, expression indexes and named checks refuse values")
  func indexes() throws {
    let fixture = try SaveExecutionFixture(
      """
      CREATE TABLE t(id INTEGER PRIMARY KEY, a TEXT, b TEXT, c INT,
        CONSTRAINT small CHECK (b < 'n' AND c < 9));
      CREATE UNIQUE INDEX folded ON t(lower(a), c);
      INSERT INTO t VALUES (1, 'x', 'b', 1), (2, 'z', 'a', 2);
      """)
    #expect(
      try fixture.refusal(
        """
        {"changes":[{"insert":"t","values":{"a":"Z","c":2}},
          {"insert":"t","values":{"b":"q","c":10}}]}
        """) == ["422 0 c not-unique", "422 1 - check-failed"])
  }

  @Test("a constraint that rolls everything back ends the save")
  func onConflictRollback() throws {
    let fixture = try SaveExecutionFixture(
      """
      CREATE TABLE t(id INTEGER PRIMARY KEY, a INT UNIQUE ON CONFLICT ROLLBACK,
        b INT REFERENCES t);
      INSERT INTO t VALUES (1, 1, NULL);
      """)
    #expect(
      try fixture.refusal(
        """
        {"changes":[{"insert":"t","values":{"a":2}},{"insert":"t","values":{"a":1}},
          {"insert":"t","values":{"a":3}}]}
        """) == ["409 1 a not-unique"])
    #expect(try fixture.rows(of: "t") == ["1|1|NULL"])
  }

  @Test("a change writes nothing after a rollback within it")
  func onConflictRollbackInside() throws {
    let fixture = try SaveExecutionFixture(
      """
      CREATE TABLE t(id INTEGER PRIMARY KEY);
      CREATE TABLE u(id INTEGER PRIMARY KEY, t_id INT UNIQUE ON CONFLICT ROLLBACK REFERENCES t);
      CREATE TABLE v(id INTEGER PRIMARY KEY, t_id INT REFERENCES t);
      INSERT INTO t VALUES (1); INSERT INTO u VALUES (1, 1), (2, NULL); INSERT INTO v VALUES (1, NULL);
      """)
    #expect(
      try fixture.refusal(#"{"changes":[{"update":"t","id":1,"values":{"u":[1,2],"v":[1]}}]}"#)
        == ["409 0 u not-unique"])
    #expect(
      try fixture.rows("SELECT t_id FROM u UNION ALL SELECT t_id FROM v") == ["1", "NULL", "NULL"])
  }

  @Test("a row that ON CONFLICT IGNORE skips is refused; ON CONFLICT REPLACE replaces a row")
  func onConflictOthers() throws {
    let fixture = try SaveExecutionFixture(
      """
      CREATE TABLE i(id INTEGER PRIMARY KEY, a INT UNIQUE ON CONFLICT IGNORE);
      CREATE TABLE r(id INTEGER PRIMARY KEY, a INT UNIQUE ON CONFLICT REPLACE);
      INSERT INTO i VALUES (1, 1); INSERT INTO r VALUES (1, 1);
      """)
    #expect(
      try fixture.refusal(#"{"changes":[{"insert":"i","values":{"a":1}}]}"#) == ["422 0 - refused"])
    #expect(
      try fixture.save(#"{"changes":[{"insert":"r","values":{"a":1}}]}"#).summary == "0=2 +1 ~0 -0")
    #expect(try fixture.rows(of: "r") == ["2|1"])
  }

  @Test("a table whose triggers write a full-text index is saved to")
  func fullTextIndex() throws {
    let fixture = try SaveExecutionFixture(
      """
      CREATE TABLE doc(id INTEGER PRIMARY KEY, title TEXT);
      CREATE VIRTUAL TABLE words USING fts5(title, content='doc', content_rowid='id');
      CREATE TRIGGER doc_insert AFTER INSERT ON doc BEGIN
        INSERT INTO words(rowid, title) VALUES (NEW.id, NEW.title); END;
      """)
    #expect(
      try fixture.save(#"{"changes":[{"insert":"doc","values":{"title":"red fox"}}]}"#).summary
        == "0=1 +1 ~0 -0")
    #expect(try fixture.rows("SELECT rowid FROM words WHERE words MATCH 'fox'") == ["1"])
  }

  @Test("changing a referenced key, and RESTRICT, are reported as still-referenced")
  func referencedChanges() throws {
    let fixture = try SaveExecutionFixture(
      """
      CREATE TABLE a(id INTEGER PRIMARY KEY, code TEXT UNIQUE);
      CREATE TABLE b(id INTEGER PRIMARY KEY, code REFERENCES a(code));
      CREATE TABLE c(id INTEGER PRIMARY KEY, a_id REFERENCES a ON DELETE RESTRICT);
      CREATE TABLE d(id INTEGER PRIMARY KEY, a_id REFERENCES a ON DELETE CASCADE);
      INSERT INTO a VALUES (1, 'x'), (2, 'y'); INSERT INTO b VALUES (1, 'x');
      INSERT INTO d VALUES (1, 1), (2, 2); INSERT INTO c VALUES (1, 2);
      """)
    #expect(
      try fixture.refusal(
        """
        {"changes":[{"update":"a","id":1,"values":{"code":"z"}},{"delete":"a","id":1},
          {"delete":"a","id":2}]}
        """) == [
          "409 0 b still-referenced", "409 1 b still-referenced", "409 2 c still-referenced",
        ])
  }

  @Test("foreign keys checked at the commit are checked at the end of the save")
  func deferredKeys() throws {
    let fixture = try SaveExecutionFixture(
      """
      CREATE TABLE a(id INTEGER PRIMARY KEY);
      CREATE TABLE b(id INTEGER PRIMARY KEY,
        a_id INT NOT NULL REFERENCES a DEFERRABLE INITIALLY DEFERRED);
      CREATE TABLE a_tag(a_id REFERENCES a DEFERRABLE INITIALLY DEFERRED,
        b_id REFERENCES b DEFERRABLE INITIALLY DEFERRED);
      INSERT INTO a VALUES (1), (2); INSERT INTO b VALUES (1, 1);
      """)
    #expect(
      try fixture.refusal(#"{"changes":[{"insert":"b","values":{"a":7}},{"insert":"a"}]}"#)
        == ["409 0 a no-such-object"])
    #expect(
      try fixture.refusal(#"{"changes":[{"delete":"a","id":2},{"delete":"a","id":1}]}"#)
        == ["409 1 b still-referenced"])
    #expect(
      try fixture.refusal(#"{"changes":[{"update":"a","id":1,"values":{"b_":[9]}}]}"#)
        == ["409 0 b_ no-such-object"])
    let healed = try fixture.save(
      #"{"changes":[{"insert":"b","values":{"a":7}},{"insert":"a","values":{"id":7}}]}"#)
    #expect(healed.summary == "0=2 1=7 +2 ~0 -0")
  }

  @Test("a missing table is a changed schema, not a failure")
  func schemaChanges() throws {
    let fixture = try SaveExecutionFixture("CREATE TABLE t(id INTEGER PRIMARY KEY, a INT)")
    try fixture.save(#"{"changes":[{"insert":"t","values":{"a":1}}]}"#)
    try fixture.file.runExternally("ALTER TABLE t RENAME COLUMN a TO b")
    #expect(
      try fixture.refusal(#"{"changes":[{"insert":"t","values":{"a":1}}]}"#)
        == ["store schemaChanged(entity: \"t\")"])
    try fixture.file.runExternally("DROP TABLE t")
    #expect(
      try fixture.refusal(#"{"changes":[{"delete":"t","id":1}]}"#)
        == ["store schemaChanged(entity: \"t\")"])
  }

  @Test("a full disk is the store's failure")
  func fullDisk() throws {
    let fixture = try SaveExecutionFixture("CREATE TABLE t(id INTEGER PRIMARY KEY, a TEXT)")
    try fixture.connection.execute("PRAGMA max_page_count = 4")
    let text = String(repeating: "x", count: 100_000)
    #expect(
      try fixture.refusal("{\"changes\":[{\"insert\":\"t\",\"values\":{\"a\":\"\(text)\"}}]}")
        == ["store diskFull"])
    #expect(try fixture.rows(of: "t") == [])
  }

  @Test("a temporary id without an insert is reported for every kind of request")
  func strayReferences() throws {
    let fixture = try SaveExecutionFixture(sampleSQL)
    let request = SaveRequest(changes: [
      Change(.delete(.inserted(7)), entity: 1), Change(.delete(.inserted(0)), entity: 1),
    ])
    #expect(
      try fixture.refusal { try fixture.execute(request) } == [
        "422 0 - unknown-temporary-id", "422 1 - unknown-temporary-id",
      ])
  }
}
