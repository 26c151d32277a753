// The ids of a view's rows.

import FetchModel
import TestSupport
import Testing

@Suite("Ids of views", .mayBlock)
struct ViewKeyTests {
  private static let fixture = """
    CREATE TABLE author(id INTEGER PRIMARY KEY, name TEXT);
    CREATE TABLE book(id INTEGER PRIMARY KEY, title TEXT, author INTEGER);
    CREATE VIEW whole AS SELECT id, title FROM book;
    CREATE VIEW joined AS SELECT b.title, a.id FROM book AS b LEFT JOIN author AS a ON a.id = b.author;
    CREATE VIEW repeated AS SELECT a.id, n.number FROM author AS a,
      (SELECT 1 AS number UNION SELECT 2 UNION SELECT 3) AS n;
    INSERT INTO author VALUES (1, 'Ann'), (2, 'Ben');
    INSERT INTO book VALUES (1, 'A', 1), (2, 'B', NULL), (3, 'C', NULL);
    """

  @Test("A column `id` that identifies the rows is their id")
  func column() throws {
    let file = try ServedFile(Self.fixture)
    #expect(
      try file.ask("/v1/objects/whole?sort=title").text.contains(
        #""items":[{"id":1,"title":"A"},{"id":2,"title":"B"},{"id":3,"title":"C"}]"#))
    #expect(try file.ask("/v1/objects/whole/2").text == #"{"id":2,"title":"B"}"#)
  }

  @Test("Rows whose column `id` is NULL are served, with the column as `id_`")
  func nulls() throws {
    let file = try ServedFile(Self.fixture)
    let rows = try file.ask("/v1/objects/joined?sort=title&select=title,id_&count=exact")
    #expect(rows.json["total"] == .number("3"))
    #expect(rows.items.map { $0["id_"] ?? .null } == [.number("1"), .null, .null])
    #expect(Set(rows.items.map { $0["id"] ?? .null }).count == 3)
    #expect(try file.ask("/v1/objects/joined?as=ids&where=id_==1").json["count"] == .number("1"))
  }

  @Test("Pages of a view hold every row of those that have the same column `id`")
  func pages() throws {
    let file = try ServedFile(Self.fixture)
    var numbers: [Int64?] = []
    var after = ""
    while true {
      let page = try file.ask("/v1/objects/repeated?sort=id_&limit=2&select=id_,number\(after)")
      numbers += page.items.map { $0["number"]?.integer }
      guard let next = page.json["next"]?.string, numbers.count < 10 else { break }
      after = "&after=\(next)"
    }
    #expect(numbers.map { $0 ?? 0 }.sorted() == [1, 1, 2, 2, 3, 3])
  }
}
