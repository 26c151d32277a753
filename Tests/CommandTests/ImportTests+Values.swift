// Values whose kind the file has to tell: JSON strings, and values of columns without a type.

import TestSupport
import Testing

extension ImportTests {
  private static let documents = """
    CREATE TABLE T(id INTEGER PRIMARY KEY, j JSON, t TEXT);
    """
  private static let values = """
    INSERT INTO T VALUES (1, '"str"', '"str"'), (2, '"5"', '5'), (3, '5', NULL),
      (4, '{"a":1,"a":[{"b":1,"b":2}]}', ''), (5, '[1,"x"]', 'x'), (6, 'true', 'true'),
      (7, NULL, NULL), (8, '""', 'null'), (9, '"{\\"a\\":1}"', '{"a":1}');
    """

  @Test("JSON is imported as it was exported, in every format, from a file and from a server")
  func exportedJSON() throws {
    let folder = try Folder()
    try folder.sql(Self.documents + Self.values, on: "a.sqlite")
    let stored = try folder.sql("SELECT *, typeof(j) FROM T", on: "a.sqlite")
    let server = try folder.serve("a.sqlite")
    for (store, place) in [("a.sqlite", "file"), (server.address, "server")] {
      for format in ["csv", "tsv", "json", "ndjson"] {
        let target = "\(place)-\(format).sqlite"
        try folder.sql(Self.documents, on: target)
        let export = try folder.run("export", store, "T", "--output", "t.\(format)")
        #expect(export.status == 0, "\(target): \(export.errors)")
        let run = try folder.run("import", target, "t.\(format)", "--into", "T", "--strict")
        #expect(run.status == 0, "\(target): \(run.errors)")
        #expect(
          try folder.sql("SELECT *, typeof(j) FROM T", on: target) == stored, "\(target)")
      }
    }
  }

  @Test("A JSON string has JSON's quotes in CSV, also behind a key path, and a text has none")
  func quotedJSON() throws {
    let folder = try Folder()
    try folder.sql(
      Self.documents + """
        CREATE TABLE Part(id INTEGER PRIMARY KEY, t_id INTEGER REFERENCES T(id));
        INSERT INTO T VALUES (1, '"str"', 'str'); INSERT INTO Part VALUES (1, 1);
        """, on: "a.sqlite")
    let server = try folder.serve("a.sqlite")
    for store in ["a.sqlite", server.address] {
      let export = try folder.run("export", store, "Part", "--select", "t.j,t.t")
      #expect(export.output == "id,t.j,t.t\n1,\"\"\"str\"\"\",str\n", "\(store)")
    }
  }

  @Test("For a required text, null in JSON is refused, and an empty field in CSV is the empty text")
  func nullText() throws {
    let folder = try Folder()
    try folder.sql("CREATE TABLE R(id INTEGER PRIMARY KEY, t TEXT NOT NULL)", on: "r.sqlite")
    try folder.write("{\"id\":1,\"t\":null}\n", to: "n.ndjson")
    let run = try folder.run("import", "r.sqlite", "n.ndjson", "--into", "R")
    #expect(run.status == 65)
    #expect(run.errors == "livefetch: n.ndjson: line 1: `t` may not be nil\n")
    try folder.write("id,t\n2,\n", to: "n.csv")
    #expect(try folder.run("import", "r.sqlite", "n.csv", "--into", "R").status == 0)
    #expect(try folder.sql("SELECT id, quote(t) FROM R", on: "r.sqlite") == ["2|''"])
  }

  @Test("A record that repeats a field is refused")
  func repeatedField() throws {
    let folder = try Folder()
    try folder.sql(Self.documents, on: "a.sqlite")
    try folder.write(
      #"{"t":"a","t":"b"}"# + "\n" + #"{"t":{"a":1,"a":2}}"# + "\n", to: "t.ndjson")
    let run = try folder.run("import", "a.sqlite", "t.ndjson", "--into", "T")
    #expect(run.status == 65)
    #expect(run.errors.contains("line 1: `t` is repeated"), "\(run.errors)")
    #expect(run.errors.contains("line 2: `t` takes text in UTF-8, not an object"))
  }

  private static let untyped = "CREATE TABLE U(id INTEGER PRIMARY KEY, a, b);"

  @Test(
    "Numbers and texts of columns without a type are imported as they were exported",
    arguments: ["", "INSERT INTO U VALUES (0, 'x', 1);", "INSERT INTO U VALUES (0, 2.5, 'x');"])
  func exportedUntyped(first: String) throws {
    let folder = try Folder()
    try folder.sql(
      Self.untyped + """
        INSERT INTO U VALUES (1, 'abc', 7), (2, 7, 'abc'), (3, '7', '7'), (4, '', -0.5), (5, NULL, ''),
          (6, '007', '1e3'), (7, 9007199254740993, 1e300), (8, 'a,"b', ' 7');
        """, on: "a.sqlite")
    let rows = "SELECT a, typeof(a), b, typeof(b) FROM U WHERE id > 0"
    // A column whose first value has a fraction takes numbers as numbers with a fraction.
    let stored = try folder.sql(rows, on: "a.sqlite").map {
      first.contains("2.5") ? $0.replacing("7|integer|abc", with: "7.0|real|abc") : $0
    }
    for format in ["csv", "tsv", "ndjson"] {
      let target = "\(format).sqlite"
      try folder.sql(Self.untyped + first, on: target)
      _ = try folder.run("export", "a.sqlite", "U", "--output", "u.\(format)")
      let run = try folder.run("import", target, "u.\(format)", "--into", "U", "--strict")
      #expect(run.status == 0, "\(target): \(run.errors)")
      #expect(try folder.sql(rows, on: target) == stored, "\(target)")
    }
  }

  @Test("A field for a column without a type is a number if it looks like one and has no quotes")
  func untypedFields() throws {
    let folder = try Folder()
    try folder.sql(Self.untyped, on: "a.sqlite")
    try folder.write("a\n7\n\"7\"\n007\n1.5e3\nx\n12345678901234567890\n-3\n", to: "u.csv")
    let run = try folder.run("import", "a.sqlite", "u.csv", "--into", "U")
    #expect(run.status == 0, "\(run.errors)")
    #expect(
      try folder.sql("SELECT a, typeof(a) FROM U", on: "a.sqlite") == [
        "7|integer", "7|text", "007|text", "1500|integer", "x|text", "12345678901234567890|text",
        "-3|integer",
      ])
    try folder.write(#"{"a":true}"# + "\n", to: "u.ndjson")
    let refused = try folder.run("import", "a.sqlite", "u.ndjson", "--into", "U")
    #expect(
      refused.errors.contains("line 1: `a` takes a number or a string, not a boolean"),
      "\(refused.errors)")
  }
}
