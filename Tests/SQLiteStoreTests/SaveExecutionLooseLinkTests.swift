// Saves of relationships whose stored values equal the key only after SQLite's conversion.

import FetchModel
import TestSupport
import Testing

@testable import SQLiteStore

@Suite("Save execution: links whose values equal a key after conversion", .mayBlock)
struct SaveExecutionLooseLinkTests {
  private static let sql = """
    CREATE TABLE team(name TEXT COLLATE NOCASE PRIMARY KEY NOT NULL);
    CREATE TABLE player(id INTEGER PRIMARY KEY, team TEXT REFERENCES team);
    CREATE TABLE game(id INTEGER PRIMARY KEY);
    CREATE TABLE game_team(game INTEGER REFERENCES game, team TEXT REFERENCES team);
    INSERT INTO team VALUES ('Red'), ('blue');
    INSERT INTO player VALUES (1, 'red'), (2, 'RED'), (3, 'Blue'), (4, NULL);
    INSERT INTO game VALUES (1), (2);
    INSERT INTO game_team VALUES (1, 'RED'), (1, 'BLUE'), (2, 'red');
    CREATE TABLE log(id INTEGER PRIMARY KEY, player INT);
    CREATE TRIGGER touched AFTER UPDATE ON player BEGIN INSERT INTO log(player) VALUES (old.id); END;
    """

  @Test("setting a whole list removes and adds members that differ, and keeps existing ones")
  func wholeLists() throws {
    let fixture = try SaveExecutionFixture(Self.sql)
    try fixture.save(#"{"changes":[{"update":"team","id":"Red","values":{"player":[2,3]}}]}"#)
    #expect(try fixture.rows(of: "player") == ["1|NULL", "2|'RED'", "3|'Red'", "4|NULL"])
    #expect(try fixture.rows("SELECT player FROM log ORDER BY player") == ["1", "3"])
  }

  @Test("single members are added and removed")
  func edits() throws {
    let fixture = try SaveExecutionFixture(Self.sql)
    try fixture.save(
      """
      {"changes":[{"update":"team","id":"Red","values":{"player":{"add":[1,4],"remove":[2,3]}}}]}
      """)
    #expect(try fixture.rows(of: "player") == ["1|'red'", "2|NULL", "3|'Blue'", "4|'Red'"])
    try fixture.save(#"{"changes":[{"update":"player","id":3,"values":{"team":"Red"}}]}"#)
    #expect(try fixture.rows("SELECT team FROM player WHERE id = 3") == ["'Red'"])
  }

  @Test("rows of a join table are inserted and deleted, each once")
  func joinTables() throws {
    let fixture = try SaveExecutionFixture(Self.sql)
    try fixture.save(
      """
      {"changes":[{"update":"game","id":1,"values":{"team":["Red"]}},
        {"update":"team","id":"blue","values":{"game":{"add":[2]}}},
        {"update":"team","id":"Red","values":{"game":{"add":[1],"remove":[2]}}}]}
      """)
    #expect(try fixture.rows(of: "game_team") == ["1|'RED'", "2|'blue'"])
  }

  @Test("deletes follow the tables' own rules")
  func deleteRules() throws {
    let fixture = try SaveExecutionFixture(
      """
      CREATE TABLE team(name TEXT COLLATE NOCASE PRIMARY KEY NOT NULL);
      CREATE TABLE a(id INTEGER PRIMARY KEY, team TEXT REFERENCES team ON DELETE CASCADE);
      CREATE TABLE b(id INTEGER PRIMARY KEY, team TEXT REFERENCES team ON DELETE SET NULL);
      CREATE TABLE c(id INTEGER PRIMARY KEY, team TEXT REFERENCES team);
      CREATE TABLE d(id INTEGER PRIMARY KEY, team TEXT REFERENCES team DEFERRABLE INITIALLY DEFERRED);
      INSERT INTO team VALUES ('Red'), ('blue'), ('Green');
      INSERT INTO a VALUES (1, 'red'); INSERT INTO b VALUES (1, 'RED');
      INSERT INTO c VALUES (1, 'BLUE'); INSERT INTO d VALUES (1, 'GREEN');
      """)
    #expect(try fixture.single(.delete, "team", .text("Red")).summary == "+0 ~0 -1")
    #expect(try fixture.rows("SELECT count(*) FROM a") == ["0"])
    #expect(try fixture.rows("SELECT * FROM b") == ["1|NULL"])
    #expect(
      try fixture.refusal { try fixture.single(.delete, "team", .text("blue")) }
        == ["409 0 c still-referenced"])
    #expect(
      try fixture.refusal(#"{"changes":[{"delete":"team","id":"Green"}]}"#)
        == ["409 0 d still-referenced"])
    #expect(
      try fixture.refusal(#"{"changes":[{"delete":"team","where":"name == 'blue'"}]}"#)
        == ["409 0 c still-referenced"])
  }

  @Test("text refers to the integer that it spells, and integers refer to text")
  func affinities() throws {
    let fixture = try SaveExecutionFixture(
      """
      CREATE TABLE a(id INTEGER PRIMARY KEY); CREATE TABLE b(id TEXT PRIMARY KEY NOT NULL);
      CREATE TABLE m(id INTEGER PRIMARY KEY, a TEXT REFERENCES a, b INTEGER REFERENCES b, n INT);
      INSERT INTO a VALUES (7), (8); INSERT INTO b VALUES ('7'), ('07');
      INSERT INTO m(id, a, b) VALUES (1, '07', 7), (2, ' 7', 7), (3, '8', NULL);
      """)
    try fixture.save(
      """
      {"changes":[{"update":"a","id":7,"values":{"m":[2,3]}},
        {"update":"b","id":"7","values":{"m":{"remove":[1]}}},
        {"update":"b","id":"07","values":{"m":{"remove":[2]}}}]}
      """)
    #expect(
      try fixture.rows("SELECT id, a, b FROM m") == ["1|NULL|NULL", "2|' 7'|7", "3|'7'|NULL"])
    #expect(
      try fixture.refusal { try fixture.single(.delete, "b", .text("7")) }
        == ["409 0 m still-referenced"])
  }
}
