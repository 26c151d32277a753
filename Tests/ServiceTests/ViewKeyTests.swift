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
    let rows = try file.ask("/v1/objects/joined?sort=title&select=title,id_&count=exact").json
    #expect(rows["total"] == .number("3"))
    #expect(Self.values(rows, "id_") == [.number("1"), .null, .null])
    #expect(Set(Self.values(rows, "id")).count == 3)
    #expect(try file.ask("/v1/objects/joined?as=ids&where=id_==1").json["count"] == .number("1"))
  }

  @Test("Pages of a view hold every row of those that have the same column `id`")
  func pages() throws {
    let file = try ServedFile(Self.fixture)
    var numbers: [JSON] = []
    var after = ""
    while true {
      let page = try file.ask("/v1/objects/repeated?sort=id_&limit=2&select=id_,number\(after)")
        .json
      numbers += Self.values(page, "number")
      guard let next = page["next"]?.string, numbers.count < 10 else { break }
      after = "&after=\(next)"
    }
    #expect(numbers.compactMap(\.digits).sorted() == ["1", "1", "2", "2", "3", "3"])
  }

  /// The values of a member of the items in the only section.
  private static func values(_ snapshot: JSON, _ name: String) -> [JSON] {
    guard case .array(let sections)? = snapshot["sections"],
      case .array(let items)? = sections.first?["items"]
    else { return [] }
    return items.map { $0[name] ?? .null }
  }
}

extension JSON {
  fileprivate var digits: String? { if case .number(let digits) = self { digits } else { nil } }
}
