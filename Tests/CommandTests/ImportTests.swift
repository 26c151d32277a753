// `livefetch import` into a file: formats, invalid rows, keys, columns.

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
        let folder = try smallFolder()
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
    let folder = try smallFolder()
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
    let folder = try smallFolder()
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
    let folder = try smallFolder()
    try folder.write("code,name\nJP,Japan\nPE,Again\n", to: "c.csv")
    let run = try folder.run("import", "w.sqlite", "c.csv", "--into", "Country", "--strict")
    #expect(run.status == 65)
    #expect(run.errors.contains("line 3: another Country has the same `code`"))
    #expect(run.errors.contains("nothing was imported: 1 row was refused"))
    #expect(try folder.sql("SELECT count(*) FROM Country", on: "w.sqlite") == ["2"])
    try folder.write("id,n\n1,1\n1,2\n", to: "d.csv")
    #expect(try folder.run("import", "new.sqlite", "d.csv", "--into", "T", "--strict").status == 65)
    #expect(!folder.has("new.sqlite"))
  }

  @Test(
    "If a later file cannot be read, neither a new store nor a file of refused rows remains",
    arguments: [
      ("none.csv", Int32(66), "livefetch: none.csv: there is no such file\n"),
      (
        "bad.csv", 65,
        "livefetch: bad.csv: line 1: columns 1 and 2 are both 'id': name one differently in the file\n"
      ),
      (
        "open.json", 65,
        "livefetch: open.json: the array is not closed: is the file whole?\n"
      ),
    ])
  func laterFile(file: String, status: Int32, message: String) throws {
    let folder = try Folder()
    try folder.write("id,n\n1,2\n", to: "a.csv")
    try folder.write("id,id\n", to: "bad.csv")
    try folder.write("[{\"id\":3,\"n\":4}\n", to: "open.json")
    let run = try folder.run(
      "import", "new.sqlite", "a.csv", file, "--into", "T", "--rejects", "refused.csv")
    #expect(run.status == status)
    #expect(run.errors == message)
    #expect(!folder.has("new.sqlite"))
    #expect(!folder.has("refused.csv"))
  }

  @Test("A file of refused rows that cannot be created ends the import with the reason")
  func rejectsFile() throws {
    let folder = try Folder()
    let run = try folder.run(
      "import", "new.sqlite", "-", "--into", "T", "--rejects", "none/bad.csv", input: "id\n1\n")
    #expect(run.status == 74)
    #expect(
      run.errors == "livefetch: none/bad.csv: cannot be written: No such file or directory\n")
    #expect(!folder.has("new.sqlite"))
  }

  @Test("Lines may end with CR, also those of refused rows")
  func carriageReturns() throws {
    let folder = try Folder()
    try folder.sql("CREATE TABLE T(id INTEGER PRIMARY KEY, name TEXT)", on: "w.sqlite")
    try folder.write("id,name\r10,X\rzz,Z\r12,\"q\"x\r13,W\r", to: "c.csv")
    let run = try folder.run("import", "w.sqlite", "c.csv", "--into", "T", "--rejects", "bad.csv")
    #expect(
      run.errors == """
        livefetch: c.csv: line 3: `id` takes an integer of 64 bits, not 'zz'
        livefetch: c.csv: line 4: text after a closing quote

        """)
    #expect(try folder.sql("SELECT * FROM T", on: "w.sqlite") == ["10|X", "13|W"])
    #expect(try folder.read("bad.csv") == "id,name\r\nzz,Z\r\n12,\"q\"x\r\n")
  }

  @Test("Refused rows of files with different headings are not kept in one file")
  func rejectsOfHeadings() throws {
    let folder = try Folder()
    try folder.sql("CREATE TABLE T(id INTEGER PRIMARY KEY, name TEXT)", on: "w.sqlite")
    try folder.write("id,name\nx,bad\n2,Ann\n", to: "a.csv")
    try folder.write("name,id\nBob,3\n", to: "b.csv")
    try folder.write("id,name\r\n4,Cyd\r\n", to: "c.csv")
    let refused = try folder.run(
      "import", "w.sqlite", "a.csv", "b.csv", "--into", "T", "--rejects", "bad.csv")
    #expect(refused.status == 64)
    #expect(refused.errors.contains("b.csv: has another heading than the first file"))
    #expect(try folder.sql("SELECT count(*) FROM T", on: "w.sqlite") == ["0"])
    let run = try folder.run(
      "import", "w.sqlite", "a.csv", "c.csv", "--into", "T", "--rejects", "bad.csv")
    #expect(run.status == 65)
    #expect(try folder.read("bad.csv") == "id,name\nx,bad\n")
    #expect(try folder.sql("SELECT * FROM T", on: "w.sqlite") == ["2|Ann", "4|Cyd"])
  }

  @Test("Standard input that does not block is read to its end")
  func nonBlockingInput() throws {
    let folder = try Folder()
    var ends: [Int32] = [0, 0]
    try #require(pipe(&ends) == 0)
    let (reader, writer) = (ends[0], ends[1])
    defer { close(reader) }
    try #require(fcntl(reader, F_SETFL, O_NONBLOCK) == 0)
    // Otherwise the program would hold the other end open too.
    try #require(fcntl(writer, F_SETFD, FD_CLOEXEC) == 0)
    let run = try folder.start(
      ["import", "w.sqlite", "-", "--into", "T"], output: "run.out", input: reader)
    usleep(500_000)
    #expect(write(writer, "id\n7\n", 5) == 5)
    close(writer)
    #expect(eventually(within: .seconds(120)) { !run.isRunning })
    #expect(run.terminationStatus == 0)
    #expect(try folder.sql("SELECT * FROM T", on: "w.sqlite") == ["7"])
  }

  @Test("A pipe or a link for refused rows stays if no row was refused")
  func rejectsPipe() throws {
    let folder = try Folder()
    try folder.write("id,n\n1,2\n", to: "a.csv")
    symlink("real.csv", folder.file("link.csv"))
    mkfifo(folder.file("pipe"), 0o600)
    for (name, kind) in [("link.csv", S_IFLNK), ("pipe", S_IFIFO)] {
      let run = try folder.start(
        ["import", "\(name).sqlite", "a.csv", "--into", "T", "--rejects", name], output: "run.out",
        limits: kind == S_IFIFO ? "(cat pipe > got &)" : nil)
      #expect(eventually(within: .seconds(120)) { !run.isRunning })
      #expect(try folder.sql("SELECT * FROM T", on: "\(name).sqlite") == ["1|2"])
      var status = stat()
      #expect(lstat(folder.file(name), &status) == 0)
      #expect(status.st_mode & S_IFMT == kind)
    }
  }

  @Test(
    "A truncated array, none, one with a bracket too many or too few, and data behind it are refused",
    arguments: [
      (#"[{"a":1},{"a":2}"#, "the array is not closed: is the file whole?"),
      ("", "t.json: it is empty: a JSON array is expected"),
      (" \n", "t.json: it is empty: a JSON array is expected"),
      (#"[{"a":1},{"a":2},"#, "the array is not closed: is the file whole?"),
      ("[{\"a\":1}]\n[{\"a\":2}]\n", "there is more data after the end of the array"),
      (#"[{"a":1}}"#, "`,` or `]` is expected, not `}`"),
      (#"[{"a":1}}, {"a":2}]"#, "`,` or `]` is expected, not `}`"),
      (#"{"a":1},{"a":2}"#, "a JSON array begins with `[`"),
      ("{\"a\":1}\n{\"a\":2}\n", "a JSON array begins with `[`"),
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
    let text = "[" + String(repeating: #"{"a":1},"#, count: 10_500) + #"{"a":1}"#
    for (input, status) in [(text, Int32(65)), (text + "]", 0)] {
      let run = try folder.run("import", "new.sqlite", "-", "--into", "T", input: input)
      #expect(run.status == status, "\(run.errors)")
      #expect(folder.has("new.sqlite") == (status == 0))
    }
    #expect(try folder.sql("SELECT count(*) FROM T", on: "new.sqlite") == ["10501"])
  }

  @Test("With a key existing rows are updated; omitted fields keep their values")
  func upsert() throws {
    let folder = try smallFolder()
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

  @Test("A key without a name is refused", arguments: ["", " ", ",", "code,"])
  func emptyKey(key: String) throws {
    let folder = try smallFolder()
    try folder.write("code,name\nCL,Chile\n", to: "c.csv")
    let run = try folder.run("import", "w.sqlite", "c.csv", "--into", "Country", "--key", key)
    #expect(run.status == 64)
    #expect(run.errors.contains("--key takes names of properties."), "\(run.errors)")
    #expect(try folder.sql("SELECT count(*) FROM Country", on: "w.sqlite") == ["2"])
  }

  @Test("Columns of the file are mapped to properties, or skipped")
  func mapping() throws {
    let folder = try smallFolder()
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

  @Test(
    "An import that cannot begin is refused with a specific exit status",
    arguments: [
      (
        ["import", "w.sqlite", "none.csv", "--into", "City"], Int32(66),
        "none.csv: there is no such file"
      ),
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
      (
        ["import", "w.sqlite", "c.csv", "--into", "City", "--type", "name=string"], 64,
        "--type declares columns of a new table: this import creates none"
      ),
    ])
  func refused(arguments: [String], status: Int32, complaint: String) throws {
    let folder = try Folder()
    try folder.sql(smallFixture + "CREATE VIEW V AS SELECT * FROM City", on: "w.sqlite")
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

  @Test("Values that are invalid for their columns' types are stored unchanged with --as-stored")
  func asStored() throws {
    let folder = try Folder()
    let schema = "CREATE TABLE T(id INTEGER PRIMARY KEY, n INTEGER, r REAL, b BOOLEAN, d DATE);"
    let rows = """
      INSERT INTO T VALUES (1, 'abc', 'x', 2, '2021-02-03'), (2, 1.5, 7, 'maybe', 12), (3, 1, 1, 1, 'soon')
      """
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
