// Patterns of more than 65,536 bytes.

import TestSupport
import Testing

@Suite("Long patterns", .mayBlock)
struct LongPatternTests {
  /// The pattern of row 1 has 65,537 bytes, that of row 2 one.
  private static let file = """
    CREATE TABLE item(id INTEGER PRIMARY KEY, pattern TEXT);
    INSERT INTO item VALUES (1, replace(hex(zeroblob(32768)), '0', 'a') || 'a'), (2, 'x');
    """

  @Test("It matches no text, and under NOT every text")
  func patterns() throws {
    try expect([
      ("'x' LIKE pattern", [2]), ("'x' LIKE[c] pattern", [2]), ("NOT ('x' LIKE pattern)", [1]),
      ("pattern LIKE[cd] pattern", [2]), ("'x' MATCHES pattern", [2]),
      ("NOT ('x' MATCHES pattern)", [1]),
    ])
  }

  @Test("A text of that length is searched for like a short one")
  func texts() throws {
    try expect([
      ("pattern CONTAINS[cd] pattern", [1, 2]), ("pattern BEGINSWITH[c] pattern", [1, 2]),
      ("'x' CONTAINS[c] pattern", [2]),
    ])
  }

  @Test(
    "As an argument it is refused, and one byte less is not",
    arguments: ["LIKE", "LIKE[c]", "MATCHES", "MATCHES[cd]"])
  func arguments(word: String) throws {
    let file = try ServedFile(Self.file)
    func answer(_ pattern: String) throws -> Answer {
      try file.ask(
        "POST", "/v1/fetch",
        body: #"{"entity":"item","where":"pattern \#(word) %@","arguments":["\#(pattern)"]}"#)
    }
    let refused = try answer(String(repeating: "*a", count: 32_768) + "a")
    #expect(refused.status == 400)
    #expect(refused.code == "bad-pattern")
    #expect(refused.text.contains("found a pattern of 65537 bytes"), "\(refused.text)")
    guard word.hasPrefix("LIKE") else { return }
    #expect(try answer(String(repeating: "*a", count: 32_768)).status == 200)
  }

  private func expect(_ results: [(condition: String, ids: [Int])]) throws {
    let file = try ServedFile(Self.file)
    for (condition, ids) in results {
      let answer = try file.ask(
        "POST", "/v1/fetch", body: #"{"entity":"item","as":"ids","where":"\#(condition)"}"#)
      let items = ids.map(String.init).joined(separator: ",")
      #expect(
        answer.text.hasSuffix(#""items":[\#(items)]}]}"#),
        "\(condition): \(answer.text.prefix(300))")
    }
  }
}
