// JSON attributes in items, dictionaries and saves.

import TestSupport
import Testing

@Suite("JSON values", .mayBlock)
struct JSONValuesTests {
  private static let fixture = """
    CREATE TABLE o(id INTEGER PRIMARY KEY, n INTEGER, j JSON);
    CREATE TABLE p(id INTEGER PRIMARY KEY, n INTEGER, o_id INTEGER REFERENCES o(id));
    INSERT INTO o VALUES (1, 1, '{"a":1}');
    INSERT INTO p VALUES (1, 1, 1);
    """

  @Test("A value of a JSON attribute is JSON, whatever chooses it")
  func json() throws {
    let file = try ServedFile(Self.fixture)
    for expression in [
      "j", "@max.j", "@min.j", "p.o.@max.j", "p.@max.o.j", "max({j, j})",
      "TERNARY(n == 1, j, nil)", "TERNARY(n == 1, j, j)",
    ] { #expect(try value(of: expression, in: file) == #"{"a":1}"#, "\(expression)") }
    // A text that is not always the attribute's is a text.
    #expect(try value(of: "TERNARY(n == 1, j, 'b')", in: file) == #""{\"a\":1}""#)
  }

  private static let repeated = """
    CREATE TABLE r(id INTEGER PRIMARY KEY, j JSON);
    INSERT INTO r VALUES (1, '{"a":1,"a":2}'), (2, '[{"b":{"c":0, "c":1}}]'), (3, '{"a":1,');
    """

  @Test("JSON with a repeated member is served as it is stored", .onlyForFiles)
  func repetition() throws {
    let file = try ServedFile(Self.repeated)
    let rows = [#"{"id":1,"j":{"a":1,"a":2}}"#, #"{"id":2,"j":[{"b":{"c":0, "c":1}}]}"#]
    let answer = try file.ask("/v1/objects/r")
    #expect(
      answer.text.contains("[\(rows[0]),\(rows[1]),{\"id\":3,\"j\":\"{\\\"a\\\":1,\"}]"),
      "\(answer.text)")
    #expect(try file.ask("/v1/objects/r/1").text == rows[0])
    #expect(try file.ask("/v1/objects/r?section=j").text.contains(#""value":{"a":1,"a":2}"#))
    let token = try #require(answer["LiveFetch-Token"])
    try file.runExternally(#"UPDATE r SET j = '{"z":1,"z":1}' WHERE id = 3"#)
    let diff = try file.ask("/v1/objects/r?since=\(token)&wait=20")
    #expect(diff.text.contains(#""id":3,"changed":{"j":{"z":1,"z":1}}"#), "\(diff.text)")
  }

  @Test("the last of two members with one name is the value that a save has seen", .onlyForFiles)
  func seenRepetition() throws {
    let file = try ServedFile(Self.repeated)
    func save(_ base: String) throws -> Answer {
      let change = #"{"update":"r","id":1,"values":{"j":{"a":3}},"base":{"j":\#(base)}}"#
      return try file.ask("POST", "/v1/save", body: #"{"changes":[\#(change)]}"#)
    }
    let conflict = try save(#"{"a":1}"#)
    #expect(conflict.status == 409)
    #expect(conflict.text.contains(#""stored":{"a":1,"a":2}"#), "\(conflict.text)")
    #expect(try save(#"{"a":1,"a":2}"#).status == 400)
    #expect(try save(#"{"a":2}"#).status == 200)
  }

  @Test("a json column of PostgreSQL keeps repeated members too")
  func databaseRepetition() throws {
    let database = try ServedDatabase(
      #"CREATE TABLE r(id int PRIMARY KEY, j json); INSERT INTO r VALUES (1, '{"a":1,"a":2}')"#)
    #expect(try database.ask("/v1/objects/r/1").text == #"{"id":1,"j":{"a":1,"a":2}}"#)
  }

  private func value(of expression: String, in file: ServedFile) throws -> String {
    let answer = try file.ask(
      "POST", "/v1/fetch",
      body: #"{"entity":"o","as":"dictionaries","select":["v:\#(expression)"]}"#)
    let found = try #require(
      answer.text.firstMatch(of: /"items":\[\{"v":(.*)\}\]\}\]\}$/), "\(answer.text)")
    return String(found.1)
  }
}
