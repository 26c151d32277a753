// Read rules in fetches, single objects, the model and live results.

import FetchModel
import LiveFetchHTTPServer
import Service
import TestSupport
import Testing

@Suite("Unreadable objects do not exist for a caller", .mayBlock)
struct AccessReadingTests {
  @Test("A fetch has the objects of its own rule")
  func own() throws {
    let fixture = try AccessFixture()
    #expect(try fixture.ids("1", "/v1/objects/note") == [1, 2])
    #expect(try fixture.ids("2", "/v1/objects/note") == [2, 3])
    #expect(try fixture.ids("3", "/v1/objects/note") == [4])
    #expect(try fixture.ids(nil, "/v1/objects/note") == [1, 2, 3, 4, 5])
  }

  @Test("A fetch is cached after two requests of the same caller; those of others do not count")
  func caching() throws {
    let fixture = try AccessFixture()
    let hits = {
      try MetricsText(fixture.ask(nil, "GET", "/metrics").text)[
        "livefetch_snapshot_cache_hits_total"]
    }
    for user in ["1", "2", "2"] {
      #expect(try fixture.ask(user, "GET", "/v1/objects/note").status == 200)
    }
    #expect(try hits() == 0)
    #expect(try fixture.ask("2", "GET", "/v1/objects/note").text.contains(#""title":"b1""#))
    #expect(try hits() == 1)
  }

  @Test("Every step of a key path sees the readable objects alone")
  func steps() throws {
    let fixture = try AccessFixture()
    // Bob's note 2 has the owner Ada, who is in his team.
    #expect(try fixture.ids("2", "/v1/objects/note?where=owner.name=='Ada'") == [2])
    #expect(try fixture.ids("3", "/v1/objects/user?where=ANY%20note.size%3E0") == [3])
    #expect(try fixture.ids("2", "/v1/objects/user?where=note.@count==1&sort=id") == [1, 2])
    #expect(try fixture.ids("2", "/v1/objects/user?where=note.@sum.size==2&sort=id") == [1])
    #expect(
      try fixture.ids("2", "/v1/objects/user?where=SUBQUERY(note,$n,$n.size<2).@count>0") == [])
    #expect(try fixture.ids("2", "/v1/objects/team?where=user.@count==2") == [1])
    let selected = try fixture.ask("2", "GET", "/v1/objects/user?select=name,note&sort=id")
    #expect(
      selected.text.contains(
        #""items":[{"id":1,"name":"Ada","note":[2]},{"id":2,"name":"Bob","note":[3]}]"#),
      "\(selected.text)")
  }

  @Test("Counts, sections, dictionaries and expansions have the readable objects alone")
  func shapes() throws {
    let fixture = try AccessFixture()
    #expect(try fixture.ask("1", "GET", "/v1/objects/note?as=count").json["total"]?.integer == 2)
    let dictionaries = try fixture.ask(
      "1", "GET", "/v1/objects/note?as=dictionaries&select=n:@count,s:@sum.size")
    #expect(dictionaries.text.contains(#"{"n":2,"s":3}"#), "\(dictionaries.text)")
    let expanded = try fixture.ask(
      "3", "GET", "/v1/objects/note?expand=owner,team.user&select=title")
    #expect(expanded.text.contains(#""user":{"3":{"id":3,"name":"Eve"}}"#), "\(expanded.text)")
    #expect(!expanded.text.contains("Ada"))
    let posted = try fixture.ask(
      "1", "POST", "/v1/live", #"{"fetches":{"a":{"entity":"note","as":"count"}}}"#)
    #expect(posted.text.contains(#""total":2"#), "\(posted.text)")
  }

  @Test("A single object and its values outside the rule are 404, as one that is not there")
  func singles() throws {
    let fixture = try AccessFixture()
    let missing = try fixture.ask("1", "GET", "/v1/objects/note/99")
    let hidden = try fixture.ask("1", "GET", "/v1/objects/note/3")
    #expect(hidden.status == 404)
    #expect(hidden.text == missing.text)
    #expect(try fixture.ask("1", "GET", "/v1/objects/note/3/title").status == 404)
    #expect(try fixture.ask("1", "GET", "/v1/objects/note/1/title").text == "a1")
    #expect(try fixture.ask("1", "GET", "/v1/objects/note/3?since=now&wait=0").status == 404)
    #expect(try fixture.ask("2", "GET", "/v1/objects/note/3").status == 200)
  }

  @Test("A hidden attribute is in no item and no model, and no name leads to it")
  func attributes() throws {
    let fixture = try AccessFixture()
    #expect(!(try fixture.ask("1", "GET", "/v1/objects/user").text.contains("salary")))
    #expect(try fixture.ask("2", "GET", "/v1/objects/user/2").json["salary"]?.integer == 20)
    let refused = try fixture.ask("1", "GET", "/v1/objects/user?where=salary%3E1")
    #expect(refused.status == 400)
    #expect(refused.code == "unknown-key-path")
    let misspelt = try fixture.ask("1", "GET", "/v1/objects/user?where=salry%3E1")
    #expect(!misspelt.text.contains("salary"))
    #expect(try fixture.ask("1", "GET", "/v1/objects/user?sort=salary").status == 400)
    #expect(try fixture.ask("1", "GET", "/v1/objects/user?select=salary").status == 400)
    #expect(try fixture.ask("1", "GET", "/v1/objects/user/1/salary").status == 404)
    #expect(!(try fixture.ask("1", "GET", "/v1/model").text.contains("salary")))
    #expect(!(try fixture.ask("1", "GET", "/openapi.json").text.contains("salary")))
    #expect(try fixture.ask("2", "GET", "/v1/model").text.contains("salary"))
  }

  @Test("An object's ETag says nothing about a hidden attribute")
  func etags() throws {
    let fixture = try AccessFixture()
    let before = try fixture.ask("1", "GET", "/v1/objects/user/1")["ETag"]
    #expect(before != nil)
    #expect(try fixture.ask(nil, "PATCH", "/v1/objects/user/1", #"{"salary":11}"#).status == 200)
    #expect(try fixture.ask("1", "GET", "/v1/objects/user/1")["ETag"] == before)
    #expect(try fixture.ask(nil, "PATCH", "/v1/objects/user/1", #"{"name":"A"}"#).status == 200)
    #expect(try fixture.ask("1", "GET", "/v1/objects/user/1")["ETag"] != before)
  }

  @Test("Cached snapshots of one caller never reach another")
  func cached() throws {
    let fixture = try AccessFixture()
    for _ in 1...4 {
      #expect(try fixture.ask("1", "GET", "/v1/objects/note?select=title").text.contains("a1"))
      let other = try fixture.ask("3", "GET", "/v1/objects/note?select=title")
      #expect(!other.text.contains("\"a1\""))
      #expect(other.text.contains("e1"))
    }
    let one = try fixture.ask("1", "GET", "/v1/objects/note?select=title")
    let answer = try fixture.ask(
      "3", "GET", "/v1/objects/note?select=title",
      headers: [("If-None-Match", one["ETag"] ?? "")])
    #expect(answer.status == 200)
    #expect(one.headers.contains { $0.name == "Vary" && $0.value == "Authorization" })
  }

  @Test("The history of all objects needs the scope admin, which reads no object")
  func history() throws {
    let fixture = try AccessFixture()
    #expect(try fixture.ask("1", "GET", "/v1/changes").status == 403)
    #expect(try fixture.ask(AccessFixture.admin, "GET", "/v1/changes").status == 200)
    #expect(try fixture.ask(AccessFixture.admin, "GET", "/v1/objects/note").status == 403)
    #expect(try fixture.ask(nil, "GET", "/v1/changes").status == 200)
  }

  @Test("The anonymous caller of an open server is under the rules")
  func anonymous() throws {
    var configuration = ServiceConfiguration()
    configuration.explains = true
    configuration.access = try AccessDeclaration(parsing: Array(AccessFixture.rules.utf8))
    let file = try ServedFile(AccessFixture.sql, configuration: configuration)
    // `owner == $user.id` holds for a note without an owner.
    #expect(try file.ask("/v1/objects/note?as=ids").text.contains(#""items":[5]"#))
    #expect(try file.ask("/v1/objects/note/1").status == 404)
    #expect(try file.ask("/v1/changes").status == 403)
    #expect(try file.ask("/v1/objects/note?explain=true").status == 403)
  }
}

@Suite("Live results honour access rules", .mayBlock)
struct AccessLiveTests {
  private func diff(_ pending: Pending) throws -> JSON {
    let answer = try #require(pending.wait(seconds: 300))
    #expect(answer.status == 200, "\(answer.text)")
    return answer.json
  }

  private func ids(_ diff: JSON, _ kind: String) -> [Int64] {
    (diff["items"]?[kind]?.elements ?? []).compactMap { ($0["id"] ?? $0["item"]?["id"])?.integer }
  }

  @Test("An object that leaves the rule is deleted, and one that enters it is inserted")
  func enters() throws {
    let fixture = try AccessFixture()
    let token = try fixture.ask(nil, "GET", "/v1").json["token"]?.string ?? ""
    let target = "/v1/objects/note?sort=id&since=\(token)&wait=60"
    let (ada, eve) = (fixture.begin("1", target), fixture.begin("3", target))
    #expect(try fixture.ask(nil, "PATCH", "/v1/objects/note/1", #"{"owner":3}"#).status == 200)
    let (left, entered) = (try diff(ada), try diff(eve))
    #expect(ids(left, "deleted") == [1])
    #expect(ids(entered, "inserted") == [1])
  }

  @Test("The change of a related object moves objects into and out of the rule")
  func related() throws {
    let fixture = try AccessFixture()
    let token = try fixture.ask(nil, "GET", "/v1").json["token"]?.string ?? ""
    let target = "/v1/objects/note?sort=id&since=\(token)&wait=60"
    let (bob, eve) = (fixture.begin("2", target), fixture.begin("3", target))
    let save = #"{"changes":[{"update":"team","id":1,"values":{"user":{"add":[3],"remove":[2]}}}]}"#
    #expect(try fixture.ask(nil, "POST", "/v1/save", save).status == 200)
    let (left, entered) = (try diff(bob), try diff(eve))
    #expect(ids(left, "deleted") == [2])
    #expect(ids(entered, "inserted") == [2])
  }

  @Test("A diff after a restart, from the history, honours the rule of then and of now")
  func resumed() throws {
    let fixture = try AccessFixture()
    let token = try fixture.ask(nil, "GET", "/v1").json["token"]?.string ?? ""
    #expect(try fixture.ask(nil, "PATCH", "/v1/objects/note/1", #"{"owner":3}"#).status == 200)
    #expect(try fixture.ask(nil, "DELETE", "/v1/objects/note/4").status == 204)
    try fixture.file.restart()
    let target = "/v1/objects/note?sort=id&since=\(token)&wait=0"
    let ada = try diff(fixture.begin("1", target))
    #expect(ids(ada, "deleted") == [1])
    #expect(ids(ada, "inserted") == [])
    let eve = try diff(fixture.begin("3", target))
    #expect(ids(eve, "deleted") == [4])
    #expect(ids(eve, "inserted") == [1])
    let bob = try diff(fixture.begin("2", target))
    #expect(ids(bob, "deleted") == [] && ids(bob, "inserted") == [])
  }

  @Test("A single object that leaves the rule is deleted for its watcher")
  func single() throws {
    let fixture = try AccessFixture()
    let pending = fixture.begin("1", "/v1/objects/note/1?since=now&wait=60")
    try awaitWaitingFetches(1) { try fixture.ask(nil, "GET", $0) }
    #expect(try fixture.ask(nil, "PATCH", "/v1/objects/note/1", #"{"owner":2}"#).status == 200)
    #expect(try diff(pending)["deleted"] == .boolean(true))
  }

  @Test(
    "An id that is compared with nil and with a number is both",
    arguments: [
      "open == TRUE OR ($user.id != nil AND owner == $user.id)",
      "open == TRUE OR (owner == $user.id AND NOT $user.id == nil)",
    ])
  func idAndNil(rule: String) throws {
    let fixture = try AccessFixture(
      """
      CREATE TABLE doc(id INTEGER PRIMARY KEY, owner INTEGER, open BOOLEAN);
      INSERT INTO doc VALUES (1,1,0),(2,2,0),(3,NULL,1),(4,NULL,0);
      """, rules: #"{"entities":{"doc":{"access":{"read":"\#(rule)"}}}}"#)
    #expect(try fixture.ids("1", "/v1/objects/doc?sort=id") == [1, 3])
    #expect(try fixture.ids("2", "/v1/objects/doc?sort=id") == [2, 3])
    #expect(try fixture.ids("3", "/v1/objects/doc?sort=id") == [3])
  }

  @Test(
    "Diffs over two tables whose names are alike, or long and equal in their beginning",
    arguments: [
      ("note", "shadow_note"),
      (String(repeating: "a", count: 50) + "_1", String(repeating: "a", count: 50) + "_2"),
    ])
  func similarNames(first: String, second: String) throws {
    let fixture = try AccessFixture(
      """
      CREATE TABLE \(second)(id INTEGER PRIMARY KEY, v INTEGER);
      CREATE TABLE \(first)(id INTEGER PRIMARY KEY, v INTEGER, other INTEGER REFERENCES \(second)(id));
      INSERT INTO \(second) VALUES (1, 1), (2, 1), (3, 9);
      INSERT INTO \(first) VALUES (1, 1, 1), (2, 1, 2), (3, 1, 3);
      """,
      rules: """
        {"entities":{"\(first)":{"access":{"read":"v > 0"}},
          "\(second)":{"access":{"read":"v > 0","update":true}}}}
        """)
    let target = "/v1/objects/\(first)?as=ids&sort=-other.v,id&where=other.v+%3E+1"
    let snapshot = try fixture.ask("1", "GET", target)
    #expect(snapshot.text.contains(#""items":[3]"#), "\(snapshot.text)")
    let token = try #require(snapshot.json["token"]?.string)
    #expect(
      try fixture.ask("1", "PATCH", "/v1/objects/\(second)/2", #"{"v":10}"#).status == 200)
    let diff = try fixture.ask("1", "GET", "\(target)&since=\(token)")
    #expect(diff.text.contains(#""inserted":[{"to":[0,0],"id":2}]"#), "\(diff.text)")
    try fixture.file.restart()
    let again = try fixture.ask("1", "GET", "\(target)&since=\(token)")
    #expect(again.text.contains(#""inserted":[{"to":[0,0],"id":2}]"#), "\(again.text)")
  }
}
