// Foreign keys between columns of any types and collations, compared with SQLite's own check.

import FetchModel
import SQLComposer
import TestSupport
import Testing

@testable import SQLiteStore

@Suite("Foreign key comparisons: values refer to each other as in SQLite's foreign keys", .mayBlock)
struct ForeignKeyComparisonTests {
  static let owners = [
    "INTEGER PRIMARY KEY", "INT PRIMARY KEY", "TEXT PRIMARY KEY", "TEXT COLLATE NOCASE PRIMARY KEY",
    "TEXT COLLATE RTRIM PRIMARY KEY", "NUMERIC PRIMARY KEY", "REAL PRIMARY KEY", "PRIMARY KEY",
    "COLLATE NOCASE PRIMARY KEY", "INT COLLATE NOCASE PRIMARY KEY",
  ]
  static let members = [
    "INTEGER", "TEXT", "TEXT COLLATE NOCASE", "TEXT COLLATE RTRIM", "", "COLLATE NOCASE", "REAL",
    "NUMERIC", "INT COLLATE NOCASE",
  ]
  static let values = [
    "7", "7.0", "7.5", "'7'", "'07'", "' 7'", "'7.0'", "'7.5'", "'7x'", "'a'", "'A'", "'a '",
    "'A  '",
    "x'37'", "x'61'", "-3", "'-3'", "1e30", "'1e30'", "9223372036854775807",
    "'9223372036854775808'",
    "''", "'ä'", "'Ä'",
  ]

  /// A table whose rows contain every value and refer to another table.
  private static func file(_ owner: String, _ member: String) throws -> ScratchFile {
    try ScratchFile(
      """
      CREATE TABLE p(k \(owner)); CREATE TABLE t(n INTEGER PRIMARY KEY, c \(member) REFERENCES p);
      INSERT INTO t(c) VALUES \(values.map { "(\($0))" }.joined(separator: ", "));
      """)
  }

  /// The values that a column of this type takes.
  private static func values(of owner: String) -> [String] {
    values.filter { owner != "INTEGER PRIMARY KEY" || Int64($0) != nil }
  }

  /// Compares the links with SQLite's foreign key check.
  @Test(arguments: owners, members)
  func linksMatchAsInSQLite(owner: String, member: String) throws {
    let file = try Self.file(owner, member)
    let key = try Self.key(of: file)
    let isExact = key.comparisons[0].isExact
    let values = Self.values(of: owner)
    let scripts = values.map { value -> String in
      """
        DELETE FROM p; INSERT INTO p VALUES (\(value));
        SELECT group_concat(n) FROM t WHERE n NOT IN
          (SELECT rowid FROM pragma_foreign_key_check('t'));
        SELECT group_concat(n) FROM (SELECT m.n FROM t AS m, p AS o
          WHERE \(key.parentCondition("o", childValues: ["m.c"])) ORDER BY n);
        SELECT group_concat(n) FROM (SELECT m.n FROM t AS m
          WHERE EXISTS (SELECT 1 FROM p AS o WHERE \(key.childCondition("m", parentValues: ["o.k"]))) ORDER BY n);
        SELECT group_concat(n) FROM (SELECT m.n FROM t AS m WHERE EXISTS (SELECT 1 FROM p AS o
          WHERE \(key.childCondition("m", parentValues: ["o.k"], areColumns: true))) ORDER BY n);
        SELECT group_concat(n) FROM (SELECT m.n FROM t AS m WHERE EXISTS (SELECT 1 FROM p AS o
          WHERE \(key.childCondition("m", parentValues: ["(CASE WHEN 1 THEN o.k END)"]))) ORDER BY n);
        SELECT group_concat(n) FROM (SELECT m.n FROM t AS m
          WHERE \(key.comparables(["m.c"])[0]) IN (SELECT k FROM p) ORDER BY n);
        SELECT count(*) FROM t, p WHERE \(key.parentCondition("p", childValues: ["t.c"]))
          AND (typeof(c) <> typeof(k) OR c <> k COLLATE BINARY);
      """
    }
    let results = try sqlite(file.path, "BEGIN; \(scripts.joined()) ROLLBACK")
    try #require(results.count == 7 * values.count)
    for (number, value) in values.enumerated() {
      let rows = Array(results[(7 * number)..<(7 * number + 7)])
      let place: Comment = "\(value): \(key.childCondition("m", parentValues: ["o.k"]))"
      #expect(rows.prefix(5) == [rows[0], rows[0], rows[0], rows[0], rows[0]], place)
      // IN converts integers beyond 2^53 to doubles and finds more rows, which does no harm.
      if owner != "REAL PRIMARY KEY" { #expect(rows[5] == rows[0], place) }
      // A column without a type stores 7 and 7.0 unchanged.
      let isUntyped = owner == "PRIMARY KEY" && ["", "COLLATE NOCASE"].contains(member)
      if isExact, !isUntyped { #expect(rows[6] == "0", place) }
    }
  }

  /// A bound value is compared like the object that has it.
  @Test(arguments: owners, members)
  func boundValuesAreComparedTheSameWay(owner: String, member: String) throws {
    let file = try Self.file(owner, member)
    let key = try Self.key(of: file)
    let connection = try file.connect()
    try connection.execute("PRAGMA foreign_keys = OFF; BEGIN")
    for value in Self.values(of: owner) {
      try connection.execute("DELETE FROM p; INSERT INTO p VALUES (\(value))")
      let stored = try #require(try connection.first("SELECT k FROM p") { $0.values(0..<1) })
      let expected = try connection.all(
        "SELECT n FROM t WHERE n NOT IN (SELECT rowid FROM pragma_foreign_key_check('t'))"
      ) { $0.integer(0) }
      for test in [" = ", " IS "] {
        let found = try connection.all(
          "SELECT n FROM t WHERE \(key.refersToBound(nil, test)) ORDER BY n", stored
        ) { $0.integer(0) }
        #expect(found == expected, "\(value): \(key.refersToBound(nil, test))")
      }
    }
  }

  @Test(arguments: [
    ("INTEGER PRIMARY KEY", "INTEGER", "c = o.k", true),
    ("INTEGER PRIMARY KEY", "DECIMAL", "c = o.k", true),
    ("TEXT PRIMARY KEY", "VARCHAR(2)", "c = o.k", true),
    ("TEXT COLLATE NOCASE PRIMARY KEY", "TEXT COLLATE NOCASE", "c = o.k", false),
    ("TEXT COLLATE NOCASE PRIMARY KEY", "TEXT", "c COLLATE \"NOCASE\" = o.k", false),
    ("TEXT PRIMARY KEY", "TEXT COLLATE NOCASE", "c = o.k AND c COLLATE \"BINARY\" = o.k", true),
    ("INTEGER PRIMARY KEY", "REAL", "c = o.k", false),
    ("PRIMARY KEY", "INTEGER", "+c = o.k", false),
    ("PRIMARY KEY", "TEXT", "+c = o.k", false),
    ("PRIMARY KEY", "", "c = o.k", true),
  ])
  func columnsThatCompareAlikeAreComparedPlainly(
    _ row: (owner: String, member: String, sql: String, isKey: Bool)
  ) throws {
    let file = try ScratchFile(
      "CREATE TABLE p(k \(row.owner)); CREATE TABLE t(c \(row.member) REFERENCES p, x);")
    let key = try Self.key(of: file)
    #expect(key.childCondition(nil, parentValues: ["o.k"]).replacing("\"c\"", with: "c") == row.sql)
    #expect(key.referencesKey == row.isKey)
  }

  private static func key(of file: ScratchFile) throws -> ForeignKey {
    let schema = try Introspection(of: file.connect()).schema
    let table = try #require(schema.entities.first { $0.name == "t" })
    for case .foreignKey(let key) in table.relationships { return key }
    throw SQLFailure(text: "no foreign key")
  }
}
