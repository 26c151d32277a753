import FetchModel
import Testing

@testable import SQLiteStore

/// A followed file with a connection that reads it.
struct FollowedFile {
  let file: ScratchFile
  let connection: Connection
  let history: History
  let setup: History.Setup

  init(_ sql: String) throws { try self.init(ScratchFile(sql)) }

  init(_ file: ScratchFile) throws {
    self.file = file
    connection = try file.connect()
    let introspection = try Introspection(of: connection)
    history = try History(
      model: introspection.model, schema: introspection.schema, on: connection)
    setup = try history.setUp(on: connection, journalMode: "delete")
  }

  var token: Token { get throws { try history.newestToken(on: connection) } }

  func touches(after token: Token) throws -> Touches {
    try history.touches(after: token.position, upTo: self.token.position, on: connection)
  }

  /// Whether a fetch of `entity` can be continued from `token`.
  func standing(
    of token: Token, _ entity: String, _ select: String? = nil, where predicate: String? = nil
  ) throws -> TokenStanding {
    var request = FetchRequest(entity: entity)
    request.predicate = predicate
    request.select = select?.split(separator: ",").map(String.init)
    let plan = try FetchResolver(model: history.model, maxItems: 100).resolve(request)
    return try history.standing(of: token, for: plan, on: connection)
  }

  /// Rows of SQL as text, columns joined by `|`.
  func rows(_ sql: String) throws -> [String] {
    try connection.all(sql) { row in
      row.values(0..<row.columnCount).map { Self.text($0) }.joined(separator: "|")
    }
  }

  private static func text(_ value: SQLValue) -> String {
    switch value {
    case .null: "nil"
    case .integer(let integer): "\(integer)"
    case .double(let double): "\(double)"
    case .text(let text): "'\(text)'"
    case .blob(let bytes): "x\(bytes)"
    }
  }

  /// The history of a table after `token`, without positions.
  func history(_ table: String, after token: Token) throws -> [String] {
    try rows(
      """
      SELECT h.* FROM \(quoted("livefetch_history_\(table)")) AS h
      WHERE livefetch_position > \(token.position) ORDER BY livefetch_position
      """
    ).map { $0.split(separator: "|").dropFirst().joined(separator: "|") }
  }
}

private let world = """
  CREATE TABLE Country(id INTEGER PRIMARY KEY, name TEXT);
  CREATE TABLE City(id INTEGER PRIMARY KEY, name TEXT, population REAL,
    country INTEGER REFERENCES Country ON DELETE CASCADE);
  CREATE TABLE Tag(name TEXT PRIMARY KEY);
  CREATE TABLE City_Tag(city INTEGER REFERENCES City ON DELETE CASCADE,
    tag TEXT REFERENCES Tag ON UPDATE CASCADE);
  INSERT INTO Country VALUES (1, 'China'), (2, 'Japan');
  INSERT INTO City VALUES (10, 'Shanghai', 24.5, 1), (20, 'Tokyo', 9.7, 2);
  INSERT INTO Tag VALUES ('big'), ('old');
  INSERT INTO City_Tag VALUES (10, 'big');
  """

@Suite("History: what every save leaves behind")
struct HistoryTests {
  @Test("an insert leaves its key, an update and a delete the row that was")
  func threeKinds() throws {
    let store = try FollowedFile(world)
    let start = try store.token
    try store.file.outsider(
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

  @Test("an update that changes nothing leaves nothing")
  func silentUpdate() throws {
    let store = try FollowedFile(
      "CREATE TABLE t(id INTEGER PRIMARY KEY, a COLLATE NOCASE); INSERT INTO t VALUES (1, 'x')")
    let start = try store.token
    try store.file.outsider("UPDATE t SET a = 'x', id = 1")
    #expect(try store.token == start)
    try store.file.outsider("UPDATE t SET a = 'X'")
    #expect(try store.history("t", after: start) == ["1|1|'x'"])
  }

  @Test("a changed key is a row that went and a row that came, by whatever name it is set")
  func changedKey() throws {
    let store = try FollowedFile(world)
    let start = try store.token
    try store.file.outsider("UPDATE Country SET rowid = 3 WHERE id = 2")
    #expect(Set(try store.history("Country", after: start)) == ["1|2|'Japan'", "0|3|nil"])
    #expect(try store.touches(after: start).objects == [0: [.integer(2), .integer(3)]])
  }

  @Test("rows that REPLACE takes away are remembered, on insert and on update")
  func replacedRows() throws {
    let store = try FollowedFile(
      """
      CREATE TABLE t(id INTEGER PRIMARY KEY, a TEXT UNIQUE COLLATE NOCASE, b INT, c TEXT);
      CREATE UNIQUE INDEX partly ON t(b) WHERE c IS NULL;
      CREATE UNIQUE INDEX expressed ON t(c || '!');
      INSERT INTO t VALUES (1, 'a', 1, NULL), (2, 'b', 2, NULL), (3, 'c', 2, 'x'), (4, 'd', 9, 'y');
      """)
    let start = try store.token
    try store.file.outsider("REPLACE INTO t VALUES (1, 'B', 7, 'x')")
    #expect(try store.rows("SELECT id FROM t ORDER BY id") == ["1", "4"])
    #expect(
      Set(try store.history("t", after: start)) == [
        "1|1|'a'|1|nil", "1|2|'b'|2|nil", "1|3|'c'|2|'x'", "0|1|nil|nil|nil",
      ])
    #expect(
      try store.history("t", after: start).last == "0|1|nil|nil|nil", "the old row comes first")
    let later = try store.token
    try store.file.outsider("UPDATE OR REPLACE t SET a = 'D' WHERE id = 1")
    #expect(
      try store.history("t", after: later) == ["1|4|'d'|9|'y'", "1|1|'B'|7|'x'"])
  }

  @Test("upserts, cascades and triggers of the user's own are followed")
  func indirectWrites() throws {
    let file = try ScratchFile(
      world + """
        CREATE TRIGGER shout AFTER INSERT ON City BEGIN
          UPDATE City SET name = upper(name) WHERE id = NEW.id; END;
        """)
    let store = try FollowedFile(file)
    let start = try store.token
    try store.connection.execute(
      """
      INSERT INTO Country VALUES (1, 'PRC') ON CONFLICT DO UPDATE SET name = excluded.name;
      DELETE FROM Country WHERE id = 2;
      INSERT INTO City VALUES (30, 'Xi''an', 1.0, 1);
      """)
    let touches = try store.touches(after: start)
    #expect(
      touches.objects == [
        0: [.integer(1), .integer(2)], 1: [.integer(20), .integer(30)],
      ])
    #expect(
      try store.history("City", after: start) == [
        "1|20|'Tokyo'|9.7|2", "0|30|nil|nil|nil", "1|30|'Xi'an'|1.0|1",
      ], "the insert is told before the trigger's update")
  }

  @Test("values are kept exactly, whatever their column is declared")
  func exactValues() throws {
    let store = try FollowedFile(
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

  @Test("tables and columns of any name are followed, without row numbers too")
  func hostileNames() throws {
    let store = try FollowedFile(
      """
      CREATE TABLE "a""b'; --"("k""'" TEXT COLLATE NOCASE, "x y" INT UNIQUE, "order" TEXT,
        PRIMARY KEY("k""'", "x y")) WITHOUT ROWID;
      INSERT INTO "a""b'; --" VALUES ('1,2', 3, 'z');
      """)
    let start = try store.token
    try store.file.outsider(
      """
      UPDATE "a""b'; --" SET "order" = 'y';
      REPLACE INTO "a""b'; --" VALUES ('%', 3, 'x');
      DELETE FROM "a""b'; --";
      """)
    #expect(try store.touches(after: start).objects == [0: [.text("1%2C2,3"), .text("%25,3")]])
  }

  @Test("a refused save leaves nothing")
  func refusedSave() throws {
    let store = try FollowedFile(world)
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

@Suite("History: touches")
struct HistoryTouchTests {
  private func place(_ store: FollowedFile, _ path: String) throws -> RelationshipPlace {
    let names = path.split(separator: ".").map(String.init)
    let entity = try #require(store.history.model.entityIndex(named: names[0]))
    guard
      case .relationship(let index)? =
        store.history.model.entities[entity].property(named: names[1])
    else { throw StoreError.failed("no \(path)") }
    return RelationshipPlace(entity: entity, relationship: index)
  }

  @Test("an object that moves between to-many relationships touches both owners")
  func movedMember() throws {
    let store = try FollowedFile(world)
    let start = try store.token
    try store.file.outsider("UPDATE City SET country = 2 WHERE id = 10")
    let touches = try store.touches(after: start)
    #expect(touches.objects == [1: [.integer(10)]])
    #expect(
      touches.members == [try place(store, "Country.City"): [.integer(1), .integer(2)]])
  }

  @Test("an object that changes otherwise touches no owner; one that comes or goes does")
  func comeAndGo() throws {
    let store = try FollowedFile(world)
    let start = try store.token
    try store.file.outsider("UPDATE City SET name = 'S' WHERE id = 10")
    #expect(try store.touches(after: start).members == [:])
    try store.file.outsider("INSERT INTO City VALUES (30, 'Kobe', 1, 2)")
    try store.file.outsider("INSERT INTO City VALUES (40, 'Rome', 1, NULL)")
    #expect(
      try store.touches(after: start).members == [
        try place(store, "Country.City"): [.integer(2)]
      ])
    try store.file.outsider("DELETE FROM City WHERE id IN (10, 30)")
    #expect(
      try store.touches(after: start).members == [
        try place(store, "Country.City"): [.integer(1)]
      ], "what came and went is no member before or now")
  }

  @Test("a row between two objects touches both")
  func joinRows() throws {
    let store = try FollowedFile(world)
    let start = try store.token
    try store.file.outsider("UPDATE City_Tag SET tag = 'old'")
    #expect(
      try store.touches(after: start).members == [
        try place(store, "City.Tag"): [.integer(10)],
        try place(store, "Tag.City"): [.text("big"), .text("old")],
      ])
    #expect(try store.touches(after: start).objects == [:])
  }

  @Test("a key to a unique column leads to its owner, before and now")
  func keyToUniqueColumn() throws {
    let store = try FollowedFile(
      """
      CREATE TABLE a(id INTEGER PRIMARY KEY, code TEXT UNIQUE);
      CREATE TABLE b(id INTEGER PRIMARY KEY, code TEXT REFERENCES a(code));
      INSERT INTO a VALUES (1, 'x'), (2, 'y');
      INSERT INTO b VALUES (5, 'x');
      """)
    let start = try store.token
    try store.file.outsider("UPDATE b SET code = 'y'; DELETE FROM a WHERE id = 1")
    #expect(
      try store.touches(after: start).members == [
        try place(store, "a.b"): [.integer(1), .integer(2)]
      ])
  }

  @Test("what a table was at an earlier position can be read back")
  func shadow() throws {
    let store = try FollowedFile(world)
    let start = try store.token
    let before = try store.rows("SELECT * FROM City ORDER BY id")
    try store.file.outsider(
      """
      UPDATE City SET name = 'a' WHERE id = 10;
      UPDATE City SET name = 'b' WHERE id = 10;
      UPDATE City SET id = 11 WHERE id = 10;
      INSERT INTO City VALUES (30, 'c', 1, 1);
      DELETE FROM City WHERE id IN (20, 30);
      REPLACE INTO City VALUES (20, 'd', 1, 1);
      """)
    let layout = HistoryLayout(of: TableShape(store.history.schema.entities[1]))
    let sql = """
      WITH \(layout.shadowExpression)
      SELECT * FROM (SELECT id, name, population, country FROM main.City WHERE \(layout.isUntouched(nil))
      UNION ALL SELECT id, name, population, country FROM \(layout.shadowName)
      WHERE livefetch_existed) ORDER BY id
      """
    let past = sql.replacing("> ?", with: "> \(start.position)")
    #expect(try store.rows(past) == before)
    #expect(try store.rows("SELECT id, name FROM City ORDER BY id") == ["11|'b'", "20|'d'"])
  }
}

@Suite("History: epochs and tokens")
struct HistoryEpochTests {
  @Test("a file goes on where it was when it is opened again")
  func continued() throws {
    let first = try FollowedFile(world)
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
    let first = try FollowedFile(world)
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
    let first = try FollowedFile(world)
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
      let first = try FollowedFile(world)
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
    "what does not concern followed tables leaves the epoch alone",
    arguments: ["CREATE INDEX i ON City(name)", "CREATE VIEW v AS SELECT * FROM City", "VACUUM"])
  func noHole(_ sql: String) throws {
    let first = try FollowedFile("CREATE TABLE City(id INTEGER PRIMARY KEY, name TEXT)")
    try first.file.outsider(sql)
    #expect(try FollowedFile(first.file).setup == .continued)
  }

  @Test("rows without a key may be renumbered, so that VACUUM is a hole where they are followed")
  func vacuum() throws {
    let keyed = world.replacing(
      "tag TEXT REFERENCES Tag ON UPDATE CASCADE",
      with: "tag TEXT REFERENCES Tag, PRIMARY KEY(city, tag)")
    for (sql, expected) in [(world, History.Setup.mended), (keyed, .continued)] {
      let first = try FollowedFile(sql)
      #expect(try FollowedFile(first.file).setup == .continued)
      try first.file.outsider("VACUUM")
      #expect(try FollowedFile(first.file).setup == expected)
    }
  }

  @Test("only a token that this history issued is known")
  func standing() throws {
    let store = try FollowedFile(world)
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

  @Test("a history of the first format begins anew")
  func olderFormat() throws {
    let store = try FollowedFile(world)
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
    let store = try FollowedFile(world)
    try store.file.outsider("UPDATE livefetch_store SET value = 3 WHERE key = 'format'")
    #expect(
      throws: StoreError.unusable("the file's history has format 3; this version knows 2")
    ) { try FollowedFile(store.file) }
  }

  @Test("detaching leaves nothing of the server's in the file")
  func detach() throws {
    let file = try ScratchFile(world)
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
