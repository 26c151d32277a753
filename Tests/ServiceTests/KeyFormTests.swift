// Objects whose keys are integers, texts, bytes, UUIDs or several columns, in fetches and diffs.

import FetchModel
import TestSupport
import Testing

@Suite("Changes of objects whatever their key is made of", .mayBlock)
struct KeyFormTests {
  @Test(
    "are reported if one or many of them change",
    arguments: [
      ("x REAL PRIMARY KEY NOT NULL, v INTEGER", "0.5", "1/7.0"),
      ("x PRIMARY KEY NOT NULL, v INTEGER", "'a'", "'b'"),
      ("x BLOB PRIMARY KEY NOT NULL, v INTEGER", "x'0aff'", "x'00'"),
      ("x TEXT COLLATE NOCASE PRIMARY KEY NOT NULL, v INTEGER", "'Lima'", "'oslo'"),
      ("x REAL, y TEXT, v INTEGER, PRIMARY KEY (x, y)", "0.5, 'a'", "2.5, 'b,%'"),
    ], ["", "WITHOUT ROWID"])
  func areReported(_ key: (columns: String, first: String, second: String), form: String) throws {
    let file = try ServedFile("CREATE TABLE thing(\(key.columns)) \(form);")
    let fetch = "/v1/objects/thing?select=v&sort=v"
    for (number, value) in [key.first, key.second].enumerated() {
      var held = try #require(ResultSnapshot(json: file.ask("GET", fetch).json))
      let changes = [
        "INSERT INTO thing VALUES (\(value), \(number))", "UPDATE thing SET v = v + 10",
        "UPDATE thing SET v = v + 100 WHERE v % 10 = \(number)",
      ]
      for change in changes {
        try file.runExternally(change)
        try file.settle()
        let answer = try file.ask("GET", "\(fetch)&since=\(held.token)&wait=0")
        try held.apply(try #require(Diff(json: answer.json), "\(change): \(answer.text)"))
        let fresh = try #require(ResultSnapshot(json: file.ask("GET", fetch).json))
        #expect(held.sections == fresh.sections, "\(change)")
      }
    }
    #expect(try #require(ResultSnapshot(json: file.ask("GET", fetch).json)).summary.count == 2)
  }

  @Test(
    "lead to every id that a fetch lists, whatever a key's storage class",
    arguments: [
      ("k TEXT PRIMARY KEY, n INTEGER", "('a',1),(X'6162',2)", #"["a"]"#),
      ("k INT PRIMARY KEY, n INTEGER", "(1,1),('x',2),(2.5,3),(X'01',4)", #"[1,"2.5","x"]"#),
      ("k PRIMARY KEY, n INTEGER", "('a',1),(1,2),(2.5,3),('1',4),(X'62',5)", #"["1","a"]"#),
      ("k, b TEXT, n INTEGER, PRIMARY KEY(k, b)", "('a','x',1),(1,'y',2)", #"["a,x"]"#),
      ("k REAL PRIMARY KEY, n INTEGER", "(1,1),('x',2),(2.5,3)", #"["1.0","2.5","x"]"#),
      ("k BLOB PRIMARY KEY, n INTEGER", "(X'00',1),('x',2)", #"["00","78"]"#),
      ("k DATE PRIMARY KEY, n INTEGER", "('2024-01-01',1),('soon',2)", #"["2024-01-01","soon"]"#),
      ("a INT, b TEXT, n INTEGER, PRIMARY KEY(a, b)", "(1,'x',1),('y',X'7A',2)", #"["1,x"]"#),
    ])
  func everyListedIDIsAnAddress(columns: String, rows: String, ids: String) throws {
    let file = try ServedFile("CREATE TABLE thing(\(columns)); INSERT INTO thing VALUES \(rows);")
    let listed = try file.ask("/v1/objects/thing?as=ids")
    #expect(listed.text.contains(#""items":\#(ids)}"#), "\(listed.text)")
    let elements = try #require(JSON(parsing: Array(ids.utf8)).elements)
    for id in elements {
      let text = id.string ?? id.integer.map { "\($0)" } ?? ""
      #expect(try file.ask("/v1/objects/thing/\(text)").json["id"] == id)
    }
    try file.runExternally("UPDATE thing SET n = n + 10")
    try file.settle()
    let token = listed.json["token"]?.string ?? ""
    let answer = try file.ask("/v1/objects/thing?since=\(token)&wait=0")
    let diff = try #require(Diff(json: answer.json), "\(answer.text)")
    #expect(Set(diff.updated.map(\.id)) == Set(elements.compactMap(ObjectID.init(json:))))
    let saves = try file.ask("/v1/changes?since=\(token)&wait=0").json["saves"]?.elements
    let updated = try #require(saves?.last?["updated"]?["thing"]?.elements)
    #expect(
      Set(updated.compactMap { $0["id"].flatMap(ObjectID.init(json:)) })
        == Set(elements.compactMap(ObjectID.init(json:))))
  }

  @Test("leave out related rows without an id")
  func aRowWithoutAnIDIsNoRelatedObject() throws {
    let file = try ServedFile(
      """
      CREATE TABLE owner(code TEXT PRIMARY KEY, n INTEGER);
      CREATE TABLE pet(id TEXT PRIMARY KEY, n INTEGER, owner TEXT REFERENCES owner(code));
      INSERT INTO owner VALUES ('a', 1), (X'62', 2);
      INSERT INTO pet VALUES ('p', 1, 'a'), (X'71', 2, 'a'), ('r', 3, X'62');
      """)
    #expect(
      try file.ask("/v1/objects/owner?select=pet").text.contains(
        #""items":[{"id":"a","pet":["p"]}]"#))
    let count = try file.ask("/v1/objects/owner?as=ids&where=pet.@count==1").text
    #expect(count.contains(#""items":["a"]"#))
    let names = try file.ask("/v1/objects/pet?select=owner.n").text
    #expect(
      names.contains(#""items":[{"id":"p","owner.n":1},{"id":"r","owner.n":null}]"#), "\(names)")
  }

  @Test("with bytes that are not UTF-8 are shown alike in items and in lists of related ids")
  func aTextThatIsNoUTF8() throws {
    let file = try ServedFile(
      """
      CREATE TABLE owner(code TEXT PRIMARY KEY, n INTEGER);
      CREATE TABLE pet(id TEXT PRIMARY KEY, owner TEXT REFERENCES owner(code));
      INSERT INTO owner VALUES ('a', 1);
      INSERT INTO pet VALUES (CAST(X'70FF71' AS TEXT), 'a'), ('ä', 'a');
      """)
    let pets = try file.ask("/v1/objects/pet?as=ids")
    #expect(pets.text.contains("\"items\":[\"p\u{FFFD}q\",\"ä\"]"), "\(pets.text)")
    for option in ["", "&int64=string"] {
      let answer = try file.ask("/v1/objects/owner?select=pet\(option)")
      #expect(String(validating: answer.bytes, as: UTF8.self) != nil)
      #expect(answer.text.contains("\"pet\":[\"p\u{FFFD}q\",\"ä\"]"), "\(answer.text)")
    }
  }

  @Test("that are numbers are found by their ids alone, not by other texts of the number")
  func otherTextsOfANumber() throws {
    let file = try ServedFile(
      """
      CREATE TABLE thing(x REAL PRIMARY KEY NOT NULL, n INTEGER);
      INSERT INTO thing VALUES (1.5, 1);
      """)
    #expect(try file.ask("/v1/objects/thing/1.5").text == #"{"id":"1.5","n":1}"#)
    let token = try file.ask("/v1/objects/thing").json["token"]?.string ?? ""
    let inserted = try file.ask("POST", "/v1/objects/thing", body: #"{"id":"2.50","n":2}"#)
    #expect(inserted.text == #"{"id":"2.5","n":2}"#)
    for id in ["1.50", "01.5", "15e-1", "1.5e0", "+1.5"] {
      #expect(try file.ask("/v1/objects/thing/\(id)").code == "unknown-id", "\(id)")
      let followed = try file.ask("/v1/objects/thing/\(id)?since=\(token)&wait=0")
      #expect(followed.code == "unknown-id", "\(id): \(followed.text)")
      for method in ["PATCH", "PUT", "DELETE"] {
        let body = method == "DELETE" ? nil : #"{"n":9}"#
        let changed = try file.ask(method, "/v1/objects/thing/\(id)", body: body)
        #expect(changed.status == 404, "\(method) \(id): \(changed.text)")
      }
    }
  }

  @Test("that contain a UUID are found by their ids alone, not in another case")
  func compositeUUID() throws {
    let file = try ServedFile(
      """
      CREATE TABLE thing(a UUID, b INTEGER, n INTEGER, PRIMARY KEY (a, b));
      INSERT INTO thing VALUES (X'A0EEBC999C0B4EF8BB6D6BB9BD380A11', 1, 1);
      """)
    let id = "A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11,1"
    #expect(try file.ask("/v1/objects/thing/\(id)").json["n"]?.integer == 1)
    for (method, body) in [("GET", nil), ("PATCH", #"{"n":2}"#), ("DELETE", nil)] {
      let other = try file.ask(method, "/v1/objects/thing/\(id.lowercased())", body: body)
      #expect(other.status == 404, "\(method): \(other.text)")
    }
    let changed = try file.ask("PATCH", "/v1/objects/thing/\(id)", body: #"{"n":2}"#)
    #expect(changed.json["n"]?.integer == 2, "\(changed.text)")
  }

  @Test("leave out rows without an id, and a row that gets one is inserted", .onlyForFiles)
  func aNumberAmongTexts() throws {
    let file = try ServedFile(
      """
      CREATE TABLE thing(k PRIMARY KEY, n INTEGER);
      INSERT INTO thing VALUES ('a', 1), (0.5, 2);
      """)
    let start = try file.ask("/v1/objects/thing")
    #expect(start.json["count"]?.integer == 1)
    #expect(try file.ask("/v1/objects/thing/0.5").code == "unknown-id")
    try file.runExternally("UPDATE thing SET n = 3 WHERE k = 0.5")
    try file.settle()
    let token = start.json["token"]?.string ?? ""
    let unchanged = try file.ask("/v1/objects/thing?since=\(token)&wait=0")
    let none = try #require(Diff(json: unchanged.json), "\(unchanged.text)")
    #expect(none.inserted.isEmpty && none.updated.isEmpty && none.deleted.isEmpty)
    try file.runExternally("UPDATE thing SET k = 'b' WHERE k = 0.5")
    try file.settle()
    let changed = try file.ask("/v1/objects/thing?since=\(token)&wait=0")
    let diff = try #require(Diff(json: changed.json), "\(changed.text)")
    #expect(diff.inserted.map(\.id) == [.text("b")])
  }

  /// The first value decides: the number 2.5 and the text '2.5' may be keys of two rows.
  @Test(
    "in a column without a type are of the kind of the first value",
    arguments: [
      (first: "1", others: "(2.5, 2), ('1', 3), ('a', 4), (X'61', 5)", ids: "[1]", later: "7"),
      (first: "1.5", others: "(2, 2), ('1.5', 3), ('a', 4)", ids: #"[2,"1.5"]"#, later: "7.5"),
      (first: "'1'", others: "(1, 2), (1.5, 3), (X'61', 4)", ids: #"["1"]"#, later: "'b'"),
    ])
  func inAColumnWithoutAType(first: String, others: String, ids: String, later: String) throws {
    let file = try ServedFile(
      """
      CREATE TABLE thing(k PRIMARY KEY, n INTEGER);
      INSERT INTO thing VALUES (\(first), 1), \(others);
      CREATE TABLE part(id INTEGER PRIMARY KEY, thing REFERENCES thing(k));
      INSERT INTO part SELECT n, k FROM thing;
      """)
    let start = try file.ask("/v1/objects/thing")
    let listed = try file.ask("/v1/objects/thing?as=ids").text
    #expect(listed.contains(#""items":\#(ids)}"#), "\(listed)")
    #expect(try file.ask("/v1/objects/thing?as=ids&where=part.@count==1").text.contains(ids))
    let token = start.json["token"]?.string ?? ""
    let diff = {
      try file.settle()
      let answer = try file.ask("/v1/objects/thing?since=\(token)&wait=0")
      return try #require(Diff(json: answer.json), "\(answer.text)")
    }
    try file.runExternally("UPDATE thing SET n = n + 10 WHERE n > 1 AND k <> 2")
    #expect(try diff().updated.isEmpty)
    try file.runExternally("UPDATE thing SET n = n + 10")
    #expect(try diff().updated.count == (first == "1.5" ? 2 : 1))
    try file.runExternally("UPDATE thing SET k = \(later) WHERE n = 23")
    #expect(try diff().inserted.count == 1)
    try file.runExternally("UPDATE thing SET k = X'62' WHERE k = \(first)")
    #expect(try diff().deleted.count == 1)
  }

  @Test("are at one address each, also under a collation that ignores case")
  func aKeyIsComparedExactly() throws {
    let file = try ServedFile(
      """
      CREATE TABLE thing(id TEXT PRIMARY KEY COLLATE NOCASE, n INTEGER);
      INSERT INTO thing VALUES ('abc', 1);
      """)
    #expect(try file.ask("/v1/objects/thing/abc").text == #"{"id":"abc","n":1}"#)
    #expect(try file.ask("/v1/objects/thing/ABC").code == "unknown-id")
    #expect(try file.ask("PATCH", "/v1/objects/thing/ABC", body: #"{"n":2}"#).code == "unknown-id")
    #expect(try file.ask("DELETE", "/v1/objects/thing/ABC").code == "unknown-id")
    #expect(try file.ask("/v1/objects/thing/ABC/n").code == "unknown-id")
    #expect(try file.ask("POST", "/v1/objects/thing", body: #"{"id":"ABC"}"#).code == "conflict")
    #expect(try file.ask("PATCH", "/v1/objects/thing/abc", body: #"{"n":3}"#).status == 200)
    #expect(try file.ask("/v1/objects/thing/abc").text == #"{"id":"abc","n":3}"#)
    #expect(try file.ask("DELETE", "/v1/objects/thing/abc").status == 204)
  }

  /// A key that is declared as an integer, but for the rowid, and holds a text and a fraction.
  private static let mixedKeys = """
    CREATE TABLE owner(k INT PRIMARY KEY, n INTEGER);
    CREATE TABLE pet(id INTEGER PRIMARY KEY, owner INT REFERENCES owner(k));
    INSERT INTO owner VALUES (1, 1), (2.5, 2), ('x1', 3);
    INSERT INTO pet VALUES (1, 1), (2, 2.5), (3, 'x1');
    """

  @Test("that are texts in an integer column can be named in predicates", .onlyForFiles)
  func textsInAnIntegerColumn() throws {
    let file = try ServedFile(Self.mixedKeys)
    for (entity, predicate, ids) in [
      ("owner", "SELF == 'x1'", #"["x1"]"#), ("owner", "k == 'x1'", #"["x1"]"#),
      ("owner", "SELF IN {'x1', 1, '2.5'}", #"[1,"2.5","x1"]"#),
      ("owner", "SELF != 'x1'", #"[1,"2.5"]"#), ("owner", "SELF == 'x2'", "[]"),
      ("owner", "ANY pet.owner == 'x1'", #"["x1"]"#),
      ("pet", "owner == 'x1'", "[3]"), ("pet", "owner IN {'x1', '2.5'}", "[2,3]"),
    ] {
      let body = #"{"entity":"\#(entity)","as":"ids","where":"\#(predicate)"}"#
      let answer = try file.ask("POST", "/v1/fetch", body: body)
      #expect(answer.text.contains(#""items":\#(ids)}"#), "\(predicate): \(answer.text)")
    }
    for text in [" 1", "01", "1.0"] {
      let body = #"{"entity":"owner","where":"SELF == '\#(text)'"}"#
      #expect(try file.ask("POST", "/v1/fetch", body: body).code == "type-mismatch", "\(text)")
    }
  }

  @Test("that are fractions are texts in items, sections and dictionaries", .onlyForFiles)
  func fractionsAreTexts() throws {
    let file = try ServedFile(Self.mixedKeys)
    for option in ["", "&int64=string"] {
      let ids = try file.ask("/v1/objects/owner?as=ids\(option)").text
      #expect(ids.contains(#""items":[1,"2.5","x1"]}"#), "\(ids)")
      let related = try file.ask("/v1/objects/pet?select=owner\(option)").text
      #expect(related.contains(#"{"id":2,"owner":"2.5"}"#), "\(related)")
      let rows = try file.ask("/v1/objects/pet?as=dictionaries&select=owner\(option)").text
      #expect(
        rows.contains(#""items":[{"owner":1},{"owner":"2.5"},{"owner":"x1"}]}"#), "\(rows)")
      for fetch in ["owner?section=k", "pet?section=owner"] {
        let sections = try file.ask("/v1/objects/\(fetch)&as=ids\(option)").json["sections"]
        #expect(
          sections?.elements?.compactMap { $0["value"] }
            == [.number("1"), .string("2.5"), .string("x1")], "\(fetch)")
      }
    }
  }
}
