// Commits, restores and schema changes by other programs: clients stay correct.

import FetchModel
import Foundation
import SQLiteStore
import TestSupport
import Testing

/// A response contains every commit of another program that is older than 200 ms.
@Suite(
  "Another program writes the same file", .mayBlock, .enabled(if: Sqlite3.isInstalled), .serialized)
struct OtherWriterTests {
  static let fixture = """
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

  @Test("no snapshot is older than a diff that was sent before")
  func cachedSnapshot() throws {
    let file = try ServedFile(Self.fixture)
    let fetch = "/v1/objects/city?sort=name"
    for population in 100..<130 {
      // The second response is cached.
      _ = try file.ask(fetch)
      let token = try #require(try file.ask(fetch).json["token"]?.string)
      try file.runExternally("UPDATE city SET population = \(population) WHERE id = 3")
      let diff = try file.ask("\(fetch)&since=\(token)&wait=60")
      let snapshot = try file.ask(fetch)
      #expect(diff.json["to"] == snapshot.json["token"])
      #expect(snapshot.text.contains("\(population)"))
    }
  }

  @Test("no poll is older than a snapshot that was sent before")
  func pollAfterSnapshot() throws {
    let file = try ServedFile(Self.fixture)
    let fetch = "/v1/objects/city?sort=name"
    for population in 100..<130 {
      let token = try #require(try file.ask(fetch).json["token"]?.string)
      // The fetch is live from here on.
      _ = try file.ask("\(fetch)&since=\(token)&wait=0")
      try file.runExternally("UPDATE city SET population = \(population) WHERE id = 3")
      let snapshot = try file.ask("POST", "/v1/fetch", body: #"{"entity":"city","sort":"name"}"#)
      let diff = try file.ask("\(fetch)&since=\(token)&wait=0")
      #expect(snapshot.text.contains("\(population)"))
      #expect(diff.json["to"] == snapshot.json["token"], "\(diff.text)")
    }
  }

  @Test(arguments: scripts)
  func everyClientHasACurrentSnapshotAfterwards(_ script: String) throws {
    let file = try HostedFile(Self.fixture)
    var held = try Self.fetches.map { try snapshot(file, $0) }
    #expect(try file.shell(script) == "")
    let newest = try file.shell("SELECT max(position) FROM livefetch_position").dropLast()
    let position = try #require(Int(newest))
    // A schema change begins a new epoch, which takes one more position.
    #expect(
      try eventually(within: .seconds(60)) {
        let parts = try file.token().split(separator: "-")
        return try #require(Int(parts[1])) >= position
      })
    for (index, fetch) in Self.fetches.enumerated() {
      let answer = try file.ask("/v1/objects/\(fetch)&since=\(held[index].token)&wait=0")
      let fresh = try snapshot(file, fetch)
      if answer.status == 410 {
        // A trigger that is newer than LiveFetch's may have hidden changes.
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

  @Test func everyCommitWakesAPollThatWaits() throws {
    let file = try HostedFile(Self.fixture)
    for round in 0..<10 {
      let waiting = file.begin("GET", "/v1/objects/city?as=count&since=now&wait=60")
      try awaitWaitingFetches(1) { try file.ask($0) }
      try file.shell("INSERT INTO city(name) VALUES ('r\(round)');")
      let answer = try #require(waiting.wait())
      #expect(answer.json["total"]?.integer == Int64(4 + round))
    }
  }
}

@Suite(
  "A served file is restored or replaced", .mayBlock, .enabled(if: Sqlite3.isInstalled), .serialized
)
struct RestoredFileTests {
  private let fixture = """
    CREATE TABLE city(id INTEGER PRIMARY KEY, name TEXT NOT NULL, population INTEGER);
    CREATE TABLE country(id INTEGER PRIMARY KEY, name TEXT);
    INSERT INTO city VALUES (1,'Shanghai',24),(2,'Beijing',18);
    INSERT INTO country VALUES (1,'China');
    """

  /// Changes a served file so that it contains another history, and expects what its clients are sent.
  ///
  /// - Parameter isReopened: true if the store is opened again, which ends every waiting request.
  private func check(
    _ file: HostedFile, isReopened: Bool = false, _ replace: () throws -> Void
  ) throws {
    let token = try file.token()
    let stream = try file.stream("/v1/objects/city?as=count")
    #expect(stream.next()?.kind == "snapshot")
    let poll = file.begin("GET", "/v1/objects/city?as=count&since=now&wait=60")
    let both = file.begin(
      "POST", "/v1/live",
      body: #"{"fetches":{"a":{"entity":"city","as":"count","since":"\#(token)"},"#
        + #""b":{"entity":"country","as":"ids","since":"\#(token)"}},"wait":60}"#)
    // Two polls of one fetch, the other fetch of the group, and the stream.
    #expect(
      try eventually(within: .seconds(60)) {
        try MetricsText(file.ask("/metrics").text)["livefetch_live_waiting"] ?? 0 >= 3
      })
    try replace()
    let refused = try #require(poll.wait())
    #expect(refused.status == 410)
    #expect(refused.code == "token-expired")
    let event = try #require(stream.next(seconds: 60))
    let group = try #require(both.wait(seconds: 60))
    if isReopened {
      #expect(event.kind == "error" && event.json["code"]?.string == "token-expired")
      #expect(group.code == "token-expired", "\(group.text)")
    } else {
      // Streams and many fetches at once get snapshots instead.
      #expect(event.kind == "snapshot")
      #expect(event.json["total"]?.integer == 1)
      #expect(group.json["results"]?["a"]?["total"]?.integer == 1)
      #expect(group.json["results"]?["b"]?["count"]?.integer == 1)
    }
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
    let path = file.directory.file("other.sqlite")
    try Sqlite3.run(fixture + "DELETE FROM city WHERE id = 2;", path)
    return path
  }

  @Test(arguments: [
    "livefetch_store", "livefetch_position", "livefetch_save", "livefetch_answer",
  ])
  func byTheLossOfATableOfTheHistory(_ table: String) throws {
    let file = try HostedFile(fixture)
    let poll = file.begin("GET", "/v1/objects/city?as=count&since=\(try file.token())&wait=60")
    let stream = try file.stream("/v1/objects/city?as=count")
    #expect(stream.next()?.kind == "snapshot")
    #expect(try file.shell("DROP TABLE \(table)") == "")
    let answer = try #require(poll.wait(seconds: 120))
    #expect(answer.code == "token-expired", "\(answer.text)")
    #expect(try #require(stream.next(seconds: 60)).kind == "snapshot")
    #expect(try file.shell("INSERT INTO city VALUES (3,'Rome',2)") == "")
    let diff = try #require(stream.next())
    #expect(diff.json["total"]?.integer == 3)
    let saved = try file.ask(
      "POST", "/v1/save", body: #"{"changes":[{"delete":"city","id":3}]}"#,
      headers: [("Idempotency-Key", "k")])
    #expect(saved.status == 200, "\(saved.text)")
    #expect(try #require(stream.next(seconds: 60)).json["total"]?.integer == 2)
    #expect(file.reopenings(atLeast: 0) == 0)
  }

  @Test func byTheShellsRestore() throws {
    let file = try HostedFile(fixture)
    let other = try other(file)
    try check(file) {
      let output = try file.shell(".restore \(other)")
      #expect(output == "")
    }
  }

  @Test func byItsOwnBackup() throws {
    let file = try HostedFile(fixture)
    try file.shell("DELETE FROM city WHERE id = 2;")
    let backup = file.directory.file("backup.sqlite")
    try file.shell(".backup \(backup)")
    for name in ["a", "b"] {
      #expect(try file.ask("POST", "/v1/objects/city", body: #"{"name":"\#(name)"}"#).status == 201)
    }
    try check(file) {
      let output = try file.shell(".restore \(backup)")
      #expect(output == "")
    }
  }

  @Test func byAnotherFileUnderItsName() throws {
    let file = try HostedFile(fixture)
    let other = try other(file)
    try check(file, isReopened: true) { #expect(rename(other, file.path) == 0) }
    #expect(file.reopenings(atLeast: 1) == 1)
  }
}
