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
