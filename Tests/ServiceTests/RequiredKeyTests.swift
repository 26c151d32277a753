// Inserts into tables whose ids neither the database nor LiveFetch generates.

import FetchModel
import TestSupport
import Testing

@Suite("Ids that an insert must contain", .mayBlock)
struct RequiredKeyTests {
  private static let fixture = """
    CREATE TABLE a(id INTEGER PRIMARY KEY, n INTEGER);
    CREATE TABLE b(Code TEXT PRIMARY KEY NOT NULL, n INTEGER);
    CREATE TABLE c(x INTEGER NOT NULL, y INTEGER NOT NULL, PRIMARY KEY (x, y));
    CREATE TABLE d(id TEXT PRIMARY KEY NOT NULL DEFAULT 'made', n INTEGER);
    CREATE TABLE e(a_id INTEGER NOT NULL, n INTEGER, FOREIGN KEY (a_id) REFERENCES a(id),
      PRIMARY KEY (a_id));
    CREATE TABLE f(word TEXT PRIMARY KEY NOT NULL REFERENCES b(Code), n INTEGER);
    CREATE VIEW g AS SELECT "Code" AS id FROM b;
    """

  @Test("are marked in the model and required in the OpenAPI document")
  func marks() throws {
    let file = try ServedFile(Self.fixture)
    let entities = try #require(file.ask("/v1/model").json["entities"]?.elements)
    let marked = entities.filter { $0["keyRequired"] == .boolean(true) }.compactMap {
      $0["name"]?.string
    }
    #expect(marked == ["b", "f"])
    let schemas = try file.ask("/openapi.json").json["components"]?["schemas"]
    #expect(schemas?["bInsert"]?["required"] == .array([.string("id")]))
    for name in ["a", "d"] { #expect(schemas?["\(name)Insert"]?["required"] == nil) }
    #expect(schemas?["eInsert"]?["required"] == .array([.string("a")]))
  }

  @Test("are named `id`, and as in the table, in the refusal of an insert without them")
  func refusal() throws {
    let file = try ServedFile(Self.fixture)
    let refused = try file.ask("POST", "/v1/objects/b", body: #"{"n":1}"#)
    #expect(refused.status == 422)
    #expect(
      refused.text.contains(
        #""property":"id","code":"missing","detail":"`id` (`Code` in the table) is required: the store does not generate this id""#
      ),
      "\(refused.text)")
    #expect(try file.ask("POST", "/v1/objects/b", body: #"{"id":"x","n":1}"#).status == 201)
    #expect(try file.ask("POST", "/v1/objects/d", body: #"{"n":1}"#).status == 201)
    #expect(try file.ask("POST", "/v1/objects/f", body: #"{"word":"x"}"#).status == 201)
    let part = try file.ask("POST", "/v1/objects/c", body: #"{"x":1}"#)
    #expect(part.text.contains("`y` is required"), "\(part.text)")
  }
}
