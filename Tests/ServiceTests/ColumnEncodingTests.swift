// Values that their columns' declared types cannot hold.

import FetchModel
import Foundation
import Service
import TestSupport
import Testing

/// A value that its declared type cannot hold is served as stored, equals
/// nothing of that type and sorts after it; values of a type compare by meaning, in any notation.
@Suite("Column values of other types", .mayBlock)
struct ColumnEncodingTests {
  static let mixed = """
    CREATE TABLE event(id INTEGER PRIMARY KEY, at DATETIME);
    CREATE INDEX event_at ON event(at);
    INSERT INTO event VALUES
      (1,'2020-01-02T03:04:05Z'),(2,'2020-01-02T03:04:05.5Z'),(3,'2020-01-02T05:04:05.25+02:00'),
      (4,'2020-01-02'),(5,'2020-01-02 03:04:06'),(6,'2021-02-30'),(7,'soon'),(8,5),(9,NULL),
      (10,'2019-12-31T23:30:00-01:00'),(11,X'00'),(12,'2020-01-02T03:04:05+00:00');
    """

  /// Fetch → ids.
  static let instants: [(String, String)] = [
    ("sort=at&where=at!=nil", "[10,4,1,12,3,2,5,8,6,7,11]"),
    ("sort=-at", "[11,7,6,8,5,2,3,1,12,4,10,9]"),
    ("where=at=='2020-01-02T03:04:05Z'", "[1,12]"),
    ("where=at=='2020-01-02T04:04:05%2B01:00'", "[1,12]"),
    ("where=at<'2020-01-02T03:04:05Z'", "[4,10]"),
    ("where=at>'2020-01-02T03:04:05.3Z'", "[2,5,6,7,8,11]"),
    ("where=at IN {'2020-01-02T00:30:00Z','2020-01-02T03:04:06Z'}", "[5]"),
    ("where=at BETWEEN {'2020-01-02','2020-01-02T03:04:05Z'}", "[1,4,12]"),
    ("where=at!='2020-01-02'", "[1,2,3,5,6,7,8,9,10,11,12]"),
    ("where=NOT at<'2020-01-02T03:04:06Z'", "[5,6,7,8,9,11]"),
    ("where=TERNARY(id>0,at,at)=='2020-01-02T03:04:05Z'", "[1,12]"),
    ("where=CAST(at,'NSNumber')>599627045.4 AND id<8", "[2,5]"),
  ]

  @Test func datesOfMixedFormsCompareAsInstants() throws {
    let file = try ServedFile(Self.mixed)
    for (fetch, ids) in Self.instants {
      let answer = try file.ask("/v1/objects/event?as=ids&\(Self.encoded(fetch))")
      #expect(answer.text.contains("\"items\":\(ids)}"), "\(fetch): \(answer.text)")
    }
  }

  /// Written date → the date that is read back from a column of seconds.
  @Test(arguments: [
    ("2024-01-01T00:00:00.1Z", "2024-01-01T00:00:00.1Z"),
    ("2024-01-01T00:00:00.123456Z", "2024-01-01T00:00:00.123456Z"),
    ("2024-01-01T00:00:00.1234567Z", "2024-01-01T00:00:00.123457Z"),
    ("2024-01-01T00:00:00.9999996Z", "2024-01-01T00:00:01Z"),
    ("1969-12-31T23:59:59.9Z", "1969-12-31T23:59:59.9Z"),
    ("2024-01-01T00:00:00Z", "2024-01-01T00:00:00Z"),
  ])
  func secondsReadBackWithTheDigitsThatWereWritten(written: String, read: String) throws {
    let file = try ServedFile(
      "CREATE TABLE t(id INTEGER PRIMARY KEY, at TIMESTAMP); INSERT INTO t VALUES (1, 1700000000.1)"
    )
    #expect(try file.ask("/v1/objects/t/1").text == #"{"id":1,"at":"2023-11-14T22:13:20.1Z"}"#)
    let answer = try file.ask("PATCH", "/v1/objects/t/1", body: #"{"at":"\#(written)"}"#)
    #expect(answer.text == #"{"id":1,"at":"\#(read)"}"#)
    let found = try file.ask("/v1/objects/t?as=ids&where=at=='\(read)'").text
    #expect(found.contains(#""items":[1]"#), "\(found)")
  }

  static func encoded(_ fetch: String) -> String {
    var encoded = fetch.replacing(" ", with: "+")
    for (text, code) in [(">", "%3E"), ("<", "%3C"), ("{", "%7B"), ("}", "%7D")] {
      encoded.replace(text, with: code)
    }
    return encoded
  }

  static let types = """
    CREATE TABLE t(id INTEGER PRIMARY KEY, i INTEGER, r REAL, b BOOLEAN, d DATE, s TIMESTAMP,
      u UUID, x BLOB, c TEXT, n DECIMAL(9,2), w URL);
    INSERT INTO t VALUES
      (1,1,1.5,0,'2020-01-01',100,'550E8400-E29B-41D4-A716-446655440001',X'01','a',1.5,'http://a'),
      (2,2,2.5,1,'2021-01-01',200.5,'550e8400-e29b-41d4-a716-446655440002',X'FFFF','b',2,'http://b'),
      (3,'x','x','x','x','x','x','x',X'62',X'00',5),
      (4,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL),
      (5,X'00',X'00',-1,7,X'00',X'00',3,X'61','x',X'00');
    """

  /// Attribute, the value of row 2 → the ids in order.
  static let orders: [(String, String, String)] = [
    ("i", "2", "[4,1,2,3,5]"), ("r", "2.5", "[4,1,2,3,5]"), ("b", "YES", "[4,1,2,5,3]"),
    ("d", "'2021-01-01'", "[4,1,2,5,3]"), ("s", "'1970-01-01T00:03:20.5Z'", "[4,1,2,3,5]"),
    ("u", "'550E8400-E29B-41D4-A716-446655440002'", "[4,1,2,3,5]"),
    ("x", "'//8='", "[4,1,2,5,3]"), ("c", "'b'", "[4,1,2,5,3]"), ("n", "2", "[4,1,2,5,3]"),
    ("w", "'http://b'", "[4,1,2,3,5]"),
  ]

  @Test func valuesThatDoNotFitTheTypeSortAfterItsValues() throws {
    let file = try ServedFile(Self.types)
    for (name, value, order) in Self.orders {
      for (fetch, ids) in [
        ("sort=\(name)", order), ("where=\(name)<\(value)", "[1]"),
        ("where=\(name)==\(value)", "[2]"), ("where=\(name) IN {\(value)}", "[2]"),
        ("where=\(name)>\(value)", "[3,5]"),
      ] {
        let answer = try file.ask("/v1/objects/t?as=ids&\(Self.encoded(fetch))")
        #expect(answer.text.contains("\"items\":\(ids)}"), "\(fetch): \(answer.text)")
      }
    }
  }

  @Test func sectionsShowStoredValuesAndPagesContinueAfterThem() throws {
    let file = try ServedFile(Self.types)
    for (section, values) in [
      ("d", #"null,"2020-01-01T00:00:00Z","2021-01-01T00:00:00Z",7,"x""#),
      ("d:year", #"null,"2020","2021",7,"x""#), ("b", #"null,false,true,-1,"x""#),
      (
        "u",
        #"null,"550E8400-E29B-41D4-A716-446655440001","550E8400-E29B-41D4-A716-446655440002","#
          + #""x","AA==""#
      ), ("x", #"null,"AQ==","//8=",3,"x""#), ("w", #"null,"http://a","http://b",5,"AA==""#),
    ] {
      let answer = try file.ask("/v1/objects/t?as=ids&section=\(section)")
      let sections = answer.json["sections"]?.elements ?? []
      var found: [String] = []
      for section in sections {
        var text: [UInt8] = []
        text.append(json: section["value"] ?? .null)
        found.append(String(decoding: text, as: UTF8.self))
      }
      #expect(found.joined(separator: ",") == values, "\(section): \(answer.text)")
      var ids: [Int64] = []
      var next: String?
      repeat {
        let page = try file.ask(
          "/v1/objects/t?as=ids&limit=1&section=\(section)" + (next.map { "&after=\($0)" } ?? ""))
        next = page.json["next"]?.string
        for section in page.json["sections"]?.elements ?? [] {
          ids += (section["items"]?.elements ?? []).compactMap(\.integer)
        }
      } while next != nil
      #expect(ids.sorted() == [1, 2, 3, 4, 5], "\(section): \(ids)")
    }
  }

  @Test func diffsPlaceMixedFormsAsSnapshotsDo() throws {
    let file = try ServedFile(Self.mixed)
    let fetch = "/v1/objects/event?as=ids&sort=at&section=at:month"
    let token = try #require(file.ask(fetch).json["token"]?.string)
    try file.runExternally(
      """
      UPDATE event SET at = '2019-06-01T00:00:00.125-05:00' WHERE id = 2;
      UPDATE event SET at = 'never' WHERE id = 1; INSERT INTO event VALUES (20,'2020-01-02T00:00Z');
      """)
    try file.settle()
    let diff = try file.ask(fetch + "&since=\(token)&wait=0")
    let moved = diff.json["items"]?["moved"]?.elements?.compactMap { $0["id"]?.integer } ?? []
    #expect(moved.sorted() == [1, 2], "\(diff.text)")
    let now = try file.ask("/v1/objects/event?as=ids&sort=at")
    #expect(now.text.contains("[9,2,10,4,20,12,3,5,8,6,1,7,11]"), "\(now.text)")
  }

  @Test func aColumnOfOneFormIsServedByItsIndexUntilAnotherFormComes() throws {
    var configuration = ServiceConfiguration()
    configuration.explains = true
    let file = try ServedFile(
      """
      CREATE TABLE e(id INTEGER PRIMARY KEY, at DATETIME);
      CREATE INDEX e_at ON e(at);
      INSERT INTO e VALUES (1,'2024-01-01T00:00:00.000Z'),(2,'2024-01-02T00:00:00.500Z');
      """, configuration: configuration)
    let fetch = "/v1/objects/e?as=ids&sort=at&where=at%3E'2023-12-31'"
    let overIndex = "USING COVERING INDEX e_at (at>?)"
    let explained = try file.ask(fetch + "&explain=true")
    #expect(explained.text.contains(overIndex), "\(explained.text)")
    // In the column's own form, by the server.
    #expect(
      try file.ask("POST", "/v1/objects/e", body: #"{"id":3,"at":"2024-01-01T12:00:00Z"}"#).status
        == 201)
    #expect(
      try file.texts("SELECT at FROM e WHERE id = 3") == ["2024-01-01T12:00:00.000Z"])
    #expect(try file.ask(fetch + "&explain=true").text.contains(overIndex))
    #expect(try file.ask(fetch).text.contains("[1,3,2]"))
    // In another table, by another process: correct at once.
    try file.runExternally("INSERT INTO e VALUES (4,'2024-01-01T23:00:00-02:00')")
    #expect(try file.ask(fetch).text.contains("[1,3,2,4]"))
    #expect(try file.ask(fetch + "&explain=true").text.contains(overIndex) == false)
  }

  /// Dictionaries of groups and of different values → their items.
  static let dictionaries: [(String, String)] = [
    ("select=b&distinct=true&sort=b", #"{"b":null},{"b":false},{"b":true},{"b":-1},{"b":"x"}"#),
    (
      "select=d,n:@count&group=d&sort=d",
      #"{"d":null,"n":1},{"d":"2020-01-01T00:00:00Z","n":1},{"d":"2021-01-01T00:00:00Z","n":1},"#
        + #"{"d":7,"n":1},{"d":"x","n":1}"#
    ),
    (
      "select=u&distinct=true&sort=u",
      #"{"u":null},{"u":"550E8400-E29B-41D4-A716-446655440001"},"#
        + #"{"u":"550E8400-E29B-41D4-A716-446655440002"},{"u":"x"},{"u":"AA=="}"#
    ),
    (
      "select=x&distinct=true&sort=x",
      #"{"x":null},{"x":"AQ=="},{"x":"//8="},{"x":3},{"x":"x"}"#
    ),
    (
      "select=c&distinct=true&sort=c",
      #"{"c":null},{"c":"a"},{"c":"b"},{"c":"YQ=="},{"c":"Yg=="}"#
    ),
    (
      "select=b:@max.b,d:@max.d,u:@max.u,x:@max.x",
      #"{"b":"x","d":"x","u":"AA==","x":"x"}"#
    ),
    (
      "select=b:@min.b,d:@min.d,x:@min.x&where=id IN {3,5}",
      #"{"b":-1,"d":7,"x":3}"#
    ),
    (
      "select=b:@distinctUnionOfObjects.b,d:@distinctUnionOfObjects.d",
      #"{"b":[false,true,-1,"x"],"d":["2020-01-01T00:00:00Z","2021-01-01T00:00:00Z",7,"x"]}"#
    ),
    (
      "select=id,m:max({b,b}),y:TERNARY(id > 3,nil,d)&where=id IN {3,5}&sort=id",
      #"{"id":3,"m":"x","y":"x"},{"id":5,"m":-1,"y":null}"#
    ),
  ]

  @Test func dictionariesShowForeignValuesAsStored() throws {
    let file = try ServedFile(Self.types)
    for (fetch, items) in Self.dictionaries {
      let answer = try file.ask("/v1/objects/t?as=dictionaries&\(Self.encoded(fetch))")
      #expect(answer.text.contains("\"items\":[\(items)]"), "\(fetch): \(answer.text)")
    }
  }

  @Test func equalValuesInTwoNotationsAreOneDistinctValue() throws {
    let file = try ServedFile(
      """
      CREATE TABLE v(id INTEGER PRIMARY KEY, at DATETIME, u UUID);
      INSERT INTO v VALUES
        (1,'2020-01-02T03:04:05Z','550E8400-E29B-41D4-A716-446655440001'),
        (2,'2020-01-02T05:04:05+02:00','550e8400-e29b-41d4-a716-446655440001'),
        (3,'2021-01-01T00:00:00Z',NULL);
      """)
    let answer = try file.ask(
      "/v1/objects/v?as=dictionaries&select=at:@distinctUnionOfObjects.at,"
        + "n:@distinctUnionOfObjects.at.@count,u:@distinctUnionOfObjects.u,"
        + "m:@distinctUnionOfObjects.u.@count")
    #expect(
      answer.text.contains(
        #"{"at":["2020-01-02T03:04:05Z","2021-01-01T00:00:00Z"],"n":2,"#
          + #""u":["550E8400-E29B-41D4-A716-446655440001"],"m":1}"#),
      "\(answer.text)")
  }

  @Test func theNullOfJSONIsNil() throws {
    let file = try ServedFile(
      """
      CREATE TABLE j(id INTEGER PRIMARY KEY, v JSON NOT NULL DEFAULT 'null');
      INSERT INTO j VALUES (1,'null'),(2,'{"a":1}'),(3,' null ');
      CREATE TABLE n(id INTEGER PRIMARY KEY, v JSON);
      INSERT INTO n VALUES (1,'null'),(2,NULL),(3,'"x"');
      """)
    #expect(try file.ask("/v1/objects/j?as=ids&where=v==nil").text.contains("[1,3]"))
    #expect(try file.ask("/v1/objects/n?as=ids&where=v!=nil").text.contains("[3]"))
    let sections = try file.ask("/v1/objects/n?as=ids&section=v").text
    #expect(sections.contains(#"{"name":"","value":null,"indexTitle":"","items":[1,2]}"#))
  }
}
