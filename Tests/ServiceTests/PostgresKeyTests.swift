// PostgreSQL databases whose keys, values and tables have no counterpart in a file: keys that are equal
// and written differently, NaN, unlogged tables, partitions.

import Bytes
import FetchModel
import Foundation
import Synchronization
import TestSupport
import Testing

@Suite("PostgreSQL: keys and tables that a file does not have", .mayBlock)
struct PostgresKeyTests {
  /// Fetches, changes the database, and expects that the diff leads to the new result.
  private static func expectDiff(
    _ target: String, after sql: String, in database: ServedDatabase
  ) throws {
    let before = try database.ask(target)
    var held = try #require(ResultSnapshot(json: before.json), "\(before.text)")
    let token = try #require(before.json["token"]?.string)
    try database.runExternally(sql)
    try database.settle()
    let answer = try database.ask("\(target)&since=\(token)&wait=0")
    try held.apply(try #require(Diff(json: answer.json), "\(sql): \(answer.text)"))
    let fresh = try #require(ResultSnapshot(json: database.ask(target).json))
    #expect(held.sections == fresh.sections, "\(sql): \(answer.text)")
  }

  @Test(
    "One object is read, changed, followed, inserted and deleted by its id, whatever the key's type is",
    arguments: [
      ("uuid", "'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11'", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a12"),
      ("numeric", "1.50", "2.5"), ("real", "0.1", "0.7"), ("double precision", "0.1", "0.25"),
      ("text", "'ä,b'", "c"),
      ("bytea", #"'\x00ff'"#, "0A"), ("date", "'2024-02-29'", "2024-03-01"),
      ("boolean", "true", "false"), ("bigint", "7", "8"), ("inet", "'10.0.0.1'", "10.0.0.2"),
    ])
  func oneObject(_ type: String, _ key: String, _ other: String) throws {
    let database = try ServedDatabase(
      "CREATE TABLE t(k \(type) PRIMARY KEY, v int); INSERT INTO t VALUES (\(key), 1)")
    let list = try #require(ResultSnapshot(json: database.ask("/v1/objects/t").json))
    let item = try JSON(parsing: try #require(list.sections.first?.items.first))
    let id = try #require(item["id"]?.string ?? item["id"]?.integer.map { String($0) })
    let path = "/v1/objects/t/" + PercentEncoding.encodeComponent(id)
    let object = try database.ask(path)
    #expect(object.status == 200, "\(id): \(object.text)")
    #expect(object.json["v"]?.integer == 1)
    #expect(try database.ask("\(path)/v").text == "1")
    let changed = try database.ask("PATCH", path, body: #"{"v":2}"#)
    #expect(changed.status == 200 && changed.json["v"]?.integer == 2, "\(changed.text)")
    try database.settle()
    let followed = try database.ask("\(path)?since=\(list.token)&wait=0")
    #expect(followed.json["changed"]?["v"]?.integer == 2, "\(followed.text)")
    let otherID = type == "bigint" ? other : #""\#(other)""#
    let inserted = try database.ask(
      "POST", "/v1/objects/t", body: #"{"id":\#(otherID),"v":3}"#)
    #expect(inserted.status == 201 && inserted.json["v"]?.integer == 3, "\(inserted.text)")
    #expect(try database.ask("DELETE", path).status == 204)
    #expect(try database.ask(path).code == "unknown-id")
  }

  @Test(
    "PUT under an id that is another text of the key is 404 and inserts nothing",
    arguments: [
      ("numeric", "1e2", "100"), ("double precision", "1e2", "100"),
      ("date", "2024-1-1", "2024-01-01"),
      ("timestamptz", "2024-01-01T00:00:00Z", nil),
    ] as [(String, String, String?)])
  func otherTexts(_ type: String, _ id: String, _ stored: String?) throws {
    let database = try ServedDatabase("CREATE TABLE t(k \(type) PRIMARY KEY, v int)")
    let refused = try database.ask("PUT", "/v1/objects/t/\(id)", body: #"{"v":1}"#)
    #expect(refused.status == 404, "\(refused.text)")
    #expect(try database.ask("/v1/objects/t?as=count").json["total"]?.integer == 0)
    guard let stored else { return }
    let inserted = try database.ask("PUT", "/v1/objects/t/\(stored)", body: #"{"v":1}"#)
    #expect(inserted.status == 201, "\(inserted.text)")
    #expect(try database.ask("/v1/objects/t/\(stored)").json["v"]?.integer == 1)
  }

  @Test(
    "A key that becomes an equal one with another text is another object",
    arguments: [
      ("numeric", "1.5", "1.50"), ("double precision", "'-0'", "0"),
      (#"text COLLATE "caseless""#, "'Abc'", "'abc'"), ("char(4)", "'ab'", "'b'"),
    ])
  func equalKeys(_ type: String, _ old: String, _ new: String) throws {
    let database = try ServedDatabase(
      """
      CREATE COLLATION caseless (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
      CREATE TABLE t(k \(type) PRIMARY KEY, v int);
      INSERT INTO t VALUES (\(old), 1);
      """)
    for sql in [
      "UPDATE t SET k = \(new), v = 5", "UPDATE t SET k = \(old), v = 6",
      "BEGIN; DELETE FROM t; INSERT INTO t VALUES (\(new), 7); COMMIT",
      "DELETE FROM t; INSERT INTO t VALUES (\(old), 8)",
    ] {
      try Self.expectDiff("/v1/objects/t?sort=v", after: sql, in: database)
    }
  }

  @Test(
    "A foreign key that is written otherwise than the key names the object by its key, and is followed",
    arguments: [
      ("numeric", "1.5", "1.50", "3"), ("double precision", "0", "'-0'", "3"),
      (#"text COLLATE "caseless""#, "'Abc'", "'abc'", "'x'"), ("varchar(9)", "'b'", "'b'", "'x'"),
    ])
  func foreignKeysOfOtherTexts(
    _ type: String, _ key: String, _ same: String, _ other: String
  ) throws {
    let database = try ServedDatabase(
      """
      CREATE COLLATION caseless (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
      CREATE TABLE parent(k \(type) PRIMARY KEY, v int);
      CREATE TABLE child(id int PRIMARY KEY, parent_k \(type) REFERENCES parent, w int);
      INSERT INTO parent VALUES (\(key), 1), (\(other), 2);
      INSERT INTO child VALUES (1, \(same), 10), (2, \(other), 20);
      """)
    let parents = try #require(
      ResultSnapshot(json: database.ask("/v1/objects/parent?sort=v").json))
    let first = try JSON(parsing: try #require(parents.sections.first?.items.first))
    let child = try database.ask("/v1/objects/child/1")
    #expect(child.json["parent_k"]?.string == first["id"]?.string, "\(child.text)")
    for sql in [
      "UPDATE parent SET v = 9 WHERE k = \(key)", "UPDATE child SET w = 11 WHERE id = 1",
      "UPDATE child SET parent_k = \(other) WHERE id = 1",
      "UPDATE child SET parent_k = \(same) WHERE id = 2", "DELETE FROM child WHERE id = 2",
      "INSERT INTO child VALUES (3, \(same), 30)",
    ] {
      for target in [
        "/v1/objects/child?select=w,parent_k,parent_k.v&sort=parent_k.v,w",
        "/v1/objects/child?where=parent_k.v%3E2&expand=parent_k",
        "/v1/objects/parent?select=v,child&sort=v",
        "/v1/objects/parent?where=ANY%20child.w%3E10",
      ] {
        try database.runExternally(
          """
          DELETE FROM child; UPDATE parent SET v = 1 WHERE k = \(key);
          INSERT INTO child VALUES (1, \(same), 10), (2, \(other), 20);
          """)
        try database.settle()
        try Self.expectDiff(target, after: sql, in: database)
      }
    }
  }

  @Test(
    "NaN is shown as null, sorts after every number, and has a section of its own",
    arguments: ["numeric", "double precision", "real"])
  func notANumber(_ type: String) throws {
    let database = try ServedDatabase(
      """
      CREATE TABLE t(id int PRIMARY KEY, n \(type));
      INSERT INTO t VALUES (1,1),(2,'NaN'),(3,2),(4,NULL),(5,'NaN');
      """)
    let fetched = try database.ask("/v1/objects/t?sort=-n,id&as=ids")
    #expect(fetched.text.contains(#""items":[2,5,3,1,4]"#), "\(fetched.text)")
    let sections = try database.ask("/v1/objects/t?section=n&sort=n,id&as=ids")
    #expect(sections.text.contains(#"{"name":"","value":null,"#), "\(sections.text)")
    #expect(
      sections.text.contains(#"{"name":"NaN","value":"NaN","indexTitle":"N","items":[2,5]}"#),
      "\(sections.text)")
    for sql in [
      "UPDATE t SET n = 5 WHERE id = 2", "UPDATE t SET n = 'NaN' WHERE id = 3",
      "UPDATE t SET n = NULL WHERE id = 5", "INSERT INTO t VALUES (6, 'NaN')",
    ] {
      for target in ["/v1/objects/t?sort=-n,id", "/v1/objects/t?sort=n,id&section=n"] {
        try Self.expectDiff(target, after: sql, in: database)
        try database.runExternally(
          "DELETE FROM t; INSERT INTO t VALUES (1,1),(2,'NaN'),(3,2),(4,NULL),(5,'NaN')")
      }
    }
  }

  @Test("A UUID names an object in upper and lower case, in predicates, paths and saves")
  func caseOfUUIDs() throws {
    let database = try ServedDatabase(
      """
      CREATE TABLE o(id uuid PRIMARY KEY, parent uuid REFERENCES o, v int);
      INSERT INTO o VALUES ('a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', NULL, 1),
        ('a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a12', 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', 2);
      """)
    let lower = "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"
    for id in [lower, lower.uppercased()] {
      for (predicate, v) in [
        ("id == '\(id)'", 1), ("SELF == '\(id)'", 1), ("id IN {'\(id)'}", 1),
        ("parent == '\(id)'", 2), ("parent.id == '\(id)'", 2),
      ] {
        let encoded = predicate.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
        let answer = try database.ask("/v1/objects/o?select=v&where=\(encoded)")
        #expect(answer.text.contains(#""v":\#(v)}"#), "\(predicate): \(answer.text)")
        #expect(answer.json["count"]?.integer == 1, "\(predicate)")
      }
      #expect(try database.ask("/v1/objects/o/\(id)").json["id"]?.string == lower)
      let change = #"{"changes":[{"update":"o","where":"id == '\#(id)'","values":{"v":1}}]}"#
      #expect(try database.ask("POST", "/v1/save", body: change).json["updated"]?.integer == 1)
      let insert = #"{"parent":"\#(id)","v":3,"id":"\#(UUID().uuidString)"}"#
      let inserted = try database.ask("POST", "/v1/objects/o", body: insert)
      #expect(inserted.json["parent"]?.string == lower, "\(inserted.text)")
      try database.runExternally("DELETE FROM o WHERE v = 3")
    }
  }

  @Test("Of two objects with UUIDs that are followed, each reports its own change")
  func followedUUIDs() throws {
    let database = try ServedDatabase(
      """
      CREATE TABLE o(id uuid PRIMARY KEY, v int);
      INSERT INTO o SELECT gen_random_uuid(), g FROM generate_series(1, 2) AS g;
      """)
    let list = try #require(ResultSnapshot(json: database.ask("/v1/objects/o?sort=v").json))
    let ids = try list.sections[0].items.map { try JSON(parsing: $0)["id"]?.string ?? "" }
    let waiting = ids.map {
      database.begin("GET", "/v1/objects/o/\($0)?since=\(list.token)&wait=60")
    }
    let saved = try database.ask("PATCH", "/v1/objects/o/\(ids[0])", body: #"{"v":9}"#)
    #expect(saved.json["v"]?.integer == 9, "\(saved.text)")
    #expect(try #require(waiting[0].wait()).json["changed"]?["v"]?.integer == 9)
    try database.runExternally("UPDATE o SET v = 8 WHERE id = '\(ids[1])'")
    #expect(try #require(waiting[1].wait()).json["changed"]?["v"]?.integer == 8)
  }

  @Test("A list is paged past NaN", arguments: ["numeric", "double precision"])
  func pagesOfNaN(_ type: String) throws {
    let database = try ServedDatabase(
      """
      CREATE TABLE t(id int PRIMARY KEY, n \(type));
      INSERT INTO t VALUES (1,1),(2,'NaN'),(3,2),(4,NULL),(5,'NaN');
      """)
    for (sort, expected) in [("n,id", "4,1,3,2,5"), ("-n,id", "2,5,3,1,4")] {
      var ids: [String] = []
      var target: String? = "/v1/objects/t?sort=\(sort)&limit=1&as=ids"
      while let page = target, ids.count < 6 {
        let answer = try database.ask(page)
        #expect(answer.status == 200, "\(answer.text)")
        ids += answer.items.compactMap { $0.integer.map { String($0) } }
        target = answer.json["next"]?.string.map {
          "/v1/objects/t?sort=\(sort)&limit=1&as=ids&after=\($0)"
        }
      }
      #expect(ids.joined(separator: ",") == expected, "\(sort)")
    }
  }

  @Test("A composite key with a UUID is found and changed by its id in lower case alone")
  func compositeUUID() throws {
    let database = try ServedDatabase(
      """
      CREATE TABLE t(a uuid, b int, v int, PRIMARY KEY (a, b));
      INSERT INTO t VALUES ('a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', 1, 1);
      """)
    let path = "/v1/objects/t/a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11,1"
    let other = "/v1/objects/t/A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11,1"
    #expect(try database.ask("PATCH", path, body: #"{"v":2}"#).json["v"]?.integer == 2)
    #expect(try database.ask(other).status == 404)
    for method in ["PATCH", "PUT"] {
      #expect(try database.ask(method, other, body: #"{"v":3}"#).status == 404)
    }
    #expect(try database.ask("DELETE", other).status == 404)
    #expect(try database.ask(path).json["v"]?.integer == 2)
  }

  @Test("An unlogged table, and one with an unlogged partition, are fetched and not followed")
  func unseenChanges() throws {
    let database = try ServedDatabase(
      """
      CREATE TABLE plain(id int PRIMARY KEY);
      CREATE UNLOGGED TABLE unlogged(id int PRIMARY KEY);
      CREATE TABLE parted(id int PRIMARY KEY) PARTITION BY RANGE (id);
      CREATE UNLOGGED TABLE part PARTITION OF parted FOR VALUES FROM (0) TO (100);
      INSERT INTO unlogged VALUES (1);
      """)
    for table in ["unlogged", "parted"] {
      #expect(try database.ask("/v1/objects/\(table)").status == 200)
      let followed = try database.ask("/v1/objects/\(table)?since=now&wait=0")
      #expect(followed.code == "not-observable", "\(table)")
    }
    #expect(try database.ask("/v1/objects/plain?since=now&wait=0").status == 200)
  }

  @Test("A partition that is detached, changed and attached again begins a new epoch")
  func partition() throws {
    let database = try ServedDatabase(
      """
      CREATE TABLE p(id int PRIMARY KEY, k int) PARTITION BY RANGE (id);
      CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (0) TO (100);
      INSERT INTO p SELECT g, g FROM generate_series(1, 5) AS g;
      """)
    let isOutdated = Mutex(false)
    database.store.onOutdated { _ in isOutdated.withLock { $0 = true } }
    try database.runExternally(
      """
      BEGIN; ALTER TABLE p DETACH PARTITION p1; UPDATE p1 SET k = k + 10 WHERE id = 1;
      ALTER TABLE p ATTACH PARTITION p1 FOR VALUES FROM (0) TO (100); COMMIT
      """)
    #expect(eventually(within: .seconds(120)) { isOutdated.withLock { $0 } })
  }

  @Test("Dictionaries have expressions over grouped columns, and distinct ones calculated columns")
  func dictionaries() throws {
    let database = try ServedDatabase(
      """
      CREATE TABLE t(id int PRIMARY KEY, name text, n int);
      INSERT INTO t VALUES (1,'abc',1),(2,'abc',2),(3,'b',2),(4,NULL,3);
      """)
    func items(_ fetch: String) throws -> String {
      let answer = try database.ask("POST", "/v1/fetch", body: fetch)
      let parts = answer.text.components(separatedBy: #""items":"#)
      return parts.count == 2 ? String(parts[1].dropLast(3)) : answer.text
    }
    #expect(
      try items(
        #"{"entity":"t","as":"dictionaries","select":["name","l:(length(name))","c:@count"],"group":["name"],"having":"name != 'b'"}"#
      )
        == #"[{"name":null,"l":null,"c":1},{"name":"abc","l":3,"c":2}]"#)
    #expect(
      try items(
        #"{"entity":"t","as":"dictionaries","select":["q:(n + 1)","r:(n * 2)"],"distinct":true}"#)
        == #"[{"q":2,"r":2},{"q":3,"r":4},{"q":4,"r":6}]"#)
    #expect(
      try items(
        #"{"entity":"t","as":"dictionaries","select":["q:(n + 1)"],"distinct":true,"sort":["-q"]}"#)
        == #"[{"q":4},{"q":3},{"q":2}]"#)
  }

  @Test("What PostgreSQL does not calculate is 501, and an id for GENERATED ALWAYS as well")
  func unsupported() throws {
    let database = try ServedDatabase(
      """
      CREATE TABLE t(id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name text, b bytea);
      INSERT INTO t(name) VALUES ('a');
      """)
    let fetch = #"{"entity":"t","as":"dictionaries","select":["x:@max.b"]}"#
    let answer = try database.ask("POST", "/v1/fetch", body: fetch)
    #expect(answer.status == 501, "\(answer.text)")
    #expect(answer.code == "not-implemented")
    let insert = try database.ask("POST", "/v1/objects/t", body: #"{"id":5,"name":"x"}"#)
    #expect(insert.status == 501, "\(insert.text)")
    #expect(try database.ask("POST", "/v1/objects/t", body: #"{"name":"x"}"#).status == 201)
  }
}
