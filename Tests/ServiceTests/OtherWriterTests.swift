import FetchModel
import Foundation
import SQLiteStore
import Testing

/// API.md, section 4, promise 10, and what a program does to a file that does not know of us.
@Suite("Another program writes the same file", .enabled(if: Sqlite3.isInstalled), .serialized)
struct OtherWriterTests {
  static let world = """
    CREATE TABLE country(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
    CREATE TABLE city(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, population INTEGER,
      country_id INTEGER REFERENCES country(id) ON DELETE CASCADE);
    CREATE TABLE log(id INTEGER PRIMARY KEY, text TEXT);
    CREATE TRIGGER note AFTER UPDATE ON city BEGIN
      INSERT INTO log(text) VALUES (NEW.name); UPDATE country SET name = name || '!' WHERE id = 1;
    END;
    INSERT INTO country VALUES (1,'China'),(2,'Japan');
    INSERT INTO city VALUES (1,'Shanghai',24,1),(2,'Beijing',18,1),(3,'Tokyo',9,2);
    """

  private static let fetches = [
    "city?sort=-population,name&digest=true&count=exact",
    "city?section=country.name&sort=name&select=name,country.name&digest=true",
    "country?sort=name&select=name,city&limit=2", "log?as=ids",
  ]

  static let scripts = [
    "UPDATE city SET population = 30 WHERE id = 3;",
    "REPLACE INTO city VALUES (1,'Tokyo',1,2);",
    "INSERT OR REPLACE INTO city VALUES (9,'Beijing',5,2);",
    "UPDATE OR REPLACE city SET name = 'Tokyo' WHERE id = 1;",
    "INSERT INTO city VALUES (3,'Edo',10,2) ON CONFLICT(id) DO UPDATE SET population = 77;",
    "INSERT INTO city VALUES (8,'Tokyo',10,2) ON CONFLICT(name) DO UPDATE SET country_id = 1;",
    "PRAGMA foreign_keys = ON; DELETE FROM country WHERE id = 1;",
    "PRAGMA recursive_triggers = ON; REPLACE INTO country VALUES (2,'China');",
    "BEGIN; DELETE FROM city; INSERT INTO city VALUES (1,'Oslo',1,NULL); COMMIT;",
    "BEGIN; UPDATE city SET population = 0; ROLLBACK; UPDATE city SET name = name || 'x';",
    "VACUUM; UPDATE city SET population = 31 WHERE id = 3;",
    "CREATE INDEX city_population ON city(population); DELETE FROM city WHERE id = 2;",
    "CREATE TRIGGER late AFTER INSERT ON city BEGIN UPDATE city SET population = 5 WHERE id = NEW.id; END;"
      + "INSERT INTO city(name) VALUES ('Rome');",
  ]

  @Test(arguments: scripts)
  func whoeverWatchesHoldsAFreshSnapshotAfterwards(_ script: String) throws {
    let file = try HostedFile(Self.world)
    var held = try Self.fetches.map { try snapshot(file, $0) }
    #expect(try file.shell(script) == "")
    Thread.sleep(forTimeInterval: 0.3)
    for (index, fetch) in Self.fetches.enumerated() {
      let answer = try file.ask("/v1/objects/\(fetch)&since=\(held[index].token)&wait=0")
      let fresh = try snapshot(file, fetch)
      if answer.status == 410 {
        // A trigger that is younger than ours may have hidden something.
        #expect(script.contains("CREATE TRIGGER"), "\(answer.text)")
        continue
      }
      try held[index].apply(try #require(Diff(json: answer.json), "\(answer.text)"))
      #expect(held[index].sections == fresh.sections, "\(fetch)")
      #expect(held[index].summary == fresh.summary, "\(fetch)")
    }
  }

  private func snapshot(_ file: HostedFile, _ fetch: String) throws -> ResultSnapshot {
    try #require(ResultSnapshot(json: file.ask("/v1/objects/\(fetch)").json))
  }

  @Test func aCommitIsToldWithinTwoHundredMilliseconds() throws {
    let file = try HostedFile(Self.world)
    var times: [Double] = []
    for round in 0..<10 {
      let waiting = file.begin("GET", "/v1/objects/city?as=count&since=now&wait=10")
      Thread.sleep(forTimeInterval: 0.05)
      let before = Date()
      // Its clock starts when the shell begins; the commit is the last that it does.
      try file.shell("INSERT INTO city(name) VALUES ('r\(round)');")
      let answer = try #require(waiting.wait(seconds: 5))
      times.append(Date().timeIntervalSince(before))
      #expect(answer.json["total"]?.integer == Int64(4 + round))
    }
    let median = times.sorted()[5]
    #expect(median < 0.2, "\(times)")
  }
}

@Suite(
  "Another program changes the tables of a served file", .enabled(if: Sqlite3.isInstalled),
  .serialized)
struct AlteredTableTests {
  static let world = """
    CREATE TABLE city(id INTEGER PRIMARY KEY, name TEXT NOT NULL, population INTEGER);
    CREATE TABLE country(id INTEGER PRIMARY KEY, name TEXT);
    INSERT INTO city VALUES (1,'Shanghai',24),(2,'Beijing',18);
    INSERT INTO country VALUES (1,'China');
    """

  static let alterations: [(script: String, shown: String)] = [
    ("ALTER TABLE city ADD COLUMN area REAL DEFAULT 1.5;", #""area":1.5"#),
    ("ALTER TABLE city RENAME COLUMN population TO people;", #""people":24"#),
    (
      """
      PRAGMA foreign_keys = OFF; BEGIN;
      CREATE TABLE new(id INTEGER PRIMARY KEY, name TEXT NOT NULL, size INTEGER);
      INSERT INTO new SELECT id, name, population FROM city; DROP TABLE city;
      ALTER TABLE new RENAME TO city; COMMIT;
      """, #""size":24"#
    ),
  ]

  @Test(arguments: alterations)
  func itsFetchEndsAndTheNextOneShowsTheNewColumns(
    _ alteration: (script: String, shown: String)
  ) throws {
    let file = try HostedFile(Self.world)
    let token = try file.token()
    let polls = [
      file.begin("GET", "/v1/objects/city?since=now&wait=20"),
      file.begin("GET", "/v1/objects/country?since=now&wait=20"),
      file.begin(
        "POST", "/v1/live", body: #"{"fetches":{"c":{"entity":"city","since":"now"}}}"#),
    ]
    let stream = try file.stream("/v1/objects/city")
    #expect(stream.next()?.kind == "snapshot")
    Thread.sleep(forTimeInterval: 0.1)
    #expect(try file.shell(alteration.script) == "")
    let answers = try polls.map { try #require($0.wait(seconds: 5)) }
    #expect(answers.map(\.status) == [410, 410, 410])
    #expect(answers.map(\.code) == ["schema-changed", "token-expired", "schema-changed"])
    #expect(answers[2].json["fetch"]?.string == "c")
    let event = try #require(stream.next())
    #expect(event.kind == "error")
    #expect(event.json["code"]?.string == "schema-changed")
    #expect(stream.next(seconds: 1) == nil)
    #expect(stream.isOver)

    let fresh = try file.ask("/v1/objects/city")
    #expect(fresh.text.contains(alteration.shown), "\(fresh.text)")
    #expect(file.reopenings(atLeast: 1) == 1)
    #expect(try file.ask("/v1/objects/city?since=\(token)&wait=0").code == "token-expired")
    // What is new is followed and saved as well.
    let after = try #require(fresh.json["token"]?.string)
    #expect(try file.ask("PATCH", "/v1/objects/city/1", body: #"{"name":"x"}"#).status == 200)
    let diff = try file.ask("/v1/objects/city?since=\(after)")
    #expect(diff.text.contains(#""changed":{"name":"x"}"#), "\(diff.text)")
  }

  @Test func aTableThatIsDroppedIsUnknownAndTheOthersGoOn() throws {
    let file = try HostedFile(Self.world)
    let poll = file.begin("GET", "/v1/objects/city?since=now&wait=20")
    Thread.sleep(forTimeInterval: 0.1)
    try file.shell("DROP TABLE city;")
    #expect(try #require(poll.wait(seconds: 5)).code == "schema-changed")
    #expect(file.reopenings(atLeast: 1) == 1)
    #expect(try file.ask("/v1/objects/city").code == "unknown-entity")
    #expect(try file.ask("/v1/objects/country?as=count").json["total"]?.integer == 1)
  }

  @Test func aTableThatIsMadeIsServedWithoutARestart() throws {
    let file = try HostedFile(Self.world)
    try file.shell(
      "CREATE TABLE river(id INTEGER PRIMARY KEY, name TEXT); INSERT INTO river VALUES (1,'Rhine');"
    )
    #expect(file.reopenings(atLeast: 1) == 1)
    let answer = try file.ask("/v1/objects/river")
    #expect(answer.text.contains("Rhine"))
  }

  @Test func anIndexOrAVacuumDisturbsNobody() throws {
    let file = try HostedFile(Self.world)
    let token = try file.token()
    let poll = file.begin("GET", "/v1/objects/city?since=now&wait=20")
    try file.shell("CREATE INDEX by_name ON city(name); VACUUM;")
    Thread.sleep(forTimeInterval: 0.4)
    #expect(!poll.isThere)
    #expect(try file.ask("/v1/objects/city?since=\(token)&wait=0").status == 200)
    #expect(file.reopenings(atLeast: 0) == 0)
  }

  @Test func requestsThatComeMeanwhileAreAnswered() throws {
    let file = try HostedFile(Self.world)
    for round in 0..<5 {
      try file.shell("ALTER TABLE country ADD COLUMN c\(round) TEXT;")
      let pending = (0..<20).map { _ in
        Thread.sleep(forTimeInterval: 0.01)
        return file.begin("GET", "/v1/objects/country")
      }
      for answer in pending {
        let status = try #require(answer.wait(seconds: 10)).status
        #expect([200, 410].contains(status))
      }
    }
    #expect(file.reopenings(atLeast: 5) == 5)
    #expect(try file.ask("/v1/objects/country").text.contains("c4"))
  }
}

@Suite(
  "A served file is restored or replaced", .enabled(if: Sqlite3.isInstalled), .serialized)
struct RestoredFileTests {
  private let world = AlteredTableTests.world

  /// Changes a served file so that it holds another history; gives what it held before.
  private func check(_ file: HostedFile, _ replace: () throws -> Void) throws {
    let token = try file.token()
    let stream = try file.stream("/v1/objects/city?as=count")
    #expect(stream.next()?.kind == "snapshot")
    let poll = file.begin("GET", "/v1/objects/city?as=count&since=now&wait=20")
    Thread.sleep(forTimeInterval: 0.1)
    try replace()
    #expect(try #require(poll.wait(seconds: 5)).status == 410)
    // A stream gets a snapshot, or ends so that its client comes again.
    let event = stream.next(seconds: 5)
    #expect(event?.kind == "snapshot" || event == nil && stream.isOver, "\(event as Any)")
    let expired = try file.ask("/v1/objects/city?since=\(token)&wait=0")
    #expect(expired.code == "token-expired", "\(expired.text)")
    let fresh = try file.ask("/v1/objects/city?as=count")
    #expect(fresh.json["total"]?.integer == 1, "\(fresh.text)")
    #expect(try file.ask("POST", "/v1/objects/city", body: #"{"name":"Rome"}"#).status == 201)
    #expect(try file.ask("/v1/objects/city?as=count").json["total"]?.integer == 2)
    #expect(try file.shell("PRAGMA integrity_check;") == "ok\n")
  }

  /// A file that was never served, with the same tables and one city.
  private func other(_ file: HostedFile) throws -> String {
    let path = file.directory + "/other.sqlite"
    try Sqlite3.run(world + "DELETE FROM city WHERE id = 2;", path)
    return path
  }

  @Test func byTheShellsRestore() throws {
    let file = try HostedFile(world)
    let other = try other(file)
    try check(file) {
      let said = try file.shell(".restore \(other)")
      #expect(said == "")
    }
  }

  @Test func byItsOwnBackup() throws {
    let file = try HostedFile(world)
    try file.shell("DELETE FROM city WHERE id = 2;")
    let backup = file.directory + "/backup.sqlite"
    try file.shell(".backup \(backup)")
    for name in ["a", "b"] {
      #expect(try file.ask("POST", "/v1/objects/city", body: #"{"name":"\#(name)"}"#).status == 201)
    }
    try check(file) {
      let said = try file.shell(".restore \(backup)")
      #expect(said == "")
    }
  }

  @Test func byAnotherFileUnderItsName() throws {
    let file = try HostedFile(world)
    let other = try other(file)
    try check(file) { #expect(rename(other, file.path) == 0) }
    #expect(file.reopenings(atLeast: 1) == 1)
  }
}
