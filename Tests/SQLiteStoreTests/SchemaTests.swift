// Introspection of SQLite files: tables → entities, relationships, names and keys.

import FetchModel
import SQLComposer
import TestSupport
import Testing

@testable import SQLiteStore

/// Describes a model, one line per property: `City.country -> Country? (many) ~ city`.
private func describe(_ sql: String) throws -> [String] {
  let file = try ScratchFile(sql)
  let (model, schema) = try introspect(file)
  return model.entities.enumerated().flatMap { index, entity in
    let flags =
      (entity.isObservable ? "" : " unobservable") + (entity.isWritable ? "" : " read-only")
    return ["\(entity.name) id:\(entity.idType)\(flags)"]
      + entity.propertyOrder.map { line($0, of: entity, in: model, schema.entities[index]) }
  }
}

private func introspect(_ file: ScratchFile) throws -> (Model, Schema) {
  let introspection = try Introspection(of: file.connect())
  return (introspection.model, introspection.schema)
}

private func line(
  _ property: Property, of entity: Entity, in model: Model, _ table: EntityTable
) -> String {
  switch property {
  case .id: return "id"
  case .attribute(let index):
    let attribute = entity.attributes[index]
    let format = attribute.dateFormat.map { " \($0.rawValue)" } ?? ""
    return "  \(attribute.name): \(attribute.type)\(attribute.isOptional ? "?" : "")\(format)"
      + (attribute.isWritable ? "" : " fixed") + (attribute.hasDefault ? " default" : "")
  case .relationship(let index):
    let relationship = entity.relationships[index]
    let destination = model.entities[relationship.destination]
    let inverse = relationship.inverse.map { " ~ \(destination.relationships[$0].name)" } ?? ""
    return "  \(relationship.name) -> \(destination.name)"
      + (relationship.isToMany ? "*" : relationship.isOptional ? "?" : "") + inverse
  }
}

@Suite("Schema: an SQLite file as it is", .mayBlock)
struct SchemaTests {
  @Test("tables are entities, and a foreign key is a relationship with an inverse")
  func sampleIsServed() throws {
    #expect(
      try describe(
        """
        CREATE TABLE Country(id INTEGER PRIMARY KEY, name TEXT NOT NULL, code CHAR(2) UNIQUE);
        CREATE TABLE City(id INTEGER PRIMARY KEY, name TEXT NOT NULL, population INT DEFAULT 0,
          country_id INTEGER NOT NULL REFERENCES Country);
        """) == [
          "Country id:integer", "  name: string", "  code: string?", "  City -> City* ~ country",
          "City id:integer", "  name: string", "  population: integer? default",
          "  country -> Country ~ City",
        ])
  }

  @Test("several keys to one table get inverses by their names, self references too")
  func severalKeys() throws {
    #expect(
      try describe(
        """
        CREATE TABLE city(id INTEGER PRIMARY KEY);
        CREATE TABLE person(id INTEGER PRIMARY KEY, birthplace_id REFERENCES city, home INTEGER
          REFERENCES city(id), boss_id INTEGER REFERENCES person);
        """) == [
          "city id:integer", "  person_by_birthplace -> person* ~ birthplace",
          "  person_by_home -> person* ~ home",
          "person id:integer", "  birthplace -> city? ~ person_by_birthplace",
          "  home -> city? ~ person_by_home", "  boss -> person? ~ person",
          "  person -> person* ~ boss",
        ])
  }

  @Test("a table of two foreign keys is a to-many relationship on each side")
  func joinTables() throws {
    #expect(
      try describe(
        """
        CREATE TABLE post(id INTEGER PRIMARY KEY);
        CREATE TABLE tag(name TEXT PRIMARY KEY NOT NULL);
        CREATE TABLE post_tag(post_id REFERENCES post, tag REFERENCES tag,
          PRIMARY KEY(post_id, tag)) WITHOUT ROWID;
        CREATE TABLE reader(id INTEGER PRIMARY KEY, post_id REFERENCES post, tag REFERENCES tag,
          at DATETIME);
        CREATE TABLE friend(n INTEGER PRIMARY KEY, a REFERENCES post, b REFERENCES post);
        """) == [
          "post id:integer", "  reader -> reader* ~ post", "  tag -> tag* ~ post",
          "  post -> post* ~ post_", "  post_ -> post* ~ post",
          "tag id:string", "  reader -> reader* ~ tag", "  post -> post* ~ tag",
          "reader id:integer", "  post -> post? ~ reader", "  tag -> tag? ~ reader",
          "  at: date? iso8601",
        ])
  }

  @Test("taken names get an underscore; the key's own name and raw column names are aliases")
  func takenNames() throws {
    let file = try ScratchFile(
      """
      CREATE TABLE country(code TEXT PRIMARY KEY, id TEXT, city TEXT);
      CREATE TABLE city(nr INTEGER PRIMARY KEY, country TEXT, country_id REFERENCES country);
      """)
    let (model, _) = try introspect(file)
    #expect(model.entities[0].propertyNames == ["id", "id_", "city", "city_"])
    #expect(model.entities[1].propertyNames == ["id", "country", "country_"])
    #expect(model.entities[0].property(namedOrAliased: "code") == .id)
    #expect(model.entities[1].property(namedOrAliased: "nr") == .id)
    #expect(model.entities[1].property(namedOrAliased: "country_id") == .relationship(0))
    #expect(model.entities[1].property(namedOrAliased: "country") == .attribute(0))
    #expect(model.entities[1].property(named: "country_id") == nil)
  }

  @Test("views and tables without a primary key are read-only and cannot be followed")
  func readOnly() throws {
    #expect(
      try describe(
        """
        CREATE TABLE log(line TEXT);
        CREATE VIEW v AS SELECT 1 AS id, 'a' AS name;
        CREATE VIEW w AS SELECT 2.5 AS score;
        CREATE VIEW broken AS SELECT * FROM nowhere;
        """) == [
          "log id:integer unobservable read-only", "  line: string?",
          "v id:integer unobservable read-only", "  name: string? fixed",
          "w id:string unobservable read-only", "  score: double? fixed",
        ])
  }

  @Test("a view that never ends is opened as one without rows")
  func endlessView() throws {
    #expect(
      try describe(
        """
        CREATE VIEW n AS WITH RECURSIVE numbers(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM numbers)
          SELECT x AS id, x AS v FROM numbers WHERE x < 0;
        """) == ["n id:string unobservable read-only", "  v: string? fixed"])
  }

  @Test("declared types, and date formats from the first value")
  func types() throws {
    #expect(
      try describe(
        """
        CREATE TABLE t(id INTEGER PRIMARY KEY, a INT, b REAL, c VARCHAR(9), d BLOB, e BOOLEAN,
          f NUMERIC(9,2), g UUID, h JSON, i, j DATE, k TIMESTAMP, l DATETIME, m DATETIME,
          n DATETIME DEFAULT CURRENT_TIMESTAMP, o MONEY, p TEXT AS (a || c), q DATE);
        INSERT INTO t(i,k,l,m,o) VALUES (NULL, NULL, NULL, NULL, NULL);
        INSERT INTO t(i,k,l,m,o) VALUES
          (1.5, '2024-01-31 10:00:00', 1700000000, '2024-01-31T10:00:00Z', 'x');
        """
      ).dropFirst() == [
        "  a: integer?", "  b: double?", "  c: string?", "  d: binary?", "  e: boolean?",
        "  f: decimal?", "  g: uuid?", "  h: json?", "  i: double?", "  j: date? day",
        "  k: date? sqlText", "  l: date? unixSeconds", "  m: date? iso8601",
        "  n: date? sqlText default", "  o: string?", "  p: string? fixed", "  q: date? day",
      ])
  }

  @Test("the first value that is a date decides the format, and without one the declared type")
  func noDates() throws {
    #expect(
      try describe(
        """
        CREATE TABLE t(id INTEGER PRIMARY KEY, a DATETIME, b DATETIME, c DATE, d DATETIME, e DATE);
        INSERT INTO t(a, b, c, d, e) VALUES ('soon', '2024-02-30', 'soon', 'soon', x'00');
        INSERT INTO t(a, b) VALUES ('2024-01-31 10:00:00', 1700000000);
        """
      ).dropFirst() == [
        "  a: date? sqlText", "  b: date? unixSeconds", "  c: date? day", "  d: date? iso8601",
        "  e: date? day",
      ])
  }

  @Test(
    "a file with a name that hides another one is refused",
    arguments: [
      (
        "CREATE TABLE \"caf\u{e9}\"(id INTEGER PRIMARY KEY); "
          + "CREATE VIEW \"Cafe\u{301}\" AS SELECT 1 AS id",
        "two tables or views have the name `Cafe\u{301}`, in different Unicode forms (rename one of them)"
      ),
      (
        "CREATE TABLE t(id INTEGER PRIMARY KEY, \"caf\u{e9}\" TEXT, \"cafe\u{301}\" TEXT)",
        "two columns of `t` have the name `cafe\u{301}`, in different Unicode forms (rename one of them)"
      ),
      (
        "CREATE TABLE Json_Each(id INTEGER PRIMARY KEY)",
        "a table or view `json_each` hides SQLite's function of that name (rename it)"
      ),
    ])
  func hidingNames(sql: String, reason: String) throws {
    let file = try ScratchFile(sql)
    #expect(throws: StoreError.unusable(reason)) { try introspect(file) }
  }

  @Test("an exported default is a text, not an expression that begins and ends with quotes")
  func exportedDefaults() throws {
    let file = try ScratchFile(
      """
      CREATE TABLE t(id INTEGER PRIMARY KEY, a TEXT DEFAULT ('x' || 'y'), b TEXT DEFAULT 'it''s',
        c TEXT DEFAULT '');
      """)
    let inferred = try SQLiteStore.inferredModel(path: file.path)
    let defaults = inferred.model.entities[0].attributes.map(\.defaultValue)
    #expect(defaults == [nil, JSON.string("it's"), JSON.string("")])
    #expect(inferred.remarks.map(\.description) == ["t.a: the default stays the table's own"])
  }

  @Test("all names are quoted")
  func hostileNames() throws {
    let file = try ScratchFile(
      #"CREATE TABLE "a""b; DROP"("k""" INTEGER PRIMARY KEY, "x'y" TEXT, "naïve 😀" INT)"#)
    let (model, schema) = try introspect(file)
    #expect(model.entities[0].name == "a\"b; DROP")
    #expect(schema.entities[0].quotedName == "\"a\"\"b; DROP\"")
    #expect(model.entities[0].propertyNames == ["id", "x'y", "naïve 😀"])
  }

  @Test("foreign keys to composite and unique columns, to missing tables, and in another case")
  func foreignKeys() throws {
    let file = try ScratchFile(
      """
      CREATE TABLE Order_(Year INT, no INT, code TEXT UNIQUE, PRIMARY KEY(year, no));
      CREATE TABLE line(id INTEGER PRIMARY KEY, n INT, y INT,
        FOREIGN KEY(n, y) REFERENCES order_(no, year));
      CREATE TABLE note(id INTEGER PRIMARY KEY, code TEXT REFERENCES ORDER_(CODE),
        lost_id REFERENCES nowhere);
      """)
    let (model, schema) = try introspect(file)
    #expect(model.entities[0].idType == .string)
    #expect(model.entities[0].propertyNames == ["id", "Year", "no", "code", "line", "note"])
    #expect(model.entities[1].propertyNames == ["id", "n", "y", "Order_"])
    #expect(
      schema.entities[1].relationships == [
        .foreignKey(
          ForeignKey(
            columns: ["y", "n"], table: "Order_", referenced: ["Year", "no"],
            referencesKey: true))
      ])
    #expect(model.entities[2].propertyNames == ["id", "lost_id", "code"])
    #expect(
      schema.entities[2].relationships == [
        .foreignKey(
          ForeignKey(
            columns: ["code"], table: "Order_", referenced: ["code"], referencesKey: false))
      ])
  }

  @Test("full-text tables and the server's own tables are not served")
  func hiddenTables() throws {
    #expect(
      try describe(
        """
        CREATE VIRTUAL TABLE search USING fts5(body);
        CREATE TABLE livefetch_position(position INTEGER PRIMARY KEY);
        CREATE TABLE a(id INTEGER PRIMARY KEY AUTOINCREMENT);
        """) == ["a id:integer"])
  }

  @Test("unique indexes are read with their expressions and conditions")
  func uniqueIndexes() throws {
    let file = try ScratchFile(
      """
      CREATE TABLE t(id INTEGER PRIMARY KEY, a TEXT COLLATE NOCASE UNIQUE, b TEXT, gone INT);
      CREATE UNIQUE INDEX u ON t(lower(b) || ',)' DESC, a) WHERE gone IS NULL;
      """)
    let table = try introspect(file).1.entities[0]
    #expect(
      table.uniqueIndexes.map(\.parts) == [
        [UniqueIndex.Part(expression: "\"a\"", column: "a", collation: "NOCASE")],
        [
          UniqueIndex.Part(expression: "(lower(b) || ',)' )", column: nil, collation: "BINARY"),
          UniqueIndex.Part(expression: "\"a\"", column: "a", collation: "NOCASE"),
        ],
      ])
    #expect(table.uniqueIndexes[1].condition == " gone IS NULL")
    #expect(table.columns.map(\.collation) == ["BINARY", "NOCASE", "BINARY", "BINARY"])
  }

  @Test("comments in the text of an index are no part of its expressions and its condition")
  func indexComments() throws {
    let file = try ScratchFile(
      """
      CREATE TABLE t(id INTEGER PRIMARY KEY, a TEXT, b TEXT, gone INT);
      CREATE UNIQUE INDEX u ON t(lower(a) DESC -- the newest, first)
        , trim(b)/* ) */desc, 'asc' /* ' */ || b) /* one living */ WHERE gone IS NULL -- or none
        ;
      """)
    let index = try #require(introspect(file).1.entities[0].uniqueIndexes.first)
    #expect(index.parts.map(\.expression) == ["(lower(a) )", "( trim(b) )", "( 'asc'   || b)"])
    #expect(
      index.condition?.split(whereSeparator: \.isWhitespace) == ["gone", "IS", "NULL"],
      "\(index)")
  }
}

@Suite("Schema: keys as SQL and as ids", .mayBlock)
struct SchemaKeyTests {
  @Test("a composite id is its parts joined by commas, both ways")
  func compositeIDs() throws {
    let file = try ScratchFile(
      """
      CREATE TABLE t(a TEXT, b INT, c TEXT, PRIMARY KEY(a, b));
      INSERT INTO t VALUES ('50%,x', 7, 'hit'), ('', 1, 'empty');
      """)
    let key = try introspect(file).1.entities[0].key
    let connection = try file.connect()
    let ids = try connection.all("SELECT \(key.idExpression("t0")) FROM t AS t0") { $0.id(0) }
    #expect(Set(ids) == [.text("50%25%2Cx,7"), .text(",1")])
    let bindings = try #require(key.bindings(of: .text("50%25%2Cx,7")))
    #expect(bindings == [.text("50%,x"), .integer(7)])
    #expect(key.id(of: bindings) == .text("50%25%2Cx,7"))
    let found = try connection.first(
      "SELECT c FROM t WHERE \(key.lookupCondition(nil))", bindings
    ) { $0.text(0) }
    #expect(found == "hit")
  }

  @Test(
    "text that is not an id identifies no object",
    arguments: ["a", "a,b,c", "a%,1", "a%2c,1", "a,01", "a,1.50", "%41,1", ""])
  func malformedIDs(_ text: String) throws {
    let file = try ScratchFile("CREATE TABLE t(a TEXT, b INT, PRIMARY KEY(a, b))")
    #expect(try introspect(file).1.entities[0].key.bindings(of: .text(text)) == nil)
  }

  @Test("binary keys are hexadecimal, and the id of an integer key is not text")
  func otherKeys() throws {
    let file = try ScratchFile(
      "CREATE TABLE b(k BLOB PRIMARY KEY); CREATE TABLE i(k INTEGER PRIMARY KEY)")
    let schema = try introspect(file).1
    #expect(schema.entities[0].key.bindings(of: .text("0AFF")) == [.blob([0x0A, 0xFF])])
    #expect(schema.entities[0].key.bindings(of: .text("0aFF")) == nil)
    #expect(schema.entities[0].key.id(of: [.blob([0x0A, 0xFF])]) == .text("0AFF"))
    #expect(schema.entities[1].key.bindings(of: .integer(5)) == [.integer(5)])
    #expect(schema.entities[1].key.bindings(of: .text("5")) == nil)
  }

  @Test("an ETag changes with any stored value and is the same in Swift and in SQL")
  func etags() throws {
    let file = try ScratchFile(
      """
      CREATE TABLE t(id INTEGER PRIMARY KEY, a, b, c AS (a || 'x'));
      INSERT INTO t VALUES (1, 'a', NULL), (2, 'a', x'61');
      """)
    let table = try introspect(file).1.entities[0]
    let connection = try file.connect()
    let sql = "SELECT id, a, b, \(table.etagExpression("t")) FROM t ORDER BY id"
    let etags = try connection.all(sql) { ($0.etag(0..<3), $0.text(3)) }
    #expect(etags[0].0 == etags[0].1)
    #expect(etags[1].0 == etags[1].1)
    #expect(etags[0].0 != etags[1].0)
    #expect(etags[0].0.count == 16)
    try connection.execute("UPDATE t SET b = 1 WHERE id = 1")
    let later = try connection.first(sql) { $0.text(3) }
    #expect(later != etags[0].1)
  }
}
