import FetchModel
import TestSupport
import Testing

@Suite("Changes of objects whatever their key is made of", .mayBlock)
struct KeyFormTests {
  @Test(
    "are reported if one or many of them change",
    arguments: [
      ("x REAL PRIMARY KEY NOT NULL, v INTEGER", "0.5", "1/7.0"),
      ("x PRIMARY KEY NOT NULL, v INTEGER", "'a'", "'b'"),
      ("x BLOB PRIMARY KEY NOT NULL, v INTEGER", "x'0aff'", "x'00'"),
      ("x TEXT COLLATE NOCASE PRIMARY KEY NOT NULL, v INTEGER", "'Lima'", "'oslo'"),
      ("x REAL, y TEXT, v INTEGER, PRIMARY KEY (x, y)", "0.5, 'a'", "2.5, 'b,%'"),
    ], ["", "WITHOUT ROWID"])
  func areReported(_ key: (columns: String, first: String, second: String), form: String) throws {
    let file = try ServedFile("CREATE TABLE thing(\(key.columns)) \(form);")
    let fetch = "/v1/objects/thing?select=v&sort=v"
    for (number, value) in [key.first, key.second].enumerated() {
      var held = try #require(ResultSnapshot(json: file.ask("GET", fetch).json))
      let changes = [
        "INSERT INTO thing VALUES (\(value), \(number))", "UPDATE thing SET v = v + 10",
        "UPDATE thing SET v = v + 100 WHERE v % 10 = \(number)",
      ]
      for change in changes {
        try file.runExternally(change)
        var fresh = held
        repeat {
          let answer = try file.ask("GET", "\(fetch)&since=\(held.token)&wait=1")
          try held.apply(try #require(Diff(json: answer.json), "\(change): \(answer.text)"))
          fresh = try #require(ResultSnapshot(json: file.ask("GET", fetch).json))
        } while held.token != fresh.token
        #expect(held.sections == fresh.sections, "\(change)")
      }
    }
    #expect(try #require(ResultSnapshot(json: file.ask("GET", fetch).json)).summary.count == 2)
  }
}
