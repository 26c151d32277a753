// A plan → its SQL and its snapshot, as literal text.

import FetchModel
import TestSupport
import Testing

@testable import SQLiteStore

@Suite("Fetches: the SQL of a plan and its snapshot", .mayBlock)
struct FetchTests {
  let fixture: FetchFixture

  init() throws { fixture = try FetchFixture(FetchFixture.fixture) }

  @Test func aPlainFetchReadsColumnsOnceAndEndsItsOrderWithTheID() throws {
    #expect(
      try fixture.sql("City", "where=population>=9&sort=-population&limit=2&select=name") == """
        SELECT "t0"."id", "t0"."population", "t0"."name" FROM "City" AS "t0" \
        WHERE "t0"."population" >= ? ORDER BY "t0"."population" DESC, "t0"."id" LIMIT ?
        """)
  }

  @Test func nilSortsFirstAscendingAndLastDescendingByDefault() throws {
    func ids(_ sort: String) throws -> String {
      try fixture.sections("City", "as=ids&sort=\(sort)")
    }
    let frame = { (ids: String) in #"[{"name":"","value":null,"indexTitle":"","items":[\#(ids)]}]"#
    }
    #expect(try ids("population") == frame("30,20,40,11,10"))
    #expect(try ids("-population") == frame("10,11,20,40,30"))
    #expect(try ids("population:nullslast") == frame("20,40,11,10,30"))
    #expect(try ids("-population:nullsfirst") == frame("30,10,11,20,40"))
  }

  @Test func sectionsFollowAKeyPathOverARelationship() throws {
    #expect(
      try fixture.snapshot("City", "section=country.name&sort=-population&select=population") == """
        {"entity":"City","token":"T","count":5,"sections":[\
        {"name":"","value":null,"indexTitle":"","items":[{"id":40,"population":9}]},\
        {"name":"China","value":"China","indexTitle":"C","items":[\
        {"id":10,"population":24},{"id":11,"population":18}]},\
        {"name":"Japan","value":"Japan","indexTitle":"J","items":[{"id":20,"population":9}]},\
        {"name":"Peru","value":"Peru","indexTitle":"P","items":[{"id":30,"population":null}]}]}
        """)
  }

  @Test func aFullWindowHasACursorAfterWhichTheNextOneStarts() throws {
    var found: [String] = []
    var query = "as=ids&sort=-population:nullsfirst&limit=2"
    for _ in 0..<3 {
      let text = try fixture.snapshot("City", query)
      found.append(String(text.split(separator: "\"items\":")[1].prefix { $0 != "]" }))
      guard let next = text.split(separator: "\"next\":\"").dropFirst().first else { break }
      query = "as=ids&sort=-population:nullsfirst&limit=2&after=\(next.prefix { $0 != "\"" })"
    }
    #expect(found == ["[30,10", "[11,20", "[40"])
  }

  @Test func aLimitOfZeroGivesOneEmptySection() throws {
    let snapshot = try fixture.snapshot("City", "limit=0&count=exact")
    #expect(
      snapshot.hasPrefix(
        """
        {"entity":"City","token":"T","count":0,"total":5,"sections":[\
        {"name":"","value":null,"indexTitle":"","items":[]}],"next":"
        """), "\(snapshot)")
  }

  @Test func aCappedSnapshotSaysThatItIsTruncated() throws {
    let text = try fixture.snapshot("City", "as=ids", maxItems: 2)
    #expect(text.contains(#""count":2,"truncated":true"#))
    #expect(try !fixture.snapshot("City", "as=ids", maxItems: 5).contains("truncated"))
  }

  @Test func toManySelectionsAreIDsAscendingAndKeyPathsFlat() throws {
    #expect(
      try fixture.sections("City", "where=id==11&select=country.name,Tag") == """
        [{"name":"","value":null,"indexTitle":"","items":[\
        {"id":11,"country.name":"China","Tag":["big","old"]}]}]
        """)
  }

  @Test func expandedObjectsOccurOnceInIncluded() throws {
    #expect(
      try fixture.snapshot("City", "where=country==1&select=name&expand=country&sort=name") == """
        {"entity":"City","token":"T","count":2,"sections":[\
        {"name":"","value":null,"indexTitle":"","items":[\
        {"id":11,"name":"Beijing"},{"id":10,"name":"Shanghai"}]}],\
        "included":{"Country":{"1":{"id":1,"name":"China","continent":"Asia"}}}}
        """)
  }

  @Test func aFoldedSectionKeepsExactValuesAsNeighbours() throws {
    let file = try FetchFixture(
      "CREATE TABLE Word(id INTEGER PRIMARY KEY, text TEXT);"
        + "INSERT INTO Word VALUES (1,'b'),(2,'A'),(3,'a'),(4,'B'),(5,'a')")
    #expect(
      try file.sections("Word", "section=text:c&as=ids") == """
        [{"name":"A","value":"A","indexTitle":"A","items":[2]},\
        {"name":"a","value":"a","indexTitle":"A","items":[3,5]},\
        {"name":"B","value":"B","indexTitle":"B","items":[4]},\
        {"name":"b","value":"b","indexTitle":"B","items":[1]}]
        """)
  }

  @Test func textSortsByCodePointForEveryCollation() throws {
    let file = try FetchFixture(
      "CREATE TABLE Word(id INTEGER PRIMARY KEY, text TEXT COLLATE NOCASE);"
        + "INSERT INTO Word VALUES (1,'b'),(2,'A'),(3,'a'),(4,'B')")
    #expect(try file.sections("Word", "sort=text&as=ids").contains("[2,4,3,1]"))
  }

  @Test func theDigestIsTheSumOfItemHashes() throws {
    let text = try fixture.snapshot("City", "where=country==1&as=ids&sort=id&digest=true")
    var sum: UInt32 = 0
    for item in ["null\u{1F}\u{1E}10", "null\u{1F}10\u{1E}11"] {
      var hash: UInt32 = 0x811C_9DC5
      for byte in item.utf8 { hash = (hash ^ UInt32(byte)) &* 0x0100_0193 }
      sum &+= hash
    }
    let digits = String(sum, radix: 16)
    let padding = String(repeating: "0", count: 8 - digits.count)
    #expect(text.contains("\"digest\":\"\(padding)\(digits)\""))
  }
}
