// Imports into files that were served: their history, their triggers and the rules of their model.

import Foundation
import TestSupport
import Testing

extension ImportTests {
  // Ids that SQLite makes, and ids below and above the existing ones.
  @Test(
    "The history of an import is the one that the triggers write",
    arguments: [[], ["-4", "900"], ["-4", "-3"]])
  func history(ids: [String]) throws {
    let folder = try Folder()
    try folder.sql(smallFixture, on: "a.sqlite")
    try folder.serveOnce("a.sqlite")
    try FileManager.default.copyItem(
      atPath: folder.file("a.sqlite"), toPath: folder.file("b.sqlite"))
    let lines =
      ids.isEmpty
      ? "name,country,population\nCusco,1,1\nVoss,2,2\n"
      : "id,name,country,population\n\(ids[0]),Cusco,1,1\n\(ids[1]),Voss,2,2\n"
    try folder.write(lines, to: "c.csv")
    #expect(try folder.run("import", "a.sqlite", "c.csv", "--into", "City").status == 0)
    try folder.sql(
      """
      INSERT INTO City(id, name, country_id, population) VALUES (\(ids.first ?? "NULL"), 'Cusco', 1, 1);
      INSERT INTO City(id, name, country_id, population) VALUES (\(ids.last ?? "NULL"), 'Voss', 2, 2);
      """, on: "b.sqlite")
    for table in ["livefetch_history_City", "City"] {
      let rows = try folder.sql("SELECT * FROM \(table)", on: "a.sqlite")
      #expect(rows == (try folder.sql("SELECT * FROM \(table)", on: "b.sqlite")))
    }
    let positions = "SELECT position, source FROM livefetch_position"
    #expect(
      try folder.sql(positions, on: "a.sqlite") == folder.sql(positions, on: "b.sqlite"))
    #expect(try folder.run("check", "a.sqlite").status == 0)
    #expect(try folder.sql("SELECT max(position) FROM livefetch_save", on: "a.sqlite") == ["3"])
  }

  @Test("An import into a tracked file is one diff for clients with an older token")
  func diff() throws {
    let folder = try Folder()
    try folder.sql(smallFixture, on: "a.sqlite")
    var server = try folder.serve("a.sqlite")
    let before = try folder.run("fetch", server.address, "City", "--format", "json").output
    let token = try #require(before.firstMatch(of: /"token":"([^"]+)"/)).1
    let refused = try folder.run("import", "a.sqlite", "-", "--into", "City", input: "name\nX\n")
    #expect(refused.status == 65)
    #expect(refused.errors.contains("is being served by process"))
    #expect(refused.errors.contains(server.address))
    // A service manager tries this status again: an import ends.
    let second = try folder.run("serve", "a.sqlite", "--port", "0")
    #expect(second.status == 74)
    #expect(second.errors.contains("is being served by process"))
    stop(server.process)
    try folder.write("id,name\n3,Bjørgvin\n9,Voss\n", to: "c.csv")
    #expect(
      try folder.run("import", "a.sqlite", "c.csv", "--into", "City", "--key", "id").status == 0)
    server = try folder.serve("a.sqlite")
    let answer = try FaultClient(address: server.address)
      .send("GET", "/v1/objects/City?select=name&since=\(token)&wait=0")
    let diff = String(decoding: answer.body, as: UTF8.self)
    #expect(diff.contains(#""inserted":[{"to":[0,3],"item":{"id":9,"name":"Voss"}}]"#), "\(diff)")
    #expect(diff.contains(#""id":3,"changed":{"name":"Bjørgvin"}"#), "\(diff)")
  }

  @Test("A user's own triggers fire, and their changes are in the history")
  func ownTriggers() throws {
    let folder = try Folder()
    try folder.sql(
      smallFixture + """
        CREATE TABLE Log(id INTEGER PRIMARY KEY, text TEXT);
        CREATE TRIGGER noted AFTER INSERT ON City BEGIN INSERT INTO Log(text) VALUES (NEW.name); END;
        """, on: "a.sqlite")
    try folder.serveOnce("a.sqlite")
    #expect(
      try folder.run("import", "a.sqlite", "-", "--into", "City", input: "name\nX\n").status == 0)
    #expect(try folder.sql("SELECT text FROM Log", on: "a.sqlite") == ["X"])
    #expect(try folder.sql("SELECT count(*) FROM livefetch_history_Log", on: "a.sqlite") == ["1"])
    #expect(try folder.run("check", "a.sqlite").output == "a.sqlite: nothing is wrong\n")
  }

  @Test("A row that a trigger leaves out is refused and changes nothing")
  func leftOut() throws {
    let folder = try Folder()
    try folder.sql(
      smallFixture + """
        CREATE TABLE Log(id INTEGER PRIMARY KEY, text TEXT);
        CREATE TRIGGER inserted BEFORE INSERT ON City WHEN NEW.name = 'X' BEGIN
          INSERT INTO Log(text) VALUES (NEW.name); SELECT RAISE(IGNORE); END;
        CREATE TRIGGER updated BEFORE UPDATE ON City WHEN NEW.name = 'Y' BEGIN
          INSERT INTO Log(text) VALUES (NEW.name); SELECT RAISE(IGNORE); END;
        """, on: "a.sqlite")
    let inserts = try folder.run("import", "a.sqlite", "-", "--into", "City", input: "name\nX\nZ\n")
    #expect(inserts.status == 65)
    #expect(
      inserts.errors.contains("line 2: the database inserted no row (a trigger leaves it out)"),
      "\(inserts.errors)")
    #expect(inserts.output.hasPrefix("City: 1 inserted, 1 refused in "), "\(inserts.output)")
    let updates = try folder.run(
      "import", "a.sqlite", "-", "--into", "City", "--key", "id", input: "id,name\n1,Y\n2,W\n")
    #expect(
      updates.errors.contains("line 2: the database updated no row (a trigger leaves it out)"),
      "\(updates.errors)")
    #expect(
      updates.output.hasPrefix("City: 0 inserted, 1 updated, 1 refused in "), "\(updates.output)")
    #expect(try folder.sql("SELECT count(*) FROM Log", on: "a.sqlite") == ["0"])
    #expect(
      try folder.sql("SELECT count(*) FROM City WHERE name IN ('W', 'Z')", on: "a.sqlite") == ["2"])
  }

  @Test("The rules of a model file apply to an import")
  func modelled() throws {
    let folder = try Folder()
    try folder.write(
      ManualPage("Sources/LiveFetchCommand/Resources/models/heroes.json").text, to: "heroes.json")
    try folder.serveOnce("h.sqlite", ["--model", "heroes.json"])
    try folder.write("name,power,motto\nAda,12,Think\nBob,9001,Fly\nCyd,3,low\n", to: "c.csv")
    let run = try folder.run("import", "h.sqlite", "c.csv", "--into", "Hero")
    #expect(run.status == 65)
    #expect(run.errors.contains("c.csv: line 3: `power`"), "\(run.errors)")
    #expect(run.errors.contains("c.csv: line 4: `motto`"), "\(run.errors)")
    #expect(run.output.hasPrefix("Hero: 1 inserted, 2 refused in "))
    let rows = try folder.run("fetch", "h.sqlite", "Human", "--select", "name", "-f", "csv")
    #expect(rows.output.contains(",Ada"), "\(rows.output)\(rows.errors)")
    try folder.write("id,power\n1,13\n1,-1\n", to: "d.csv")
    let update = try folder.run("import", "h.sqlite", "d.csv", "--into", "Hero", "--key", "id")
    #expect(update.output.hasPrefix("Hero: 0 inserted, 1 updated, 1 refused in "), "\(update)")
    #expect(try folder.run("check", "h.sqlite").output == "h.sqlite: nothing is wrong\n")
  }

  @Test("Fields are read alike with and without a model file")
  func modelledFields() throws {
    let folder = try Folder()
    try folder.write(
      """
      {"entities":[{"name":"N","attributes":[{"name":"i","type":"Integer 64"},
       {"name":"d","type":"Double"},{"name":"e","type":"Decimal"},{"name":"t","type":"String"}]}]}
      """, to: "n.json")
    try folder.serveOnce("model.sqlite", ["--model", "n.json"])
    try folder.sql(
      "CREATE TABLE N(id INTEGER PRIMARY KEY, i INTEGER, d DOUBLE, e DECIMAL, t TEXT)",
      on: "plain.sqlite")
    let rows = Data("i,d,e,t\n+5,.5,+1.5,a\nnull,1,1,b\n1,null,1,c\n1,1,null,d\n2,2,2,".utf8)
    try (rows + Data([0xE9, 0x0A])).write(to: URL(fileURLWithPath: folder.file("n.csv")))
    for store in ["model.sqlite", "plain.sqlite"] {
      let run = try folder.run("import", store, "n.csv", "--into", "N")
      #expect(
        run.errors == """
          livefetch: n.csv: line 3: `i` takes an integer of 64 bits, not 'null'
          livefetch: n.csv: line 4: `d` takes a number, not 'null'
          livefetch: n.csv: line 5: `e` takes a number, not 'null'
          livefetch: n.csv: line 6: `t` takes text in UTF-8, not '\u{FFFD}'

          """, "\(store)")
      let read = try folder.run("export", store, "N", "--select", "i,d,e,t")
      #expect(read.output == "id,i,d,e,t\n1,5,0.5,1.5,a\n", "\(store)")
    }
  }
}
