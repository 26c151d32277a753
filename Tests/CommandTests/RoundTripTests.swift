// Exports of `livefetch export` that `livefetch import` reads again: references within a table, computed
// values, composite keys.

import Foundation
import TestSupport
import Testing

@testable import PostgresStore

@Suite("An export can be imported", .mayBlock)
struct RoundTripTests {
  /// Runs the program in `folder`, and expects the exit status 0.
  @discardableResult
  private func run(
    _ arguments: String..., in folder: Folder, input: String = ""
  ) throws -> Outcome {
    let outcome = try folder.run(arguments, input: input)
    #expect(outcome.status == 0, "\(outcome.errors)")
    return outcome
  }

  private static let tree = """
    CREATE TABLE n(id INTEGER PRIMARY KEY, name TEXT, p INTEGER REFERENCES n(id));
    """

  @Test(
    "Rows may refer to later rows of the same table, in any format",
    arguments: [
      ("n.csv", "id,name,p\n1,a,2\n2,b,3\n3,\"c\nd\",\n4,e,5\n5,f,1"),
      ("n.tsv", "id\tname\tp\n1\ta\t2\n2\tb\t3\n3\t\"c\nd\"\t\n4\te\t5\n5\tf\t1"),
      (
        "n.json",
        #"[{"id":1,"name":"a","p":2},{"id":2,"name":"b","p":3},{"id":3,"name":"c\nd"},"#
          + #"{"id":4,"name":"e","p":5},{"id":5,"name":"f","p":1}]"#
      ),
    ])
  func laterRows(file: String, text: String) throws {
    let folder = try Folder()
    try folder.sql(Self.tree, on: "t.sqlite")
    try folder.write(text, to: file)
    let outcome = try run("import", "t.sqlite", file, "--into", "n", in: folder)
    #expect(outcome.output.hasPrefix("n: 5 inserted in "), "\(outcome.output)")
    #expect(
      try folder.sql(
        "SELECT id, replace(name, char(10), '/'), coalesce(p, '-') FROM n", on: "t.sqlite")
        == ["1|a|2", "2|b|3", "3|c/d|-", "4|e|5", "5|f|1"])
  }

  @Test("Rows may refer to later rows of a PostgreSQL table")
  func laterRowsOfADatabase() throws {
    let target = try PostgresServer.shared().newDatabase()
    let folder = try Folder()
    let text = "id,p\n1,2\n2,3\n3,\n4,5\n5,1\n6,6\n"
    try folder.write(text, to: "n.csv")
    try PostgresConnection(target).execute(
      "CREATE TABLE n(id int PRIMARY KEY, p int REFERENCES n)")
    let outcome = try run("import", target, "n.csv", "--into", "n", in: folder)
    #expect(outcome.output.hasPrefix("n: 6 inserted in "), "\(outcome.output)")
    let exported = try run("export", target, "n", in: folder)
    #expect(exported.output == text)
  }

  @Test("Rows that refer to each other in a circle, or to nothing, are refused by line")
  func circles() throws {
    let folder = try Folder()
    try folder.sql(Self.tree, on: "t.sqlite")
    let outcome = try folder.run(
      ["import", "t.sqlite", "-", "--into", "n", "--rejects", "r.csv"],
      input: "id,name,p\n1,a,2\n2,b,1\n3,c,4\n4,d,9\n5,e,5\n6,f,5\n")
    #expect(outcome.status == 65)
    let reason = "a relationship refers to an object that does not exist"
    #expect(
      outcome.errors
        == [2, 3, 4, 5].map { "livefetch: standard input: line \($0): \(reason)\n" }
        .joined())
    #expect(try folder.read("r.csv") == "id,name,p\n1,a,2\n2,b,1\n3,c,4\n4,d,9\n")
    #expect(try folder.sql("SELECT id, p FROM n", on: "t.sqlite") == ["5|5", "6|5"])
  }

  @Test(
    "Under a model a row may refer to a later row and to itself, and derived values are left out")
  func model() throws {
    let folder = try Folder()
    try folder.write(
      """
      {"entities":[{"name":"Person","attributes":[{"name":"name","type":"String"},
        {"name":"n","type":"Integer 64","derivation":"staff.@count"}],"relationships":[
        {"name":"boss","destination":"Person","inverse":"staff"},
        {"name":"staff","destination":"Person","toMany":true,"inverse":"boss"}]}]}
      """, to: "m.json")
    for name in ["a.sqlite", "b.sqlite"] {
      try folder.write("", to: name)
      try folder.serveOnce(name, ["--model", "m.json"])
    }
    let text = "id,name,n,boss\n1,Ann,0,2\n2,Bob,2,2\n"
    let outcome = try run("import", "a.sqlite", "-", "--into", "Person", in: folder, input: text)
    #expect(
      outcome.errors
        == "livefetch: standard input: not imported, because the store computes it: 'n'\n")
    let exported = try run(
      "export", "a.sqlite", "Person", "--select", "name,n,boss", "--sort", "id", in: folder)
    #expect(exported.output == text)
    try run(
      "import", "b.sqlite", "-", "--into", "Person", "--quiet", in: folder, input: exported.output)
    #expect(
      try folder.sql("SELECT id, name, boss FROM Person", on: "b.sqlite") == ["1|Ann|2", "2|Bob|2"])
  }

  @Test("The id of a composite key and a generated column are left out")
  func compositeKey() throws {
    let folder = try Folder()
    let table = """
      CREATE TABLE k(a TEXT, b INTEGER, v TEXT, w TEXT AS (upper(v)) STORED, PRIMARY KEY(a, b));
      """
    let rows = "INSERT INTO k VALUES ('x,y', 1, 'one'), ('z', 2, 'two');"
    try folder.sql(table + rows, on: "a.sqlite")
    try folder.sql(table, on: "b.sqlite")
    let exported = try run("export", "a.sqlite", "k", in: folder)
    #expect(exported.output.hasPrefix("id,a,b,v,w\n"), "\(exported.output)")
    let outcome = try run(
      "import", "b.sqlite", "-", "--into", "k", in: folder, input: exported.output)
    #expect(
      outcome.errors
        == "livefetch: standard input: not imported, because the store computes it: 'id', 'w'\n")
    let again = try run("export", "b.sqlite", "k", in: folder)
    #expect(again.output == exported.output)
  }

  @Test(
    "A relationship to a composite key is left out if its columns are there",
    arguments: ["csv", "json", "ndjson"])
  func compositeLink(format: String) throws {
    let folder = try Folder()
    let tables = """
      CREATE TABLE k(a TEXT, b INTEGER, PRIMARY KEY(a, b));
      CREATE TABLE c(id INTEGER PRIMARY KEY, ka TEXT, kb INTEGER, n TEXT,
        FOREIGN KEY(ka, kb) REFERENCES k(a, b));
      INSERT INTO k VALUES ('x', 1);
      """
    try folder.sql(
      tables + "INSERT INTO c VALUES (1, 'x', 1, 'm'), (2, NULL, NULL, 'n')", on: "a.sqlite")
    try folder.sql(tables, on: "b.sqlite")
    let exported = try run("export", "a.sqlite", "c", "--format", format, in: folder)
    let outcome = try run(
      "import", "b.sqlite", "-", "--into", "c", in: folder, input: exported.output)
    #expect(
      outcome.errors
        == "livefetch: standard input: not imported, because the store computes it: 'k'\n")
    #expect(
      try folder.sql("SELECT id, coalesce(ka, '-'), coalesce(kb, '-'), n FROM c", on: "b.sqlite")
        == ["1|x|1|m", "2|-|-|n"])
  }

  @Test("--key id of a composite key is refused with the names of the key's columns")
  func compositeKeyByID() throws {
    let folder = try Folder()
    try folder.sql("CREATE TABLE k(a TEXT, b INTEGER, v TEXT, PRIMARY KEY(a, b))", on: "a.sqlite")
    let outcome = try folder.run(
      ["import", "a.sqlite", "-", "--into", "k", "--key", "id"],
      input: "id,a,b,v\n\"x,1\",x,1,one\n")
    #expect(outcome.status == 64)
    #expect(outcome.errors == "livefetch: k has no property 'id'; did you mean 'a,b'?\n")
  }

  private static let binary = """
    CREATE TABLE f(h BLOB PRIMARY KEY NOT NULL, name TEXT, data BLOB);
    CREATE TABLE g(id INTEGER PRIMARY KEY, f BLOB REFERENCES f(h));
    """

  @Test(
    "The ids of binary keys, and relationships to them, are hex, and other bytes are base64",
    arguments: ["csv", "tsv", "json", "ndjson"])
  func binaryKeys(format: String) throws {
    let folder = try Folder()
    let rows = """
      INSERT INTO f VALUES (x'0AFF', 'ann', x'01'), (x'', 'none', NULL);
      INSERT INTO g VALUES (1, x'0AFF'), (2, NULL), (3, x'');
      """
    try folder.sql(Self.binary + rows, on: "a.sqlite")
    try folder.sql(Self.binary, on: "b.sqlite")
    for entity in ["f", "g"] {
      let exported = try run("export", "a.sqlite", entity, "--format", format, in: folder)
      for counts in [" inserted, 0 updated", "0 inserted, "] {
        let outcome = try run(
          "import", "b.sqlite", "-", "--into", entity, "--key", "id", in: folder,
          input: exported.output)
        #expect(outcome.output.contains(counts), "\(outcome.output)")
      }
    }
    #expect(
      try folder.sql(
        "SELECT typeof(h), hex(h), name, hex(data) FROM f ORDER BY h", on: "b.sqlite")
        == ["blob||none|", "blob|0AFF|ann|01"])
    #expect(
      try folder.sql("SELECT id, typeof(f), hex(f) FROM g", on: "b.sqlite")
        == ["1|blob|0AFF", "2|null|", "3|blob|"])
  }

  @Test("The id of a binary key that is not hex in upper case is refused")
  func invalidBinaryKey() throws {
    let folder = try Folder()
    try folder.sql(Self.binary, on: "a.sqlite")
    let outcome = try folder.run(
      ["import", "a.sqlite", "-", "--into", "f"], input: "id,name\n0aff,ann\nAQI=,bob\n0A,cy\n")
    #expect(outcome.status == 65)
    #expect(
      outcome.errors == """
        livefetch: standard input: line 2: `id` takes hex in upper case, not '0aff'
        livefetch: standard input: line 3: `id` takes hex in upper case, not 'AQI='

        """)
    #expect(try folder.sql("SELECT hex(h), name FROM f", on: "a.sqlite") == ["0A|cy"])
  }

  @Test(
    "The ids of REAL keys, and relationships to them, are imported from strings of JSON",
    arguments: ["csv", "json", "ndjson"])
  func realKeys(format: String) throws {
    let folder = try Folder()
    let tables = """
      CREATE TABLE r(x REAL PRIMARY KEY NOT NULL, n TEXT);
      CREATE TABLE s(id INTEGER PRIMARY KEY, r REAL REFERENCES r(x));
      """
    let rows = """
      INSERT INTO r VALUES (1.5, 'a'), (2, 'b'); INSERT INTO s VALUES (1, 1.5), (2, NULL);
      """
    try folder.sql(tables + rows, on: "a.sqlite")
    try folder.sql(tables, on: "b.sqlite")
    for entity in ["r", "s"] {
      let exported = try run("export", "a.sqlite", entity, "--format", format, in: folder)
      try run("import", "b.sqlite", "-", "--into", entity, in: folder, input: exported.output)
    }
    #expect(
      try folder.sql("SELECT typeof(x), x, n FROM r ORDER BY x", on: "b.sqlite")
        == ["real|1.5|a", "real|2.0|b"])
    #expect(
      try folder.sql("SELECT id, coalesce(r, '-') FROM s", on: "b.sqlite") == ["1|1.5", "2|-"])
    let refused = try folder.run(
      ["import", "b.sqlite", "-", "--into", "r", "--format", "ndjson"], input: #"{"id":"many"}"#)
    #expect(refused.status == 65)
    #expect(refused.errors.contains("`id` takes a number"), "\(refused.errors)")
  }

  @Test("The ids of binary keys of PostgreSQL are hex, and those of numbers are imported from JSON")
  func keysOfADatabase() throws {
    let target = try PostgresServer.shared().newDatabase()
    let folder = try Folder()
    let connection = try PostgresConnection(target)
    try connection.execute(
      """
      CREATE TABLE f(h bytea PRIMARY KEY, name text);
      CREATE TABLE g(id int PRIMARY KEY, f bytea REFERENCES f);
      CREATE TABLE r(x double precision PRIMARY KEY, n text);
      INSERT INTO f VALUES ('\\x0aff', 'ann');
      INSERT INTO g VALUES (1, '\\x0aff'), (2, NULL);
      INSERT INTO r VALUES (1.5, 'a');
      """)
    for format in ["csv", "ndjson"] {
      let exported = try ["f", "g", "r"].map {
        try run("export", target, $0, "--format", format, in: folder).output
      }
      try connection.execute("DELETE FROM g; DELETE FROM f; DELETE FROM r")
      for (entity, text) in zip(["f", "g", "r"], exported) {
        try run("import", target, "-", "--into", entity, in: folder, input: text)
      }
      let again = try ["f", "g", "r"].map {
        try run("export", target, $0, "--format", format, in: folder).output
      }
      #expect(again == exported)
    }
  }

  private static let people = """
    {"entities":[{"name":"Person","attributes":[{"name":"name","type":"String"}]},
      {"name":"Guest","parent":"Person","attributes":[{"name":"room","type":"Integer 16"}]},
      {"name":"Employee","parent":"Person"}]}
    """

  @Test("A row is imported as the subentity that its `entity` names, and one of another is refused")
  func subentities() throws {
    let folder = try Folder()
    try folder.write(Self.people, to: "m.json")
    for name in ["a.sqlite", "b.sqlite"] {
      try folder.write("", to: name)
      try folder.serveOnce(name, ["--model", "m.json"])
    }
    let changes =
      #"[{"insert":"Person","values":{"name":"a"}},{"insert":"Guest","values":{"name":"b"}}]"#
    try run("save", "a.sqlite", "-", in: folder, input: changes)
    let exported = try run("export", "a.sqlite", "Person", "--sort", "id", in: folder)
    #expect(exported.output == "id,entity,name\n1,Person,a\n2,Guest,b\n")
    let outcome = try run(
      "import", "b.sqlite", "-", "--into", "Person", in: folder, input: exported.output)
    #expect(outcome.errors == "")
    let again = try run(
      "import", "b.sqlite", "-", "--into", "Person", "--key", "id", in: folder,
      input: "id,entity,name\n2,Guest,c\n3,,d\n")
    #expect(again.output.hasPrefix("Person: 1 inserted, 1 updated in "), "\(again.output)")
    #expect(
      try folder.sql("SELECT id, entity, name FROM Person", on: "b.sqlite")
        == ["1|Person|a", "2|Guest|c", "3|Person|d"])
    let refused = try folder.run(
      ["import", "b.sqlite", "-", "--into", "Employee"], input: exported.output)
    #expect(refused.status == 65)
    #expect(
      refused.errors.contains("line 3: `Guest` is not Employee, nor does it inherit from it"),
      "\(refused.errors)")
    #expect(try folder.sql("SELECT count(*) FROM Person", on: "b.sqlite") == ["3"])
  }

  @Test("A heading with semicolons makes no new table of one column")
  func semicolons() throws {
    let folder = try Folder()
    let outcome = try folder.run(
      ["import", "new.sqlite", "-", "--into", "t"], input: "id;name\n1;Ann\n")
    #expect(outcome.status == 65)
    #expect(
      outcome.errors == """
        livefetch: standard input: the heading is one name, 'id;name': separate the values by commas, or \
        by tabs with --format tsv

        """)
    #expect(!folder.has("new.sqlite"))
  }

  @Test(
    "An array of JSON whose elements are not separated by one comma is refused",
    arguments: [#"[,{"a":1}]"#, #"[{"a":1},]"#, #"[{"a":1},,{"a":2}]"#])
  func commas(text: String) throws {
    let folder = try Folder()
    let outcome = try folder.run(
      ["import", "new.sqlite", "-", "--into", "t", "--format", "json"], input: text)
    #expect(outcome.status == 65, "\(outcome.output)")
    #expect(outcome.errors.contains("an object is expected before"), "\(outcome.errors)")
    #expect(!folder.has("new.sqlite"))
  }
}
