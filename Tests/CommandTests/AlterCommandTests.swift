// `livefetch alter`: what it refuses, and what clients see of it.

import Foundation
import TestSupport
import Testing

@Suite("livefetch alter", .mayBlock)
struct AlterCommandTests {
  @Test("`alter` refuses SQL after which more rows refer to missing rows than before")
  func alterWithOrphans() throws {
    let folder = try Folder()
    try folder.sql(
      """
      CREATE TABLE P(id INTEGER PRIMARY KEY);
      CREATE TABLE C(id INTEGER PRIMARY KEY, p INTEGER REFERENCES P(id) ON DELETE CASCADE);
      INSERT INTO P VALUES (1), (2); INSERT INTO C VALUES (1, 1), (2, 1), (3, 77);
      """, on: "k.sqlite")
    let refused = try folder.run("alter", "k.sqlite", "DELETE FROM P; DELETE FROM C WHERE id = 3")
    #expect(refused.status == 65)
    #expect(
      refused.errors == "livefetch: k.sqlite: 2 rows of C would refer to a P that does not exist\n")
    #expect(try folder.sql("SELECT count(*) FROM P", on: "k.sqlite") == ["2"])
    #expect(try folder.sql("SELECT count(*) FROM C", on: "k.sqlite") == ["3"])
    // The row that refers to 77 did so before.
    let replaced = try folder.run(
      "alter", "k.sqlite", "-",
      input: """
        CREATE TABLE N(id INTEGER PRIMARY KEY, name TEXT); INSERT INTO N(id) SELECT id FROM P;
        DROP TABLE P; ALTER TABLE N RENAME TO P; DELETE FROM P WHERE id = 2;
        """)
    #expect(replaced.status == 0, "\(replaced.errors)")
    #expect(try folder.sql("SELECT id FROM P", on: "k.sqlite") == ["1"])
    let renamed = try folder.run("alter", "k.sqlite", "ALTER TABLE C RENAME TO D")
    #expect(renamed.status == 0, "\(renamed.errors)")
  }

  @Test("A column is dropped by `alter`, served or not, and a new epoch begins")
  func alter() throws {
    let folder = try smallFolder()
    let server = try folder.serve("w.sqlite")
    func token() throws -> String {
      let json = try folder.run("fetch", server.address, "Country", "--format", "json").output
      return String(json.components(separatedBy: #""token":""#)[1].prefix { $0 != "\"" })
    }
    let before = try token()
    let statement = "ALTER TABLE City DROP COLUMN founded"
    #expect(throws: SQLFailure.self) { try folder.sql(statement, on: "w.sqlite") }
    let failed = try folder.run("alter", "w.sqlite", statement + ";\nDROP TABLE Nothing")
    #expect(failed.status == 65)
    #expect(failed.errors.contains("line 2"), "\(failed.errors)")
    #expect(try folder.run("check", "w.sqlite").status == 0)
    let done = try folder.run("alter", "w.sqlite", statement)
    #expect(done.output == "w.sqlite: changed City\n", "\(done.errors)")
    func shown() throws -> String {
      try folder.run("fetch", server.address, "City", "--limit", "1", "--format", "json").output
    }
    #expect(try eventually(within: .seconds(60)) { try !shown().contains("founded") })
    let saved = try folder.run(
      "save", server.address, input: #"[{"update":"City","id":1,"values":{"population":5}}]"#)
    #expect(saved.status == 0, "\(saved.errors)")
    #expect(try folder.run("check", "w.sqlite").status == 0)
    #expect(try token().split(separator: "-")[0] != before.split(separator: "-")[0])
    stop(server.process)
    let offline = try folder.run(
      "alter", "w.sqlite", "-", input: "ALTER TABLE City DROP COLUMN capital;\n")
    #expect(offline.output == "w.sqlite: changed City\n", "\(offline.errors)")
    #expect(try folder.run("alter", "w.sqlite", "COMMIT").status == 65)
    let again = try folder.serve("w.sqlite")
    #expect(
      try folder.run("fetch", again.address, "City", "--limit", "1", "--format", "ndjson").output
        == #"{"id":1,"name":"Lima","country":1,"population":5}"# + "\n")
    #expect(try folder.run("check", "w.sqlite").status == 0)
  }

  @Test("A file whose history a later version wrote is refused by `alter` and the commands of keys")
  func newerHistory() throws {
    let folder = try smallFolder()
    let made = try folder.run("key", "create", "w.sqlite", "--name", "app", "--scope", "read")
    #expect(made.status == 0, "\(made.errors)")
    try folder.serveOnce("w.sqlite", [])
    try folder.sql("UPDATE livefetch_store SET value = 99 WHERE key = 'format'", on: "w.sqlite")
    for arguments in [
      ["alter", "w.sqlite", "ALTER TABLE City DROP COLUMN founded"],
      ["key", "create", "w.sqlite", "--name", "new", "--scope", "read"],
      ["key", "revoke", "w.sqlite", "app"],
    ] {
      let run = try folder.run(arguments)
      #expect(run.status == 65)
      #expect(
        run.errors
          == "livefetch: w.sqlite: the file's history has format 99; this version knows 3\n")
    }
    #expect(
      try folder.sql("SELECT name, revoked IS NULL FROM livefetch_key", on: "w.sqlite")
        == ["app|1"])
    #expect(
      try folder.sql("SELECT count(founded) FROM City", on: "w.sqlite") == ["1"])
  }

  @Test("`alter` without a statement is refused", arguments: ["", " \n;; "])
  func noStatement(sql: String) throws {
    let folder = try smallFolder()
    let run = try folder.run("alter", "w.sqlite", sql)
    #expect(run.status == 64)
    #expect(run.errors == "livefetch: SQL: no statement\n")
    #expect(try folder.run("alter", "w.sqlite", "-", input: sql).status == 64)
  }

  @Test("`alter` refuses SQL that is not UTF-8 or contains U+0000, and changes nothing")
  func alterByOtherBytes() throws {
    let folder = try smallFolder()
    let sql = Array("UPDATE City SET name = 'caf".utf8) + [0xE9] + Array("' WHERE id = 1;".utf8)
    try Data(sql).write(to: URL(fileURLWithPath: folder.file("latin.sql")))
    let done = try folder.run(
      ["alter", folder.file("w.sqlite"), "-"], redirected: "< '\(folder.file("latin.sql"))'")
    #expect(done.status == 65)
    #expect(done.errors == "livefetch: SQL: is not UTF-8\n")
    let cut = try folder.run(
      "alter", "w.sqlite", "-", input: "UPDATE City SET name = 'a';\n\0UPDATE City SET name = 'b';")
    #expect(cut.status == 65)
    #expect(cut.errors.hasSuffix("SQL, line 2: the character U+0000 would end the script\n"))
    #expect(try folder.sql("SELECT name FROM City WHERE id = 1", on: "w.sqlite") == ["Lima"])
  }
}
