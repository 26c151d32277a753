import TestSupport
import Testing

/// JSON attributes in dictionaries.
@Suite("JSON values of calculations")
struct JSONValuesTests {
  private static let world = """
    CREATE TABLE o(id INTEGER PRIMARY KEY, n INTEGER, j JSON);
    CREATE TABLE p(id INTEGER PRIMARY KEY, n INTEGER, o_id INTEGER REFERENCES o(id));
    INSERT INTO o VALUES (1, 1, '{"a":1}');
    INSERT INTO p VALUES (1, 1, 1);
    """

  @Test(
    "A value of a JSON attribute is JSON, whatever chooses it",
    arguments: [
      "j", "@max.j", "@min.j", "p.o.@max.j", "p.@max.o.j", "max({j, j})",
      "TERNARY(n == 1, j, nil)", "TERNARY(n == 1, j, j)",
    ])
  func json(expression: String) throws {
    #expect(try value(of: expression) == #"{"a":1}"#)
  }

  @Test("A text that is not always a JSON attribute's is a text")
  func text() throws {
    #expect(try value(of: "TERNARY(n == 1, j, 'b')") == #""{\"a\":1}""#)
  }

  private func value(of expression: String) throws -> String {
    let file = try ServedFile(Self.world)
    let answer = try file.ask(
      "POST", "/v1/fetch",
      body: #"{"entity":"o","as":"dictionaries","select":["v:\#(expression)"]}"#)
    #expect(answer.status == 200, "\(answer.text)")
    let found = try #require(answer.text.firstMatch(of: /"items":\[\{"v":(.*)\}\]\}\]\}$/))
    return String(found.1)
  }
}
