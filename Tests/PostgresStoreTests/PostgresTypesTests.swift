// Columns and keys of PostgreSQL's own types: what is served, found, sorted and saved.

import Bytes
import FetchModel
import SQLComposer
import TestSupport
import Testing

@testable import PostgresStore

@Suite("PostgreSQL: columns and keys of its own types", .mayBlock)
struct PostgresTypesTests {
  // MARK: Keys

  @Test("a key with a nondeterministic collation is changed and deleted by its own text alone")
  func looseKeys() throws {
    let tables = """
      CREATE COLLATION ci (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
      CREATE TABLE item(id text COLLATE ci PRIMARY KEY, v int);
      INSERT INTO item VALUES ('ABC', 1), ('Ä', 1);
      """
    let fixture = try SaveFixture()
    defer { fixture.close() }
    try PostgresStoreTests.withStore(tables) { (store, _) throws in
      func save(_ change: String) throws -> String {
        try fixture.save(#"{"changes":[\#(change)]}"#, to: store).map(SaveFixture.short)[0]
      }
      let missing = "409 0 - no-such-object"
      #expect(try save(#"{"update":"item","id":"abc","values":{"v":7}}"#) == missing)
      #expect(try save(#"{"delete":"item","id":"ä"}"#) == missing)
      #expect(try save(#"{"update":"item","id":"ABC","values":{"v":7}}"#) == "+0 ~1 -0")
      #expect(try save(#"{"delete":"item","id":"Ä"}"#) == "+0 ~0 -1")
      let items = try ParityFixture.snapshot(store, "item", "")
      #expect(items.contains(#""items":[{"id":"ABC","v":7}]"#))
      let plan = try ParityFixture.plan(store, "item", "")
      let objects = try ["ABC", "abc"].map { id in
        try store.object(.text(id), of: plan, queryClass: .full) != nil
      }
      #expect(objects == [true, false])
    }
  }

  @Test("an object whose key ends with blanks is found by the text without them")
  func blankPaddedKeys() throws {
    let tables = """
      CREATE TABLE item(id bpchar PRIMARY KEY, v int);
      INSERT INTO item VALUES ('ab ', 1), ('c', 1);
      """
    let fixture = try SaveFixture()
    defer { fixture.close() }
    try PostgresStoreTests.withStore(tables) { (store, _) throws in
      let body = #"{"changes":[{"update":"item","id":"ab","values":{"v":7}}]}"#
      #expect(try fixture.save(body, to: store).first == "+0 ~1 -0")
      let items = try ParityFixture.snapshot(store, "item", "where=SELF%20%3D%3D%20'ab'")
      #expect(items.contains(#""items":[{"id":"ab","v":7}]"#))
      let plan = try ParityFixture.plan(store, "item", "")
      #expect(try store.object(.text("ab"), of: plan, queryClass: .full) != nil)
    }
  }

  @Test("a negative oid, and a name of more than 63 bytes, are refused")
  func changedValues() throws {
    let tables = """
      CREATE TABLE item(id int PRIMARY KEY, o oid, n name); INSERT INTO item VALUES (1, 7, 'a');
      """
    let fixture = try SaveFixture()
    defer { fixture.close() }
    try PostgresStoreTests.withStore(tables) { (store, _) throws in
      func save(_ values: String) throws -> String? {
        let body = #"{"changes":[{"update":"item","id":1,"values":{\#(values)}}]}"#
        return try fixture.save(body, to: store).map(SaveFixture.short).first
      }
      #expect(try save(#""o":-1"#) == "422 0 o wrong-type")
      let long = String(repeating: "é", count: 32)
      #expect(try save(#""n":"\#(long)""#) == "422 0 n wrong-type")
      #expect(try save(#""o":4294967295,"n":"\#(long.dropLast())b""#) == "+0 ~1 -0")
      let items = try ParityFixture.snapshot(store, "item", "")
      #expect(items.contains(#"{"id":1,"o":4294967295,"n":"\#(long.dropLast())b"}"#))
    }
  }

  @Test("a null in an array is saved as null, also where the database has array_nulls off")
  func arrayNulls() throws {
    let tables = """
      DO $$ BEGIN
        EXECUTE format('ALTER DATABASE %I SET array_nulls = off', current_database());
      END $$;
      CREATE TABLE item(id int PRIMARY KEY, a text[]); INSERT INTO item VALUES (1, '{a}');
      """
    let fixture = try SaveFixture()
    defer { fixture.close() }
    try PostgresStoreTests.withStore(tables) { (store, connection) throws in
      let body = #"{"changes":[{"update":"item","id":1,"values":{"a":["a",null]}}]}"#
      #expect(try fixture.save(body, to: store).first == "+0 ~1 -0")
      let hasNull = try connection.query("SELECT a[2] IS NULL FROM item").bool(0, 0)
      #expect(hasNull)
    }
  }

  @Test("transaction ids and single bytes are strings, as keys too, and can be written")
  func otherStrings() throws {
    let tables = """
      CREATE TABLE item(id xid8 PRIMARY KEY, x xid8);
      INSERT INTO item VALUES ('7', '18446744073709551615');
      CREATE TABLE letter(id "char" PRIMARY KEY, v int);
      INSERT INTO letter VALUES ('b', 1), ('a', 1);
      """
    let fixture = try SaveFixture()
    defer { fixture.close() }
    try PostgresStoreTests.withStore(tables) { (store, _) throws in
      let items = try ParityFixture.snapshot(store, "item", "where=x%20BEGINSWITH%20'184'")
      #expect(items.contains(#""items":[{"id":"7","x":"18446744073709551615"}]"#))
      let body = """
        {"changes":[{"update":"item","id":"7","values":{"x":"18446744073709551614"}},
          {"update":"letter","id":"b","values":{"v":7}}]}
        """
      #expect(try fixture.save(body, to: store).first == "+0 ~2 -0")
      let saved = try ParityFixture.snapshot(store, "item", "")
      #expect(saved.contains(#""items":[{"id":"7","x":"18446744073709551614"}]"#))
      let letters = try ParityFixture.snapshot(store, "letter", "sort=id")
      #expect(letters.contains(#""items":[{"id":"a","v":1},{"id":"b","v":7}]"#))
    }
  }

  // MARK: Numbers and dates

  /// The ids of the pages of one object each.
  private static func pages(_ store: PostgresStore, _ query: String) throws -> String {
    var after = ""
    var ids: [String] = []
    while ids.count < 20 {
      let page = try ParityFixture.snapshot(store, "item", "as=ids&limit=1&\(query)\(after)")
      guard let id = page.firstMatch(of: /"items":\[([0-9]+)\]/)?.1 else { break }
      ids.append(String(id))
      guard let next = try JSON(parsing: Array(page.utf8))["next"]?.string else { break }
      after = "&after=\(PercentEncoding.encodeComponent(next))"
    }
    return ids.joined(separator: ",")
  }

  /// True if the keys of the objects have the order of the objects: the places in diffs are theirs.
  private static func hasOrderOfKeys(_ store: PostgresStore, _ query: String) throws -> Bool {
    let definition = try ParityFixture.plan(store, "item", query).definition
    let keys = try store.read { read throws(StoreError) in
      try read.keys(of: definition, after: nil, limit: nil)
    }
    return keys.count > 1 && keys == keys.sorted()
  }

  @Test("decimals with more digits than a double has are in their order in pages and diffs")
  func decimals() throws {
    let tables = """
      CREATE TABLE item(id int PRIMARY KEY, n numeric);
      INSERT INTO item VALUES (1, 0.1000000000000000002), (2, 0.1000000000000000001),
        (3, -123456789012345678901234567890), (4, -123456789012345678901234567889),
        (5, 12345678901234567.5), (6, 12345678901234567.25), (7, NULL), (8, 'NaN'),
        (9, 'Infinity'), (10, 0);
      """
    try PostgresStoreTests.withStore(tables) { (store, _) throws in
      for (query, ids) in [
        ("sort=n", "7,3,4,10,2,1,6,5,9,8"), ("sort=-n", "8,9,5,6,1,2,10,4,3,7"),
        ("section=n&sort=-id", "7,4,3,10,2,1,6,5,9,8"),
      ] {
        #expect(try Self.pages(store, query) == ids, "\(query)")
        #expect(try Self.hasOrderOfKeys(store, query), "\(query)")
      }
    }
  }

  @Test("a section, a group and distinct values of arrays and JSON are the JSON that items show")
  func sectionsOfJSON() throws {
    let tables = """
      CREATE TYPE pair AS (a int, b text);
      CREATE TABLE item(id int PRIMARY KEY, a int[], p pair, j jsonb);
      INSERT INTO item VALUES (1, '{1,2}', '(1,x)', '"s"'), (2, '{}', NULL, 'null'),
        (3, '{1,2}', '(1,x)', '{"k": 1}');
      """
    try PostgresStoreTests.withStore(tables) { (store, _) throws in
      func answer(_ query: String) throws -> String {
        try ParityFixture.snapshot(store, "item", query)
      }
      let arrays = try answer("section=a&as=ids")
      #expect(
        arrays.contains(
          """
          [{"name":"[1,2]","value":[1,2],"indexTitle":"[","items":[1,3]},\
          {"name":"[]","value":[],"indexTitle":"[","items":[2]}]
          """), "\(arrays)")
      let pairs = try answer("section=p&as=ids")
      #expect(
        pairs.contains(#""value":{"a":1,"b":"x"},"indexTitle":"{","items":[1,3]"#), "\(pairs)")
      let groups = try answer("as=dictionaries&group=a&select=a,n:@count")
      #expect(groups.contains(#"[{"a":[1,2],"n":2},{"a":[],"n":1}]"#), "\(groups)")
      let distinct = try answer(
        "as=dictionaries&select=a:@distinctUnionOfObjects.a,j:@distinctUnionOfObjects.j,n:@count.j")
      #expect(distinct.contains(#"[{"a":[[1,2],[]],"j":["s",{"k": 1}],"n":2}]"#), "\(distinct)")
    }
  }

  @Test("a decimal of a model keeps every digit")
  func decimalOfAModel() throws {
    let model = #"{"entities":[{"name":"P","attributes":[{"name":"price","type":"Decimal"}]}]}"#
    var options = PostgresStoreOptions()
    options.model = try ModelFile(parsing: Array(model.utf8))
    let fixture = try SaveFixture()
    defer { fixture.close() }
    try PostgresStoreTests.withStore("", options) { (store, _) throws in
      let body = #"{"changes":[{"insert":"P","values":{"price":12345678901234567.89}}]}"#
      #expect(try fixture.save(body, to: store).contains("+1 ~0 -0"))
      let shown = try ParityFixture.snapshot(store, "P", "")
      #expect(shown.contains(#"{"id":1,"price":12345678901234567.89}"#), "\(shown)")
    }
  }

  @Test("the text of a decimal in an order key has its order and is that of a decimal only")
  func decimalKeys() {
    let decimals = [
      "-Infinity", "-12.5", "-12", "-1.25", "-1.2", "-0.01", "0.00", "0.01", "0.0123", "0.5", "1",
      "1.000000000000000000001", "1.50", "12", "100", "Infinity", "NaN",
    ]
    let keys = decimals.map { DecimalKey.bytes(of: $0) }
    #expect(zip(keys, keys.dropFirst()).allSatisfy { $0.precedes($1) })
    #expect(
      keys.map { DecimalKey.decimal(of: $0) } == [
        "-Infinity", "-0.125e2", "-0.12e2", "-0.125e1", "-0.12e1", "-0.1e-1", "0", "0.1e-1",
        "0.123e-1", "0.5e0", "0.1e1", "0.1000000000000000000001e1", "0.15e1", "0.12e2", "0.1e3",
        "Infinity", "NaN",
      ])
    for text in ["", "x", "aa", "d", "d200001", "b79999884", "d9999991", "d0000001", "d20000-1"] {
      #expect(DecimalKey.decimal(of: Array(text.utf8)) == nil, "\(text)")
    }
  }

  @Test("a real is compared, calculated with, sorted and divided into sections as it is shown")
  func reals() throws {
    let tables = """
      CREATE TABLE item(id int PRIMARY KEY, g real);
      INSERT INTO item VALUES (1, 0.1), (2, 0.2), (3, 16777216), (4, NULL), (5, 0.1);
      """
    try PostgresStoreTests.withStore(tables) { (store, _) throws in
      for (predicate, ids) in [
        ("g == 0.1", "1,5"), ("g > 0.1", "2,3"), ("g <= 0.1", "1,5"), ("g IN {0.2, 7}", "2"),
        ("g BETWEEN {0.1, 0.2}", "1,2,5"), ("g * 2 == 0.2", "1,5"), ("g == 16777216", "3"),
        ("g == nil", "4"),
      ] {
        let query = "as=ids&sort=id&where=\(PercentEncoding.encodeComponent(predicate))"
        let found = try ParityFixture.snapshot(store, "item", query)
        #expect(found.contains("\"items\":[\(ids)]"), "\(predicate): \(found)")
      }
      let sections = try ParityFixture.snapshot(store, "item", "section=g&as=ids")
      #expect(
        sections.contains(#"{"name":"0.1","value":0.1,"indexTitle":"0","items":[1,5]}"#),
        "\(sections)")
      for (query, ids) in [
        ("sort=g", "4,1,5,2,3"), ("sort=-g", "3,2,1,5,4"), ("section=g&sort=-id", "4,5,1,2,3"),
      ] {
        #expect(try Self.pages(store, query) == ids, "\(query)")
        #expect(try Self.hasOrderOfKeys(store, query), "\(query)")
      }
      let items = try ParityFixture.snapshot(store, "item", "where=id%20%3D%3D%202")
      #expect(items.contains(#""items":[{"id":2,"g":0.2}]"#))
    }
  }

  @Test("the dates of PostgreSQL's last thirty years are no infinite ones")
  func lastDates() throws {
    let tables = """
      CREATE TABLE item(id int PRIMARY KEY, d timestamptz);
      INSERT INTO item VALUES (1, 'infinity'), (2, '294276-12-31 23:59:59.5Z'), (3, '-infinity'),
        (4, '294246-01-01 00:00:00Z'), (5, '1999-12-31 23:59:59.5Z');
      """
    try PostgresStoreTests.withStore(tables) { (store, _) throws in
      let items = try ParityFixture.snapshot(store, "item", "sort=d")
      #expect(
        items.contains(
          #"{"id":3,"d":"-infinity"},{"id":5,"d":"1999-12-31T23:59:59.5Z"},"#
            + #"{"id":4,"d":"+294246-01-01T00:00:00Z"},{"id":2,"d":"+294276-12-31T23:59:59.5Z"},"#
            + #"{"id":1,"d":"infinity"}"#), "\(items)")
      #expect(try Self.hasOrderOfKeys(store, "sort=d"))
      let sections = try ParityFixture.snapshot(store, "item", "section=d&as=ids")
      #expect(
        sections.contains(
          #"{"name":"-infinity","value":"-infinity","indexTitle":"-","items":[3]}"#), "\(sections)")
    }
  }
}
