import Foundation
import LiveFetchHTTPServer
import TestSupport
import Testing

@Suite("livefetch import", .mayBlock)
struct ImportTests {
  private static let cities = "SELECT id, name, country_id, population, founded, capital FROM City"

  @Test("The same rows come from CSV, TSV, a JSON array and NDJSON, compressed or not")
  func formats() throws {
    let texts = [
      "c.csv":
        "name,country,population,founded,capital\r\n\"Trond\"\"heim\",2,190464,997-01-01,no\r\n",
      "c.tsv":
        "name\tcountry\tpopulation\tfounded\tcapital\nTrond\"heim\t2\t190464\t0997-01-01\tfalse\n",
      "c.json":
        #" [ {"name":"Trond\"heim","country":2,"population":190464,"founded":"0997-01-01","capital":false} ]"#,
      "c.ndjson":
        #"{"name":"Trond\"heim","country":2,"population":190464,"founded":"0997-01-01","capital":false}"#,
    ]
    for (name, text) in texts {
      for isCompressed in [false, true] {
        let folder = try Folder()
        try folder.sql(smallWorld, on: "w.sqlite")
        let text = text.replacingOccurrences(of: ",997-", with: ",0997-")
        let file = isCompressed ? name + ".gz" : name
        if isCompressed {
          try Data(Gzip.compress(Array(text.utf8)) ?? []).write(
            to: URL(fileURLWithPath: folder.file(file)))
        } else {
          try folder.write(text, to: file)
        }
        let run = try folder.run("import", "w.sqlite", file, "--into", "City")
        #expect(run.status == 0, "\(file): \(run.errors)")
        #expect(run.output.hasPrefix("City: 1 inserted in "))
        let row = try folder.sql(Self.cities + " WHERE id = 4", on: "w.sqlite")
        #expect(row == ["4|Trond\"heim|2|190464|0997-01-01|0"], "\(file)")
      }
    }
  }

  @Test("Standard input is read, and its format is detected from its content")
  func standardInput() throws {
    let folder = try Folder()
    try folder.sql(smallWorld, on: "w.sqlite")
    let run = try folder.run(
      "import", "w.sqlite", "-", "--into", "Country",
      input:
        "\u{FEFF}{\"code\":\"JP\",\"name\":\"Japan\"}\n\n{\"name\":\"Chile\",\"code\":\"CL\"}\n")
    #expect(run.status == 0, "\(run.errors)")
    let rows = try folder.sql("SELECT * FROM Country WHERE id > 2", on: "w.sqlite")
    #expect(rows == ["3|JP|Japan", "4|CL|Chile"])
  }

  @Test(
    "Invalid rows are reported by line and kept in their original form; the others are imported")
  func rejects() throws {
    let folder = try Folder()
    try folder.sql(smallWorld, on: "w.sqlite")
    try folder.write(
      """
      name,country,population,capital
      Cusco,1,many,no
      "Are
      quipa",1,1008290,no
      Nowhere,9,1,no
      Short,1
      Quote"d,1,5,maybe
      "Lost"x,1,5,no
      ,1,7,no

      Iquitos,1,,no
      """, to: "c.csv")
    let run = try folder.run(
      "import", "w.sqlite", "c.csv", "--into", "City", "--rejects", "bad.csv")
    #expect(run.status == 65)
    #expect(
      run.errors == """
        livefetch: c.csv: line 2: `population` takes an integer of 64 bits, not 'many'
        livefetch: c.csv: line 5: a relationship refers to an object that does not exist
        livefetch: c.csv: line 6: 2 fields, where the heading has 4
        livefetch: c.csv: line 7: `capital` takes true or false, not 'maybe'
        livefetch: c.csv: line 8: text after a closing quote

        """)
    #expect(run.output.hasPrefix("City: 3 inserted, 5 refused (bad.csv) in "))
    #expect(
      try folder.read("bad.csv")
        == "name,country,population,capital\nCusco,1,many,no\nNowhere,9,1,no\nShort,1\n"
        + "Quote\"d,1,5,maybe\n\"Lost\"x,1,5,no\n")
    let rows = try folder.sql("SELECT name, population FROM City WHERE id > 3", on: "w.sqlite")
    #expect(rows == ["Are\nquipa|1008290", "|7", "Iquitos|NULL"])
  }

  @Test("With --strict a refused row prevents the import, and no new file remains")
  func strict() throws {
    let folder = try Folder()
    try folder.sql(smallWorld, on: "w.sqlite")
    try folder.write("code,name\nJP,Japan\nPE,Again\n", to: "c.csv")
    let run = try folder.run("import", "w.sqlite", "c.csv", "--into", "Country", "--strict")
    #expect(run.status == 65)
    #expect(run.errors.contains("line 3: another Country has the same `code`"))
    #expect(run.errors.contains("nothing was imported: 1 rows were refused"))
    #expect(try folder.sql("SELECT count(*) FROM Country", on: "w.sqlite") == ["2"])
    try folder.write("id,n\n1,1\n1,2\n", to: "d.csv")
    #expect(try folder.run("import", "new.sqlite", "d.csv", "--into", "T", "--strict").status == 65)
    #expect(!folder.has("new.sqlite"))
  }

  @Test(
    "A truncated array, or one followed by more data, is refused as a whole",
    arguments: [
      (#"[{"a":1},{"a":2}"#, "the array is not closed: is the file whole?"),
      (#"[{"a":1},{"a":2},"#, "the array is not closed: is the file whole?"),
      ("[{\"a\":1}]\n[{\"a\":2}]\n", "there is more data after the end of the array"),
    ])
  func cutArray(text: String, problem: String) throws {
    let folder = try Folder()
    try folder.sql("CREATE TABLE T(id INTEGER PRIMARY KEY, a INTEGER)", on: "w.sqlite")
    try folder.write(text, to: "t.json")
    for store in ["w.sqlite", "new.sqlite"] {
      let run = try folder.run("import", store, "t.json", "--into", "T")
      #expect(run.status == 65)
      #expect(run.errors.contains(problem))
    }
    #expect(try folder.sql("SELECT count(*) FROM T", on: "w.sqlite") == ["0"])
    #expect(!folder.has("new.sqlite"))
  }

  @Test("A long truncated array leaves no rows, however many were read before its end")
  func cutLongArray() throws {
    let folder = try Folder()
    let text = "[" + String(repeating: #"{"a":1},"#, count: 20_000) + #"{"a":1}"#
    for (input, status) in [(text, Int32(65)), (text + "]", 0)] {
      let run = try folder.run("import", "new.sqlite", "-", "--into", "T", input: input)
      #expect(run.status == status, "\(run.errors)")
      #expect(folder.has("new.sqlite") == (status == 0))
    }
    #expect(try folder.sql("SELECT count(*) FROM T", on: "new.sqlite") == ["20001"])
  }

  @Test("Types of JSON hold every value of the sample: mixed ones, and integers of any length")
  func mixedJSON() throws {
    let folder = try Folder()
    try folder.write(
      #"[{"x":{"k":1},"n":123456789012345678901,"f":1e3},{"x":"s","n":5,"f":1}]"#, to: "t.json")
    let run = try folder.run("import", "new.sqlite", "t.json", "--into", "T")
    #expect(run.status == 0, "\(run.errors)")
    #expect(
      try folder.sql("SELECT x, n, f FROM T", on: "new.sqlite") == [
        #"{"k":1}|123456789012345678901|1000"#, #""s"|5|1"#,
      ])
  }

  @Test("A number that does not fit is shown; an entity has a name")
  func oddArguments() throws {
    let folder = try Folder()
    try folder.write("{\"a\":1}\n{\"a\":1e400}\n", to: "t.ndjson")
    let run = try folder.run("import", "new.sqlite", "t.ndjson", "--into", "T")
    #expect(run.errors.contains("line 2: `a` takes a number, not 1e400"))
    #expect(try folder.run("import", "other.sqlite", "t.ndjson", "--into", "").status == 64)
    #expect(!folder.has("other.sqlite"))
  }

  @Test("A missing table is created, with types inferred from the values")
  func newTable() throws {
    let folder = try Folder()
    try folder.write(
      """
      sku,price,stock,zip,added,seen,active,note
      A-1,1.50,3,00501,2024-01-31,2024-01-31T10:00:00Z,true,
      B-2,2,,10001,2024-02-01,2024-02-01,false,"a, b"
      """, to: "p.csv")
    let run = try folder.run("import", "shop.sqlite", "p.csv", "--into", "Product", "--key", "sku")
    #expect(run.status == 0, "\(run.errors)")
    #expect(run.output.hasPrefix("Product (a new table): 2 inserted, 0 updated in "))
    #expect(
      try folder.sql("SELECT sql FROM sqlite_schema WHERE name = 'Product'", on: "shop.sqlite") == [
        """
        CREATE TABLE "Product"(
          "id" INTEGER PRIMARY KEY,
          "sku" TEXT,
          "price" REAL,
          "stock" INTEGER,
          "zip" TEXT,
          "added" DATE,
          "seen" TIMESTAMP,
          "active" BOOLEAN,
          "note" TEXT,
          UNIQUE ("sku"))
        """
      ])
    #expect(
      try folder.sql("SELECT * FROM Product", on: "shop.sqlite") == [
        "1|A-1|1.5|3|00501|2024-01-31|2024-01-31T10:00:00Z|1|NULL",
        "2|B-2|2.0|NULL|10001|2024-02-01|2024-02-01T00:00:00Z|0|a, b",
      ])
  }

  @Test("Standard input of any length can create a table")
  func newTableFromInput() throws {
    let folder = try Folder()
    let line = #"{"n":12,"text":"\#(String(repeating: "x", count: 900))"}"# + "\n"
    let input = String(repeating: line, count: 12_000)
    let run = try folder.run("import", "new.sqlite", "-", "--into", "T", input: input)
    #expect(run.status == 0, "\(run.errors)")
    #expect(run.output.hasPrefix("T (a new table): 12,000 inserted in "))
    #expect(
      try folder.sql("SELECT count(*), sum(n), min(length(text)) FROM T", on: "new.sqlite")
        == ["12000|144000|900"])
  }

  @Test("With a key existing rows are updated; omitted fields keep their values")
  func upsert() throws {
    let folder = try Folder()
    try folder.sql(smallWorld, on: "w.sqlite")
    try folder.write(
      """
      {"code":"PE","name":"Perú"}
      {"code":"CL","name":"Chile"}
      {"code":"NO"}
      {"name":"nobody"}
      """, to: "c.ndjson")
    let run = try folder.run(
      "import", "w.sqlite", "c.ndjson", "--into", "Country", "--key", "code")
    #expect(run.status == 65)
    #expect(run.errors.contains("c.ndjson: line 4: `code` is the key and may not be nil"))
    #expect(run.output.hasPrefix("Country: 1 inserted, 2 updated, 1 refused in "))
    #expect(
      try folder.sql("SELECT * FROM Country", on: "w.sqlite") == [
        "1|PE|Perú", "2|NO|Norway", "3|CL|Chile",
      ])
    let other = try folder.run(
      "import", "w.sqlite", "c.ndjson", "--into", "Country", "--key", "name")
    #expect(other.status == 64)
    #expect(other.errors.contains("Country has no unique index over name"))
  }

  @Test("Columns of the file are mapped to properties, or skipped")
  func mapping() throws {
    let folder = try Folder()
    try folder.sql(smallWorld, on: "w.sqlite")
    try folder.write("Name,land,x\nTromsø,2,9\n", to: "c.csv")
    let plain = try folder.run("import", "w.sqlite", "c.csv", "--into", "City")
    #expect(plain.status == 64)
    #expect(plain.errors.contains("City has no property 'land'"))
    let run = try folder.run(
      "import", "w.sqlite", "c.csv", "--into", "City", "--map", "land=country", "--map", "x=")
    #expect(run.status == 0, "\(run.errors)")
    #expect(
      try folder.sql("SELECT name, country_id FROM City WHERE id > 3", on: "w.sqlite") == [
        "Tromsø|2"
      ])
    let typo = try folder.run(
      "import", "w.sqlite", "c.csv", "--into", "City", "--map", "lend=country")
    #expect(typo.status == 64)
    #expect(typo.errors.contains("there is no column 'lend'; did you mean 'land'?"))
  }

  @Test("The history of an import is the one that the triggers write")
  func history() throws {
    let folder = try Folder()
    try folder.sql(smallWorld, on: "a.sqlite")
    let server = try folder.serve("a.sqlite")
    server.process.terminate()
    server.process.waitUntilExit()
    try FileManager.default.copyItem(
      atPath: folder.file("a.sqlite"), toPath: folder.file("b.sqlite"))
    try folder.write("name,country,population\nCusco,1,1\nVoss,2,2\n", to: "c.csv")
    #expect(try folder.run("import", "a.sqlite", "c.csv", "--into", "City").status == 0)
    try folder.sql(
      """
      INSERT INTO City(name, country_id, population) VALUES ('Cusco', 1, 1);
      INSERT INTO City(name, country_id, population) VALUES ('Voss', 2, 2);
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
    try folder.sql(smallWorld, on: "a.sqlite")
    var server = try folder.serve("a.sqlite")
    let before = try folder.run("fetch", server.address, "City", "--format", "json").output
    let token = try #require(before.firstMatch(of: /"token":"([^"]+)"/)).1
    let refused = try folder.run("import", "a.sqlite", "-", "--into", "City", input: "name\nX\n")
    #expect(refused.status == 65)
    #expect(refused.errors.contains("is being served by process"))
    #expect(refused.errors.contains(server.address))
    server.process.terminate()
    server.process.waitUntilExit()
    try folder.write("id,name\n3,Bjørgvin\n9,Voss\n", to: "c.csv")
    #expect(
      try folder.run("import", "a.sqlite", "c.csv", "--into", "City", "--key", "id").status == 0)
    server = try folder.serve("a.sqlite")
    let url = URL(string: "\(server.address)/v1/objects/City?select=name&since=\(token)&wait=0")
    let diff = String(decoding: try Data(contentsOf: try #require(url)), as: UTF8.self)
    #expect(diff.contains(#""inserted":[{"to":[0,3],"item":{"id":9,"name":"Voss"}}]"#), "\(diff)")
    #expect(diff.contains(#""id":3,"changed":{"name":"Bjørgvin"}"#), "\(diff)")
  }

  @Test("A user's own triggers fire, and their changes are in the history")
  func ownTriggers() throws {
    let folder = try Folder()
    try folder.sql(
      smallWorld + """
        CREATE TABLE Log(id INTEGER PRIMARY KEY, text TEXT);
        CREATE TRIGGER noted AFTER INSERT ON City BEGIN INSERT INTO Log(text) VALUES (NEW.name); END;
        """, on: "a.sqlite")
    let server = try folder.serve("a.sqlite")
    server.process.terminate()
    server.process.waitUntilExit()
    #expect(
      try folder.run("import", "a.sqlite", "-", "--into", "City", input: "name\nX\n").status == 0)
    #expect(try folder.sql("SELECT text FROM Log", on: "a.sqlite") == ["X"])
    #expect(try folder.sql("SELECT count(*) FROM livefetch_history_Log", on: "a.sqlite") == ["1"])
    #expect(try folder.run("check", "a.sqlite").output == "a.sqlite: nothing is wrong\n")
  }

  @Test("The rules of a model file apply to an import")
  func modelled() throws {
    let folder = try Folder()
    let model = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .appendingPathComponent("../../Sources/LiveFetchCommand/Resources/models/heroes.json")
    try FileManager.default.copyItem(
      at: model.standardizedFileURL, to: URL(fileURLWithPath: folder.file("heroes.json")))
    let server = try folder.start(
      ["serve", "h.sqlite", "--port", "0", "--model", "heroes.json"], output: "serve.log")
    _ = try folder.wait(for: "serve.log") { $0.hasSuffix("\n") }
    server.terminate()
    server.waitUntilExit()
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

  @Test(
    "An import that cannot begin is refused with a specific exit status",
    arguments: [
      (["import", "w.sqlite", "none.csv", "--into", "City"], Int32(66), "none.csv: No such file"),
      (["import", "w.sqlite", "e.csv", "--into", "City"], 65, "e.csv: it is empty"),
      (["import", "w.sqlite", "g.gz", "--into", "City"], 65, "the compressed data is damaged"),
      (["import", "t.txt", "c.csv", "--into", "City"], 65, "t.txt: the file is not an SQLite"),
      (["import", "w.sqlite", "--into", "City"], 64, "Missing expected argument"),
      (["import", "w.sqlite", "c.csv", "--into", "V"], 64, "'V' is a view"),
      (["import", "n.sqlite", "-", "--into", "New"], 65, "standard input: it is empty"),
      (["import", "w.sqlite", "q.csv", "--into", "City"], 65, "line 2: a quote is not closed"),
      (
        ["import", "w.sqlite", "c.csv", "--into", "City", "--type", "a=b"], 64, "types are integer"
      ),
    ])
  func refused(arguments: [String], status: Int32, complaint: String) throws {
    let folder = try Folder()
    try folder.sql(smallWorld + "CREATE VIEW V AS SELECT * FROM City", on: "w.sqlite")
    try folder.write("name\nX\n", to: "c.csv")
    try folder.write("", to: "e.csv")
    try folder.write("name\n\"X\n", to: "q.csv")
    try folder.write(String(repeating: "A", count: 4_096), to: "t.txt")
    try Data([0x1F, 0x8B, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]).write(
      to: URL(fileURLWithPath: folder.file("g.gz")))
    let run = try folder.run(arguments)
    #expect(run.status == status, "\(run.errors)")
    #expect(run.errors.contains(complaint), "\(run.errors)")
  }

  @Test(
    "A file from which no table can be inferred is refused with its line, and no file remains",
    arguments: [
      ("id,name,name\n1,a,b\n", "columns 2 and 3 are both 'name'"),
      ("id,Name,name\n1,a,b\n", "columns 2 and 3 are both 'Name' and 'name', the same here"),
      ("id,,x\n1,a,b\n", "column 2 has no name: --map =NAME gives it one"),
      ("", "it is empty"), ("\n\n", "it is empty"),
      ((0..<2_000).map { "c\($0)" }.joined(separator: ",") + "\n", "2,000 columns, where a table"),
      ("[]", "no record to infer a table from"),
      ("[1,2]", "an object is expected, not a number"),
      (#"{"a":1,"a":2}"#, "`a` is repeated"),
      (#"{"":1}"#, "column 1 has no name"),
      ("id,name\n1,\u{0}\n", "line 2: is no text: there is a zero byte in it"),
      ("id,n\nx\ny\n", "nothing was imported: every row was refused"),
    ])
  func unusable(text: String, complaint: String) throws {
    let folder = try Folder()
    try folder.write(text, to: "f.data")
    let run = try folder.run("import", "new.sqlite", "f.data", "--into", "T", "--rejects", "r")
    #expect(run.status == 65, "\(run.errors)")
    #expect(run.errors.contains(complaint), "\(run.errors)")
    #expect(!run.errors.contains("SQLite 1"))
    #expect(!folder.has("new.sqlite") && !folder.has("new.sqlite-wal"))
  }

  @Test(
    "Text of another encoding is named, with what to do",
    arguments: [
      (String.Encoding.utf16, "is UTF-16; UTF-8 is needed: iconv -f UTF-16"),
      (.utf16LittleEndian, "looks like UTF-16"), (.utf16BigEndian, "looks like UTF-16"),
      (.isoLatin1, "line 1: is not UTF-8; UTF-8 is needed: iconv -f LATIN1"),
    ])
  func encodings(encoding: String.Encoding, complaint: String) throws {
    let folder = try Folder()
    let data = try #require("id,größe\n1,Köln\n".data(using: encoding))
    try data.write(to: URL(fileURLWithPath: folder.file("f.csv")))
    let run = try folder.run("import", "new.sqlite", "f.csv", "--into", "T")
    #expect(run.status == 65)
    #expect(run.errors.contains(complaint), "\(run.errors)")
    #expect(!folder.has("new.sqlite"))
  }

  @Test("Headings with quotes, commas, a mark, reserved words and 1,900 columns become columns")
  func oddHeadings() throws {
    let folder = try Folder()
    let many = (0..<1_896).map { "c\($0)" }.joined(separator: ",")
    let values = (0..<1_896).map(String.init).joined(separator: ",")
    try folder.write(
      "\u{FEFF}\"select\",\"a \"\"q\"\" b\",\"x,y\",rowid,\(many)\n1,2,3,4,\(values)\n", to: "f.csv"
    )
    let run = try folder.run("import", "new.sqlite", "f.csv", "--into", "order")
    #expect(run.status == 0, "\(run.errors)")
    let rows = try folder.sql(
      #"SELECT id, "select", "a ""q"" b", "x,y", "rowid", c1895 FROM "order""#, on: "new.sqlite")
    #expect(rows == ["1|1|2|3|4|1895"])
    let (server, address) = try folder.serve("new.sqlite")
    let save = try folder.run(
      "save", address, input: #"[{"update":"order","id":1,"values":{"c1895":7}}]"#)
    #expect(save.status == 0, "\(save.errors)")
    server.terminate()
    server.waitUntilExit()
  }

  @Test("A column without a name gets one, or is skipped")
  func unnamedColumn() throws {
    let folder = try Folder()
    try folder.write("id,,\n1,a,b\n", to: "f.csv")
    #expect(try folder.run("import", "a.sqlite", "f.csv", "--into", "T", "--map", "=").status == 0)
    #expect(try folder.sql("SELECT * FROM T", on: "a.sqlite") == ["1"])
    try folder.write("id,\n1,a\n", to: "g.csv")
    #expect(try folder.run("import", "b.sqlite", "g.csv", "--into", "T", "--map", "=n").status == 0)
    #expect(try folder.sql("SELECT n FROM T", on: "b.sqlite") == ["a"])
  }

  @Test("Values that are invalid for their columns' types are stored unchanged with --as-stored")
  func asStored() throws {
    let folder = try Folder()
    let schema = "CREATE TABLE T(id INTEGER PRIMARY KEY, n INTEGER, r REAL, b BOOLEAN, d DATE);"
    let rows = "INSERT INTO T VALUES (1, 'abc', 'x', 2, 'soon'), (2, 1.5, 7, 'maybe', 12)"
    try folder.sql(schema + rows, on: "a.sqlite")
    let stored = try folder.sql("SELECT *, typeof(n), typeof(r) FROM T", on: "a.sqlite")
    for format in ["csv", "tsv", "json", "ndjson"] {
      let target = "\(format).sqlite"
      try folder.sql(schema, on: target)
      _ = try folder.run("export", "a.sqlite", "T", "--output", "t.\(format)")
      let strict = try folder.run("import", target, "t.\(format)", "--into", "T", "--strict")
      #expect(strict.status == 65)
      let run = try folder.run("import", target, "t.\(format)", "--into", "T", "--as-stored")
      #expect(run.status == 0, "\(format): \(run.errors)")
      let back = try folder.sql("SELECT *, typeof(n), typeof(r) FROM T", on: target)
      #expect(back == stored, "\(format)")
    }
  }
}
