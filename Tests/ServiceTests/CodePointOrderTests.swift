// Texts compare by code point, whatever collation a column or a database has.

import TestSupport
import Testing

@Suite("Texts compare by code point", .mayBlock)
struct CodePointOrderTests {
  private static let texts = """
    CREATE TABLE word(id INTEGER PRIMARY KEY, text TEXT);
    INSERT INTO word VALUES (1, 'a'), (2, 'B'), (3, 'é'), (4, 'z'), (5, '_');
    CREATE TABLE pair(a TEXT NOT NULL, b INTEGER NOT NULL, v INTEGER, PRIMARY KEY (a, b));
    INSERT INTO pair VALUES ('a', 1, 1), ('B', 1, 1), ('c', 1, 1), ('D', 1, 1), ('_', 1, 1);
    """

  @Test("the results of functions")
  func functions() throws {
    let file = try ServedFile(Self.texts)
    for (predicate, ids) in [
      ("uppercase(text) < '_'", "[1,2,4]"), ("lowercase(text) BETWEEN {'a','z'}", "[1,2,4]"),
      ("uppercase(text) >= 'É'", "[3]"), ("canonical(text) < 'a'", "[5]"),
      ("text < 'a'", "[2,5]"), ("text BETWEEN {'B','a'}", "[1,2,5]"),
    ] {
      let answer = try file.ask(
        "/v1/objects/word?as=ids&sort=id&where=\(DictionariesContractTests.encoded(predicate))")
      #expect(answer.text.contains(#""items":\#(ids)}"#), "\(predicate): \(answer.text)")
    }
  }

  @Test("texts that are not UTF-8, in each repetition of a fetch", .onlyForFiles)
  func bytes() throws {
    let file = try ServedFile(
      """
      CREATE TABLE t(id INTEGER PRIMARY KEY, s TEXT); CREATE INDEX ts ON t(s);
      INSERT INTO t VALUES (1, CAST(X'41FE' AS TEXT)), (2, CAST(X'41FF' AS TEXT)),
        (3, CAST(X'41FD' AS TEXT)), (4, 'A'), (5, 'B');
      """)
    let others = [2, 1, 3].map { "{\"id\":\($0),\"s\":\"A\u{FFFD}\"}" }.joined(separator: ",")
    for number in 1...12 {
      let saved = try file.ask("PATCH", "/v1/objects/t/5", body: #"{"s":"B\#(number)"}"#)
      #expect(saved.status == 200)
      let answer = try file.ask("/v1/objects/t?sort=-s&limit=4")
      let items = #""items":[{"id":5,"s":"B\#(number)"},\#(others)]"#
      #expect(answer.text.contains(items), "\(answer.text)")
    }
  }

  @Test("pages by texts that are not UTF-8 have every object once", .onlyForFiles)
  func pagesOfBytes() throws {
    let file = try ServedFile(
      """
      CREATE TABLE city(id INTEGER PRIMARY KEY, name TEXT);
      INSERT INTO city VALUES (1, 'Koln'), (2, CAST(X'4BF66C6E' AS TEXT)), (3, 'Krakow'),
        (4, CAST(X'5AFC72696368' AS TEXT)), (5, 'Zug'), (6, CAST(X'5AFC72696369' AS TEXT)), (7, 'Ä');
      CREATE TABLE word(text TEXT PRIMARY KEY, n INTEGER);
      INSERT INTO word VALUES (CAST(X'41FE' AS TEXT), 1), (CAST(X'41FF' AS TEXT), 2), ('B', 3);
      """)
    let fetches: [(fetch: String, member: String, values: [Int64])] = [
      ("city?sort=name", "id", [1, 3, 2, 5, 4, 6, 7]),
      ("city?sort=-name", "id", [7, 6, 4, 5, 2, 3, 1]), ("word?as=objects", "n", [1, 2, 3]),
    ]
    for (fetch, member, values) in fetches {
      for limit in 1...2 {
        var found: [Int64] = []
        var next: String? = ""
        while let cursor = next, found.count < 10 {
          let after = cursor.isEmpty ? "" : "&after=\(cursor)"
          let page = try file.ask("/v1/objects/\(fetch)&limit=\(limit)\(after)")
          let items = page.json["sections"]?.elements?.first?["items"]?.elements ?? []
          found += items.compactMap { $0[member]?.integer }
          next = page.json["next"]?.string
        }
        #expect(found == values, "\(fetch), \(limit)")
      }
    }
  }

  @Test("groups and dictionaries by the result of a function")
  func groups() throws {
    let file = try ServedFile(Self.texts)
    for query in [
      "select=u:uppercase(text),n:@count&group=u&sort=u", "select=u:uppercase(text)&sort=u",
    ] {
      let answer = try file.ask("/v1/objects/word?as=dictionaries&\(query)")
      let items = try #require(
        answer.json["sections"]?.elements?.first?["items"]?.elements, "\(answer.text)")
      #expect(items.map { $0["u"]?.string } == ["A", "B", "Z", "_", "É"], "\(query)")
    }
  }

  @Test("composite ids in snapshots, diffs and pages")
  func compositeIDs() throws {
    let file = try ServedFile(Self.texts)
    let all = try file.ask("/v1/objects/pair?as=ids&sort=v&digest=true")
    #expect(all.text.contains(#""items":["B,1","D,1","_,1","a,1","c,1"]"#), "\(all.text)")
    let token = all.json["token"]?.string ?? ""
    _ = try file.ask("PATCH", "/v1/objects/pair/c,1", body: #"{"v":0}"#)
    let diff = try file.ask("/v1/objects/pair?as=ids&sort=v&digest=true&since=\(token)")
    #expect(
      diff.text.contains(#""moved":[{"from":[0,4],"to":[0,0],"id":"c,1"}]"#), "\(diff.text)")
    let now = try file.ask("/v1/objects/pair?as=ids&sort=v&digest=true")
    #expect(now.text.contains(#""items":["c,1","B,1","D,1","_,1","a,1"]"#), "\(now.text)")
    #expect(diff.json["digest"] == now.json["digest"])
    var pages: [String] = []
    var next: String? = ""
    while let cursor = next {
      let after = cursor.isEmpty ? "" : "&after=\(cursor)"
      let page = try file.ask("/v1/objects/pair?as=ids&limit=2\(after)")
      pages.append(page.text.firstMatch(of: /"items":(\[.*?\])/).map { String($0.1) } ?? "")
      next = page.json["next"]?.string
    }
    #expect(pages == [#"["B,1","D,1"]"#, #"["_,1","a,1"]"#, #"["c,1"]"#])
  }
}
