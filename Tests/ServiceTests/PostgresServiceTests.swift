// Live results, saves and the program over a PostgreSQL database.

import FetchModel
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import PostgresStore

@Suite("PostgreSQL: live results over HTTP", .mayBlock)
struct PostgresServiceTests {
  static let fixture = """
    CREATE TABLE country(id int PRIMARY KEY, name text NOT NULL, continent text);
    CREATE TABLE city(id int PRIMARY KEY, name text NOT NULL, population int,
      country_id int REFERENCES country ON DELETE SET NULL);
    CREATE TABLE tag(id int PRIMARY KEY, word text);
    CREATE TABLE city_tag(city_id int REFERENCES city ON DELETE CASCADE,
      tag_id int REFERENCES tag ON DELETE CASCADE, PRIMARY KEY (city_id, tag_id));
    INSERT INTO country VALUES (1,'China','Asia'),(2,'Japan','Asia'),(3,'Peru','America'),
      (4,'Mali','Africa');
    INSERT INTO tag VALUES (1,'big'),(2,'old');
    INSERT INTO city SELECT i, 'c' || (i * 7 % 30), i * 37 % 20, 1 + i % 4
      FROM generate_series(1, 30) AS i;
    INSERT INTO city_tag SELECT id, 1 + id % 2 FROM city WHERE id % 3 = 0;
    """

  @Test("a waiting request answers when another program commits, and not before")
  func longPoll() throws {
    let database = try ServedDatabase(Self.fixture)
    let snapshot = try database.ask("/v1/objects/city?where=population>18&sort=id&select=name")
    let token = try #require(snapshot.json["token"]?.string)
    let pending = database.begin(
      "GET", "/v1/objects/city?where=population>18&sort=id&select=name&since=\(token)&wait=60")
    try database.runExternally("UPDATE city SET population = 0 WHERE population = 3")
    try database.runExternally("BEGIN; INSERT INTO city VALUES (90, 'no', 20, 1); ROLLBACK")
    try database.settle()
    #expect(!pending.isThere)
    try database.runExternally("INSERT INTO city VALUES (99, 'new', 20, 1)")
    let diff = try #require(pending.wait())
    #expect(diff.text.contains(#""inserted":[{"to":[0,2],"item":{"id":99,"name":"new"}}]"#))
    #expect(diff.text.contains(#""deleted":[]"#))
  }

  @Test("Queries that take long leave the first threads to others")
  func slowQueries() throws {
    let view = "CREATE VIEW slow AS SELECT id, pg_sleep(600)::text AS z FROM city WHERE id = 1;"
    let database = try ServedDatabase(Self.fixture + view)
    let slow = (1...14).map { database.begin("GET", "/v1/objects/slow?select=z&limit=\($0)") }
    #expect(try database.ask("/v1/objects/city/1?select=name").text.contains("c7"))
    #expect(slow.allSatisfy { !$0.isThere })
  }

  @Test(
    "A column whose collation ignores case compares by code point, and changes of case are sent")
  func nondeterministicCollation() throws {
    let database = try ServedDatabase(
      """
      CREATE COLLATION folded (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
      CREATE TABLE word(id int PRIMARY KEY, text text COLLATE folded, list text[] COLLATE folded);
      INSERT INTO word VALUES (1, 'a', '{x}'), (2, 'A', '{x}'), (3, 'b', '{x}');
      """)
    for (predicate, ids) in [
      ("text == 'a'", "[1]"), ("text != 'a'", "[2,3]"), ("text IN {'A','c'}", "[2]"),
      ("text BETWEEN {'A','Z'}", "[2]"), ("text ==[c] 'A'", "[1,2]"),
      ("length(text) == 1", "[1,2,3]"),
      ("uppercase(text) == 'A'", "[1,2]"), ("text BEGINSWITH 'a'", "[1]"),
      ("text CONTAINS[c] 'A'", "[1,2]"), ("text MATCHES '[a-z]'", "[1,3]"),
    ] {
      let query = DictionariesContractTests.encoded(predicate)
      let answer = try database.ask("/v1/objects/word?as=ids&sort=id&where=\(query)")
      #expect(answer.text.contains(#""items":\#(ids)}"#), "\(predicate): \(answer.text)")
    }
    let token = try database.ask("/v1/objects/word").json["token"]?.string ?? ""
    let pending = database.begin("GET", "/v1/objects/word?since=\(token)&wait=60")
    try database.runExternally("UPDATE word SET text = 'B', list = '{X}' WHERE id = 3")
    let diff = try #require(pending.wait())
    #expect(diff.text.contains(#""changed":{"text":"B","list":["X"]}"#), "\(diff.text)")
    let object = try database.ask("/v1/objects/word/3?since=\(token)&wait=0")
    #expect(object.text.contains(#""changed":{"text":"B","list":["X"]}"#), "\(object.text)")
  }

  /// The monitor learns of a save after its client.
  @Test("whoever reads after a save reads what was saved")
  func ownSaves() throws {
    let database = try ServedDatabase(Self.fixture)
    let fetch = "/v1/objects/city?where=id==1&select=population"
    var token = try #require(database.ask(fetch).json["token"]?.string)
    for number in 1...100 {
      let body = #"{"population":\#(number)}"#
      let saved = try database.ask("PATCH", "/v1/objects/city/1", body: body)
      try #require(saved.status == 200)
      let read = try database.ask(fetch)
      try #require(read.text.contains(#""population":\#(number)}"#), "\(number): \(read.text)")
      let diff = try database.ask("\(fetch)&since=\(token)&wait=0")
      try #require(
        diff.text.contains(#""changed":{"population":\#(number)}"#), "\(number): \(diff.text)")
      token = try #require(diff.json["to"]?.string)
    }
  }

  @Test("a save through the service reaches a waiting request, and its token is later than before")
  func saves() throws {
    let database = try ServedDatabase(Self.fixture)
    let fetch = "/v1/objects/city?where=population>18&sort=id&select=name"
    let token = try #require(database.ask(fetch).json["token"]?.string)
    let pending = database.begin("GET", "\(fetch)&since=\(token)&wait=60")
    let body = #"{"changes":[{"insert":"city","values":{"id":99,"name":"new","population":20}}]}"#
    let saved = try database.ask("POST", "/v1/save", body: body)
    #expect(saved.status == 200)
    let diff = try #require(pending.wait())
    #expect(diff.text.contains(#""inserted":[{"to":[0,2],"item":{"id":99,"name":"new"}}]"#))
    let after = try #require(saved.json["token"]?.string)
    let unchanged = try database.ask("\(fetch)&since=\(after)&wait=0")
    #expect(unchanged.status == 200 && !unchanged.text.contains(#""id":99"#), "\(unchanged.text)")
    let refused = try database.ask("POST", "/v1/save", body: body)
    #expect(refused.status == 409)
    #expect(refused.text.contains(#""code":"not-unique""#))
  }

  @Test("a change of a related object reaches a request that follows it")
  func relatedChanges() throws {
    let database = try ServedDatabase(Self.fixture)
    let fetch = "/v1/objects/city?where=country.continent=='Africa'&as=ids&sort=id"
    let token = try #require(database.ask(fetch).json["token"]?.string)
    let pending = database.begin("GET", "\(fetch)&since=\(token)&wait=60")
    try database.runExternally("UPDATE country SET continent = 'Asia' WHERE id = 4")
    let diff = try #require(pending.wait()).json
    #expect(diff["count"] == JSON.number("0"))
  }

  @Test("a fetch over a join table without a key is served, and not followed")
  func joinTableWithoutKey() throws {
    let database = try ServedDatabase(
      """
      CREATE TABLE city(id int PRIMARY KEY, name text);
      CREATE TABLE tag(id int PRIMARY KEY, word text);
      CREATE TABLE city_tag(city_id int REFERENCES city, tag_id int REFERENCES tag);
      INSERT INTO city VALUES (1, 'Ica'); INSERT INTO tag VALUES (7, 'old');
      INSERT INTO city_tag VALUES (1, 7);
      """)
    let path = "/v1/objects/city?select=name,tag"
    let snapshot = try database.ask(path)
    #expect(snapshot.text.contains(#"{"id":1,"name":"Ica","tag":[7]}"#))
    let token = try #require(snapshot.json["token"]?.string)
    for query in ["select=name,tag", "where=ANY+tag.word=='old'", "expand=tag"] {
      let refused = try database.ask("/v1/objects/city?\(query)&since=\(token)")
      #expect(refused.status == 400, "\(query)")
      #expect(refused.json["code"] == .string("not-observable"), "\(query)")
      #expect(refused.json["detail"]?.string?.hasPrefix("`city_tag` cannot be followed") == true)
    }
    #expect(try database.ask("/v1/objects/city?select=name&since=\(token)&wait=0").status == 200)
    // Its tag does not stay valid when the join table changes.
    try database.runExternally("DELETE FROM city_tag")
    let later = try database.ask(path)
    #expect(later.text.contains(#"{"id":1,"name":"Ica","tag":[]}"#))
    let tag = try #require(snapshot["ETag"])
    #expect(later["ETag"] != tag)
  }

  @Test("one object is observed, and a deleted one is reported")
  func objects() throws {
    let database = try ServedDatabase(Self.fixture)
    let token = try #require(database.ask("/v1").json["token"]?.string)
    try database.runExternally("UPDATE city SET name = 'changed' WHERE id = 1")
    let changed = try database.ask("/v1/objects/city/1?since=\(token)&wait=60")
    #expect(changed.json["changed"]?["name"]?.string == "changed")
    try database.runExternally("DELETE FROM city WHERE id = 2")
    let deleted = try database.ask("/v1/objects/city/2?since=\(token)&wait=60")
    #expect(deleted.json["deleted"] == JSON.boolean(true))
  }

  @Test("several fetches on one connection answer at one token")
  func manyFetches() throws {
    let database = try ServedDatabase(Self.fixture)
    let first = try database.ask(
      "POST", "/v1/live",
      body: #"{"fetches":{"a":{"entity":"city","as":"count"},"b":{"entity":"tag"}}}"#)
    let token = try #require(first.json["token"]?.string)
    let pending = database.begin(
      "POST", "/v1/live",
      body: """
        {"fetches":{"a":{"entity":"city","as":"count","since":"\(token)"},
        "b":{"entity":"tag","since":"\(token)"}},"wait":60}
        """)
    try database.runExternally("INSERT INTO tag VALUES (3, 'new')")
    let answer = try #require(pending.wait()).json
    #expect(answer["results"]?["b"]?["count"] == JSON.number("3"))
    #expect(answer["results"]?["a"] == nil)
  }

  @Test("a token of another history is expired, and one that is not well-formed is refused")
  func tokens() throws {
    let database = try ServedDatabase(Self.fixture)
    #expect(try database.ask("/v1/objects/city?since=abc-5-00000000&wait=0").status == 410)
    #expect(try database.ask("/v1/objects/city?since=abc&wait=0").code == "bad-token")
  }

  @Test("the program serves a database, refuses options of files, and detaches it")
  func program() throws {
    let target = try PostgresServer.shared().newDatabase()
    let connection = try PostgresConnection(target)
    try connection.execute(Self.fixture)
    #expect(
      try RunningProgram(["serve", target, "--port", "0", "--durability", "normal"]).end() == 64)
    let server = try RunningProgram(["serve", target, "--port", "0"])
    let address = try #require(server.line.split(separator: " ").last)
    let about = try Curl.get("\(address)/v1")
    #expect(about.json["store"]?.string == "postgres")
    let answer = try Curl.get("\(address)/v1/objects/tag?sort=id&select=word")
    #expect(answer.text.contains(#"{"id":1,"word":"big"},{"id":2,"word":"old"}"#))
    let save = try Curl.send("POST", "\(address)/v1/objects/tag", #"{"id":3,"word":"x"}"#)
    #expect(save.status == 201, "\(save.text)")
    #expect(try connection.query("SELECT count(*) FROM tag WHERE word = 'x'").integer(0, 0) == 1)
    server.process.terminate()
    #expect(server.end() == 0)
    let created = try RunningProgram(["key", "create", target, "--name", "a", "--scope", "read"])
    #expect(created.end() == 0)
    let secured = try RunningProgram(["serve", target, "--port", "0"])
    let place = try #require(secured.line.split(separator: " ").last)
    #expect(try Curl.get("\(place)/v1/objects/tag").status == 401)
    secured.process.terminate()
    #expect(secured.end() == 0)
    #expect(try RunningProgram(["detach", target]).end() == 0)
    let schemas = try connection.query(
      "SELECT count(*) FROM pg_namespace WHERE nspname = 'livefetch'")
    #expect(try schemas.integer(0, 0) == 0)
  }

  @Test(
    "every client ends with a fresh snapshot while other programs write at the same time",
    arguments: [21, 22] as [UInt64])
  func promises(seed: UInt64) throws {
    let database = try ServedDatabase(Self.fixture)
    var random = SeededRandom(seed: seed)
    var held = try PromiseTests.fetches.map { try Self.snapshot(database, $0) }
    for round in 0..<25 {
      Self.writeConcurrently(database.target, seed: random.next())
      try database.settle()
      for (index, fetch) in PromiseTests.fetches.enumerated() where Bool.random(using: &random) {
        let place = Comment("seed \(seed), round \(round), \(fetch)")
        let answer = try database.ask("/v1/objects/\(fetch)&since=\(held[index].token)&wait=0")
        try #require(answer.status == 200, "\(place): \(answer.text)")
        let diff = try #require(Diff(json: answer.json), place)
        try held[index].apply(diff)
        PromiseTests.compare(held[index], try Self.snapshot(database, fetch), place)
      }
    }
  }

  private static func snapshot(_ database: ServedDatabase, _ fetch: String) throws -> ResultSnapshot
  {
    let answer = try database.ask("/v1/objects/\(fetch)")
    return try #require(ResultSnapshot(json: answer.json), "\(answer.text)")
  }

  /// Runs transactions of several programs, some of which roll back or lose a conflict.
  static func writeConcurrently(_ target: String, seed: UInt64) {
    let writers = DispatchGroup()
    for number in 0..<4 {
      writers.enter()
      Thread {
        defer { writers.leave() }
        var random = SeededRandom(seed: seed &+ UInt64(number))
        guard let connection = try? PostgresConnection(target) else {
          Issue.record("The database accepts no connection.")
          return
        }
        for _ in 0..<3 {
          _ = try? connection.execute("BEGIN")
          for _ in 0..<Int.random(in: 1...3, using: &random) {
            _ = try? connection.execute(Self.change(&random))
            usleep(UInt32.random(in: 0...3_000, using: &random))
          }
          let end = Int.random(in: 0...3, using: &random) == 0 ? "ROLLBACK" : "COMMIT"
          _ = try? connection.execute(end)
        }
      }.start()
    }
    writers.wait()
  }

  /// A statement about the tables of the fixture.
  static func change(_ random: inout SeededRandom) -> String {
    let city = Int.random(in: 1...35, using: &random)
    let country = Int.random(in: 1...5, using: &random)
    let population = Int.random(in: 0...20, using: &random)
    let tag = Int.random(in: 1...3, using: &random)
    return [
      "UPDATE city SET population = \(population) WHERE id = \(city)",
      "UPDATE city SET name = 'n\(population)' WHERE id = \(city)",
      "UPDATE city SET country_id = (SELECT max(id) FROM country WHERE id <= \(country)) "
        + "WHERE id = \(city)",
      "DELETE FROM city WHERE id = \(city)",
      "INSERT INTO city VALUES (\(city), 'i\(city)', \(population), 1) ON CONFLICT DO NOTHING",
      "UPDATE city SET population = population + 1 WHERE id BETWEEN \(city) AND \(city) + 5",
      "UPDATE city SET id = id + 100 WHERE id = \(city) AND NOT EXISTS "
        + "(SELECT FROM city_tag WHERE city_id = \(city))",
      "UPDATE country SET continent = CASE continent WHEN 'Asia' THEN 'Africa' ELSE 'Asia' END "
        + "WHERE id = \(country)",
      "UPDATE country SET name = name || 'x' WHERE id = \(country)",
      "DELETE FROM country WHERE id = \(country) AND id > 3",
      "INSERT INTO country VALUES (\(country), 'c', 'Asia') ON CONFLICT DO NOTHING",
      "INSERT INTO city_tag SELECT id, 1 FROM city WHERE id = \(city) ON CONFLICT DO NOTHING",
      "DELETE FROM city_tag WHERE city_id = \(city)",
      "INSERT INTO tag VALUES (\(tag), 'big') ON CONFLICT (id) DO UPDATE SET word = 'big'",
      "UPDATE tag SET word = 'old' WHERE id = \(tag)",
    ].randomElement(using: &random) ?? "SELECT 1"
  }
}
