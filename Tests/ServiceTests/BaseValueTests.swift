// Saves with `base` over values that do not fit the declared types of their columns.

import FetchModel
import TestSupport
import Testing

/// Rows of files that SQLite fills with values of any kind, whatever a column declares.
@Suite("A `base` with values that do not fit their columns", .mayBlock)
struct BaseValueTests {
  private static func file() throws -> ServedFile {
    try ServedFile(
      """
      CREATE TABLE thing(id INTEGER PRIMARY KEY, i INTEGER, n NUMERIC, day DATE, b BOOLEAN NOT NULL,
        u UUID, o INTEGER REFERENCES thing);
      INSERT INTO thing VALUES (1, 'some', 'text', '2024-13-45', 'maybe', 'no', NULL);
      """)
  }

  @Test(
    "holds if they are what the client read",
    arguments: [
      (#"{"i":"some"}"#, #"{"i":5}"#), (#"{"n":"text"}"#, #"{"n":4}"#),
      (#"{"day":"2024-13-45"}"#, #"{"day":"2024-12-31T00:00:00Z"}"#),
      (#"{"b":"maybe"}"#, #"{"b":true}"#),
      (#"{"u":"no"}"#, #"{"u":"00000000-0000-4000-8000-000000000000"}"#),
      (#"{"o":null}"#, #"{"o":1}"#),
    ])
  func holds(base: String, values: String) throws {
    let file = try Self.file()
    let save = #"{"changes":[{"update":"thing","id":1,"values":\#(values),"base":\#(base)}]}"#
    let answer = try file.ask("POST", "/v1/save", body: save)
    #expect(answer.status == 200, "\(answer.text)")
    let row = try file.ask("/v1/objects/thing/1").text
    #expect(row.contains(values.dropFirst().dropLast()), "\(row)")
  }

  @Test(
    "is a conflict if a name in stored JSON has other code points",
    arguments: [("\u{E9}", 200), ("e\u{301}", 409)])
  func names(name: String, status: Int) throws {
    let file = try ServedFile(
      """
      CREATE TABLE doc(id INTEGER PRIMARY KEY, j JSON);
      INSERT INTO doc VALUES (1, '{"\u{E9}":2}');
      """)
    let change = #"{"update":"doc","id":1,"values":{"j":{}},"base":{"j":{"\#(name)":2}}}"#
    let answer = try file.ask("POST", "/v1/save", body: #"{"changes":[\#(change)]}"#)
    #expect(answer.status == status, "\(answer.text)")
  }

  @Test(
    "is a conflict if a text key in a relationship has other code points",
    arguments: [("\u{E9}", 409), ("e\u{301}", 200)])
  func keys(key: String, status: Int) throws {
    let file = try ServedFile(
      """
      CREATE TABLE tag(id TEXT PRIMARY KEY NOT NULL);
      CREATE TABLE doc(id INTEGER PRIMARY KEY, tag TEXT REFERENCES tag, title TEXT);
      INSERT INTO tag VALUES ('\u{E9}'), ('e\u{301}');
      INSERT INTO doc VALUES (1, 'e\u{301}', 'x');
      """)
    let change = #"{"update":"doc","id":1,"values":{"title":"z"},"base":{"tag":"\#(key)"}}"#
    let answer = try file.ask("POST", "/v1/save", body: #"{"changes":[\#(change)]}"#)
    #expect(answer.status == status, "\(answer.text)")
  }

  @Test("is a conflict if stored JSON has two names that differ in code points alone")
  func members() throws {
    let file = try ServedFile(
      """
      CREATE TABLE doc(id INTEGER PRIMARY KEY, j JSON);
      INSERT INTO doc VALUES (1, '{"\u{E9}":1,"e\u{301}":2}');
      """)
    let change = #"{"update":"doc","id":1,"values":{"j":{}},"base":{"j":{"\u00e9":2}}}"#
    let answer = try file.ask("POST", "/v1/save", body: #"{"changes":[\#(change)]}"#)
    #expect(answer.status == 409, "\(answer.text)")
  }

  @Test(
    "is a conflict if an ordered relationship has its members in another order",
    arguments: [("[1,2]", 200), ("[2,1]", 409), ("[1]", 409)])
  func order(base: String, status: Int) throws {
    let file = try ModelContractTests.heroes()
    let read = try file.ask("/v1/objects/Team/1?select=members").text
    #expect(read.contains(#""members":[1,2]"#), "\(read)")
    let change =
      #"{"update":"Team","id":1,"values":{"members":[]},"base":{"members":\#(base)}}"#
    let answer = try file.ask("POST", "/v1/save", body: #"{"changes":[\#(change)]}"#)
    #expect(answer.status == status, "\(answer.text)")
  }

  @Test(
    "is refused if it has an edit in place of the members that the client has read",
    arguments: [#"{"add":[1]}"#, #"{"remove":[1]}"#, "{}"])
  func edit(base: String) throws {
    let file = try ModelContractTests.heroes()
    let change =
      #"{"update":"Team","id":1,"values":{"name":"x"},"base":{"members":\#(base)}}"#
    let answer = try file.ask("POST", "/v1/save", body: #"{"changes":[\#(change)]}"#)
    #expect(answer.status == 422, "\(answer.text)")
    #expect(answer.text.contains(#""property":"members","code":"wrong-type""#), "\(answer.text)")
  }

  @Test("lets such a row be deleted")
  func deleted() throws {
    let file = try Self.file()
    let text = #"{"i":"some","n":"text","day":"2024-13-45","b":"maybe","u":"no"}"#
    let row = try file.ask("/v1/objects/thing/1?select=i,n,day,b,u").text
    #expect(row.contains(text.dropFirst()), "\(row)")
    let answer = try file.ask(
      "POST", "/v1/save", body: #"{"changes":[{"delete":"thing","id":1,"base":\#(text)}]}"#)
    #expect(answer.status == 200, "\(answer.text)")
  }

  @Test("is a conflict if the stored value is another one, and shows both")
  func conflict() throws {
    let answer = try Self.file().ask(
      "POST", "/v1/save",
      body: """
        {"changes":[{"update":"thing","id":1,"values":{"n":4},"base":{"n":"other","b":null}}]}
        """)
    #expect(answer.status == 409)
    #expect(answer.text.contains(#""stored":"text","given":4"#), "\(answer.text)")
    #expect(answer.text.contains(#""stored":"maybe","given":null"#), "\(answer.text)")
  }
}
