// Refused saves: the response is 422 and lists every validation failure.

import FetchModel
import TestSupport
import Testing

@Suite("A refused save lists its failures", .mayBlock)
struct EveryFailureTests {
  /// `change property code` of each failure.
  private static func failures(_ answer: Answer) throws -> [String] {
    try answer.errors().map { error in
      "\(error["change"]?.integer ?? -1) \(error["property"]?.string ?? "-") "
        + (error["code"]?.string ?? "")
    }.sorted()
  }

  static let tables = """
    CREATE TABLE Maker(id INTEGER PRIMARY KEY, name TEXT);
    CREATE TABLE Product(id INTEGER PRIMARY KEY, sku TEXT NOT NULL UNIQUE, code TEXT COLLATE NOCASE,
      price REAL CHECK (price >= 0), stock INTEGER DEFAULT 5 CHECK(stock < 100 /* (full) */),
      maker_id INTEGER REFERENCES Maker(id), CONSTRAINT ')odd(' CHECK (length(sku) > 2),
      UNIQUE(code));
    INSERT INTO Product(sku, code) VALUES ('abc', 'X'), ('def', 'Y');
    """

  /// SQLite alone finds 'x' equal to 'X' in a column with `NOCASE`.
  @Test(.onlyForFiles) func everyConstraintOfARowIsListed() throws {
    let file = try ServedFile(Self.tables)
    let answer = try file.ask(
      "POST", "/v1/objects/Product",
      body: #"{"sku":"abc","code":"x","price":-1,"stock":100,"maker":9}"#)
    #expect(answer.status == 422)
    #expect(
      try Self.failures(answer) == [
        "0 code not-unique", "0 maker no-such-object", "0 price check-failed", "0 sku not-unique",
        "0 stock check-failed",
      ])
  }

  @Test func anUpdateIsValidatedWithTheStoredValues() throws {
    let file = try ServedFile(Self.tables)
    let answer = try file.ask(
      "PATCH", "/v1/objects/Product/1", body: #"{"sku":"de","code":"Y","price":-2}"#)
    #expect(
      try Self.failures(answer) == [
        "0 code not-unique", "0 price check-failed", "0 sku check-failed",
      ])
    // Its own values cause no conflict.
    #expect(
      try file.ask("PATCH", "/v1/objects/Product/1", body: #"{"sku":"abc","code":"x"}"#).status
        == 200)
  }

  @Test func invalidValuesAndConflictsAreListedTogether() throws {
    let file = try ServedFile(Self.tables)
    let answer = try file.ask(
      "POST", "/v1/save",
      body: """
        {"changes":[
        {"insert":"Product","values":{"sku":"abc","price":"much","stock":200}},
        {"insert":"Product","values":{"price":-1}},
        {"update":"Product","id":2,"values":{"sku":"abc","colour":1}},
        {"insert":"Producer","values":{}},
        {"delete":"Product","id":77}]}
        """)
    #expect(answer.status == 422)
    #expect(
      try Self.failures(answer) == [
        "0 price wrong-type", "0 sku not-unique", "0 stock check-failed", "1 price check-failed",
        "1 sku missing", "2 colour unknown-property", "2 sku not-unique", "3 - unknown-entity",
        "4 - no-such-object",
      ])
    #expect(try file.ask("/v1/objects/Product?as=count").json["total"]?.integer == 2)
  }

  /// One order with the number 1 and a line. An order has one or two lines.
  private static func orders() throws -> ServedFile {
    let model = """
      {"entities":[
      {"name":"Order","attributes":[{"name":"number","type":"Integer 32","optional":false}],
       "uniquenessConstraints":[["number"]],
       "relationships":[{"name":"lines","destination":"Line","toMany":true,"inverse":"order","optional":false,"maximumCount":2,"deleteRule":"Cascade"}]},
      {"name":"Line","attributes":[{"name":"amount","type":"Integer 16","minimum":1}],
       "relationships":[{"name":"order","destination":"Order","inverse":"lines"}]}]}
      """
    let file = try SampleModel.served(text: model)
    let first = try file.ask(
      "POST", "/v1/save",
      body: """
        {"changes":[{"insert":"Order","temporaryID":"o","values":{"number":1}},
        {"insert":"Line","values":{"order":{"temporaryID":"o"}}}]}
        """)
    #expect(first.status == 200, "\(first.text)")
    return file
  }

  @Test func aCountIsListedWithFailuresOfOtherChanges() throws {
    let answer = try Self.orders().ask(
      "POST", "/v1/save",
      body: """
        {"changes":[{"insert":"Order","values":{"number":4}},{"insert":"Order","values":{"number":5}},
        {"insert":"Line","values":{"amount":0}}]}
        """)
    #expect(
      try Self.failures(answer) == ["0 lines too-few", "1 lines too-few", "2 amount too-small"])
  }

  @Test func aUniquenessConstraintIsListedWithInvalidValuesOfOtherChanges() throws {
    let answer = try Self.orders().ask(
      "POST", "/v1/save",
      body: """
        {"changes":[{"insert":"Order","values":{"number":2}},
        {"insert":"Order","values":{"number":1,"lines":[]}},
        {"insert":"Line","values":{"amount":0}}]}
        """)
    #expect(
      try Self.failures(answer).filter { !$0.contains("lines") } == [
        "1 number not-unique", "2 amount too-small",
      ], "\(answer.text)")
  }

  @Test func aCountThatARefusedChangeMayHaveFixedIsNotListed() throws {
    let answer = try Self.orders().ask(
      "POST", "/v1/save",
      body: """
        {"changes":[{"insert":"Order","temporaryID":"o","values":{"number":3}},
        {"insert":"Line","values":{"amount":0,"order":{"temporaryID":"o"}}}]}
        """)
    #expect(try Self.failures(answer) == ["1 amount too-small"])
  }

  @Test func uniquenessAmongObjectsOfASubentityIsListedWithOtherFailures() throws {
    let model = """
      {"entities":[{"name":"P","abstract":true,"attributes":[{"name":"code","type":"String"}]},
      {"name":"A","parent":"P","uniquenessConstraints":[["code"]],
       "attributes":[{"name":"size","type":"Integer 16","maximum":9}]},
      {"name":"B","parent":"P"}]}
      """
    let file = try SampleModel.served(text: model)
    _ = try file.insert("A", #"{"code":"x"}"#)
    _ = try file.insert("B", #"{"code":"x"}"#)
    let answer = try file.ask("POST", "/v1/objects/A", body: #"{"code":"x","size":10}"#)
    #expect(try Self.failures(answer) == ["0 code not-unique", "0 size too-large"])
    #expect(try file.ask("POST", "/v1/objects/B", body: #"{"code":"x"}"#).status == 201)
  }

  // MARK: - Many failures

  private static func cities() throws -> ServedFile {
    try ServedFile(
      """
      CREATE TABLE City(id INTEGER PRIMARY KEY, name TEXT NOT NULL, population INTEGER);
      INSERT INTO City VALUES (1, 'Tokyo', 900);
      """)
  }

  @Test("a refusal counts many problems and lists the first thousand")
  func manyProblems() throws {
    let changes = (1...2_000).map { #"{"delete":"City","id":\#(-$0)}"# }.joined(separator: ",")
    let answer = try Self.cities().ask("POST", "/v1/save", body: #"{"changes":[\#(changes)]}"#)
    #expect(answer.status == 409)
    let errors = try answer.errors()
    #expect(errors.count == 1_000)
    #expect(errors.last?["change"]?.integer == 999)
    let detail = "2000 failures; `errors` lists the first 1000."
    #expect(answer.json["detail"]?.string == detail)
  }

  @Test("of very many misspelt names, the first hundred are explained")
  func manyHints() throws {
    let change = #"{"update":"City","id":1,"values":{"nam":"Tokyo"}}"#
    let changes = [String](repeating: change, count: 200).joined(separator: ",")
    let answer = try Self.cities().ask("POST", "/v1/save", body: #"{"changes":[\#(changes)]}"#)
    #expect(answer.status == 422)
    let errors = try answer.errors()
    #expect(errors.count == 200)
    let hints = errors.map { $0["hint"]?.string }
    #expect(hints.prefix(100).allSatisfy { $0 == "name" })
    #expect(hints.dropFirst(100).allSatisfy { $0 == nil })
  }

  @Test("a refusal lists no more problems once they have a megabyte")
  func largeProblems() throws {
    // A refusal shortens a name beyond 8,000 bytes.
    let name = String(repeating: "n", count: 7_900)
    let values = (100..<300).map { #""\#(name)\#($0)":1"# }.joined(separator: ",")
    let answer = try Self.cities().ask(
      "POST", "/v1/save", body: #"{"changes":[{"update":"City","id":1,"values":{\#(values)}}]}"#)
    #expect(answer.status == 422)
    let errors = try answer.errors()
    #expect((30..<130).contains(errors.count))
    let detail = "200 failures; `errors` lists the first \(errors.count)."
    #expect(answer.json["detail"]?.string == detail)
    #expect(errors.first?["property"]?.string == name + "100")
    #expect((1_000_000..<1_100_000).contains(answer.text.utf8.count))
  }
}
