// A wrong predicate and the place of the error → the line with carets under it.

import Testing

@testable import LiveFetchCommand

@Suite("Carets under an error")
struct CaretExcerptTests {
  private func excerpt(_ text: String, at offset: Int, _ found: String, width: Int = 80) -> [String]
  {
    CaretExcerpt.lines(of: text, at: offset, found: found, width: width)
      .split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
  }

  @Test(
    "Carets mark the mistake",
    arguments: [
      ("citty == 5", 0, "`citty`", "citty == 5", "^^^^^"),
      ("name == 'x' AND", 15, "the end", "name == 'x' AND", "               ^"),
      ("'é' == nme", 8, "`nme`", "'é' == nme", "       ^^^"),
      ("'日本' == nme", 12, "`nme`", "'日本' == nme", "          ^^^"),
      ("'👩‍👩‍👧' == nme", 24, "`nme`", "'👩‍👩‍👧' == nme", "        ^^^"),
      ("'e\u{301}' == nme", 9, "`nme`", "'e\u{301}' == nme", "       ^^^"),
      ("\tname ==\t5x", 9, "`5x`", "\tname ==\t5x", "\t       \t^^"),
      ("日本 == 5", 0, "`日本`", "日本 == 5", "^^^^"),
      (
        "name == 'x'\n  AND citty == 5\n  AND name == 'y'", 18, "`citty`", "  AND citty == 5",
        "      ^^^^^"
      ),
      ("name == 'x'\r\nAND citty == 5", 17, "`citty`", "AND citty == 5", "    ^^^^^"),
      (
        "name == 'a\u{1B}b' AND x == 1", 18, "`x`", "name == 'a·b' AND x == 1",
        "                  ^"
      ),
      ("name ==", 7, "the end", "name ==", "       ^"),
    ])
  func carets(_ text: String, _ offset: Int, _ found: String, _ line: String, _ carets: String) {
    #expect(excerpt(text, at: offset, found) == [line, carets])
  }

  @Test("A long line is cut around the mistake")
  func longLines() throws {
    let text =
      Array(repeating: "population > 1", count: 20).joined(separator: " OR ") + " OR nmae == 'x'"
      + String(repeating: " OR population > 1", count: 20)
    let lines = excerpt(text, at: 360, "`nmae`", width: 60)
    #expect(lines[0] == "…tion > 1 OR population > 1 OR nmae == 'x' OR population > …")
    #expect(lines[1] == "                               ^^^^")
  }

  @Test(
    "A shortened quotation has a caret for each byte that it shows",
    arguments: [("`abc…`", "  ^^^"), ("`abc`", "  ^^^"), ("`abx`", "  ^"), ("the end", "  ^")])
  func shortenedQuotation(_ found: String, _ carets: String) {
    #expect(excerpt("x abcde", at: 2, found) == ["x abcde", carets])
  }

  @Test("Every offset and length gives an excerpt with a caret")
  func anyOffset() {
    for text in ["", "a", "日本\n\té", "\r\n", "a\u{0}b"] {
      for offset in -1...12 {
        for length in [-1, 0, 1, 5, Int.max - 20] {
          let lines = CaretExcerpt.lines(of: text, at: offset, length: length, width: 0)
          #expect(lines.contains("^"), "\(text) \(offset) \(length)")
        }
      }
    }
  }
}
