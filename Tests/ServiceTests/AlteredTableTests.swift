// A schema that changes while it is served.

import FetchModel
import Foundation
import SQLiteStore
import Service
import TestSupport
import Testing

@Suite(
  "Another program changes the tables of a served file", .mayBlock,
  .enabled(if: Sqlite3.isInstalled), .onlyForFiles, .serialized)
struct AlteredTableTests {
  static let fixture = """
    CREATE TABLE country(id INTEGER PRIMARY KEY, name TEXT);
    CREATE TABLE city(id INTEGER PRIMARY KEY, name TEXT NOT NULL, population INTEGER,
      country_id INTEGER REFERENCES country(id));
    CREATE TABLE river(id INTEGER PRIMARY KEY, name TEXT);
    INSERT INTO country VALUES (1,'China');
    INSERT INTO city VALUES (1,'Shanghai',24,1),(2,'Beijing',18,1);
    INSERT INTO river VALUES (1,'Yangtze');
    """

  static let alterations = [
    "ALTER TABLE city ADD COLUMN area REAL;",
    "ALTER TABLE city RENAME COLUMN population TO people;",
    "DROP TRIGGER livefetch_update_city; DROP TRIGGER livefetch_delete_city;"
      + "ALTER TABLE city DROP COLUMN population;",
    "DROP TABLE city;",
    "CREATE TABLE lake(id INTEGER PRIMARY KEY, name TEXT);",
    "CREATE VIEW big AS SELECT * FROM city WHERE population > 20;",
    "DROP TRIGGER livefetch_update_city;",
    rebuilt(column: "size"), rebuilt(column: "population"),
  ]

  private static func rebuilt(column: String) -> String {
    """
    PRAGMA foreign_keys = OFF; BEGIN;
    CREATE TABLE new(id INTEGER PRIMARY KEY, name TEXT NOT NULL, \(column) INTEGER,
      country_id INTEGER REFERENCES country(id));
    INSERT INTO new SELECT id, name, population, country_id FROM city; DROP TABLE city;
    ALTER TABLE new RENAME TO city; COMMIT;
    """
  }

  private func live(_ fetches: String..., wait: String = #","wait":20"#) -> String {
    let members = fetches.enumerated().map { "\"f\($0)\":{\($1)}" }
    return #"{"fetches":{\#(members.joined(separator: ","))}\#(wait)}"#
  }

  private final class Weak {
    weak var store: SQLiteStore?
    init(_ store: SQLiteStore) { self.store = store }
  }

  @Test("A store that was opened again leaves the memory, with its service")
  func released() throws {
    let directory = try TemporaryDirectory()
    let path = directory.file("store.sqlite")
    try SQLiteShell.run("CREATE TABLE T(id INTEGER PRIMARY KEY)", path: path)
    func opened() throws -> (former: Weak, host: ServiceHost) {
      let store = try SQLiteStore(path: path)
      let host = try ServiceHost(store) { () throws(StoreError) in try SQLiteStore(path: path) }
      return (Weak(store), host)
    }
    let (former, host) = try opened()
    #expect(former.store != nil)
    host.reload(.init()) { () throws(StoreError) in try SQLiteStore(path: path) }
    #expect(eventually(within: .seconds(60)) { former.store == nil })
    host.drain()
    host.close()
  }

  @Test("Every waiting request answers 410 schema-changed", arguments: alterations)
  func waitingRequests(_ script: String) throws {
    let file = try HostedFile(Self.fixture)
    let token = try file.token()
    let since = #""since":"\#(token)""#
    let waiting = [
      file.begin("GET", "/v1/changes?since=\(token)&wait=20"),
      file.begin("GET", "/v1/objects/city?since=\(token)&wait=20"),
      file.begin("GET", "/v1/objects/city?since=now&wait=20"),
      file.begin("GET", "/v1/objects/city/1?since=\(token)&wait=20"),
      file.begin("GET", "/v1/objects/river?since=\(token)&wait=20"),
      file.begin("POST", "/v1/live", body: live(#""entity":"city",\#(since)"#)),
      file.begin(
        "POST", "/v1/live",
        body: live(#""entity":"river",\#(since)"#, #""entity":"city",\#(since)"#)),
    ]
    try awaitWaitingFetches(7) { try file.ask($0) }
    #expect(!waiting.contains { $0.isThere })
    #expect(try file.shell(script) == "")
    for (index, request) in waiting.enumerated() {
      let answer = try #require(request.wait())
      #expect(answer.status == 410, "request \(index): \(answer.text)")
      #expect(answer.code == "schema-changed", "request \(index): \(answer.text)")
    }
    #expect(file.reopenings(atLeast: 1) == 1)
    try expectNewEpoch(file, after: token)
  }

  /// Old tokens expire, and new ones can be continued from.
  private func expectNewEpoch(_ file: HostedFile, after token: String) throws {
    for target in ["/v1/objects/river?", "/v1/objects/country/1?", "/v1/changes?"] {
      let answer = try file.ask("\(target)since=\(token)&wait=0")
      #expect(answer.status == 410 && answer.code == "token-expired", "\(answer.text)")
    }
    let live = live(#""entity":"river","since":"\#(token)""#)
    let results = try file.ask("POST", "/v1/live", body: live).json["results"]
    #expect(results?["f0"]?["sections"] != nil)
    let snapshot = try #require(file.ask("/v1/objects/river").json["token"]?.string)
    #expect(snapshot.split(separator: "-")[0] != token.split(separator: "-")[0])
    #expect(try file.ask("PATCH", "/v1/objects/river/1", body: #"{"name":"x"}"#).status == 200)
    let diff = try file.ask("/v1/objects/river?since=\(snapshot)&wait=20")
    #expect(diff.text.contains(#""changed":{"name":"x"}"#), "\(diff.text)")
  }

  @Test("Every stream ends with an error", arguments: alterations)
  func streams(_ script: String) throws {
    let file = try HostedFile(Self.fixture)
    let token = try file.token()
    let streams = try ["objects/city", "objects/city/1", "objects/river", "changes"].map {
      try file.stream("/v1/\($0)")
    }
    let group = live(#""entity":"city""#, #""entity":"river""#, wait: "")
    let all = try streams + [file.stream("/v1/live", body: group)]
    // Each begins with a snapshot, but for the stream of saves; that of two fetches has two.
    for (stream, count) in zip(all, [1, 1, 1, 0, 2]) {
      #expect(stream.next(count).map(\.kind) == [String](repeating: "snapshot", count: count))
    }
    #expect(try file.shell(script) == "")
    for (index, stream) in all.enumerated() {
      let event = try #require(stream.next(), "stream \(index)")
      #expect(event.kind == "error", "stream \(index): \(event)")
      #expect(event.json["status"]?.integer == 410, "stream \(index): \(event)")
      #expect(event.json["code"]?.string == "schema-changed", "stream \(index): \(event)")
      #expect(stream.next() == nil && stream.isOver, "stream \(index)")
    }
    #expect(file.reopenings(atLeast: 1) == 1)
    // An `EventSource` reopens the stream with its last event id.
    let stream = try file.stream("/v1/objects/river", lastEvent: token)
    #expect(stream.next()?.kind == "snapshot")
    #expect(try file.ask("PATCH", "/v1/objects/river/1", body: #"{"name":"x"}"#).status == 200)
    #expect(try #require(stream.next()).data.contains(#""changed":{"name":"x"}"#))
  }

  @Test("New requests are served with the new schema")
  func newSchema() throws {
    let file = try HostedFile(Self.fixture)
    try file.shell(
      "BEGIN; ALTER TABLE city RENAME COLUMN population TO people; DROP TABLE river;"
        + "CREATE TABLE lake(id INTEGER PRIMARY KEY, name TEXT); INSERT INTO lake VALUES (1,'Tai');"
        + "COMMIT"
    )
    #expect(file.reopenings(atLeast: 1) >= 1)
    #expect(try file.ask("/v1/objects/lake").text.contains("Tai"))
    #expect(try file.ask("/v1/objects/city?where=people%3E20").text.contains(#""people":24"#))
    #expect(try file.ask("/v1/objects/river").code == "unknown-entity")
    let token = try file.token()
    #expect(try file.ask("PATCH", "/v1/objects/lake/1", body: #"{"name":"x"}"#).status == 200)
    let diff = try file.ask("/v1/objects/lake?since=\(token)&wait=20")
    #expect(diff.text.contains(#""changed":{"name":"x"}"#), "\(diff.text)")
  }

  @Test(
    "Requests that arrive while the schema changes are answered with 200",
    arguments: [
      (#"ALTER TABLE country ADD COLUMN c%d TEXT;"#, "/v1/objects/country"),
      (
        #"ALTER TABLE river RENAME COLUMN name TO n%d; ALTER TABLE river ADD COLUMN name TEXT;"#,
        "/v1/objects/river?as=objects&sort=-name"
      ),
      (
        #"ALTER TABLE river RENAME TO r%d; CREATE TABLE river(id INTEGER PRIMARY KEY);"#, "/v1/live"
      ),
    ])
  func meanwhile(_ script: String, _ target: String) throws {
    let file = try HostedFile(Self.fixture)
    let body = target == "/v1/live" ? live(#""entity":"river""#) : nil
    for round in 0..<4 {
      try file.shell(script.replacing("%d", with: "\(round)"))
      let pending = (0..<20).map { _ in
        Thread.sleep(forTimeInterval: 0.01)
        return file.begin(body == nil ? "GET" : "POST", target, body: body)
      }
      for answer in pending {
        let answer = try #require(answer.wait())
        #expect(answer.status == 200, "\(answer.text)")
      }
    }
    #expect(file.reopenings(atLeast: 1) >= 1)
  }

  @Test("An index, ANALYZE or VACUUM ends nothing")
  func sameSchema() throws {
    let file = try HostedFile(Self.fixture)
    let token = try file.token()
    let poll = file.begin("GET", "/v1/objects/city?since=\(token)&wait=60")
    #expect(try file.shell("CREATE INDEX by_name ON city(name); ANALYZE; VACUUM;") == "")
    try file.shell("UPDATE city SET population = 9 WHERE id = 1;")
    let answer = try #require(poll.wait())
    #expect(answer.text.contains(#""changed":{"population":9}"#), "\(answer.text)")
    #expect(file.reopenings(atLeast: 0) == 0)
  }

  @Test("A column that triggers name cannot be dropped, and nothing ends")
  func refusedDrop() throws {
    let file = try HostedFile(Self.fixture)
    let token = try file.token()
    let poll = file.begin("GET", "/v1/objects/city?since=\(token)&wait=60")
    let refusal = try file.shell("ALTER TABLE city DROP COLUMN population;")
    #expect(refusal.contains("livefetch_"), "\(refusal)")
    #expect(try file.ask("PATCH", "/v1/objects/city/1", body: #"{"population":9}"#).status == 200)
    let answer = try #require(poll.wait())
    #expect(answer.text.contains(#""changed":{"population":9}"#), "\(answer.text)")
    #expect(file.reopenings(atLeast: 0) == 0)
  }

  @Test(
    "Tokens of before a change that was made while no server ran expire", arguments: alterations)
  func whileDown(_ script: String) throws {
    let first = try HostedFile(Self.fixture)
    let token = try first.token()
    let second = try HostedFile(restarting: first, after: script)
    #expect(second.reopenings(atLeast: 0) == 0)
    try expectNewEpoch(second, after: token)
  }

  @Test("Tokens go on where no server ran and the schema is the same")
  func restart() throws {
    let first = try HostedFile(Self.fixture)
    let token = try first.token()
    let second = try HostedFile(
      restarting: first, after: "CREATE INDEX i ON city(name); UPDATE river SET name = 'x';")
    let diff = try second.ask("/v1/objects/river?since=\(token)&wait=20")
    #expect(diff.text.contains(#""changed":{"name":"x"}"#), "\(diff.text)")
  }
}

/// The answer to a waiting client when the server ends.
@Suite("The server ends while clients wait", .mayBlock)
struct EndingTests {
  @Test(
    arguments: [
      ("GET", "/v1/objects/city", nil, 1), ("GET", "/v1/objects/city/1", nil, 1),
      ("GET", "/v1/changes", nil, 0),
      ("POST", "/v1/live", #"{"fetches":{"a":{"entity":"city"},"b":{"entity":"country"}}}"#, 2),
    ] as [(String, String, String?, Int)])
  func aStreamEndsWithTheReason(
    method: String, target: String, body: String?, snapshots: Int
  ) throws {
    let file = try ServedFile(contractFixture)
    let pending = file.begin(
      method, target, body: body, headers: [("Accept", "text/event-stream")])
    _ = pending.wait()
    let stream = EventReader(try #require(pending.stream))
    #expect(stream.next(snapshots).count == snapshots)
    file.stop()
    let event = try #require(stream.next())
    #expect(event.kind == "error")
    #expect(event.json["code"]?.string == "shutting-down")
    #expect(stream.next() == nil)
    #expect(stream.isOver)
  }

  @Test func everyWaitingRequestIsAnswered() throws {
    let file = try ServedFile(contractFixture)
    let live = #"{"fetches":{"a":{"entity":"city","since":"now"}},"wait":30}"#
    let pending = [
      file.begin("GET", "/v1/changes?since=now&wait=30"),
      file.begin("GET", "/v1/objects/city?since=now&wait=30"),
      file.begin("POST", "/v1/live", body: live),
    ]
    try awaitWaitingFetches(2) { try file.ask($0) }
    file.stop()
    for answer in pending { #expect(try #require(answer.wait()).status == 200) }
  }

  @Test("a stopped server releases its store, so that the engine's thread ends")
  func release() throws {
    weak var store: (any ReopenableStore)?
    do {
      let file = try ServedFile(contractFixture)
      store = file.store
      #expect(try file.ask("/v1/objects/city?as=count").status == 200)
    }
    #expect(eventually(within: .seconds(60)) { store == nil })
  }
}
