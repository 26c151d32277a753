// Imports that create their table, with names and types from the input.

import Foundation
import TestSupport
import Testing

extension ImportTests {
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

  @Test("Names that SQLite takes for a database in memory are names of files")
  func namesOfMemory() throws {
    let folder = try Folder()
    try folder.write("id,name\n1,A\n", to: "c.csv")
    for name in [":memory:", "file:x?mode=memory"] {
      let run = try folder.run("import", name, "c.csv", "--into", "City", "--key", "id")
      #expect(run.status == 0, "\(run.errors)")
      #expect(try folder.sql("SELECT name FROM City", on: name) == ["A"])
    }
    let run = try folder.run("import", "", "c.csv", "--into", "City", "--key", "id")
    #expect(run.status == 65, "\(run.output)\(run.errors)")
    #expect(run.errors.contains("the path is empty"), "\(run.errors)")
  }

  @Test("Standard input of any length can create a table")
  func newTableFromInput() throws {
    let folder = try Folder()
    // More than 8 MiB, which are read before the table is created. Its types are those of the first
    // 10,000 records.
    let line = { (text: String) in #"{"n":12,"text":"\#(text)"}"# + "\n" }
    let input =
      String(repeating: line("x"), count: 10_000)
      + String(repeating: line(String(repeating: "y", count: 940_000)), count: 9)
    let run = try folder.run("import", "new.sqlite", "-", "--into", "T", input: input)
    #expect(run.status == 0, "\(run.errors)")
    #expect(run.output.hasPrefix("T (a new table): 10,009 inserted in "))
    #expect(
      try folder.sql("SELECT count(*), sum(n), sum(length(text)) FROM T", on: "new.sqlite")
        == ["10009|120108|8470000"])
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
    stop(server)
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

  @Test("A refused heading is named by its column in the file, also if columns are left out")
  func columnNumbers() throws {
    let folder = try Folder()
    for (text, complaint) in [
      ("id,x,b,b\n1,2,3,4\n", "columns 3 and 4 are both 'b'"),
      ("id,x,,b\n1,2,3,4\n", "column 3 has no name"),
    ] {
      try folder.write(text, to: "f.csv")
      let run = try folder.run("import", "new.sqlite", "f.csv", "--into", "T", "--map", "x=")
      #expect(run.status == 65)
      #expect(run.errors.contains(complaint), "\(run.errors)")
    }
  }

  @Test("Columns whose names differ in the case of a letter outside of ASCII are imported")
  func namesInCase() throws {
    let folder = try Folder()
    try folder.sql(
      #"CREATE TABLE T(id INTEGER PRIMARY KEY, "Ä" INTEGER, "ä" INTEGER)"#, on: "a.sqlite")
    try folder.write("id,ä,Ä\n1,2,3\n", to: "f.csv")
    let run = try folder.run("import", "a.sqlite", "f.csv", "--into", "T")
    #expect(run.status == 0, "\(run.errors)")
    #expect(try folder.sql(#"SELECT id, "Ä", "ä" FROM T"#, on: "a.sqlite") == ["1|3|2"])
  }

  @Test(
    "A file from which no table can be inferred is refused with its line, and no file remains",
    arguments: [
      ("id,name,name\n1,a,b\n", "columns 2 and 3 are both 'name'"),
      (
        "id,Name,name\n1,a,b\n",
        "columns 2 and 3 are both 'Name' and 'name', which differ only in case"
      ),
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
}
