// The messages for refused predicates: literal texts, and excerpts with carets.

import FetchModel
import Testing

@Suite("Predicate errors")
struct PredicateErrorTests {
  private static let model = Model(entities: [
    Entity(
      name: "City",
      attributes: [
        Attribute(name: "name", type: .string), Attribute(name: "population", type: .integer),
        Attribute(name: "capital", type: .boolean),
        Attribute(name: "founded", type: .date, dateFormat: .iso8601),
        Attribute(name: "flag", type: .binary), Attribute(name: "details", type: .json),
        Attribute(name: "y", type: .double),
      ],
      relationships: [
        Relationship(name: "country", destination: 1, isToMany: false, inverse: 0)
      ], idType: .integer),
    Entity(
      name: "Country",
      attributes: [
        Attribute(name: "name", type: .string), Attribute(name: "continent", type: .string),
      ],
      relationships: [Relationship(name: "cities", destination: 0, isToMany: true, inverse: 0)],
      idType: .string),
  ])

  private func error(_ text: String, _ arguments: [PredicateArgument] = []) -> PredicateError? {
    do {
      _ = try ResolvedPredicate(
        parsing: text, arguments: arguments, entity: 0, model: Self.model)
      return nil
    } catch {
      return error
    }
  }

  @Test("each mistake has its message", arguments: table)
  func messages(text: String, message: String) {
    #expect(error(text)?.description == message)
  }

  @Test("a hint is the bare nearest name, or else a sentence")
  func hints() {
    #expect(error("nmae == 'x'")?.hint == "name")
    #expect(error("country.cities.@cuont > 1")?.hint == "@count")
    #expect(error("lenght(name) > 1")?.hint == "length")
    #expect(error("name BEGINWITH 'x'")?.hint == "BEGINSWITH")
    #expect(error("SUBQUERY(country.cities, $x, $y.name == 'a').@count > 0")?.hint == "$x")
    #expect(error("name == 5")?.hint == "`name` is text")
    #expect(error("zzz == 5")?.hint == nil)
  }

  @Test("the message for one value in place of several shows how to write several")
  func oneForSeveral() {
    let message =
      "at 14: found one value, not several, expected values in braces, an array, or a to-many key path; an array is given as JSON: [1,2]"
    #expect(error("population IN %@", [.text("5")])?.description == message)
    #expect(error("population IN %@", [.json(.number("5"))])?.description == message)
    // Text in text is a search.
    #expect(error("name IN %@", [.text("from Lima to Oslo")]) == nil)
  }

  @Test(
    "carets mark the mistake",
    arguments: [
      ("citty == 5", "citty == 5", "^^^^^"),
      ("name == 'x' AND", "name == 'x' AND", "               ^"),
      ("'é' == nme", "'é' == nme", "       ^^^"), ("'日本' == nme", "'日本' == nme", "          ^^^"),
      ("'👩‍👩‍👧' == nme", "'👩‍👩‍👧' == nme", "        ^^^"),
      ("'e\u{301}' == nme", "'e\u{301}' == nme", "       ^^^"),
      ("\tname ==\t5x", "\tname ==\t5x", "\t       \t^^"),
      ("日本 == 5", "日本 == 5", "^^^^"),
      ("name == 'x'\n  AND citty == 5\n  AND name == 'y'", "  AND citty == 5", "      ^^^^^"),
      ("name == 'x'\r\nAND citty == 5", "AND citty == 5", "    ^^^^^"),
      ("name == 'a\u{1B}b' AND x == 1", "name == 'a·b' AND x == 1", "                  ^"),
      ("name ==", "name ==", "       ^"), ("name == 'x", "name == 'x", "        ^"),
    ])
  func carets(text: String, line: String, carets: String) throws {
    let lines = try #require(error(text)).rendered(in: text).split(separator: "\n")
    #expect(lines.count == 3)
    #expect(String(lines[0]) == line)
    #expect(String(lines[1]) == carets)
  }

  @Test("the excerpt has a line, carets and a reason")
  func excerpt() throws {
    let text = "population > 1 AND nmae == 'x'"
    #expect(
      try #require(error(text)).rendered(in: text) == """
        population > 1 AND nmae == 'x'
                           ^^^^
        found `nmae`, expected a property of City; did you mean `name`?
        """)
  }

  @Test("a long line is cut around the mistake")
  func longLines() throws {
    let text =
      Array(repeating: "population > 1", count: 20).joined(separator: " OR ") + " OR nmae == 'x'"
      + String(repeating: " OR population > 1", count: 20)
    let lines = try #require(error(text)).rendered(in: text, width: 60)
      .split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    #expect(lines[0] == "…tion > 1 OR population > 1 OR nmae == 'x' OR population > …")
    #expect(lines[1] == "                               ^^^^")
    #expect(lines[0].count <= 60)
  }

  @Test("a shortened quotation has a caret for each byte that it shows")
  func shortenedQuotation() {
    #expect(CaretExcerpt.length(ofFound: "`abc…`", in: "x abcde", at: 2) == 3)
    #expect(CaretExcerpt.length(ofFound: "`abc`", in: "x abcde", at: 2) == 3)
    #expect(CaretExcerpt.length(ofFound: "`abc`", in: "x abd", at: 2) == 1)
    #expect(CaretExcerpt.length(ofFound: "the end", in: "x", at: 1) == 1)
  }

  @Test("every offset and length gives an excerpt with a caret")
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
