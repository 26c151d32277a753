// Single rules of the HTTP API: paths, saves, names.

import Service
import TestSupport
import Testing

@Suite("Corners of the contract", .mayBlock)
struct SmallContractTests {
  @Test func aTimeOfDayIsNotDroppedByAColumnOfDays() throws {
    let file = try ServedFile(
      "CREATE TABLE T(id INTEGER PRIMARY KEY, d DATE); INSERT INTO T VALUES (1, '2024-01-31')")
    let refused = try file.ask("PATCH", "/v1/objects/T/1", body: #"{"d":"2024-02-01T10:00:00Z"}"#)
    #expect(refused.status == 422)
    #expect(refused.text.contains(#""property":"d","code":"out-of-range""#), "\(refused.text)")
    for date in ["2024-02-01", "2024-02-02T00:00:00Z", "2024-02-03T02:00:00+02:00"] {
      #expect(try file.ask("PATCH", "/v1/objects/T/1", body: #"{"d":"\#(date)"}"#).status == 200)
    }
    #expect(try file.ask("/v1/objects/T/1").json["d"]?.string == "2024-02-03T00:00:00Z")
  }

  @Test(.onlyForFiles) func commentsInAUniqueIndexChangeNothing() throws {
    let file = try ServedFile(
      """
      CREATE TABLE City(id INTEGER PRIMARY KEY, name TEXT);
      CREATE TABLE Mayor(id INTEGER PRIMARY KEY, name TEXT, city_id INTEGER REFERENCES City, gone INT);
      CREATE UNIQUE INDEX c ON City(lower(name) DESC -- by name
        , name);
      CREATE UNIQUE INDEX m ON Mayor(city_id) /* one living mayor */ WHERE gone IS NULL;
      INSERT INTO City VALUES (1, 'x');
      INSERT INTO Mayor VALUES (1, 'a', 1, 1), (2, 'b', 1, NULL);
      """)
    let gone = try file.ask("POST", "/v1/objects/Mayor", body: #"{"name":"c","city":1,"gone":1}"#)
    #expect(gone.status == 201, "\(gone.text)")
    let living = try file.ask("POST", "/v1/objects/Mayor", body: #"{"name":"d","city":1}"#)
    #expect(living.status == 409, "\(living.text)")
    try file.runExternally("INSERT INTO Mayor(name, city_id, gone) VALUES ('e', 1, 1)")
    #expect(try file.ask("/v1/objects/Mayor?as=count").json["total"]?.integer == 4)
  }

  @Test func anEmptyTextIsAnIDLikeAnyOther() throws {
    let file = try ServedFile("CREATE TABLE T(id TEXT PRIMARY KEY NOT NULL, n INTEGER)")
    let insert = try file.ask("POST", "/v1/objects/T", body: #"{"id":"","n":1}"#)
    #expect(insert.status == 201, "\(insert.text)")
    #expect(insert["Location"] == "/v1/objects/T/")
    #expect(try file.ask("/v1/objects/T/").text == #"{"id":"","n":1}"#)
    #expect(try file.ask("/v1/objects/T//n").text == "1")
    #expect(try file.ask("PATCH", "/v1/objects/T/", body: #"{"n":2}"#).status == 200)
    #expect(try file.ask("DELETE", "/v1/objects/T/").status == 204)
    #expect(try file.ask("/v1/objects/T/").status == 404)
    #expect(try file.ask("/v1/objects//").code == "unknown-path")
  }

  @Test func optionsOfAnEntityThatIsNotThereIs404() throws {
    let file = try ServedFile("CREATE TABLE T(id INTEGER PRIMARY KEY)")
    #expect(try file.ask("OPTIONS", "/v1/objects/T").status == 204)
    #expect(try file.ask("OPTIONS", "/v1/objects/Q").code == "unknown-entity")
    #expect(try file.ask("OPTIONS", "/v1/objects/Q/1").status == 404)
  }

  @Test func largeIDsAreStringsWhereAClientAsksForThem() throws {
    let file = try ServedFile(
      """
      CREATE TABLE P(id INTEGER PRIMARY KEY, n INTEGER);
      CREATE TABLE C(id INTEGER PRIMARY KEY, p INTEGER REFERENCES P);
      INSERT INTO P VALUES (1, 0);
      """)
    let start = try file.ask("/v1/changes").json["to"]?.string ?? ""
    let body =
      #"{"changes":[{"insert":"C","values":{"id":9007199254740993,"p":1}},"#
      + #"{"insert":"C","temporaryID":"c","values":{"id":7}}]}"#
    let save = try file.ask("POST", "/v1/save?int64=string", body: body)
    #expect(save.text.contains(#""ids":{"0":"9007199254740993","c":7}"#), "\(save.text)")
    let changes = "/v1/changes?since=\(start)&wait=0"
    let records = try file.ask("\(changes)&int64=string").text
    #expect(records.contains(#""inserted":{"C":["9007199254740993",7]}"#), "\(records)")
    #expect(try file.ask(changes).text.contains(#""inserted":{"C":[9007199254740993,7]}"#))
    #expect(
      try file.ask("/v1/objects/P?select=C&int64=string").text.contains(
        #"{"id":1,"C":["9007199254740993"]}"#))
    let insert = try file.ask(
      "POST", "/v1/objects/P?int64=string", body: #"{"id":9007199254740994,"n":9007199254740995}"#)
    #expect(insert.text == #"{"id":"9007199254740994","n":"9007199254740995"}"#)
    let update = try file.ask(
      "PATCH", "/v1/objects/P/9007199254740994?int64=string", body: #"{"n":1}"#)
    #expect(update.text == #"{"id":"9007199254740994","n":1}"#)
    for target in ["/v1/save?int64=number", "/v1/objects/P?int64="] {
      #expect(try file.ask("POST", target, body: body).code == "bad-parameter")
    }
    #expect(try file.ask("/v1/changes?int64=number").code == "bad-parameter")
  }

  @Test func theDistinctDoublesOfAGroupAreWrittenLikeThoseOfAnItem() throws {
    let file = try ServedFile(
      """
      CREATE TABLE X(id INTEGER PRIMARY KEY, r REAL);
      INSERT INTO X VALUES (1, 1e16), (2, 1152921504606846976), (3, 5);
      """)
    for option in ["", "&int64=string"] {
      let values = try file.ask(
        "/v1/objects/X?as=dictionaries&select=v:@distinctUnionOfObjects.r\(option)")
      #expect(values.text.contains(#"[{"v":[5,1e+16,1.152921504606847e+18]}]"#), "\(values.text)")
    }
  }

  @Test func aPathThatIsReadOnlyAllowsOnlyReading() throws {
    let file = try ServedFile(
      "CREATE TABLE T(id INTEGER PRIMARY KEY); CREATE VIEW V AS SELECT id FROM T")
    #expect(
      try file.ask("OPTIONS", "/v1/objects/T")["Allow"] == "GET, HEAD, POST, PATCH, DELETE, OPTIONS"
    )
    for path in ["/v1/objects/V", "/v1/objects/V/1"] {
      #expect(try file.ask("OPTIONS", path)["Allow"] == "GET, HEAD, OPTIONS")
    }
    let refused = try file.ask("PUT", "/v1/objects/V", body: "{}")
    #expect(refused.status == 405)
    #expect(refused["Allow"] == "GET, HEAD, OPTIONS")
  }

  @Test(arguments: [true, false])
  func aCallerWithoutACredentialDoesNotLearnWhichEntitiesExist(isReadOnly: Bool) throws {
    var configuration = ServiceConfiguration()
    configuration.bearerToken = "secret"
    let file = try ServedFile(
      "CREATE TABLE T(id INTEGER PRIMARY KEY); CREATE VIEW V AS SELECT id FROM T",
      configuration: configuration)
    for method in ["OPTIONS", "PUT"] {
      let unknown = try file.ask(method, "/v1/objects/W")
      for name in ["T", "V"] {
        let answer = try file.ask(method, "/v1/objects/\(name)")
        #expect(answer.status == unknown.status)
        #expect(answer["Allow"] == unknown["Allow"], "\(method) \(name)")
      }
    }
  }

  @Test func aCompressedBodyIsRefused() throws {
    let file = try ServedFile("CREATE TABLE T(id INTEGER PRIMARY KEY)")
    for (coding, status) in [("gzip", 415), ("br", 415), ("identity", 201)] {
      let answer = try file.ask(
        "POST", "/v1/objects/T", body: "{}", headers: [("Content-Encoding", coding)])
      #expect(answer.status == status)
      #expect(answer.code == (status == 415 ? "unsupported-encoding" : nil))
    }
  }
}
