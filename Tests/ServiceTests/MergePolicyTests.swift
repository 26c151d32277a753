// `ifMatch`, `base` and merge policies over HTTP, with two clients that read the same object.

import FetchModel
import TestSupport
import Testing

@Suite("Conflicts of two clients", .mayBlock)
struct MergePolicyTests {
  /// A hero whose power another client changed after it was read.
  private static func file() throws -> (ServedFile, etag: String) {
    let file = try SampleModel.served("heroes")
    _ = try file.insert("Hero", #"{"name":"Ann","power":10,"motto":"Up"}"#)
    let etag = try file.ask("/v1/objects/Hero/1")["ETag"] ?? ""
    _ = try file.ask("PATCH", "/v1/objects/Hero/1", body: #"{"power":20}"#)
    return (file, etag)
  }

  /// A save of both properties by a client that saw power 10.
  private static func save(_ file: ServedFile, _ policy: String?) throws -> Answer {
    let policy = policy.map { #","mergePolicy":"\#($0)""# } ?? ""
    return try file.ask(
      "POST", "/v1/save",
      body: """
        {"changes":[{"update":"Hero","id":1,"values":{"power":30,"motto":"Away"},
        "base":{"power":10,"motto":"Up"}}]\(policy)}
        """)
  }

  @Test(arguments: [nil, "error"])
  func aConflictShowsBothVersionsOfEachProperty(_ policy: String?) throws {
    let (file, _) = try Self.file()
    let answer = try Self.save(file, policy)
    #expect(answer.status == 409)
    #expect(answer.code == "conflict")
    #expect(answer.text.contains(#""change":0,"property":"power","code":"changed""#))
    #expect(answer.text.contains(#""stored":20,"given":30"#), "\(answer.text)")
    #expect(!answer.text.contains(#""property":"motto""#))
    #expect(try file.ask("/v1/objects/Hero/1").json["motto"]?.string == "Up")
  }

  @Test(arguments: [("overwrite", 30), ("objectWins", 30), ("storeWins", 20)])
  func aPolicyDecidesConflictsPropertyByProperty(_ policy: String, _ power: Int64) throws {
    let (file, _) = try Self.file()
    #expect(try Self.save(file, policy).status == 200)
    let hero = try file.ask("/v1/objects/Hero/1").json
    #expect(hero["power"]?.integer == power)
    // No other client changed this one.
    #expect(hero["motto"]?.string == "Away")
  }

  @Test func anETagThatIsNoMoreShowsBothVersionsOfTheObject() throws {
    let (file, etag) = try Self.file()
    let tag = etag.replacing("\"", with: "\\\"")
    let save = { (policy: String) in
      try file.ask(
        "POST", "/v1/save",
        body:
          #"{"changes":[{"update":"Hero","id":1,"values":{"power":30},"ifMatch":"\#(tag)"}]\#(policy)}"#
      )
    }
    let answer = try save("")
    #expect(answer.status == 409)
    #expect(answer.text.contains(#""stored":{"id":1,"#), "\(answer.text)")
    #expect(answer.text.contains(#""power":20"#) && answer.text.contains(#""given":{"power":30"#))
    let single = try file.ask(
      "PATCH", "/v1/objects/Hero/1", body: #"{"power":30}"#, headers: [("If-Match", etag)])
    #expect(single.status == 412)
    #expect(try save(#","mergePolicy":"overwrite""#).status == 200)
    #expect(try file.ask("/v1/objects/Hero/1").json["power"]?.integer == 30)
  }

  @Test func everyConflictOfASaveIsListed() throws {
    let (file, _) = try Self.file()
    _ = try file.insert("Hero", #"{"name":"Bob","power":1}"#)
    _ = try file.ask("PATCH", "/v1/objects/Hero/2", body: #"{"name":"Rob","power":2}"#)
    let answer = try file.ask(
      "POST", "/v1/save",
      body: """
        {"changes":[{"update":"Hero","id":1,"values":{"power":30},"base":{"power":10}},
        {"update":"Hero","id":2,"values":{"power":3},"base":{"name":"Bob","power":1}},
        {"delete":"Hero","id":2,"base":{"name":"Bob"}}]}
        """)
    let errors = try answer.errors()
    #expect(
      errors.map { "\($0["change"]?.integer ?? 9) \($0["property"]?.string ?? "")" }
        == ["0 power", "1 name", "1 power", "2 name"])
  }

  /// SQLite stores any value in any column.
  private static func misfits() throws -> ServedFile {
    try ServedFile(
      """
      CREATE TABLE t(id INTEGER PRIMARY KEY, i INTEGER, n DECIMAL, b BOOLEAN, d DATE, u UUID, j JSON);
      INSERT INTO t VALUES (1, 1, 1.5, 1, '2024-01-01', '6fa459ea-ee8a-3ca4-894e-db77e160355e', '{"a":1.0}'),
        (2, 'seven', 'abc', 'maybe', '12:34', 'none', '{"a":1.50,"b":1e2}');
      """)
  }

  @Test(
    "A value that its type cannot hold is replaced if the client has read it", .onlyForFiles,
    arguments: [
      ("i", #""seven""#, "7"), ("n", #""abc""#, "2.5"), ("b", #""maybe""#, "true"),
      ("d", #""12:34""#, #""2024-02-01T00:00:00Z""#),
      ("u", #""none""#, #""16fd2706-8baf-433b-82eb-8c7fada847da""#),
    ])
  func misfit(property: String, read: String, given: String) throws {
    let file = try Self.misfits()
    let save = { (base: String) in
      try file.ask(
        "POST", "/v1/save",
        body: """
          {"changes":[{"update":"t","id":2,"values":{"\(property)":\(given)},
          "base":{"\(property)":\(base)}}]}
          """)
    }
    let other = try save(#""another""#)
    #expect(other.status == 409, "\(other.text)")
    #expect(other.text.contains("\"stored\":\(read),\"given\":\(given)"), "\(other.text)")
    #expect(try save(read).status == 200)
    #expect(try file.ask("/v1/objects/t/2").text.contains("\"\(property)\":\(given)"))
  }

  @Test(
    "An object whose values its types cannot hold is deleted if the client has read them",
    .onlyForFiles)
  func misfitDeletion() throws {
    let file = try Self.misfits()
    let answer = try file.ask(
      "POST", "/v1/save",
      body: """
        {"changes":[{"delete":"t","id":2,
        "base":{"i":"seven","n":"abc","b":"maybe","d":"12:34","u":"none"}}]}
        """)
    #expect(answer.status == 200, "\(answer.text)")
    #expect(try file.ask("/v1/objects/t/2").status == 404)
  }

  @Test("Numbers within JSON are the same in any notation", .onlyForFiles)
  func notation() throws {
    let file = try Self.misfits()
    let save = { (base: String) in
      try file.ask(
        "POST", "/v1/save",
        body: #"{"changes":[{"update":"t","id":2,"values":{"i":1},"base":{"j":\#(base)}}]}"#)
    }
    #expect(try save(#"{"b":100,"a":1.5}"#).status == 200)
    #expect(try save(#"{"b":100,"a":1.51}"#).status == 409)
  }
}
