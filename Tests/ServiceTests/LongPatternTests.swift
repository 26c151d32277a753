import TestSupport
import Testing

@Suite("Long patterns from a column", .mayBlock)
struct LongPatternTests {
  @Test(
    "A pattern of more than 64 KiB from a column ends the query",
    arguments: ["LIKE", "MATCHES", "CONTAINS[cd]", "ENDSWITH[c]", "IN[cd]"])
  func refusal(operation: String) throws {
    let file = try ServedFile(
      """
      CREATE TABLE note(id INTEGER PRIMARY KEY, text TEXT, pattern TEXT);
      INSERT INTO note VALUES (1, 'a', printf('%.*c', 65537, 'a')), (2, 'a', 'a');
      """)
    let sides = operation == "IN[cd]" ? ("pattern", "text") : ("text", "pattern")
    func body(_ id: Int) -> String {
      let predicate = "id == \(id) AND \(sides.0) \(operation) \(sides.1)"
      return #"{"entity":"note","as":"count","where":"\#(predicate)"}"#
    }
    #expect(try file.ask("POST", "/v1/fetch", body: body(1)).code == "query-timeout")
    #expect(try file.ask("POST", "/v1/fetch", body: body(2)).json["total"]?.integer == 1)
  }
}
