// `livefetch export`

import Foundation
import TestSupport
import Testing

@Suite("livefetch export", .mayBlock)
struct ExportCommandTests {
  private func fixture() throws -> Folder {
    let folder = try smallFolder()
    return folder
  }

  @Test("Exported rows are imported as the same rows, in every format")
  func roundTrip() throws {
    let folder = try Folder()
    var random = SeededRandom()
    let seed = random.seed
    let schema = "CREATE TABLE T(id INTEGER PRIMARY KEY, t TEXT, n INTEGER, r REAL, b BOOLEAN)"
    let pieces = ["", "a", "\"", ",", "\t", "\n", "\r\n", "é", "東", "'", " ", "007", "null"]
    let inserted = (0..<200).map { _ in
      let text = (0..<random.number(0...3)).map { _ in random.pick(pieces) }.joined()
      let quoted = "'" + text.replacingOccurrences(of: "'", with: "''") + "'"
      let values = [
        random.oneIn(5) ? "NULL" : quoted,
        random.oneIn(5) ? "NULL" : "\(Int64(bitPattern: random.next()))",
        random.oneIn(5) ? "NULL" : "\(Double(random.number(0...999_999)) / 7)",
        random.pick(["NULL", "0", "1"]),
      ]
      return "(\(values.joined(separator: ", ")))"
    }
    try folder.sql(
      "\(schema); INSERT INTO T(t, n, r, b) VALUES \(inserted.joined(separator: ", "))",
      on: "a.sqlite")
    let rows = try folder.sql("SELECT * FROM T", on: "a.sqlite")
    for format in ["csv", "tsv", "json", "ndjson"] {
      let target = "\(format).sqlite"
      try folder.sql(schema, on: target)
      let out = try folder.run("export", "a.sqlite", "T", "--output", "t.\(format)")
      #expect(out.output == "T: 200 written to t.\(format)\n")
      let back = try folder.run("import", target, "t.\(format)", "--into", "T")
      #expect(back.status == 0, "\(format), seed \(seed): \(back.errors)")
      #expect(try folder.sql("SELECT * FROM T", on: target) == rows, "\(format), seed \(seed)")
    }
  }

  @Test("The output `-` is standard output, and no file of that name is made")
  func standardOutput() throws {
    let folder = try smallFolder()
    let run = try folder.run(
      "export", "w.sqlite", "Country", "--select", "code", "--sort", "id", "-o", "-")
    #expect(run.status == 0, "\(run.errors)")
    #expect(run.output == "id,code\n1,PE\n2,NO\n")
    #expect(run.errors == "")
    #expect(!folder.has("-"))
  }

  @Test("A JSON document that nests as deep as the server serves it is exported and imported")
  func nestedDocument() throws {
    let folder = try Folder()
    let document = String(repeating: "[", count: 64) + String(repeating: "]", count: 64)
    let schema = "CREATE TABLE T(id INTEGER PRIMARY KEY, j JSON)"
    try folder.sql("\(schema); INSERT INTO T VALUES (1, '\(document)')", on: "a.sqlite")
    let server = try folder.serve("a.sqlite")
    for store in ["a.sqlite", server.address] {
      let out = try folder.run("export", store, "T", "--format", "ndjson")
      #expect(out.output == "{\"id\":1,\"j\":\(document)}\n", "\(store): \(out.errors)")
    }
    _ = try folder.run("export", "a.sqlite", "T", "--output", "t.ndjson")
    try folder.sql(schema, on: "b.sqlite")
    let back = try folder.run("import", "b.sqlite", "t.ndjson", "--into", "T")
    #expect(back.status == 0, "\(back.errors)")
    #expect(try folder.sql("SELECT j FROM T", on: "b.sqlite") == [document])
  }

  @Test("An export takes a predicate, an order, values and a window, from a file and a server")
  func export() throws {
    let folder = try fixture()
    let server = try folder.serve("w.sqlite")
    for store in ["w.sqlite", server.address] {
      let some = try folder.run(
        "export", store, "City", "--where", "capital == TRUE", "--sort", "-name", "--select",
        "name,founded", "--limit", "2")
      #expect(some.output == "id,name,founded\n2,Oslo,\n1,Lima,1535-01-18T00:00:00Z\n")
      let json = try folder.run(
        "export", store, "City", "--select", "name", "--format", "json", "--offset", "2")
      #expect(json.output == "[\n{\"id\":3,\"name\":\"Bergen\"}\n]\n")
      let none = try folder.run(
        "export", store, "City", "--where", "FALSEPREDICATE", "--select", "name")
      #expect(none.output == "id,name\n")
    }
    let bad = try folder.run("export", "w.sqlite", "City", "--sort", "nme", "--output", "x.csv")
    #expect(bad.status == 64)
    #expect(!folder.has("x.csv"))
    #expect(!folder.has("x.csv.partial"))
  }

  @Test("An export goes on behind a page that ends with a long value, from a file and a server")
  func exportOfLongValues() throws {
    let folder = try Folder()
    try folder.sql(
      """
      CREATE TABLE A(id INTEGER PRIMARY KEY, body TEXT);
      WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 10003)
      INSERT INTO A SELECT i, printf('%05d', i)
        || CASE WHEN i IN (10000, 10001) THEN hex(zeroblob(35000)) ELSE '' END FROM c;
      """, on: "a.sqlite")
    let server = try folder.serve("a.sqlite")
    let arguments = ["A", "--sort", "body", "--select", "id"]
    for store in ["a.sqlite", server.address] {
      let all = try folder.run(["export", store] + arguments + ["--where", "id > 0"])
      #expect(all.status == 0, "\(all.errors)")
      let lines = all.output.split(separator: "\n")
      #expect(lines.count == 10_004)
      #expect(lines.suffix(4) == ["10000", "10001", "10002", "10003"])
    }
    let refused = try folder.run(
      ["export", server.address] + arguments + ["--where", "id > %@", "--arg", "0"])
    #expect(refused.status == 64)
    #expect(refused.errors.contains("write the values into --where"), "\(refused.errors)")
  }

  @Test(
    "A limit or an offset that is not a whole number from 0 is refused, for a file and a server",
    arguments: ["--limit", "--offset"])
  func exportCounts(option: String) throws {
    let folder = try fixture()
    let server = try folder.serve("w.sqlite")
    for store in ["w.sqlite", server.address] {
      for count in ["abc", "+1", "2147483648", ""] {
        let run = try folder.run("export", store, "City", option, count)
        #expect(run.status == 64, "\(count)")
        #expect(run.output == "")
        #expect(run.errors.contains("takes a whole number from 0 to 2147483647"), "\(run.errors)")
      }
      let isLimit = option == "--limit"
      let none = try folder.run(
        "export", store, "City", option, isLimit ? "0" : "9", "--select", "name")
      #expect(none.output == "id,name\n")
      let unknown = try folder.run("export", store, "Cyti", option, "0")
      #expect(unknown.status == 64)
    }
  }

  @Test("An export without objects has the heading of all columns, from a file and from a server")
  func exportWithoutObjects() throws {
    let folder = try fixture()
    let server = try folder.serve("w.sqlite")
    for (store, heading) in [
      ("w.sqlite", "id,name,country,population,founded,capital"),
      (server.address, "id,name,population,founded,capital,country"),
    ] {
      let all = try folder.run("export", store, "City", "--where", "id < 0")
      #expect(all.output == heading + "\n", "\(store)")
      let some = try folder.run(
        "export", store, "City", "--where", "id < 0", "--select", "population, country.name,id")
      #expect(some.output == "id,population,country.name\n", "\(store)")
    }
  }

  @Test("A fetch without rows has the heading of all columns, from a file and from a server")
  func fetchWithoutRows() throws {
    let folder = try fixture()
    let server = try folder.serve("w.sqlite")
    for (store, heading) in [
      ("w.sqlite", "name,country,population,founded,capital"),
      (server.address, "name,population,founded,capital,country"),
    ] {
      let none = ["fetch", store, "City", "--where", "id < 0", "--format", "csv"]
      #expect(try folder.run(none).output == "id,\(heading)\n", "\(store)")
      let dictionaries = try folder.run(none + ["--shape", "dictionaries"])
      #expect(dictionaries.output == heading + "\n", "\(store)")
    }
  }

  @Test("An export does not write plain text under a name of compressed data")
  func compressedExport() throws {
    let folder = try fixture()
    let run = try folder.run("export", "w.sqlite", "City", "--output", "x.json.gz")
    #expect(run.status == 64)
    #expect(run.errors.contains("An export is not compressed"), "\(run.errors)")
    #expect(!folder.has("x.json.gz"))
  }

  @Test("An output that cannot be created is reported with the reason")
  func exportOutput() throws {
    let run = try fixture().run("export", "w.sqlite", "City", "--output", "none/x.csv")
    #expect(run.status == 74)
    #expect(
      run.errors == "livefetch: none/x.csv: cannot be written: No such file or directory\n")
  }

  @Test("An export writes a pipe itself, and the file to which a link leads")
  func exportToPipesAndLinks() throws {
    let folder = try fixture()
    let rows = "id,name\n1,Lima\n2,Oslo\n3,Bergen\n"
    let arguments = ["export", "w.sqlite", "City", "--select", "name", "--output"]
    let run = try folder.start(
      arguments + ["pipe"], output: "run.out", limits: "mkfifo pipe; (cat pipe > got.csv &)")
    #expect(eventually(within: .seconds(120)) { !run.isRunning })
    #expect(try folder.wait(for: "got.csv") { $0 == rows } == rows)
    #expect(try Self.kind(folder.file("pipe")) == S_IFIFO)
    let printed = try folder.run(arguments + ["/dev/stdout"], redirected: "| cat")
    #expect(printed.output == rows, "\(printed.errors)")
    try folder.write("mine", to: "real.csv.partial")
    try folder.write("old", to: "real.csv")
    symlink("real.csv", folder.file("link.csv"))
    #expect(try folder.run(arguments + ["link.csv"]).status == 0)
    #expect(try folder.read("real.csv") == rows)
    #expect(try Self.kind(folder.file("link.csv")) == S_IFLNK)
    #expect(try folder.read("real.csv.partial") == "mine")
    #expect(!folder.has("real.csv.partial-2"))
  }

  private static func kind(_ path: String) throws -> mode_t {
    var status = stat()
    try #require(lstat(path, &status) == 0)
    return status.st_mode & S_IFMT
  }
}
