// Saves of values, keys and defaults.

import FetchModel
import TestSupport
import Testing

@testable import SQLiteStore

@Suite("Save execution: rows, values, ids", .mayBlock)
struct SaveExecutionTests {
  @Test("inserts, updates and deletes apply in their order")
  func changesInOrder() throws {
    let fixture = try SaveExecutionFixture(sampleSQL)
    let result = try fixture.save(
      """
      {"changes":[
        {"insert":"Country","temporaryID":"c1","values":{"name":"Atlantis","code":"AT"}},
        {"insert":"City","values":{"name":"Poseidonis","country":{"temporaryID":"c1"}}},
        {"update":"City","id":10,"values":{"population":10,"twin":20}},
        {"delete":"City","id":11}]}
      """)
    #expect(result.summary == "c1=3 1=21 +2 ~1 -1")
    #expect(
      result.objects.map { "\($0.change) \($0.entity) \($0.id) \($0.kind)" } == [
        "0 0 3 inserted", "1 1 21 inserted", "2 1 10 updated", "3 1 11 deleted",
      ])
    #expect(
      try fixture.rows(of: "City") == [
        "10|'Tokyo'|10|1|20", "20|'Beijing'|18|2|NULL", "21|'Poseidonis'|5|3|NULL",
      ])
    #expect(try fixture.rows("SELECT * FROM Country WHERE id = 3") == ["3|'Atlantis'|'AT'|NULL"])
  }

  @Test("every type is stored in its column's representation")
  func storageConversion() throws {
    let fixture = try SaveExecutionFixture(
      """
      CREATE TABLE t(id INTEGER PRIMARY KEY, i INT, r REAL, s TEXT, b BOOLEAN, d DECIMAL(30,10),
        u UUID, j JSON, x BLOB, l URL);
      """)
    try fixture.save(
      """
      {"changes":[
       {"insert":"t","values":{"id":1,"i":-9223372036854775808,"r":0.1,"s":"a\\u0000b","b":true,
         "d":12345678901234.56,"u":"0e8a0b3c-1111-2222-3333-444455556666","j":{"a":[1,null]},
         "x":"AAEC","l":"https://example.org"}},
       {"insert":"t","values":{"id":9223372036854775807,"i":9223372036854775807,"r":"-Infinity",
         "s":"","b":false,"d":9007199254740993,"j":"text","x":""}}]}
      """)
    #expect(
      try fixture.rows("SELECT id, i, r, length(CAST(s AS BLOB)), b, d, u, j, x, l FROM t") == [
        "1|-9223372036854775808|0.1|3|1|12345678901234.56|"
          + "'0e8a0b3c-1111-2222-3333-444455556666'|'{\"a\":[1,null]}'|x[0, 1, 2]|"
          + "'https://example.org'",
        "9223372036854775807|9223372036854775807|-inf|0|0|9007199254740993|NULL|'\"text\"'|x[]|NULL",
      ])
  }

  @Test("a decimal that a numeric column would round is refused, a text column takes it in full")
  func decimals() throws {
    let fixture = try SaveExecutionFixture(
      """
      CREATE TABLE t(id INTEGER PRIMARY KEY, d DECIMAL TEXT);
      CREATE TABLE u(id INTEGER PRIMARY KEY, d NUMERIC);
      """)
    #expect(
      try fixture.refusal(
        #"{"changes":[{"insert":"u","values":{"d":0.12345678901234567890}}]}"#) == [
          "422 0 d out-of-range"
        ])
    #expect(
      try fixture.refusal(#"{"changes":[{"insert":"u","values":{"d":12345678901234567891}}]}"#) == [
        "422 0 d out-of-range"
      ])
    try fixture.save(#"{"changes":[{"insert":"u","values":{"d":100000000000000000000}}]}"#)
    try fixture.save(#"{"changes":[{"insert":"u","values":{"d":1234567890.1234560000000}}]}"#)
    try fixture.save(
      #"{"changes":[{"insert":"t","values":{"d":0.12345678901234567890}},"#
        + #"{"insert":"t","values":{"d":0.1}},{"insert":"t","values":{"d":7}}]}"#)
    #expect(try fixture.rows("SELECT d FROM t") == ["'0.12345678901234567890'", "'0.1'", "'7'"])
    #expect(try fixture.rows("SELECT d FROM u") == ["1e+20", "1234567890.123456"])
  }

  @Test(
    "dates are stored in their column's own format",
    arguments: [
      ("'2024-01-31T10:00:00Z'", "'2031-12-01T23:59:58.25Z'"),
      ("'2024-01-31 10:00:00'", "'2031-12-01 23:59:58.25'"),
      ("1700000000", "1953935998.25"),
    ])
  func dateFormats(first: String, stored: String) throws {
    let fixture = try SaveExecutionFixture(
      "CREATE TABLE t(id INTEGER PRIMARY KEY, at DATETIME); INSERT INTO t VALUES (1, \(first))")
    try fixture.save(
      #"{"changes":[{"insert":"t","values":{"at":"2031-12-02T00:59:58.25+01:00"}}]}"#)
    #expect(try fixture.rows("SELECT at FROM t WHERE id = 2") == [stored])
  }

  @Test("whole seconds since 1970 stay integers, before 1970 too")
  func unixSeconds() throws {
    let fixture = try SaveExecutionFixture(
      "CREATE TABLE t(id INTEGER PRIMARY KEY, at DATETIME); INSERT INTO t VALUES (1, 5)")
    try fixture.save(#"{"changes":[{"update":"t","id":1,"values":{"at":"1969-12-31T23:59:59Z"}}]}"#)
    #expect(try fixture.rows(of: "t") == ["1|-1"])
  }

  @Test("omitted values of an insert take the table's default, even if all are omitted")
  func defaults() throws {
    let fixture = try SaveExecutionFixture(
      """
      CREATE TABLE t(id INTEGER PRIMARY KEY, a TEXT DEFAULT 'x', b INT NOT NULL DEFAULT (1 + 1),
        c TEXT, d INT AS (b * 2));
      """)
    #expect(try fixture.save(#"{"changes":[{"insert":"t"}]}"#).summary == "0=1 +1 ~0 -0")
    try fixture.save(#"{"changes":[{"insert":"t","values":{"a":null}}]}"#)
    #expect(try fixture.rows(of: "t") == ["1|'x'|2|NULL|4", "2|NULL|2|NULL|4"])
  }

  @Test("text keys, keys from a default, composite keys and tables without a rowid")
  func keys() throws {
    let fixture = try SaveExecutionFixture(
      """
      CREATE TABLE tag(name TEXT PRIMARY KEY NOT NULL, n INT) WITHOUT ROWID;
      CREATE TABLE made(code TEXT PRIMARY KEY DEFAULT (lower('ABC')), n INT);
      CREATE TABLE pair(a TEXT, b INT, n INT, PRIMARY KEY(a, b));
      CREATE TABLE number(nr INT PRIMARY KEY, n INT);
      """)
    #expect(
      try fixture.save(
        """
        {"changes":[{"insert":"tag","values":{"id":"a,b","n":1}},{"insert":"made","values":{"n":2}},
          {"insert":"pair","values":{"a":"x,%y","b":-3,"n":3}},
          {"insert":"pair","values":{"id":"z,4","n":4}},{"insert":"number","values":{"id":7}}]}
        """
      ).summary == "0=a,b 1=abc 2=x%2C%25y,-3 3=z,4 4=7 +5 ~0 -0")
    #expect(try fixture.rows(of: "pair") == ["'x,%y'|-3|3", "'z'|4|4"])
    #expect(
      try fixture.save(
        """
        {"changes":[{"update":"tag","id":"a,b","values":{"n":5}},{"delete":"pair","id":"z,4"},
          {"update":"pair","id":"x%2C%25y,-3","values":{"n":6,"b":-3}}]}
        """
      ).summary == "+0 ~2 -1")
    #expect(try fixture.rows(of: "pair") == ["'x,%y'|-3|6"])
    #expect(try fixture.rows(of: "tag") == ["'a,b'|5"])
  }

  @Test("a key that the store does not assign is required, and cannot be changed")
  func missingKeys() throws {
    let fixture = try SaveExecutionFixture(
      """
      CREATE TABLE tag(name TEXT PRIMARY KEY, n INT);
      CREATE TABLE pair(a TEXT, b INT, n INT, PRIMARY KEY(a, b));
      CREATE TABLE number(nr INT PRIMARY KEY, n INT);
      INSERT INTO pair VALUES ('x', 1, 1);
      """)
    #expect(
      try fixture.refusal(
        """
        {"changes":[{"insert":"tag","values":{"n":1}},{"insert":"pair","values":{"a":"x"}},
          {"insert":"number"},{"insert":"pair","values":{"id":"y"}},
          {"insert":"pair","values":{"a":null,"b":2}},
          {"update":"pair","id":"x,1","values":{"b":2}},
          {"insert":"pair","values":{"id":"y,1","a":"z"}}]}
        """) == [
          "422 0 id missing", "422 1 b missing", "422 2 id missing", "422 3 id wrong-type",
          "422 4 a not-optional", "422 5 b not-writable", "422 6 id check-failed",
        ])
    #expect(try fixture.rows(of: "pair") == ["'x'|1|1"])
  }

  @Test("an update writes only given values; one without values requires the object to exist")
  func partialUpdates() throws {
    let fixture = try SaveExecutionFixture(
      sampleSQL + """
        CREATE TABLE log(what TEXT);
        CREATE TRIGGER t AFTER UPDATE ON City BEGIN INSERT INTO log VALUES ('touched'); END;
        """)
    #expect(
      try fixture.save(#"{"changes":[{"update":"City","id":10,"values":{}}]}"#).summary
        == "+0 ~1 -0")
    #expect(try fixture.rows("SELECT count(*) FROM log") == ["0"])
    #expect(
      try fixture.refusal(#"{"changes":[{"update":"City","id":99,"values":{}}]}"#)
        == ["409 0 - no-such-object"])
  }

  @Test("a replacement sets every property, to its default if the request has no value")
  func replacements() throws {
    let fixture = try SaveExecutionFixture(
      """
      CREATE TABLE t(id INTEGER PRIMARY KEY, a TEXT DEFAULT 'it''s', b INT DEFAULT -1,
        c TEXT DEFAULT open, d TEXT DEFAULT "qu""oted", e DATETIME DEFAULT (date('2001-02-03')),
        f INT, g INT AS (b), boss_id INT REFERENCES t);
      INSERT INTO t(id, a, b, c, d, e, f, boss_id) VALUES (1, 'p', 2, 'q', 'r', 's', 3, 1);
      """)
    #expect(try fixture.single(.replace, "t", .integer(1), #"{"f":9}"#).summary == "+0 ~1 -0")
    let created = try fixture.single(.replace, "t", .integer(5), #"{"a":"new","boss":1}"#)
    #expect(created.summary == "+1 ~0 -0")
    #expect(created.objects.map(\.kind) == [.inserted])
    #expect(
      try fixture.rows(of: "t") == [
        "1|'it's'|-1|'open'|'qu\"oted'|'2001-02-03'|9|-1|NULL",
        "5|'new'|-1|'open'|'qu\"oted'|'2001-02-03'|NULL|-1|1",
      ])
  }

  @Test("an object whose only property is its id can be replaced and inserted")
  func keyOnly() throws {
    let fixture = try SaveExecutionFixture("CREATE TABLE t(name TEXT PRIMARY KEY NOT NULL)")
    #expect(try fixture.single(.replace, "t", .text("a"), "{}").summary == "+1 ~0 -0")
    #expect(try fixture.single(.replace, "t", .text("a"), "{}").summary == "+0 ~1 -0")
    #expect(try fixture.rows("SELECT * FROM t") == ["'a'"])
  }

  @Test("deletes follow the tables' own rules")
  func deleteRules() throws {
    let fixture = try SaveExecutionFixture(
      """
      CREATE TABLE a(id INTEGER PRIMARY KEY);
      CREATE TABLE b(id INTEGER PRIMARY KEY, a_id REFERENCES a ON DELETE CASCADE);
      CREATE TABLE c(id INTEGER PRIMARY KEY, a_id REFERENCES a ON DELETE SET NULL);
      INSERT INTO a VALUES (1); INSERT INTO b VALUES (1, 1); INSERT INTO c VALUES (1, 1);
      """)
    #expect(try fixture.single(.delete, "a", .integer(1)).summary == "+0 ~0 -1")
    #expect(try fixture.rows("SELECT count(*) FROM b") == ["0"])
    #expect(try fixture.rows("SELECT * FROM c") == ["1|NULL"])
  }

  @Test("names with SQL syntax in them reach the right tables")
  func hostileNames() throws {
    let fixture = try SaveExecutionFixture(
      #"CREATE TABLE "a""b; DROP"("k""" INTEGER PRIMARY KEY, "x'y" TEXT UNIQUE, "a.b, c" INT)"#)
    try fixture.save(
      #"{"changes":[{"insert":"a\"b; DROP","values":{"x'y":"'); --","a.b, c":1}}]}"#)
    #expect(try fixture.rows(#"SELECT * FROM "a""b; DROP""#) == ["1|''); --'|1"])
    #expect(
      try fixture.refusal(#"{"changes":[{"insert":"a\"b; DROP","values":{"x'y":"'); --"}}]}"#)
        == ["409 0 x'y not-unique"])
  }
}
