// Saves, batches and transactions of other programs that meet at the same rows of a PostgreSQL database.
//
// The databases of these tests look for deadlocks only after a minute. A save that is answered earlier has
// not ended in one.

import FetchModel
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import PostgresStore

@Suite("PostgreSQL: transactions that meet at the same rows", .mayBlock)
struct PostgresLockTests {
  private static let longTimeout = setting("deadlock_timeout", "60s")

  /// SQL that sets a parameter of every later session of the database.
  private static func setting(_ name: String, _ value: String) -> String {
    """
    DO $$BEGIN
      EXECUTE format('ALTER DATABASE %I SET \(name) = ''\(value)''', current_database());
    END$$;

    """
  }

  private static let items = """
    \(longTimeout)CREATE TABLE item(id int PRIMARY KEY, v int);
    INSERT INTO item VALUES (3, 0), (2, 0), (1, 0);
    """

  /// Begins a save that updates items in this order.
  private static func beginSave(
    _ ids: [Int], _ value: Int, byCondition: Bool = false, in database: ServedDatabase
  ) -> Pending {
    let changes = ids.map { id in
      let named = byCondition ? #""where":"id == \#(id)""# : #""id":\#(id)"#
      return #"{"update":"item",\#(named),"values":{"v":\#(value)}}"#
    }
    return database.begin(
      "POST", "/v1/save", body: #"{"changes":[\#(changes.joined(separator: ","))]}"#)
  }

  /// Waits until so many sessions of the database wait for a lock.
  private static func waitForLocks(_ count: Int64, on connection: PostgresConnection) throws {
    let isThere = try eventually(within: .seconds(20)) {
      try connection.query(
        """
        SELECT count(*) FROM pg_stat_activity
        WHERE datname = current_database() AND wait_event_type = 'Lock'
        """
      ).integer(0, 0) == count
    }
    #expect(isThere)
  }

  private static func text(_ sql: String, _ connection: PostgresConnection) throws -> String {
    try connection.query(sql).text(0, 0)
  }

  private static let values = "SELECT string_agg(v::text, ',' ORDER BY id) FROM item"

  @Test(
    "Saves of the same objects in different orders are made one after the other",
    arguments: [(false, false), (true, true), (true, false), (false, true)])
  func savesInDifferentOrders(_ isFirstByCondition: Bool, _ isSecondByCondition: Bool) throws {
    let database = try ServedDatabase(Self.items)
    let (holder, observer) = (
      try PostgresConnection(database.target), try PostgresConnection(database.target)
    )
    try holder.execute("BEGIN; UPDATE item SET v = 9 WHERE id = 3")
    let first = Self.beginSave([1, 3, 2], 1, byCondition: isFirstByCondition, in: database)
    try Self.waitForLocks(1, on: observer)
    let second = Self.beginSave([2, 3, 1], 2, byCondition: isSecondByCondition, in: database)
    try Self.waitForLocks(2, on: observer)
    try holder.execute("ROLLBACK")
    for save in [first, second] {
      let answer = try #require(save.wait(seconds: 30))
      #expect(answer.status == 200, "\(answer.text)")
    }
    #expect(try Self.text(Self.values, observer) == "2,2,2")
  }

  @Test("A wait that meets the reload of its table ends with the new values")
  func waitDuringReload() throws {
    let database = try ServedDatabase(Self.items)
    let (holder, observer) = (
      try PostgresConnection(database.target), try PostgresConnection(database.target)
    )
    let start = try database.ask("/v1/objects/item?sort=id")
    let token = try #require(start.json["token"]?.string)
    try database.runExternally("UPDATE item SET v = 1 WHERE id = 1")
    try holder.execute("BEGIN; TRUNCATE item; INSERT INTO item VALUES (1, 5), (2, 0), (3, 0)")
    let wait = database.begin("GET", "/v1/objects/item?sort=id&since=\(token)&wait=20")
    try Self.waitForLocks(1, on: observer)
    try holder.execute("COMMIT")
    let answer = try #require(wait.wait(seconds: 60))
    #expect(answer.status == 200, "\(answer.text)")
    #expect(answer.text.contains(#""v":5"#), "\(answer.text)")
  }

  @Test("A batch and a save of several changes are made one after the other")
  func batchBesideSave() throws {
    let database = try ServedDatabase(Self.items)
    let (holder, observer) = (
      try PostgresConnection(database.target), try PostgresConnection(database.target)
    )
    try holder.execute("BEGIN; UPDATE item SET v = 9 WHERE id = 2")
    let batch = database.begin(
      "PATCH", "/v1/objects/item?where=TRUEPREDICATE", body: #"{"v":5}"#)
    try Self.waitForLocks(1, on: observer)
    let save = Self.beginSave([1, 3], 7, in: database)
    try Self.waitForLocks(2, on: observer)
    try holder.execute("ROLLBACK")
    for pending in [batch, save] {
      let answer = try #require(pending.wait(seconds: 30))
      #expect(answer.status == 200, "\(answer.text)")
    }
    #expect(try Self.text(Self.values, observer) == "7,5,7")
  }

  @Test(
    "A save of several changes locks its objects in the order of their keys, whatever their type is",
    arguments: [
      ("uuid", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a12"),
      ("numeric(8,2)", "1.50", "2.50"), ("double precision", "0.25", "1e+20"),
      ("text", #"a"b\c{,}"#, "NULL"), ("varchar(9)", "ä, b", "x"), ("bytea", #"\x00ff"#, #"\x22"#),
      ("date", "2024-02-29", "2024-03-01"), ("interval", "PT2H", "P1D"), ("bigint", "-8", "7"),
    ])
  func keysOfEveryType(_ type: String, _ first: String, _ second: String) throws {
    let database = try ServedDatabase(
      """
      CREATE TABLE t(k \(type) PRIMARY KEY, v int);
      INSERT INTO t VALUES ('\(first)', 1), ('\(second)', 2);
      """)
    let (holder, observer) = (
      try PostgresConnection(database.target), try PostgresConnection(database.target)
    )
    let changes = try [2, 1].map { value in
      let found = try database.ask("/v1/objects/t?as=ids&where=v==\(value)").text
      let id = try #require(found.components(separatedBy: #""items":["#).last?.dropLast(4))
      return #"{"update":"t","id":\#(id),"values":{"v":3}}"#
    }
    try holder.execute("BEGIN; UPDATE t SET v = 4 WHERE k = '\(first)'")
    let save = database.begin(
      "POST", "/v1/save", body: #"{"changes":[\#(changes.joined(separator: ","))]}"#)
    try Self.waitForLocks(1, on: observer)
    let free = try observer.query("SELECT v FROM t WHERE v = 2 FOR UPDATE SKIP LOCKED")
    #expect(free.rowCount == 1)
    try holder.execute("ROLLBACK")
    let answer = try #require(save.wait())
    #expect(answer.text.contains(#""updated":2"#), "\(answer.text)")
  }

  @Test("A save waits longer before each repetition, at most 64 milliseconds")
  func pauses() {
    let pauses = [0, 1, 5, 6, 7, 400].map { PostgresSaveExecutor.longestPause(after: $0) }
    #expect(pauses == [1_000, 2_000, 32_000, 64_000, 64_000, 64_000])
  }

  @Test("A batch changes its objects in the order of their ids, whatever their order in the table")
  func batchOrder() throws {
    let database = try ServedDatabase(
      """
      CREATE TABLE box(id int PRIMARY KEY);
      CREATE TABLE item(id int PRIMARY KEY, box_id int REFERENCES box);
      INSERT INTO box VALUES (3), (1), (2);
      INSERT INTO item VALUES (1, NULL);
      """)
    let answer = try database.ask(
      "PATCH", "/v1/objects/box?where=TRUEPREDICATE", body: #"{"item":{"add":[1]}}"#)
    #expect(answer.status == 200, "\(answer.text)")
    #expect(try database.ask("/v1/objects/item/1").json["box"]?.integer == 3)
  }

  private static let model = """
    {"entities":[
    {"name":"Team","attributes":[{"name":"title","type":"String"},
      {"name":"memberCount","type":"Integer 64","derivation":"members.@count"}],
     "relationships":[
      {"name":"members","destination":"Person","toMany":true,"ordered":true,"inverse":"team"},
      {"name":"captain","destination":"Person","inverse":"captainOf"}]},
    {"name":"Person","attributes":[{"name":"name","type":"String"},
      {"name":"teamTitle","type":"String","derivation":"team.title"}],
     "relationships":[{"name":"team","destination":"Team","inverse":"members"},
      {"name":"captainOf","destination":"Team","inverse":"captain"}]}]}
    """

  /// One team, and three persons of which the first is the last row of the table.
  private static func teams() throws -> ServedDatabase {
    let database = try ServedDatabase(longTimeout, model: model)
    let answer = try database.ask(
      "POST", "/v1/save",
      body: """
        {"changes":[{"insert":"Team","values":{"title":"old"}},
        {"insert":"Person","values":{"name":"a"}},{"insert":"Person","values":{"name":"b"}},
        {"insert":"Person","values":{"name":"c"}}]}
        """)
    #expect(answer.status == 200, "\(answer.text)")
    try database.runExternally(#"UPDATE "Person" SET name = 'A' WHERE id = 1"#)
    return database
  }

  @Test("Objects that a batch adds to an ordered relationship are in the order of their ids")
  func orderOfAddedMembers() throws {
    let database = try Self.teams()
    let answer = try database.ask(
      "PATCH", "/v1/objects/Person?where=TRUEPREDICATE", body: #"{"team":1}"#)
    #expect(answer.text.contains(#""updated":3"#), "\(answer.text)")
    let team = try database.ask("/v1/objects/Team/1?select=members").text
    #expect(team == #"{"id":1,"members":[1,2,3]}"#)
  }

  @Test("A batch that sets a one-to-one relationship leaves it to the object with the highest id")
  func lastPartner() throws {
    let database = try Self.teams()
    let answer = try database.ask(
      "PATCH", "/v1/objects/Person?where=TRUEPREDICATE", body: #"{"captainOf":1}"#)
    #expect(answer.text.contains(#""updated":3"#), "\(answer.text)")
    #expect(try database.ask("/v1/objects/Team/1").json["captain"]?.integer == 3)
  }

  /// Makes two transactions of other programs. The first one commits once the second one waits for it.
  private static func overlap(_ first: String, _ second: String, in target: String) throws {
    let (holder, other) = (try PostgresConnection(target), try PostgresConnection(target))
    let observer = try PostgresConnection(target)
    let isDone = DispatchGroup()
    let failure = Mutex<String?>(nil)
    try holder.execute("BEGIN; \(first)")
    isDone.enter()
    Thread {
      defer { isDone.leave() }
      do { try other.execute(second) } catch { failure.withLock { $0 = "\(error)" } }
    }.start()
    try waitForLocks(1, on: observer)
    try holder.execute("COMMIT")
    isDone.wait()
    #expect(failure.withLock { $0 } == nil)
  }

  @Test("Transactions of other programs that add members at the same time are both counted")
  func countedMembers() throws {
    let database = try Self.teams()
    try Self.overlap(
      #"INSERT INTO "Person"(name, team) VALUES ('d', 1)"#,
      #"INSERT INTO "Person"(name, team) VALUES ('e', 1)"#, in: database.target)
    let observer = try PostgresConnection(database.target)
    #expect(try Self.text(#"SELECT "memberCount"::text FROM "Team""#, observer) == "2")
  }

  @Test("A value is copied from an object as another transaction leaves it")
  func copiedValue() throws {
    let database = try Self.teams()
    let observer = try PostgresConnection(database.target)
    let title = #"SELECT "teamTitle" FROM "Person" WHERE id = 2"#
    let join = #"UPDATE "Person" SET team = 1 WHERE id = 2"#
    try Self.overlap(
      #"UPDATE "Team" SET title = 'new' WHERE id = 1"#, join, in: database.target)
    #expect(try Self.text(title, observer) == "new")
    try observer.execute(#"UPDATE "Person" SET team = NULL WHERE id = 2"#)
    try Self.overlap(
      join, #"UPDATE "Team" SET title = 'newer' WHERE id = 1"#, in: database.target)
    #expect(try Self.text(title, observer) == "newer")
  }

  @Test(
    "A server's commits are flushed at once, also where the database does not ask for it",
    arguments: [("off", "on"), ("local", "local")])
  func flushedCommits(_ given: String, _ expected: String) throws {
    let database = try ServedDatabase(
      Self.setting("synchronous_commit", given) + "CREATE TABLE t(id int PRIMARY KEY)")
    let found = try database.store.pool.withConnection { connection throws(PostgresError) in
      try connection.query("SHOW synchronous_commit").text(0, 0)
    }
    #expect(found == expected)
  }

  @Test("A table without live results is refused with a reason that concerns any database")
  func reasonOfUnfollowedTable() throws {
    let database = try ServedDatabase(
      "CREATE UNLOGGED TABLE t(id int PRIMARY KEY); CREATE TABLE u(id int PRIMARY KEY DEFERRABLE)")
    for table in ["t", "u"] {
      let answer = try database.ask("/v1/objects/\(table)?since=now&wait=0")
      #expect(answer.status == 400)
      #expect(
        answer.json["detail"]?.string
          == "`\(table)` cannot be followed: it is a view, has no primary key or only a DEFERRABLE one, is "
          + "served read only, or is one of the tables that the limits in the manual name.")
    }
  }

  @Test("No text equals or contains a text with U+0000, which PostgreSQL does not store")
  func textsWithZero() throws {
    let database = try ServedDatabase(
      """
      CREATE TABLE t(id text PRIMARY KEY, word text);
      INSERT INTO t VALUES ('1', 'a'), ('2', 'b'), ('3', NULL);
      """)
    for (condition, ids) in [
      ("word == %@", "[]"), ("word != %@", #"["1","2","3"]"#), ("word ==[c] %@", "[]"),
      ("%@ == word", "[]"), ("SELF == %@", "[]"), ("word IN {%@, 'a'}", #"["1"]"#),
      ("word IN {%@}", "[]"), ("NOT word IN {%@}", #"["1","2","3"]"#),
      ("NOT word IN {%@, 'a'}", #"["2","3"]"#), ("word CONTAINS[c] %@", "[]"),
      ("NOT word BEGINSWITH %@", #"["1","2","3"]"#), ("word ENDSWITH %@", "[]"),
      ("word LIKE %@", "[]"),
    ] {
      let answer = try database.ask(
        "POST", "/v1/fetch",
        body: """
          {"entity":"t","as":"ids","sort":["id"],"where":"\(condition)","arguments":["a\\u0000"]}
          """)
      #expect(
        answer.text.contains(#""items":\#(ids)}"#), "\(condition): \(answer.text)")
    }
  }

  @Test("A relationship to an object whose key is an interval cannot be set, and says so")
  func intervalReference() throws {
    let database = try ServedDatabase(
      """
      CREATE TABLE period(k interval PRIMARY KEY);
      CREATE TABLE event(id int PRIMARY KEY, period_k interval REFERENCES period);
      INSERT INTO period VALUES ('2 hours');
      INSERT INTO event VALUES (1, NULL);
      """)
    let answer = try database.ask("PATCH", "/v1/objects/event/1", body: #"{"period_k":"PT2H"}"#)
    #expect(answer.status == 501, "\(answer.text)")
    #expect(answer.code == "not-implemented")
  }
}
