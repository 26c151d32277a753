// `livefetch check` and `livefetch status`, of files.

import Foundation
import TestSupport
import Testing

extension StoreCommandTests {
  @Test("A check finds orphans, and gaps in the history")
  func check() throws {
    let folder = try smallFolder()
    #expect(try folder.run("check", "w.sqlite").output == "w.sqlite: nothing is wrong\n")
    try folder.sql("UPDATE City SET country_id = 77 WHERE id > 1", on: "w.sqlite")
    let orphans = try folder.run("check", "w.sqlite")
    #expect(orphans.status == 65)
    #expect(
      orphans.output
        == "orphans: 2 rows of City refer to a Country that does not exist (row 2, 3)\n")
    try folder.sql("UPDATE City SET country_id = 1", on: "w.sqlite")
    try folder.serveOnce("w.sqlite")
    try folder.sql("INSERT INTO City(name) VALUES ('X'), ('Y'), ('Z')", on: "w.sqlite")
    #expect(try folder.run("check", "w.sqlite").status == 0)
    try folder.sql("DELETE FROM livefetch_position WHERE position = 3", on: "w.sqlite")
    let hole = try folder.run("check", "w.sqlite")
    #expect(hole.status == 65)
    #expect(
      hole.output == """
        history: 1 positions are missing between others
        history: City: 1 old values that belong to no position

        """)
    try folder.sql("DROP TRIGGER livefetch_insert_City", on: "w.sqlite")
    #expect(
      try folder.run("check", "w.sqlite").output
        .hasPrefix("history: its triggers or tables are not as they were made"))
  }

  @Test("A save that changes the type of a column without a declared one is nothing wrong")
  func checkOfOtherTypes() throws {
    let folder = try Folder()
    try folder.sql(
      "CREATE TABLE T(k INTEGER PRIMARY KEY, x); INSERT INTO T VALUES (1, 5)", on: "x.sqlite")
    try folder.serveOnce("x.sqlite")
    let save = try folder.run(
      "save", "x.sqlite", input: #"[{"update":"T","id":1,"values":{"x":"a"}}]"#)
    #expect(save.status == 0, "\(save.errors)")
    #expect(try folder.run("check", "x.sqlite").output == "x.sqlite: nothing is wrong\n")
  }

  @Test("A check counts orphans of tables WITHOUT ROWID, and names keys that cannot be checked")
  func checkOfKeys() throws {
    let folder = try Folder()
    try folder.sql(
      """
      CREATE TABLE P(id INTEGER PRIMARY KEY, code TEXT);
      CREATE TABLE C(id INTEGER PRIMARY KEY, p TEXT REFERENCES P(code));
      CREATE TABLE D(id INTEGER PRIMARY KEY, p INTEGER REFERENCES P);
      CREATE TABLE E(a TEXT, b INTEGER, p INTEGER REFERENCES P, PRIMARY KEY(a, b)) WITHOUT ROWID;
      CREATE TABLE F(a TEXT PRIMARY KEY, q INTEGER REFERENCES Q(id)) WITHOUT ROWID;
      INSERT INTO P VALUES (1, 'x'); INSERT INTO C VALUES (1, 'y'); INSERT INTO D VALUES (4, 99);
      INSERT INTO E VALUES ('it''s', 7, 2), ('b', 8, NULL), ('a', 9, 3), ('c', 1, 1);
      INSERT INTO F VALUES ('z', 5), ('y', NULL);
      """, on: "k.sqlite")
    let check = try folder.run("check", "k.sqlite")
    #expect(check.status == 65)
    #expect(
      check.output == """
        foreign keys: those of C cannot be checked (SQLite 1: foreign key mismatch - "C" referencing "P")
        orphans: 1 rows of D refer to a P that does not exist (row 4)
        orphans: 2 rows of E refer to a P that does not exist
        orphans: 1 rows of F refer to a Q that does not exist

        """, "\(check.errors)")
  }

  @Test("A check finds derived values that are not the derived ones")
  func checkOfDerivedValues() throws {
    let folder = try Folder()
    try folder.write(
      """
      {"entities":[
        {"name":"Team","attributes":[
          {"name":"size","type":"Integer 64","derivation":"members.@count"},
          {"name":"weight","type":"Double","derivation":"members.@sum.weight"},
          {"name":"name","type":"String"},
          {"name":"key","type":"String","derivation":"lowercase:(name)"}],
         "relationships":[
          {"name":"members","destination":"Player","toMany":true,"inverse":"team"}]},
        {"name":"Player","attributes":[{"name":"weight","type":"Double"}],
         "relationships":[{"name":"team","destination":"Team","inverse":"members"}]},
        {"name":"Keeper","parent":"Player","attributes":[
          {"name":"club","type":"String","derivation":"team.name"}]}]}
      """, to: "m.json")
    try folder.write("", to: "t.sqlite")
    try folder.serveOnce("t.sqlite", ["--model", "m.json"])
    let changes = """
      [{"insert":"Team","temporaryID":"a","values":{"name":"Ajax"}},
       {"insert":"Team","temporaryID":"b","values":{"name":"Bolton"}},
       {"insert":"Player","values":{"weight":0.1,"team":{"temporaryID":"a"}}},
       {"insert":"Player","values":{"weight":0.2,"team":{"temporaryID":"a"}}},
       {"insert":"Keeper","values":{"weight":0.3,"team":{"temporaryID":"a"}}}]
      """
    #expect(try folder.run("save", "t.sqlite", input: changes).status == 0)
    try folder.sql("UPDATE Team SET weight = weight + 1e-16 WHERE id = 1", on: "t.sqlite")
    #expect(try folder.run("check", "t.sqlite").output == "t.sqlite: nothing is wrong\n")
    try folder.sql(
      """
      REPLACE INTO Player(id, entity, weight, team) VALUES (1, 'Player', 0.1, 2);
      UPDATE Team SET key = 'x'; UPDATE Player SET club = 'y';
      """, on: "t.sqlite")
    let check = try folder.run("check", "t.sqlite")
    #expect(check.status == 65)
    #expect(
      check.output == """
        derived: 1 values of Team.size are not the derived ones (id 1)
        derived: 1 values of Team.weight are not the derived ones (id 1)
        derived: 2 values of Team.key are not the derived ones (id 1, 2)
        derived: 1 values of Keeper.club are not the derived ones (id 3)

        """, "\(check.errors)")
    let migration = try folder.run(
      "migrate", "t.sqlite", "--model", "m.json", "--no-backup", "--sql", "/dev/null")
    #expect(migration.status == 0, "\(migration.errors)")
    #expect(try folder.run("check", "t.sqlite").output == "t.sqlite: nothing is wrong\n")
  }

  @Test("A link to a file has the size and the log of that file")
  func links() throws {
    let folder = try smallFolder()
    try folder.write("", to: "empty.sqlite")
    symlink("empty.sqlite", folder.file("none.sqlite"))
    let check = try folder.run("check", "none.sqlite")
    #expect(check.status == 65)
    #expect(check.errors == "livefetch: none.sqlite: is empty: it contains no tables\n")
    symlink("w.sqlite", folder.file("link.sqlite"))
    _ = try folder.serve("w.sqlite")
    try folder.sql("UPDATE City SET name = 'x'", on: "w.sqlite")
    let status = try folder.run("status", "link.sqlite")
    #expect(status.output.contains(/\nlog bytes +[1-9]/), "\(status.output)")
  }

  @Test("The status counts an entity's objects with those of its subentities")
  func statusOfSubentities() throws {
    let folder = try Folder()
    try folder.write(
      """
      {"entities":[{"name":"Person","attributes":[{"name":"name","type":"String"}]},
        {"name":"Guest","parent":"Person"},{"name":"Other","attributes":[]}]}
      """, to: "m.json")
    try folder.write("", to: "p.sqlite")
    try folder.serveOnce("p.sqlite", ["--model", "m.json"])
    try folder.write(
      #"[{"insert":"Person","values":{}},{"insert":"Guest","values":{}},{"insert":"Guest","values":{}}]"#,
      to: "c.json")
    #expect(try folder.run("save", "p.sqlite", "c.json").status == 0)
    let status = try folder.run("status", "p.sqlite", "--json")
    #expect(
      status.output.contains(#""entities":{"Person":3,"Guest":2,"Other":0}"#), "\(status.output)")
  }

  @Test("The status shows the history, the server of the file and processes that have it open")
  func status() throws {
    let folder = try smallFolder()
    let plain = try folder.run("status", "w.sqlite", "--json")
    #expect(plain.status == 0, "\(plain.errors)")
    #expect(plain.output.contains(#""entities":{"Country":2,"City":3},"history":null"#))
    #expect(plain.output.contains(#""servedBy":null"#))
    let server = try folder.serve("w.sqlite")
    let served = try folder.run("status", "w.sqlite")
    let id = server.process.processIdentifier
    #expect(served.output.contains("served by      process \(id) at \(server.address)\n"))
    #expect(served.output.contains("open in        \(id) livefetch\n"))
    #expect(served.output.contains("history rows   0\n"))
    let remote = try folder.run("status", server.address)
    #expect(remote.output.contains(/\nready +yes\n/))
    #expect(remote.output.contains(/\nentities +Country, City\n/))
    stop(server.process)
    #expect(try folder.run("status", "w.sqlite").output.contains("served by      none\n"))
    #expect(try folder.run("status", server.address).status == 69)
  }
}
