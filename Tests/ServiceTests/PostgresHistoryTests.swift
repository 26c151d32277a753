// `GET /v1/changes` and `explain=true` over a PostgreSQL database.

import FetchModel
import Foundation
import TestSupport
import Testing

@testable import PostgresStore

@Suite("PostgreSQL: the history of saves over HTTP, and explained fetches", .mayBlock)
struct PostgresHistoryTests {
  private static let fixture = """
    CREATE TABLE country(id int PRIMARY KEY, code text UNIQUE, name text);
    CREATE TABLE city(id int PRIMARY KEY, name text, area numeric,
      country_id int REFERENCES country ON DELETE SET NULL);
    CREATE TABLE tag(id int PRIMARY KEY, word text);
    CREATE TABLE city_tag(city_id int REFERENCES city ON DELETE CASCADE,
      tag_id int REFERENCES tag ON DELETE CASCADE, PRIMARY KEY (city_id, tag_id));
    CREATE TABLE note(id uuid PRIMARY KEY, text varchar(40));
    INSERT INTO country VALUES (1,'CN','China'),(2,'JP','Japan');
    INSERT INTO city VALUES (1,'Lima',1.5,1),(2,'Oslo',2,2),(3,'Rome',3,NULL);
    INSERT INTO tag VALUES (1,'big'),(2,'old');
    """

  /// The saves of an answer without their tokens and times.
  private static func saves(_ answer: JSON) throws -> [String] {
    try #require(answer["saves"]?.elements, "\(answer)").map { save in
      ["inserted", "updated", "deleted"].map { Self.text(save[$0]) }.joined(separator: " ")
    }
  }

  private static func text(_ value: JSON?) -> String {
    var bytes: [UInt8] = []
    bytes.append(json: value ?? .null)
    return String(decoding: bytes, as: UTF8.self)
  }

  private static func token(_ database: ServedDatabase) throws -> String {
    try database.settle()
    return try #require(database.ask("/v1/objects/tag?as=count").json["token"]?.string)
  }

  @Test("pages of one save list every transaction that was open at the token")
  func openTransactions() throws {
    let database = try ServedDatabase(
      "CREATE TABLE t(id int PRIMARY KEY, v int); INSERT INTO t VALUES (1, 0), (2, 0), (3, 0), (4, 0)"
    )
    let open = try [1, 3, 4].map { id in
      let connection = try PostgresConnection(database.target)
      try connection.execute("BEGIN; UPDATE t SET v = 1 WHERE id = \(id)")
      return connection
    }
    try database.runExternally("UPDATE t SET v = 1 WHERE id = 2")
    try database.settle()
    var token = try #require(database.ask("/v1/objects/t?sort=id").json["token"]?.string)
    for connection in open.reversed() {
      try connection.execute("COMMIT")
      connection.close()
    }
    try database.settle()
    var saves: [String] = []
    for _ in 0..<4 {
      let answer = try database.ask("/v1/changes?since=\(token)&wait=0&limit=1").json
      saves += try Self.saves(answer)
      token = try #require(answer["to"]?.string)
    }
    let expected = [1, 3, 4].map { #"{} {"t":[{"id":\#($0),"properties":["v"]}]} {}"# }
    #expect(saves.sorted() == expected)
  }

  @Test("each transaction is a save with the objects that it inserted, updated and deleted")
  func transactions() throws {
    let database = try ServedDatabase(Self.fixture)
    let start = try Self.token(database)
    try database.runExternally("UPDATE city SET name = 'LIMA', area = 1.50 WHERE id = 1")
    try database.runExternally(
      """
      BEGIN; INSERT INTO city VALUES (4, 'Kyiv', 4, 1); UPDATE city SET name = 'Kiev' WHERE id = 4;
      UPDATE city SET area = 2.000000000000000001, country_id = 1 WHERE id = 2;
      INSERT INTO tag VALUES (9, 'gone'); DELETE FROM tag WHERE id = 9; COMMIT
      """)
    try database.runExternally("BEGIN; INSERT INTO city VALUES (5, 'no', 0, 1); ROLLBACK")
    try database.runExternally("INSERT INTO city_tag VALUES (3, 2)")
    try database.runExternally("DELETE FROM city WHERE id = 3")
    try database.runExternally(
      "INSERT INTO note VALUES ('6F9619FF-8B86-D011-B42D-00C04FC964FF', 'x')")
    try database.settle()
    let answer = try database.ask("/v1/changes?since=\(start)&wait=0").json
    #expect(
      try Self.saves(answer) == [
        #"{} {"city":[{"id":1,"properties":["name"]}]} {}"#,
        #"{"city":[4]} {"city":[{"id":2,"properties":["area","country"]}]} {}"#,
        #"{} {"city":[{"id":3,"properties":["tag"]}],"tag":[{"id":2,"properties":["city"]}]} {}"#,
        #"{} {"tag":[{"id":2,"properties":["city"]}]} {"city":[3]}"#,
        #"{"note":["6f9619ff-8b86-d011-b42d-00c04fc964ff"]} {} {}"#,
      ])
    #expect(answer["from"]?.string == start)
    // The token may differ from the newest one: other databases of the server have transactions, too.
    let end = try #require(answer["to"]?.string)
    #expect(try Self.saves(database.ask("/v1/changes?since=\(end)&wait=0").json).isEmpty)
  }

  @Test("pages of one save, each from the last one's token, are the same saves as at once")
  func pages() throws {
    let database = try ServedDatabase(Self.fixture)
    let start = try Self.token(database)
    for number in 10..<16 {
      try database.runExternally("INSERT INTO tag VALUES (\(number), 'n')")
    }
    try database.settle()
    let all = try Self.saves(database.ask("/v1/changes?since=\(start)&wait=0").json)
    #expect(all.count == 6)
    var paged: [String] = []
    var token = start
    while true {
      let answer = try database.ask("/v1/changes?since=\(token)&wait=0&limit=1").json
      let saves = try Self.saves(answer)
      if saves.isEmpty { break }
      paged += saves
      token = try #require(answer["to"]?.string)
    }
    #expect(paged == all)
    // A token between two saves continues a fetch as well.
    let first = try database.ask("/v1/changes?since=\(start)&wait=0&limit=4").json
    let middle = try #require(first["to"]?.string)
    let diff = try database.ask("/v1/objects/tag?as=ids&sort=id&since=\(middle)&wait=0")
    #expect(
      diff.text.contains(#""inserted":[{"to":[0,6],"id":14},{"to":[0,7],"id":15}]"#), "\(diff.text)"
    )
  }

  @Test(
    "transactions that commit in another order than they began are reported once each, causes first"
  )
  func interleaved() throws {
    let database = try ServedDatabase(Self.fixture)
    let start = try Self.token(database)
    let slow = try PostgresConnection(database.target)
    try slow.execute("BEGIN; INSERT INTO tag VALUES (20, 'slow')")
    try database.runExternally("INSERT INTO tag VALUES (21, 'fast')")
    try database.settle()
    let first = try database.ask("/v1/changes?since=\(start)&wait=0").json
    #expect(try Self.saves(first) == [#"{"tag":[21]} {} {}"#])
    // The transaction with the smaller number changes what the other one inserted.
    try slow.execute("UPDATE tag SET word = 'both' WHERE id = 21; COMMIT")
    try database.runExternally("INSERT INTO tag VALUES (22, 'last')")
    try database.settle()
    let token = try #require(first["to"]?.string)
    #expect(
      try Self.saves(database.ask("/v1/changes?since=\(token)&wait=0").json) == [
        #"{"tag":[20]} {"tag":[{"id":21,"properties":["word"]}]} {}"#, #"{"tag":[22]} {} {}"#,
      ])
    let whole = try database.ask("/v1/changes?since=\(start)&wait=0&limit=1").json
    #expect(try Self.saves(whole) == [#"{"tag":[21]} {} {}"#])
    let next = try #require(whole["to"]?.string)
    #expect(
      try Self.saves(database.ask("/v1/changes?since=\(next)&wait=0&limit=1").json) == [
        #"{"tag":[20]} {"tag":[{"id":21,"properties":["word"]}]} {}"#
      ])
  }

  @Test("a waiting request is answered by the next commit of any program")
  func waiting() throws {
    let database = try ServedDatabase(Self.fixture)
    let start = try Self.token(database)
    let pending = database.begin("GET", "/v1/changes?since=\(start)&wait=60")
    try database.runExternally("DELETE FROM tag WHERE id = 1")
    let answer = try #require(pending.wait())
    #expect(try Self.saves(answer.json) == [#"{} {} {"tag":[1]}"#])
    #expect(try database.ask("/v1/changes?since=abc-5-00000000&wait=0").status == 410)
  }

  @Test("`explain` shows the statements and PostgreSQL's plan, and no value")
  func explained() throws {
    let database = try ServedDatabase(Self.fixture)
    let answer = try database.ask("/v1/objects/city?where=name='Secret'&sort=name&explain=true")
    #expect(answer.status == 200)
    #expect(answer.json["entity"]?.string == "city")
    #expect(answer.text.contains(#""for":"items""#))
    #expect(answer.text.contains("Seq Scan on city"))
    #expect(answer.text.contains("Sort Key: "))
  }
}
