// The file of refused rows.

import Foundation
import TestSupport
import Testing

extension ImportTests {
  @Test("An existing file of refused rows is replaced only if an import ends with refused rows")
  func existingRejects() throws {
    let folder = try smallFolder()
    try folder.write("code,name\nJP,Japan\n", to: "new.csv")
    try folder.write("code,name\nPE,Again\n", to: "twice.csv")
    for (files, flags, status, content) in [
      (["new.csv"], [], Int32(0), "earlier\n"),
      (["twice.csv", "none.csv"], [], 66, "earlier\n"),
      (["twice.csv"], ["--key", "name"], 64, "earlier\n"),
      (["twice.csv"], [], 65, "code,name\nPE,Again\n"),
      (["twice.csv"], ["--strict"], 65, "code,name\nPE,Again\n"),
    ] as [([String], [String], Int32, String)] {
      try folder.write("earlier\n", to: "bad.csv")
      let run = try folder.run(
        ["import", "w.sqlite"] + files + ["--into", "Country", "--rejects", "bad.csv"] + flags)
      #expect(run.status == status, "\(files) \(flags): \(run.errors)")
      #expect(try folder.read("bad.csv") == content, "\(files) \(flags)")
      #expect(!folder.has("bad.csv.partial"))
    }
  }

  @Test("Refused elements of an indented array are kept one per line, and can be imported again")
  func rejectsOfArray() throws {
    let folder = try smallFolder()
    try folder.write(
      """
      [
        {
          "code": "PE",
          "name": "Again"
        },\r
        { "code": "NO",\r
          "name": "a\\\\\\"\\n"
        }]
      """, to: "c.json")
    for (name, advice) in [
      ("bad.json", "livefetch: bad.json: is NDJSON, not JSON: import it with --format ndjson\n"),
      ("bad.ndjson", ""),
    ] {
      let run = try folder.run(
        "import", "w.sqlite", "c.json", "--into", "Country", "--rejects", name)
      #expect(run.status == 65)
      #expect(
        run.errors == """
          livefetch: c.json: line 2: another Country has the same `code`
          livefetch: c.json: line 6: another Country has the same `code`
          \(advice)
          """)
      #expect(
        try folder.read(name) == #"""
          {     "code": "PE",     "name": "Again"   }
          { "code": "NO",      "name": "a\\\"\n"   }

          """#)
    }
    try folder.sql("DELETE FROM City; DELETE FROM Country", on: "w.sqlite")
    let again = try folder.run(
      "import", "w.sqlite", "bad.json", "--into", "Country", "--format", "ndjson")
    #expect(again.status == 0, "\(again.errors)")
    #expect(
      try folder.sql("SELECT code, name FROM Country ORDER BY id", on: "w.sqlite") == [
        "PE|Again", "NO|a\\\"\n",
      ])
  }
}
