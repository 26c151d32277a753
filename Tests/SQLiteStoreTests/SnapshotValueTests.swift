// The snapshot that a store in the same process reads equals the JSON that a server sends.

import FetchModel
import SQLResults
import Testing

@testable import SQLiteStore

/// The snapshot that a store in the same process reads, without JSON text in between.
@Suite("A snapshot as a value", .mayBlock)
struct SnapshotValueTests {
  /// Every storage class in columns of every type.
  private static let values = """
    CREATE TABLE Kind(id INTEGER PRIMARY KEY, name TEXT);
    INSERT INTO Kind VALUES (1, 'odd'), (2, NULL);
    CREATE TABLE Sample(
      id INTEGER PRIMARY KEY, number INTEGER, real REAL, text TEXT, isOpen BOOLEAN, day DATETIME,
      price DECIMAL(10, 2), data BLOB, key UUID, document JSON, kind INTEGER REFERENCES Kind,
      "na""me" TEXT);
    WITH v(x) AS (VALUES (NULL), (0), (1), (-7), (9007199254740993), (9223372036854775807), (1.0),
      (-0.0), (0.1), (1e300), (5e-324), (9e999), (-9e999), (''), ('a'), ('ä"\\' || char(10, 0, 31)),
      ('true'), ('12'), ('2026-01-02T03:04:05Z'), ('2026-01-02 03:04:05.25'), ('{"a":[1,null]}'),
      ('[1'), (CAST(x'66ff67' AS TEXT)), (x''), (x'000102'),
      (x'00112233445566778899aabbccddeeff'))
    INSERT INTO Sample SELECT row_number() OVER (), x, x, x, x, x, x, x, x, x,
      CASE row_number() OVER () % 3 WHEN 0 THEN NULL ELSE row_number() OVER () % 3 END, x FROM v;
    """

  private static let long = """
    CREATE TABLE Sample(id TEXT PRIMARY KEY NOT NULL, text TEXT, data BLOB);
    INSERT INTO Sample VALUES ('a', replace(hex(zeroblob(60000)), '00', 'aé'), zeroblob(60000));
    """

  @Test(
    "equals the JSON that the service sends",
    arguments: [
      "", "sort=-real", "int64=string", "section=kind.name", "section=kind&sort=text&digest=true",
      "select=text,kind.name", "expand=kind&select=number", "as=ids", "as=count",
      "as=dictionaries&select=number,real", "limit=3&count=exact", "limit=0", "where=id>100",
      "where=id>100&section=kind", "select=@etag",
    ])
  func parity(query: String) throws {
    try expectParity(FetchFixture(Self.values), query)
  }

  @Test("is truncated like the JSON")
  func truncated() throws { try expectParity(FetchFixture(Self.values), "", maxItems: 5) }

  @Test("has long values and ids of text like the JSON")
  func longValues() throws { try expectParity(FetchFixture(Self.long), "") }

  @Test("has the ids of to-many relationships like the JSON")
  func toMany() throws {
    try expectParity(FetchFixture(FetchFixture.fixture), "select=Tag", of: "City")
  }

  @Test("has the values of the columns")
  func columns() throws {
    let fixture = try FetchFixture(FetchFixture.fixture)
    let plan = try fixture.plan("City", "where=id>=30&select=name,population,country.name")
    let sections = try fixture.transaction.snapshotValue(of: plan)["sections"]
    #expect(
      sections.map { String(decoding: $0.bytes, as: UTF8.self) } == """
        [{"name":"","value":null,"indexTitle":"","items":[\
        {"id":30,"name":"Lima","population":null,"country.name":"Peru"},\
        {"id":40,"name":"Nowhere","population":9,"country.name":null}]}]
        """)
  }

  @Test("is refused if it exceeds the response limit")
  func tooLarge() throws {
    let fixture = try FetchFixture(Self.long)
    let plan = try fixture.plan("Sample")
    let transaction = try fixture.transaction
    #expect(throws: StoreError.answerTooLarge(limit: 50_000)) {
      try transaction.withResponseLimit(50_000, overflow: nil) { () throws(StoreError) in
        try transaction.snapshotValue(of: plan)
      }
    }
  }

  @Test("is refused, and not null, if it nests JSON values deeper than a JSON text may")
  func tooDeep() throws {
    let deepest = String(repeating: "[", count: 64) + String(repeating: "]", count: 64)
    let fixture = try FetchFixture(
      """
      CREATE TABLE Sample(id INTEGER PRIMARY KEY, document JSON);
      INSERT INTO Sample VALUES (1, '\(deepest)');
      """)
    let transaction = try fixture.transaction
    var documents: [JSON?] = []
    _ = try transaction.snapshotValue(of: fixture.plan("Sample")) { _, values in
      documents.append(values["document"])
    }
    #expect(try documents == [JSON(parsing: Array(deepest.utf8))])
    let dictionaries = try fixture.plan("Sample", "as=dictionaries&select=document")
    #expect(throws: StoreError.self) { try transaction.snapshotValue(of: dictionaries) }
  }

  private func expectParity(
    _ fixture: FetchFixture, _ query: String, of entity: String = "Sample", maxItems: Int = 1000
  ) throws {
    let plan = try fixture.plan(entity, query, maxItems: maxItems)
    let transaction = try fixture.transaction
    let text = try transaction.snapshot(of: plan).json
    #expect(try transaction.snapshotValue(of: plan) == JSON(parsing: text))
  }
}
