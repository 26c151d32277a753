// Saves with temporary ids, relationships and members.

import FetchModel
import TestSupport
import Testing

@testable import SQLiteStore

@Suite("Save execution: temporary ids and relationships", .mayBlock)
struct SaveExecutionLinksTests {
  @Test("a nullable link to a later insert is set after the insert")
  func laterInserts() throws {
    let fixture = try SaveExecutionFixture(sampleSQL)
    let result = try fixture.save(
      """
      {"changes":[
        {"insert":"Country","temporaryID":"c","values":{"name":"A","capital":{"temporaryID":"t"}}},
        {"insert":"City","temporaryID":"t","values":{"name":"B","country":{"temporaryID":"c"},
          "twin":{"temporaryID":"t"}}},
        {"update":"City","id":10,"values":{"twin":{"temporaryID":"u"}}},
        {"insert":"City","temporaryID":"u","values":{"name":"C","country":1}}]}
      """)
    #expect(result.summary == "c=3 t=21 u=22 +3 ~1 -0")
    #expect(try fixture.rows("SELECT capital_id FROM Country WHERE id = 3") == ["21"])
    #expect(try fixture.rows("SELECT country_id, twin_id FROM City WHERE id = 21") == ["3|21"])
    #expect(try fixture.rows("SELECT twin_id FROM City WHERE id = 10") == ["22"])
  }

  @Test("an insert that needs a later one comes after it; results keep the order of the changes")
  func reordering() throws {
    let fixture = try SaveExecutionFixture(sampleSQL)
    let result = try fixture.save(
      """
      {"changes":[
        {"insert":"City","temporaryID":"t","values":{"name":"B","country":{"temporaryID":"c"}}},
        {"update":"City","id":{"temporaryID":"t"},"values":{"population":77}},
        {"insert":"Country","temporaryID":"c","values":{"name":"A"}}]}
      """)
    #expect(result.summary == "t=21 c=3 +2 ~1 -0")
    #expect(result.objects.map(\.change) == [0, 1, 2])
    #expect(try fixture.rows("SELECT * FROM City WHERE id = 21") == ["21|'B'|77|3|NULL"])
  }

  @Test("inserts that need each other's ids are circular; each is named")
  func circles() throws {
    let fixture = try SaveExecutionFixture(
      """
      CREATE TABLE a(id INTEGER PRIMARY KEY, b_id INT NOT NULL REFERENCES b);
      CREATE TABLE b(id INTEGER PRIMARY KEY, a_id INT NOT NULL REFERENCES a);
      CREATE TABLE me(id INTEGER PRIMARY KEY, me_id INT NOT NULL REFERENCES me);
      """)
    #expect(
      try fixture.refusal(
        """
        {"changes":[{"insert":"a","temporaryID":"x","values":{"b":{"temporaryID":"y"}}},
          {"insert":"b","temporaryID":"y","values":{"a":{"temporaryID":"x"}}},
          {"insert":"me","temporaryID":"m","values":{"me":{"temporaryID":"m"}}}]}
        """) == [
          "422 0 b circular-reference", "422 1 a circular-reference",
          "422 2 me circular-reference",
        ])
    try fixture.save(
      #"{"changes":[{"insert":"me","temporaryID":"m","values":{"id":4,"me":{"temporaryID":"m"}}}]}"#
    )
    #expect(try fixture.rows(of: "me") == ["4|4"])
  }

  @Test("a chain of 5,000 inserts in the wrong order is sorted")
  func longChain() throws {
    let fixture = try SaveExecutionFixture(
      "CREATE TABLE n(id INTEGER PRIMARY KEY, next_id INT NOT NULL REFERENCES n);"
        + "INSERT INTO n VALUES (1, 1)")
    let changes = (0..<5_000).map { index in
      let next = index == 4_999 ? "1" : "{\"temporaryID\":\"\(index + 1)\"}"
      return "{\"insert\":\"n\",\"temporaryID\":\"\(index)\",\"values\":{\"next\":\(next)}}"
    }
    let result = try fixture.save("{\"changes\":[\(changes.joined(separator: ","))]}")
    #expect(result.inserted == 5_000)
    #expect(result.ids[0].id == .integer(5_001))
  }

  @Test("changes that depend on a failed insert are not reported again")
  func dependents() throws {
    let fixture = try SaveExecutionFixture(sampleSQL)
    #expect(
      try fixture.refusal(
        """
        {"changes":[
          {"insert":"City","values":{"name":"X","country":{"temporaryID":"c"}}},
          {"insert":"Country","temporaryID":"c","values":{"name":"A","code":"JP"}},
          {"insert":"City","values":{"name":"B","country":{"temporaryID":"c"}}},
          {"delete":"City","id":99}]}
        """) == ["409 1 code not-unique", "409 3 - no-such-object"])
    #expect(try fixture.rows("SELECT count(*) FROM City") == ["3"])
  }

  @Test("composite and non-key references are looked up from the id")
  func referencedColumns() throws {
    let fixture = try SaveExecutionFixture(
      """
      CREATE TABLE order_(year INT, no INT, code TEXT UNIQUE, PRIMARY KEY(year, no));
      CREATE TABLE line(id INTEGER PRIMARY KEY, y INT, n INT,
        FOREIGN KEY(n, y) REFERENCES order_(no, year));
      CREATE TABLE note(id INTEGER PRIMARY KEY, order_code TEXT REFERENCES order_(code));
      INSERT INTO order_ VALUES (2024, 7, 'k'), (2024, 8, NULL);
      """)
    try fixture.save(
      """
      {"changes":[{"insert":"line","values":{"order_":"2024,7"}},
        {"insert":"note","values":{"order_code":"2024,7"}},
        {"insert":"order_","temporaryID":"o","values":{"id":"2025,1","code":"z"}},
        {"insert":"note","values":{"order_code":{"temporaryID":"o"}}}]}
      """)
    #expect(try fixture.rows(of: "line") == ["1|2024|7"])
    #expect(try fixture.rows(of: "note") == ["1|'k'", "2|'z'"])
    #expect(
      try fixture.refusal(
        """
        {"changes":[{"insert":"line","values":{"order_":"2024,9"}},
          {"insert":"note","values":{"order_code":"2024,8"}},
          {"insert":"note","values":{"order_code":"2024,9"}},
          {"insert":"line","values":{"order_":"nonsense"}}]}
        """) == [
          "409 0 order_ no-such-object", "409 1 order_code no-such-object",
          "409 2 order_code no-such-object", "409 3 order_ no-such-object",
        ])
    try fixture.save(#"{"changes":[{"update":"line","id":1,"values":{"order_":null}}]}"#)
    #expect(try fixture.rows(of: "line") == ["1|NULL|NULL"])
  }

  @Test("clearing a link keeps a column that it shares with another link")
  func sharedColumns() throws {
    let fixture = try SaveExecutionFixture(
      """
      CREATE TABLE tenant(id INTEGER PRIMARY KEY);
      CREATE TABLE author(tenant INT, no INT, PRIMARY KEY(tenant, no));
      CREATE TABLE post(id INTEGER PRIMARY KEY, tenant INT REFERENCES tenant, author_no INT,
        FOREIGN KEY(tenant, author_no) REFERENCES author(tenant, no));
      INSERT INTO tenant VALUES (1); INSERT INTO author VALUES (1, 5);
      INSERT INTO post VALUES (1, 1, 5);
      """)
    try fixture.save(#"{"changes":[{"update":"post","id":1,"values":{"author":null}}]}"#)
    #expect(try fixture.rows(of: "post") == ["1|1|NULL"])
    try fixture.save(#"{"changes":[{"update":"post","id":1,"values":{"author":"1,5"}}]}"#)
    #expect(try fixture.rows(of: "post") == ["1|1|5"])
    #expect(
      try fixture.refusal(
        #"{"changes":[{"update":"post","id":1,"values":{"tenant":null,"author":"1,5"}}]}"#)
        == ["422 0 author check-failed"])
  }
}

@Suite("Save execution: to-many relationships", .mayBlock)
struct SaveExecutionMembersTests {
  private static let sql = """
    CREATE TABLE team(id INTEGER PRIMARY KEY);
    CREATE TABLE player(id INTEGER PRIMARY KEY, team_id INT REFERENCES team);
    CREATE TABLE coach(id INTEGER PRIMARY KEY, team_id INT NOT NULL REFERENCES team);
    CREATE TABLE seat(team_id INT REFERENCES team, no INT, n INT, PRIMARY KEY(team_id, no));
    INSERT INTO team VALUES (1), (2);
    INSERT INTO player VALUES (1, 1), (2, 1), (3, 2), (4, NULL);
    INSERT INTO coach VALUES (1, 1), (2, 2);
    INSERT INTO seat VALUES (1, 1, 0), (2, 1, 0);
    CREATE TABLE log(id INTEGER PRIMARY KEY, player INT);
    CREATE TRIGGER touched AFTER UPDATE ON player BEGIN INSERT INTO log(player) VALUES (old.id); END;
    """

  @Test("setting a whole list removes and adds only the members that differ")
  func wholeLists() throws {
    let fixture = try SaveExecutionFixture(Self.sql)
    #expect(
      try fixture.save(#"{"changes":[{"update":"team","id":1,"values":{"player":[4,2,3,2]}}]}"#)
        .summary == "+0 ~1 -0")
    #expect(try fixture.rows(of: "player") == ["1|NULL", "2|1", "3|1", "4|1"])
    #expect(try fixture.rows("SELECT player FROM log ORDER BY player") == ["1", "3", "4"])
    try fixture.save(#"{"changes":[{"update":"team","id":1,"values":{"player":[]}}]}"#)
    #expect(try fixture.rows("SELECT DISTINCT team_id FROM player") == ["NULL"])
  }

  @Test("adding a member again and removing a non-member change nothing")
  func idempotentEdits() throws {
    let fixture = try SaveExecutionFixture(Self.sql)
    try fixture.save(
      """
      {"changes":[{"update":"team","id":1,"values":{"player":{"add":[1,3],"remove":[2,4,99]}}}]}
      """)
    #expect(try fixture.rows(of: "player") == ["1|1", "2|NULL", "3|1", "4|NULL"])
    #expect(try fixture.rows("SELECT player FROM log ORDER BY player") == ["2", "3"])
  }

  @Test("members of an insert may be later inserts")
  func insertedMembers() throws {
    let fixture = try SaveExecutionFixture(Self.sql)
    try fixture.save(
      """
      {"changes":[{"insert":"team","values":{"player":[4,{"temporaryID":"p"}]}},
        {"insert":"player","temporaryID":"p"}]}
      """)
    #expect(try fixture.rows("SELECT id, team_id FROM player WHERE team_id = 3") == ["4|3", "5|3"])
  }

  @Test("members that do not exist, that require an owner, or whose id contains the owner")
  func refusedMembers() throws {
    let fixture = try SaveExecutionFixture(Self.sql)
    #expect(
      try fixture.refusal(
        """
        {"changes":[{"update":"team","id":1,"values":{"player":[1,99]}},
          {"update":"team","id":1,"values":{"coach":[]}},
          {"update":"team","id":1,"values":{"coach":{"remove":[2],"add":[1]}}},
          {"update":"team","id":1,"values":{"seat":["1,1","2,1"]}},
          {"update":"team","id":1,"values":{"seat":["1,1"]}},
          {"update":"team","id":9,"values":{"player":[1]}}]}
        """) == [
          "422 0 player no-such-object", "422 1 coach not-optional", "422 3 seat not-writable",
          "422 5 - no-such-object",
        ])
    #expect(try fixture.rows("SELECT id FROM player WHERE team_id = 1") == ["1", "2"])
    try fixture.save(#"{"changes":[{"update":"team","id":1,"values":{"coach":{"add":[2]}}}]}"#)
    #expect(try fixture.rows(of: "coach") == ["1|1", "2|1"])
  }

  @Test("rows of a join table are inserted and deleted, each once")
  func joinTables() throws {
    let fixture = try SaveExecutionFixture(
      """
      CREATE TABLE post(id INTEGER PRIMARY KEY);
      CREATE TABLE tag(name TEXT PRIMARY KEY NOT NULL);
      CREATE TABLE post_tag(post_id INT NOT NULL REFERENCES post, tag TEXT NOT NULL REFERENCES tag);
      CREATE TABLE friend(a INT REFERENCES post, b INT REFERENCES post, PRIMARY KEY(a, b));
      INSERT INTO post VALUES (1), (2); INSERT INTO tag VALUES ('x'), ('y'), ('z');
      INSERT INTO post_tag VALUES (1, 'x'), (1, 'y'), (2, 'x');
      """)
    try fixture.save(
      """
      {"changes":[{"update":"post","id":1,"values":{"tag":["y","z","z"]}},
        {"update":"tag","id":"x","values":{"post":{"add":[1,2],"remove":[7]}}},
        {"insert":"post","values":{"tag":["z"],"post":[1]}},
        {"update":"post","id":2,"values":{"tag":{"remove":["x","q"]}}}]}
      """)
    #expect(
      try fixture.rows("SELECT * FROM post_tag ORDER BY 1, 2")
        == ["1|'x'", "1|'y'", "1|'z'", "3|'z'"])
    #expect(try fixture.rows("SELECT * FROM friend") == ["3|1"])
    #expect(
      try fixture.refusal(#"{"changes":[{"update":"post","id":1,"values":{"tag":["q"]}}]}"#)
        == ["409 0 tag no-such-object"])
    #expect(
      try fixture.refusal { try fixture.single(.delete, "tag", .text("z")) }
        == ["409 0 post still-referenced"])
  }

  @Test("both sides of a self reference")
  func selfReference() throws {
    let fixture = try SaveExecutionFixture(
      """
      CREATE TABLE person(id INTEGER PRIMARY KEY, boss_id INT REFERENCES person);
      INSERT INTO person VALUES (1, NULL), (2, 1), (3, 1);
      """)
    try fixture.save(
      #"{"changes":[{"update":"person","id":2,"values":{"person":[3,2],"boss":null}}]}"#)
    #expect(try fixture.rows(of: "person") == ["1|NULL", "2|2", "3|2"])
  }
}
