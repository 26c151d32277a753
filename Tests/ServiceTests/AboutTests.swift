// `GET /v1` and `GET /v1/model`.

import FetchModel
import SQLiteStore
import Service
import Testing

@Suite("The description of a server and its model", .mayBlock)
struct AboutTests {
  @Test("GET /v1 names the database file, without its directory, and whether it is a sample")
  func database() throws {
    let file = try ServedFile("CREATE TABLE a(id INTEGER PRIMARY KEY)")
    let about = try file.ask("/v1").json
    #expect(about["store"]?.string == "sqlite")
    #expect(about["database"]?.string == "store.sqlite")
    #expect(about["sample"] == .boolean(false))
    var configuration = ServiceConfiguration()
    configuration.servesSample = true
    let sample = try ServedFile(
      "CREATE TABLE a(id INTEGER PRIMARY KEY)", configuration: configuration)
    #expect(try sample.ask("/v1").json["sample"] == .boolean(true))
  }

  @Test("GET /v1/model names the key's column if it has another name than id, or is that of a view")
  func keyName() throws {
    let file = try ServedFile(
      """
      CREATE TABLE a(id INTEGER PRIMARY KEY); CREATE TABLE b(Code TEXT PRIMARY KEY, n);
      CREATE TABLE c(x INT, y INT, n, PRIMARY KEY (x, y)); CREATE VIEW d AS SELECT 1 AS one;
      CREATE VIEW e AS SELECT 'x' AS id, 1 AS one;
      """)
    let entities = try #require(file.ask("/v1/model").json["entities"]?.elements)
    let keys = entities.map { "\($0["name"]?.string ?? "") \($0["key"]?.string ?? "nil")" }
    #expect(keys == ["a nil", "b Code", "c nil", "d nil", "e id"])
  }

  @Test("GET /v1/model marks attributes whose column alone is unique")
  func unique() throws {
    let file = try ServedFile(
      """
      CREATE TABLE a(id INTEGER PRIMARY KEY, code TEXT UNIQUE, x INT, y INT, z INT, UNIQUE (x, y));
      CREATE UNIQUE INDEX a_z ON a(z) WHERE z > 0;
      """)
    let entities = try #require(file.ask("/v1/model").json["entities"]?.elements)
    let attributes = try #require(entities.first?["attributes"]?.elements)
    let unique = attributes.filter { $0["unique"] == .boolean(true) }.map { $0["name"]?.string }
    #expect(attributes.count == 4)
    #expect(unique == ["code"])
  }

  @Test("GET /v1/model marks what is part of a composite key, which only an insert gives")
  func keyParts() throws {
    let file = try ServedFile(
      """
      CREATE TABLE a(id INTEGER PRIMARY KEY, name TEXT);
      CREATE TABLE c(x INT, y TEXT, a_id INT REFERENCES a, other_id INT REFERENCES a, n,
        PRIMARY KEY (x, y, a_id));
      CREATE TABLE d(a_id INTEGER PRIMARY KEY REFERENCES a, n);
      CREATE VIEW v AS SELECT * FROM c; CREATE TABLE w(x INT, y INT);
      """)
    let entities = try #require(file.ask("/v1/model").json["entities"]?.elements)
    let marked = entities.flatMap { entity in
      ["attributes", "relationships"].flatMap { list -> [String] in
        (entity[list]?.elements ?? []).filter { $0["keyPart"] == .boolean(true) }.map {
          "\(entity["name"]?.string ?? "") \($0["name"]?.string ?? "")"
        }
      }
    }
    #expect(marked == ["c x", "c y", "c a", "d a"])
    let inserted = try file.ask(
      "POST", "/v1/save",
      body: """
        {"changes":[{"insert":"a","values":{"id":1}},
          {"insert":"c","values":{"x":1,"y":"k","a":1}}]}
        """)
    #expect(inserted.status == 200)
    let refused = try file.ask(
      "POST", "/v1/save",
      body: #"{"changes":[{"update":"c","id":"1,k,1","values":{"y":"other"}}]}"#)
    #expect(refused.status == 422)
  }
}
