// `group` and `select` with the day, month or year of a date.

import TestSupport
import Testing

@Suite("Groups by parts of dates", .mayBlock)
struct GroupedDateTests {
  private static func items(_ file: ServedFile, _ request: String) throws -> String {
    let answer = try file.ask("/v1/objects/t?as=dictionaries&\(request)")
    let found = answer.text.firstMatch(of: /"items":(\[.*\])\}\]\}$/)
    return String(try #require(found, "\(answer.text)").1)
  }

  @Test("have the same values as sections, for each format in which dates are stored")
  func formats() throws {
    for (type, first, second) in [
      ("DATETIME", "'2024-01-31T23:30:00Z'", "'2024-02-01T00:30:00Z'"),
      ("DATE", "'2024-01-31'", "'2024-02-01'"), ("TIMESTAMP", "1706743800", "1706747400"),
    ] {
      let file = try ServedFile(
        "CREATE TABLE t(id INTEGER PRIMARY KEY, d \(type)); "
          + "INSERT INTO t VALUES (1, \(first)), (2, \(second)), (3, \(second))")
      #expect(
        try Self.items(file, "select=m:d:month,n:@count&group=m")
          == #"[{"m":"2024-01","n":1},{"m":"2024-02","n":2}]"#)
      #expect(try Self.items(file, "select=y:d:year,n:@count&group=y") == #"[{"y":"2024","n":3}]"#)
      #expect(
        try Self.items(file, "select=n:@count&group=d:day&sort=-d:day") == #"[{"n":2},{"n":1}]"#)
      let sections = try file.ask("/v1/objects/t?section=d:month&as=ids").text
      #expect(sections.contains(#""value":"2024-01""#))
      #expect(sections.contains(#""value":"2024-02""#))
    }
  }

  @Test("are live")
  func live() throws {
    let file = try ServedFile(
      """
      CREATE TABLE t(id INTEGER PRIMARY KEY, d DATETIME);
      INSERT INTO t VALUES (1, '2024-01-31T23:30:00Z'), (2, '2024-02-01T00:30:00Z');
      """)
    let fetch = "/v1/objects/t?as=dictionaries&select=m:d:month,n:@count&group=m"
    let token = try #require(file.ask(fetch).json["token"]?.string)
    let body = #"{"d":"2024-01-01T00:00:00Z"}"#
    #expect(try file.ask("PATCH", "/v1/objects/t/2", body: body).status == 200)
    let diff = try file.ask("\(fetch)&since=\(token)&wait=60")
    #expect(diff.text.contains(#""items":[{"m":"2024-01","n":2}]"#), "\(diff.text)")
  }

  @Test("are not functions of predicates")
  func predicates() throws {
    let file = try ServedFile("CREATE TABLE t(id INTEGER PRIMARY KEY, d DATETIME);")
    for call in ["FUNCTION(d,':month')", "FUNCTION(':month',d)", "FUNCTION(d,':initial')"] {
      let refused = try file.ask("/v1/objects/t?where=\(call)=='2024-01'")
      #expect(refused.status == 400)
      #expect(refused.code == "unknown-function", "\(refused.text)")
      let selected = try file.ask("/v1/objects/t?as=dictionaries&select=m:\(call)&group=m")
      #expect(selected.code == "unknown-function", "\(selected.text)")
    }
  }

  @Test("show a value that is not a date as stored", .onlyForFiles)
  func others() throws {
    let file = try ServedFile(
      """
      CREATE TABLE t(id INTEGER PRIMARY KEY, d DATETIME, s TEXT);
      INSERT INTO t VALUES (1, '2024-01-31T23:30:00Z', 'a'), (2, 'soon', X'00'), (3, 'soon', 'b');
      """)
    #expect(
      try Self.items(file, "select=m:d:month,n:@count&group=m")
        == #"[{"m":"2024-01","n":1},{"m":"soon","n":2}]"#)
    #expect(
      try Self.items(file, "select=i:s:initial,n:@count&group=i")
        == #"[{"i":"A","n":1},{"i":"B","n":1},{"i":"AA==","n":1}]"#)
  }
}
