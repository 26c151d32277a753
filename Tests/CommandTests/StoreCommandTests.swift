// The commands that read, change, copy and check a file or a server's store.

import Foundation
import SQLiteStore
import Synchronization
import TestSupport
import Testing

@Suite("livefetch fetch, save, backup, restore, check, status", .mayBlock)
struct StoreCommandTests {
  // MARK: fetch

  @Test("A fetch is a table, CSV, TSV, JSON or lines of JSON; the same from a file and a server")
  func fetch() throws {
    let folder = try smallFolder()
    let server = try folder.serve("w.sqlite")
    for store in ["w.sqlite", server.address] {
      func fetch(_ format: String) throws -> String {
        try folder.run(
          "fetch", store, "City", "--where", "population > %@", "--arg", "500000", "--sort",
          "-population", "--select", "name,country.name,population", "--format", format
        ).output
      }
      #expect(
        try fetch("table") == """
          id  name  country.name  population
           1  Lima  Peru             7737002
           2  Oslo  Norway            580000

          """)
      #expect(
        try fetch("csv")
          == "id,name,country.name,population\n1,Lima,Peru,7737002\n2,Oslo,Norway,580000\n")
      #expect(try fetch("tsv").hasPrefix("id\tname\tcountry.name\tpopulation\n1\tLima\tPeru\t"))
      #expect(
        try fetch("ndjson")
          == #"{"id":1,"name":"Lima","country.name":"Peru","population":7737002}"# + "\n"
          + #"{"id":2,"name":"Oslo","country.name":"Norway","population":580000}"# + "\n")
      #expect(try fetch("json").hasPrefix(#"{"entity":"City","token":""#))
      let count = try folder.run(
        "fetch", store, "City", "--where", "country.code == $c", "--var", "c=NO", "--count")
      #expect(count.output == "2\n")
      let groups = try folder.run(
        "fetch", store, "City", "--group", "country.code", "--select", "country.code,n:@count",
        "--sort", "-n")
      #expect(groups.output == "country.code  n\nNO            2\nPE            1\n")
      let sections = try folder.run(
        "fetch", store, "City", "--section", "country.name", "--select", "name")
      #expect(
        sections.output == "id  name\nNorway (2)\n 2  Oslo\n 3  Bergen\nPeru (1)\n 1  Lima\n")
    }
  }

  @Test("A fetch without rows has the heading of one with rows")
  func noRows() throws {
    let folder = try smallFolder()
    let server = try folder.serve("w.sqlite")
    for store in ["w.sqlite", server.address] {
      func heading(_ arguments: String...) throws -> [String] {
        let run = try folder.run(
          ["fetch", store, "City", "--where", "name == 'Nowhere'", "--format", "csv"] + arguments)
        #expect(run.status == 0, "\(run.errors)")
        return run.output.dropLast().split(separator: ",").map(String.init)
      }
      #expect(
        try Set(heading())
          == ["id", "name", "country", "population", "founded", "capital"], "\(store)")
      #expect(try heading("--select", "name,country.code") == ["id", "name", "country.code"])
      #expect(try heading("--shape", "ids") == ["id"])
      #expect(
        try heading("--group", "country.code", "--select", "country.code,n:@count")
          == ["country.code", "n"], "\(store)")
      #expect(
        try heading("--shape", "dictionaries", "--select", "name,y:TERNARY(capital == YES, 1, 0)")
          == ["name", "y"], "\(store)")
    }
  }

  @Test("A negative number of objects is refused as a number")
  func negativeLimit() throws {
    let folder = try smallFolder()
    for option in ["--limit", "--offset"] {
      let run = try folder.run("fetch", "w.sqlite", "City", option, "-1")
      #expect(run.status == 64)
      #expect(
        run.errors.contains("It takes a whole number from 0 to 2147483647."), "\(run.errors)")
    }
  }

  @Test("An IPv6 address of loopback may be given in brackets")
  func bracketedHost() throws {
    let folder = try smallFolder()
    let run = try folder.run("serve", "w.sqlite", "--host", "[2001:db8::1]", "--port", "0")
    #expect(run.status == 64)
    #expect(run.errors.contains("Listening on 2001:db8::1 needs a way"), "\(run.errors)")
    let server = try folder.serve("w.sqlite", ["--host", "[::1]"])
    #expect(server.address.hasPrefix("http://[::1]:"), "\(server.address)")
    stop(server.process)
  }

  @Test("A file that cannot be made or served is refused by one line with the reason")
  func unusableFile() throws {
    let folder = try Folder()
    let made = try folder.run("serve", "missing/new.sqlite", "--create", "--port", "0")
    #expect(made.status == 65)
    #expect(
      made.errors
        == "livefetch: missing/new.sqlite: the file cannot be made: its folder does not exist\n")
    try folder.write(String(repeating: "garbage ", count: 1_000), to: "garbage.sqlite")
    let served = try folder.run("serve", "garbage.sqlite", "--port", "0")
    #expect(served.status == 65)
    #expect(served.errors == "livefetch: garbage.sqlite: the file is not an SQLite database\n")
  }

  @Test("Of several that make a file at the same time one makes it, and nothing else remains")
  func madeOnce() throws {
    let folder = try Folder()
    let path = folder.file("new.sqlite")
    let made = Mutex(0)
    DispatchQueue.concurrentPerform(iterations: 16) { _ in
      if (try? SQLiteStore.create(path: path)) != nil { made.withLock { $0 += 1 } }
    }
    #expect(made.withLock { $0 } == 1)
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["new.sqlite"])
    #expect(try folder.sql("PRAGMA integrity_check", on: "new.sqlite") == ["ok"])
  }

  @Test("An invalid predicate is shown with a caret under its error")
  func caret() throws {
    let folder = try smallFolder()
    let server = try folder.serve("w.sqlite")
    for store in ["w.sqlite", server.address] {
      let run = try folder.run("fetch", store, "City", "-w", "name == 'ü' AND populaton > 3")
      #expect(run.status == 64)
      #expect(
        run.errors == """
          livefetch: `where` at 17: found `populaton`, expected a property of City; did you mean \
          `population`?
            name == 'ü' AND populaton > 3
                            ^^^^^^^^^

          """)
      let entity = try folder.run("fetch", store, "Cty")
      #expect(entity.status == 64)
      #expect(entity.errors.contains("There is no entity `Cty`."))
      #expect(entity.errors.contains("did you mean `City`?"))
    }
  }

  @Test("A command overwrites neither its input nor another store")
  func outputs() throws {
    let folder = try smallFolder()
    let rows = "id,name\n9,Voss\n"
    try Data(rows.utf8).write(to: URL(fileURLWithPath: folder.path + "/in.csv"))
    let before = try Data(contentsOf: URL(fileURLWithPath: folder.path + "/w.sqlite"))
    for arguments in [
      ["export", "w.sqlite", "City", "--output", "w.sqlite"],
      ["import", "w.sqlite", "in.csv", "--into", "City", "--rejects", "w.sqlite"],
      ["import", "w.sqlite", "in.csv", "--into", "City", "--rejects", "./in.csv"],
      ["backup", "w.sqlite", "w.sqlite", "--force"],
    ] {
      let run = try folder.run(arguments)
      #expect(run.status == 64, "\(arguments): \(run.errors)")
      #expect(run.errors.contains("would be lost"))
    }
    #expect(try Data(contentsOf: URL(fileURLWithPath: folder.path + "/w.sqlite")) == before)
    #expect(try Data(contentsOf: URL(fileURLWithPath: folder.path + "/in.csv")) == Data(rows.utf8))
  }

  @Test("An unreachable server and an invalid address have different errors")
  func unreachable() throws {
    let folder = try Folder()
    let gone = try folder.run("fetch", "http://127.0.0.1:1", "City")
    #expect(gone.status == 69)
    #expect(gone.errors.contains("Connection refused"))
    #expect(try folder.run("fetch", "gopher://127.0.0.1", "City").status == 64)
    #expect(try folder.run("fetch", "none.sqlite", "City").status == 66)
  }

  @Test("A server's token is taken from the flag or the environment")
  func token() throws {
    let folder = try smallFolder()
    let (_, address) = try folder.serve("w.sqlite", ["--token", "abc"])
    #expect(try folder.run("fetch", address, "City", "--count").status == 64)
    #expect(try folder.run("fetch", address, "City", "--count", "--token", "abc").output == "3\n")
    let run = try folder.run(
      "status", address, environment: ["LIVEFETCH_TOKEN": "abc"])
    #expect(run.output.contains(/\nready +yes\n/))
  }

  // MARK: save

  @Test(
    "Changes are saved to a file and through a server; the file keeps its history if it has one")
  func save() throws {
    let folder = try smallFolder()
    let body = #"{"changes":[{"insert":"City","temporaryID":"t","values":{"name":"Voss"}}]}"#
    try folder.write(body, to: "c.json")
    let plain = try folder.run("save", "w.sqlite", "c.json")
    #expect(plain.output == "1 inserted, 0 updated, 0 deleted\n  t is 4\n")
    #expect(
      try folder.sql(
        "SELECT count(*) FROM sqlite_schema WHERE name LIKE 'livefetch%'", on: "w.sqlite")
        == ["0"])
    let server = try folder.serve("w.sqlite")
    let remote = try folder.run("save", server.address, "c.json", "--json")
    #expect(remote.output.contains(#""ids":{"t":5},"inserted":1"#))
    let refused = try folder.run("save", "w.sqlite", "c.json")
    #expect(refused.status == 65)
    #expect(refused.errors.contains("save through it: livefetch save \(server.address)"))
    stop(server.process)
    let followed = try folder.run("save", "w.sqlite", input: #"[{"delete":"City","id":5}]"#)
    #expect(followed.output.hasPrefix("0 inserted, 0 updated, 1 deleted\n  token "))
    #expect(try folder.run("check", "w.sqlite").status == 0)
  }

  @Test("A refused save lists every failure and stores nothing")
  func refusedSave() throws {
    let folder = try smallFolder()
    let body =
      #"[{"update":"City","id":1,"values":{"name":"X"}},{"insert":"City","values":{"nme":"a","population":"b"}}]"#
    let server = try folder.serve("w.sqlite")
    for isRemote in [true, false] {
      if !isRemote {
        stop(server.process)
      }
      let run = try folder.run("save", isRemote ? server.address : "w.sqlite", input: body)
      #expect(run.status == 65)
      #expect(run.errors.contains("change 1: `City` has no property `nme` (name)"), "\(run.errors)")
      #expect(run.errors.contains("change 1: `population` takes an integer of 64 bits"))
      #expect(try folder.sql("SELECT name FROM City WHERE id = 1", on: "w.sqlite") == ["Lima"])
    }
    #expect(try folder.run("save", "w.sqlite", input: "[").status == 65)
    let one = try folder.run(
      "save", "w.sqlite", input: #"[{"insert":"City","values":{"name":"b","nme":"a"}}]"#)
    #expect(one.errors == "livefetch: change 0: `City` has no property `nme` (name)\n")
    let two = try folder.run(
      "save", "w.sqlite",
      input: #"[{"insert":"Town"},{"insert":"City","values":{"name":"b","x":1}}]"#)
    #expect(
      two.errors.hasPrefix("livefetch: 2 failures:\n  change 0: there is no entity `Town`"),
      "\(two.errors)")
  }

  @Test("Bytes that spell a letter in more bytes than it needs are not that letter")
  func overlongBytes() throws {
    let folder = try Folder()
    try folder.sql(
      "CREATE TABLE T(id INTEGER PRIMARY KEY, a TEXT); INSERT INTO T VALUES "
        + "(1, CAST(x'C181' AS TEXT)), (2, 'A'), (3, CAST(x'E08181' AS TEXT)), "
        + "(4, CAST(x'F0808181' AS TEXT))", on: "t.sqlite")
    let run = try folder.run(
      "fetch", "t.sqlite", "T", "--where", "a MATCHES 'A'", "--select", "id", "--format", "csv")
    #expect(run.output == "id\n2\n", "\(run.errors)")
  }

  // MARK: backup, restore, check, status

  @Test("A backup of a served file is a consistent snapshot; restoring it begins a new epoch")
  func backup() throws {
    let folder = try smallFolder()
    let server = try folder.serve("w.sqlite")
    let made = try folder.run("backup", "w.sqlite", "b.sqlite")
    #expect(made.status == 0, "\(made.errors)")
    #expect(made.output.hasSuffix("; checked\n"))
    #expect(try folder.run("backup", "w.sqlite", "b.sqlite").status == 64)
    #expect(!folder.has("b.sqlite-wal"))
    #expect(try folder.run("restore", "b.sqlite", "w.sqlite").status == 65)
    let before = try folder.run("fetch", server.address, "City", "--format", "json").output
    let token = try #require(before.firstMatch(of: /"token":"([^"]+)"/)).1
    stop(server.process)
    try folder.sql("DELETE FROM City", on: "w.sqlite")
    let restored = try folder.run("restore", "b.sqlite", "w.sqlite")
    #expect(restored.status == 0, "\(restored.errors)")
    #expect(restored.output.contains("new epoch begins at token"))
    #expect(!restored.output.contains(token.prefix(6)))
    #expect(try folder.sql("SELECT count(*) FROM City", on: "w.sqlite") == ["3"])
    #expect(try folder.run("check", "w.sqlite").status == 0)
    #expect(try folder.run("restore", "b.sqlite", "new.sqlite").status == 0)
    #expect(try folder.sql("SELECT count(*) FROM City", on: "new.sqlite") == ["3"])
    #expect(!folder.has("w.sqlite.restoring"))
  }

  @Test("A file whose schema calls a JSON function is backed up, and its copy is restored")
  func backupOfJSONColumns() throws {
    let folder = try Folder()
    try folder.sql(
      "CREATE TABLE T(id INTEGER PRIMARY KEY, j TEXT, v AS (json_extract(j, '$.v')));"
        + #"INSERT INTO T(id, j) VALUES (1, '{"v":7}')"#, on: "w.sqlite")
    let made = try folder.run("backup", "w.sqlite", "b.sqlite")
    #expect(made.status == 0, "\(made.errors)")
    for target in ["new.sqlite", "w.sqlite"] {
      let restored = try folder.run("restore", "b.sqlite", target)
      #expect(restored.status == 0, "\(restored.errors)")
      #expect(try folder.sql("SELECT v FROM T", on: target) == ["7"])
    }
  }

  @Test(
    "A file that is no database is replaced by a copy, and kept with its log under another name")
  func restoreOverNoDatabase() throws {
    let folder = try smallFolder()
    #expect(try folder.run("backup", "w.sqlite", "b.sqlite").status == 0)
    let path = folder.file("w.sqlite")
    var bytes = try Data(contentsOf: URL(fileURLWithPath: path))
    for index in 0..<100 { bytes[index] = 0x55 }
    try bytes.write(to: URL(fileURLWithPath: path))
    try folder.write("log", to: "w.sqlite-wal")
    let restored = try folder.run("restore", "b.sqlite", "w.sqlite")
    #expect(restored.status == 0, "\(restored.errors)")
    #expect(try folder.sql("SELECT count(*) FROM City", on: "w.sqlite") == ["3"])
    #expect(try Data(contentsOf: URL(fileURLWithPath: folder.file("w.sqlite-orphan"))) == bytes)
    #expect(
      try String(contentsOfFile: folder.file("w.sqlite-wal-orphan"), encoding: .utf8) == "log")
  }

  @Test("An export over a file keeps the file's permissions")
  func exportPermissions() throws {
    let folder = try smallFolder()
    try folder.write("old", to: "out.csv")
    let path = folder.file("out.csv")
    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
    #expect(try folder.run("export", "w.sqlite", "City", "--output", "out.csv").status == 0)
    let attributes = try FileManager.default.attributesOfItem(atPath: path)
    #expect(attributes[.posixPermissions] as? Int == 0o600)
    #expect(try String(contentsOfFile: path, encoding: .utf8).hasPrefix("id,"))
  }

  @Test("Files that have the names of drafts are left as they are")
  func draftNames() throws {
    let folder = try smallFolder()
    let names = ["b.sqlite.partial", "n.sqlite.restoring"]
    for name in names { try folder.write("mine", to: name) }
    let made = try folder.run("backup", "w.sqlite", "b.sqlite")
    #expect(made.status == 0, "\(made.errors)")
    let restored = try folder.run("restore", "b.sqlite", "n.sqlite")
    #expect(restored.status == 0, "\(restored.errors)")
    for name in names {
      #expect(try String(contentsOfFile: folder.file(name), encoding: .utf8) == "mine")
      #expect(!folder.has("\(name)-2"))
    }
  }

  @Test("An empty file, left by a failed copy, is not restored over a store")
  func emptyBackup() throws {
    let folder = try smallFolder()
    try folder.write("", to: "empty.sqlite")
    let run = try folder.run("restore", "empty.sqlite", "w.sqlite")
    #expect(run.status == 65)
    #expect(run.errors.contains("there is no table in it"))
    #expect(try folder.sql("SELECT count(*) FROM City", on: "w.sqlite") == ["3"])
  }

  @Test("A damaged backup is not restored, and a damaged file not backed up")
  func damagedBackup() throws {
    let folder = try Folder()
    try folder.sql(
      "CREATE TABLE T(id INTEGER PRIMARY KEY, x); CREATE INDEX i ON T(x);"
        + "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000) "
        + "INSERT INTO T SELECT i, hex(randomblob(20)) FROM n", on: "w.sqlite")
    let url = URL(fileURLWithPath: folder.file("w.sqlite"))
    var bytes = try Data(contentsOf: url)
    for index in 20_480..<24_576 { bytes[index] = 0x55 }
    try bytes.write(to: URL(fileURLWithPath: folder.file("bad.sqlite")))
    let check = try folder.run("check", "bad.sqlite")
    #expect(check.status == 65)
    #expect(check.output.hasPrefix("damage: "))
    let backup = try folder.run("backup", "bad.sqlite", "b.sqlite")
    #expect(backup.status == 65)
    #expect(!folder.has("b.sqlite"))
    #expect(!folder.has("b.sqlite.partial"))
    #expect(try folder.run("restore", "bad.sqlite", "w.sqlite").status == 65)
    #expect(try folder.sql("SELECT count(*) FROM T", on: "w.sqlite") == ["5000"])
  }
}
