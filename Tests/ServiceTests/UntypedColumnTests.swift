// Columns of SQLite that are declared without a type.

import FetchModel
import TestSupport
import Testing

@Suite("Columns without a type", .onlyForFiles, .mayBlock)
struct UntypedColumnTests {
  private static let fixture = """
    CREATE TABLE meta(key TEXT PRIMARY KEY NOT NULL, value NOT NULL, other);
    INSERT INTO meta VALUES ('a','text',NULL),('b',5,NULL);
    CREATE TABLE any(id INTEGER PRIMARY KEY, value ANY) STRICT;
    INSERT INTO any VALUES (1,X'0102'),(2,NULL);
    CREATE TABLE parts(x, y, n, PRIMARY KEY (x, y));
    CREATE TABLE odd(id INTEGER PRIMARY KEY, v FOO, g AS (v));
    CREATE VIEW counts AS SELECT count(*) AS n FROM meta;
    """

  @Test("are marked in the model, if a save may write them")
  func marks() throws {
    let model = try ServedFile(Self.fixture).ask("/v1/model").json
    let marked = try #require(model["entities"]?.elements).flatMap { entity -> [String] in
      (entity["attributes"]?.elements ?? []).filter { $0["untyped"] == .boolean(true) }.map {
        "\(entity["name"]?.string ?? "").\($0["name"]?.string ?? "") \($0["type"]?.string ?? "")"
      }
    }
    #expect(
      marked == ["meta.value string", "meta.other string", "any.value binary", "parts.n string"])
  }

  @Test(
    "store numbers as numbers and text as text",
    arguments: [
      (#""5""#, "'5'"), ("5", "5"), ("2.5", "2.5"), ("-1e+300", "-1e300"), (#""""#, "''"),
      (#""Infinity""#, "'Infinity'"), ("9223372036854775807", "9223372036854775807"),
    ])
  func values(json: String, sql: String) throws {
    let file = try ServedFile(Self.fixture)
    let body = #"{"value":\#(json)}"#
    #expect(try file.ask("PATCH", "/v1/objects/meta/a", body: body).status == 200)
    #expect(try file.ask("/v1/objects/meta/a?select=value").text.contains("\"value\":\(json)}"))
    try file.runExternally(
      "INSERT INTO meta SELECT 'same', value, 1 FROM meta WHERE key = 'a' AND value IS \(sql)")
    #expect(try file.ask("/v1/objects/meta/same").status == 200)
  }

  @Test("store base64 as bytes if their first value is bytes, and numbers as numbers")
  func bytes() throws {
    let file = try ServedFile(Self.fixture)
    let changes =
      #"{"update":"any","id":1,"values":{"value":"AwQ="}},{"update":"any","id":2,"values":{"value":7}}"#
    #expect(try file.ask("POST", "/v1/save", body: #"{"changes":[\#(changes)]}"#).status == 200)
    let items = #""items":[{"id":1,"value":"AwQ="},{"id":2,"value":7}]"#
    #expect(try file.ask("/v1/objects/any").text.contains(items))
    #expect(try file.ask("/v1/objects/any/1/value").bytes == [3, 4])
  }

  @Test("refuse what is neither a number nor a text, and NULL where it is not allowed")
  func refusals() throws {
    let file = try ServedFile(Self.fixture)
    for (value, code) in [("true", "wrong-type"), ("[1]", "wrong-type"), ("null", "not-optional")] {
      let answer = try file.ask("PATCH", "/v1/objects/meta/a", body: #"{"value":\#(value)}"#)
      #expect(answer.status == 422)
      #expect(answer.text.contains("\"code\":\"\(code)\""), "\(answer.text)")
    }
    let answer = try file.ask("PATCH", "/v1/objects/meta/a", body: #"{"value":true}"#)
    #expect(answer.text.contains("`value` takes a number or a string, not a boolean"))
    #expect(try file.ask("PATCH", "/v1/objects/meta/a", body: #"{"other":null}"#).status == 200)
  }

  @Test("conflict if the value seen was a number and the stored one is the same digits as text")
  func base() throws {
    let file = try ServedFile(Self.fixture)
    func save(_ base: String, _ value: String) throws -> Int {
      let change =
        #"{"update":"meta","id":"b","values":{"value":\#(value)},"base":{"value":\#(base)}}"#
      return try file.ask("POST", "/v1/save", body: #"{"changes":[\#(change)]}"#).status
    }
    #expect(try save(#""5""#, "7") == 409)
    #expect(try save("5", #""6""#) == 200)
    #expect(try save("6", "7") == 409)
    #expect(try save(#""6""#, "7") == 200)
  }

  @Test("are followed when a value changes its kind")
  func live() throws {
    let file = try ServedFile(Self.fixture)
    let fetch = "/v1/objects/meta?sort=value&select=value"
    let token = try #require(file.ask(fetch).json["token"]?.string)
    #expect(try file.ask("PATCH", "/v1/objects/meta/a", body: #"{"value":1}"#).status == 200)
    let diff = try file.ask("\(fetch)&since=\(token)&wait=20")
    #expect(diff.text.contains(#""id":"a","changed":{"value":1}"#), "\(diff.text)")
  }

  private static let numbers = """
    CREATE TABLE n(id INTEGER PRIMARY KEY, v, price DECIMAL);
    INSERT INTO n VALUES (1,5,1.5),(2,'7',2.5),(3,'abc',3.5),(4,9007199254740993,4.5),(5,6,NULL);
    """

  @Test("take a large integer as `int64=string` sends it, if their first value is a number")
  func largeIntegers() throws {
    let file = try ServedFile(Self.numbers)
    let sent = try file.ask("/v1/objects/n/4?select=v&int64=string").text
    #expect(sent.contains(#""v":"9007199254740993""#), "\(sent)")
    func save(_ value: String, base: String) throws -> Int {
      let change = #"{"update":"n","id":4,"values":{"v":"\#(value)"},"base":{"v":"\#(base)"}}"#
      return try file.ask("POST", "/v1/save", body: #"{"changes":[\#(change)]}"#).status
    }
    #expect(try save("9007199254740995", base: "9007199254740994") == 409)
    #expect(try save("9007199254740995", base: "9007199254740993") == 200)
    #expect(try file.ask("/v1/objects/n/4?select=v").text.contains(#""v":9007199254740995"#))
    #expect(try save("9007199254740992", base: "9007199254740995") == 200)
    #expect(try file.ask("/v1/objects/n/4?select=v").text.contains(#""v":"9007199254740992""#))
    let other = try ServedFile(Self.fixture)
    let body = #"{"value":"9007199254740993"}"#
    #expect(try other.ask("PATCH", "/v1/objects/meta/b", body: body).status == 200)
    #expect(try other.ask("/v1/objects/meta/b").text.contains(#""value":"9007199254740993""#))
  }

  @Test("have nil for every text in calculations, and it sorts after every number")
  func calculations() throws {
    let file = try ServedFile(Self.numbers)
    for (predicate, ids) in [
      ("v %2B 0 == nil", "2,3"), ("v * 1 > 4", "1,4,5"), ("-v < 0", "1,4,5"),
      ("v / 1 == nil", "2,3"), ("v ** 2 == nil", "2,3"), ("abs(v) == nil", "2,3"),
      ("bitwiseAnd:with:(v, 7) == nil", "2,3"), ("bitwiseXor:with:(v, 7) == nil", "2,3"),
      ("modulus:by:(v, 4) == nil", "2,3"), ("onesComplement:(v) == nil", "2,3"),
      ("price %2B v == nil", "2,3,5"), ("v == 7", ""), ("v > 5", "2,3,4,5"), ("v < 7", "1,5"),
    ] {
      let text = predicate.replacing(" ", with: "+").replacing("<", with: "%3C")
      let answer = try file.ask("/v1/objects/n?as=ids&where=\(text)")
      #expect(answer.text.contains("\"items\":[\(ids)]"), "\(predicate): \(answer.text)")
    }
  }
}
