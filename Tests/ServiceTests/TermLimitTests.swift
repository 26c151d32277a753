// The maximum number of terms in each list of a fetch.

import FetchModel
import SQLiteStore
import Service
import TestSupport
import Testing

@Suite("The number of terms in a fetch is limited", .mayBlock)
struct TermLimitTests {
  private static let fixture: String = {
    let columns = (0..<70).map { "c\($0) INTEGER" }.joined(separator: ", ")
    return """
      CREATE TABLE wide(id INTEGER PRIMARY KEY, \(columns), next_id INTEGER REFERENCES wide(id));
      INSERT INTO wide(id, c0, next_id) VALUES (1, 5, NULL), (2, 6, 1), (3, 5, 2);
      """
  }()

  /// A list's limit, and the text of a given number of terms.
  struct List: Sendable {
    let name: String
    let most: Int
    let terms: @Sendable (Int) -> [String]
    let others: String

    init(
      _ name: String, _ most: Int, _ terms: @escaping @Sendable (Int) -> [String], _ others: String
    ) {
      self.name = name
      self.most = most
      self.terms = terms
      self.others = others
    }
  }

  static let lists = [
    List("sort", 16, { (0..<$0).map { "c\($0 % 70)" } }, ""),
    List("select", 256, { (0..<$0).map { "a\($0):c0" } }, "&as=dictionaries"),
    List("group", 64, { (0..<$0).map { "c\($0 % 70)" } }, "&as=dictionaries&select=n:@count"),
    // A store cannot join a path of 65 relationships, so paths repeat.
    List("expand", 64, { count in (0..<count).map { _ in "next" } }, ""),
  ]

  private static func query(_ index: Int, _ count: Int) -> String {
    let list = lists[index]
    return "/v1/objects/wide?\(list.name)=\(list.terms(count).joined(separator: ","))\(list.others)"
  }

  private static func json(_ index: Int, _ count: Int) -> String {
    let list = lists[index]
    let terms = list.terms(count).map { "\"\($0)\"" }.joined(separator: ",")
    let isTabulated = !list.others.isEmpty
    let select = list.name == "group" ? ",\"select\":[\"n:@count\"]" : ""
    return "{\"entity\":\"wide\",\"\(list.name)\":[\(terms)]"
      + (isTabulated ? ",\"as\":\"dictionaries\"" : "") + select + "}"
  }

  @Test("A fetch that joins more tables than SQLite can is refused", .onlyForFiles)
  func joinedTables() throws {
    let file = try ServedFile(
      """
      CREATE TABLE post(id INTEGER PRIMARY KEY, t TEXT); CREATE TABLE tag(id INTEGER PRIMARY KEY, n TEXT);
      CREATE TABLE pt(post INTEGER REFERENCES post, tag INTEGER REFERENCES tag, PRIMARY KEY(post, tag));
      """)
    func answer(_ steps: Int) throws -> (status: Int, text: String) {
      let path = Array(repeating: "tag.post", count: steps / 2).joined(separator: ".")
      let answer = try file.ask("/v1/objects/post?where=ANY%20\(path).t%20==%20%22x%22")
      return (answer.status, answer.text)
    }
    #expect(try answer(30).status == 200)
    let refused = try answer(40)
    #expect(refused.status == 400)
    #expect(refused.text.contains("too-many-terms"), "\(refused.text)")
  }

  @Test("A table with more foreign keys than tables can be joined is fetched and followed")
  func manyForeignKeys() throws {
    let keys = (0..<70).map { "r\($0)_id INTEGER REFERENCES item(id)" }.joined(separator: ", ")
    let file = try ServedFile(
      """
      CREATE TABLE item(id INTEGER PRIMARY KEY, n TEXT); INSERT INTO item VALUES (5, 'a');
      CREATE TABLE fact(id INTEGER PRIMARY KEY, \(keys)); INSERT INTO fact(id, r69_id) VALUES (1, 5);
      """)
    let all = try file.ask("/v1/objects/fact?where=r69%20==%205")
    #expect(all.status == 200)
    let item = all.json["sections"]?.elements?.first?["items"]?.elements?.first
    #expect(item?["r69"]?.integer == 5)
    #expect(try file.ask("/v1/objects/fact/1").status == 200)
    let token = try #require(all.json["token"]?.string)
    _ = try file.ask("PATCH", "/v1/objects/fact/1", body: #"{"r69":null}"#)
    let diff = try file.ask("/v1/objects/fact?where=r69%20==%205&since=\(token)")
    #expect(diff.json["items"]?["deleted"]?.elements?.count == 1, "\(diff.text)")
  }

  @Test("Names of thousands of points and colons are refused at once")
  func longNames() throws {
    let file = try ServedFile(Self.fixture)
    let (points, colons) = (
      String(repeating: ".", count: 30_000), String(repeating: ":", count: 30_000)
    )
    for name in ["sort", "section", "select", "expand", "group"] {
      for text in [points, colons, points + colons, "-" + points + colons + "c0"] {
        let value = name == "section" ? "\"\(text)\"" : "[\"\(text)\"]"
        for shape in ["objects", "dictionaries"] {
          let answer = try file.ask(
            "POST", "/v1/fetch", body: #"{"entity":"wide","as":"\#(shape)","\#(name)":\#(value)}"#)
          #expect(answer.status == 400, "\(name), \(shape)")
        }
      }
    }
    let long = String(repeating: ":", count: 65_537)
    let answer = try file.ask("POST", "/v1/fetch", body: #"{"entity":"wide","sort":["\#(long)"]}"#)
    #expect(answer.json["detail"]?.string?.contains("at most 65536 bytes") == true)
  }

  @Test(arguments: lists.indices)
  func oneTermMoreIsRefusedOnEveryRoute(index: Int) throws {
    let file = try ServedFile(Self.fixture)
    let list = Self.lists[index]
    for count in [list.most + 1, 2_001] {
      let body = Self.json(index, count)
      let answers = [
        try file.ask(Self.query(index, count)),
        try file.ask(Self.query(index, count), headers: [("Accept", "text/event-stream")]),
        try file.ask("POST", "/v1/fetch", body: body),
        try file.ask("POST", "/v1/live", body: "{\"fetches\":{\"a\":\(body)}}"),
      ]
      for answer in answers {
        #expect(answer.status == 400, "\(answer.text)")
        #expect(answer.code == "too-many-terms")
        #expect(answer.text.contains("`\(list.name)` takes at most \(list.most) terms"))
      }
    }
  }

  @Test(arguments: lists.indices)
  func asManyAsTheLimitAreServed(index: Int) throws {
    let list = Self.lists[index]
    let file = try ServedFile(Self.fixture)
    let answer = try file.ask(Self.query(index, list.most))
    // Repeated paths are refused for another reason.
    #expect(answer.status == (list.name == "expand" ? 400 : 200), "\(answer.text)")
    #expect(answer.code != "too-many-terms")
  }

  @Test func sixteenKeysAndASectionArePagedThroughWithoutAGap() throws {
    let rows = (1...60).map { row in
      let values = (0..<16).map { key -> String in
        let value = (row * (key + 3) + row / 7) % (key < 8 ? 2 : 5)
        return value == 0 ? "NULL" : key % 3 == 0 ? "'t\(value)'" : "\(value)"
      }
      return "(\(row), \(row % 3), \(values.joined(separator: ", ")))"
    }
    let columns = (0..<16).map { key in "k\(key) \(key % 3 == 0 ? "TEXT" : "INTEGER")" }
    let file = try ServedFile(
      """
      CREATE TABLE row(id INTEGER PRIMARY KEY, part INTEGER, \(columns.joined(separator: ", ")));
      INSERT INTO row VALUES \(rows.joined(separator: ", "));
      """)
    let keys = (0..<16).map { key in
      (key % 2 == 0 ? "" : "-") + "k\(key)" + (key % 3 == 0 ? ":c" : "")
        + (key % 5 == 0 ? ":nullslast" : "")
    }
    let sort = keys.joined(separator: ",")
    for section in ["", "&section=part"] {
      let target = "/v1/objects/row?as=ids&sort=\(sort)\(section)"
      let whole = try file.ask(target).items
      #expect(whole.count == 60)
      var paged: [JSON] = []
      var after = ""
      while paged.count < 60 {
        let page = try file.ask("\(target)&limit=7\(after)")
        try #require(!page.items.isEmpty)
        paged += page.items
        guard let next = page.json["next"]?.string else { break }
        after = "&after=\(next)"
      }
      #expect(paged == whole)
    }
  }
}
