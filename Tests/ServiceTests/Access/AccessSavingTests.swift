// Insert, update and delete rules in saves.

import FetchModel
import LiveFetchHTTPServer
import Service
import TestSupport
import Testing

@Suite("A caller changes what the access rules allow", .mayBlock)
struct AccessSavingTests {
  @Test("An insert needs the rule for the new object")
  func insert() throws {
    let fixture = try AccessFixture()
    #expect(
      try fixture.ask("1", "POST", "/v1/objects/note", #"{"title":"n","owner":1}"#).status == 201)
    let refused = try fixture.ask("1", "POST", "/v1/objects/note", #"{"title":"n","owner":2}"#)
    #expect(refused.status == 403)
    #expect(refused.code == "forbidden")
    #expect(refused.text.contains(#""change":0"#) && refused.text.contains(#""entity":"note""#))
    #expect(!refused.text.contains("$user"))
    #expect(try fixture.ids(nil, "/v1/objects/note?where=title=='n'").count == 1)
  }

  @Test("Answers of saves vary with the credential, also when a save is repeated")
  func vary() throws {
    let fixture = try AccessFixture()
    let title = #"{"title":"z"}"#
    let changes = #"{"changes":[{"update":"note","id":1,"values":{"title":"y"}}]}"#
    let key = (name: "Idempotency-Key", value: "k1")
    let answers = [
      try fixture.ask("1", "PATCH", "/v1/objects/note/1", title),
      try fixture.ask("1", "POST", "/v1/save", changes),
      try fixture.ask("1", "POST", "/v1/objects/note", #"{"owner":1}"#, headers: [key]),
      try fixture.ask("1", "POST", "/v1/objects/note", #"{"owner":1}"#, headers: [key]),
      try fixture.ask("1", "DELETE", "/v1/objects/note/1"),
    ]
    #expect(answers.map(\.status) == [200, 200, 201, 201, 204])
    for answer in answers {
      #expect(answer.headers.count { $0.name == "Vary" && $0.value == "Authorization" } == 1)
      #expect(answer.headers.count { $0.name == "X-Content-Type-Options" } == 1)
      #expect(answer.headers.count { $0.name == "LiveFetch-Token" } == 1)
    }
  }

  @Test("An update needs the rule before and after")
  func update() throws {
    let fixture = try AccessFixture()
    #expect(try fixture.ask("1", "PATCH", "/v1/objects/note/1", #"{"title":"z"}"#).status == 200)
    // Bob reads note 2 by his team, and is not its owner.
    #expect(try fixture.ask("2", "PATCH", "/v1/objects/note/2", #"{"title":"z"}"#).status == 403)
    #expect(try fixture.ask("1", "PATCH", "/v1/objects/note/1", #"{"owner":2}"#).status == 403)
    #expect(try fixture.ask(nil, "GET", "/v1/objects/note/1").json["owner"]?.integer == 1)
  }

  @Test("A change outside of read is the same 404 as for an object that is not there")
  func missing() throws {
    let fixture = try AccessFixture()
    for (method, body) in [("PATCH", #"{"title":"z"}"#), ("DELETE", nil)] {
      let hidden = try fixture.ask("1", method, "/v1/objects/note/3", body)
      let missing = try fixture.ask("1", method, "/v1/objects/note/99", body)
      #expect(hidden.status == 404)
      #expect(hidden.text == missing.text)
    }
    // The id is taken, so this insert is refused; with a free id the rules allow it.
    let replacement = try fixture.ask("1", "PUT", "/v1/objects/note/3", #"{"owner":1}"#)
    #expect(replacement.status == 404)
    #expect(
      replacement.text == (try fixture.ask("1", "PUT", "/v1/objects/note/99", #"{"owner":2}"#)).text
    )
    #expect(try fixture.ask("1", "PUT", "/v1/objects/note/99", #"{"owner":1}"#).status == 201)
    #expect(try fixture.ask(nil, "GET", "/v1/objects/note/3").json["title"]?.string == "b1")
  }

  /// A change with a precondition, of an object that is unreadable or missing.
  private struct Probe {
    let method: String
    let header: (name: String, value: String)?
    let body: String?
    let status: Int

    init(
      _ method: String, _ header: (name: String, value: String)? = nil, _ body: String? = nil,
      _ status: Int
    ) {
      (self.method, self.header, self.body, self.status) = (method, header, body, status)
    }
  }

  private static let anyTag = (name: "If-Match", value: "*")
  private static let someTag = (name: "If-Match", value: "\"x\", \"y\"")
  private static let noTag = (name: "If-None-Match", value: "*")
  private static let foreign = #"{"title":"z","owner":2}"#
  private static let own = #"{"title":"z","owner":1}"#

  private static let probes: [Probe] =
    [
      // The insert rule refuses what `PUT` would insert.
      Probe("PUT", nil, foreign, 404), Probe("PUT", noTag, foreign, 404),
      Probe("PUT", nil, "{}", 404),
      Probe("PUT", anyTag, foreign, 412), Probe("PUT", someTag, foreign, 412),
      Probe("PUT", anyTag, own, 412), Probe("PUT", someTag, own, 412),
      Probe("PUT", (name: "Prefer", value: "max-affected=0"), own, 400),
      // The values are refused before the rules are asked.
      Probe("PUT", nil, #"{"owner":1,"size":"x"}"#, 422),
      Probe("PUT", anyTag, #"{"size":"x"}"#, 422),
      Probe("PUT", nil, #"{"owner":1,"color":1}"#, 422),
      Probe("PUT", nil, #"{"owner":1,"created":"y"}"#, 403),
      Probe("PUT", nil, #"{"owner":1,"team":2}"#, 409), Probe("PUT", noTag, #"{"team":77}"#, 409),
      Probe("PUT", nil, #"{"owner":1,"title":"e1"}"#, 409),
      Probe("PUT", nil, #"{"owner":1,"title":"a1","size":-1}"#, 422),
    ]
    + ["PATCH", "DELETE"].flatMap { method in
      let body = method == "PATCH" ? #"{"title":"z"}"# : nil
      return [nil, anyTag, someTag, noTag].map { Probe(method, $0, body, 404) }
    }

  @Test("With a precondition too, an unreadable object is one that is not there")
  func preconditions() throws {
    let fixture = try AccessFixture(
      AccessFixture.sql.replacing("size INTEGER", with: "size INTEGER CHECK (size > 0)")
        + "CREATE UNIQUE INDEX one ON note(title);")
    let before = try fixture.ask(nil, "GET", "/v1/objects/note").json["sections"]
    for probe in Self.probes {
      // Note 4 is of a team that user 1 does not read, and has the title that one probe sets.
      let answers = try [4, 99].map { id in
        try fixture.ask(
          "1", probe.method, "/v1/objects/note/\(id)", probe.body,
          headers: probe.header.map { [$0] } ?? [])
      }
      for answer in answers { #expect(answer.status == probe.status, "\(probe): \(answer.text)") }
      #expect(answers[0].bytes == answers[1].bytes, "\(probe)")
      // Over PostgreSQL its own commits move the tokens between two requests.
      let headers = answers.map { answer in
        answer.headers.filter { $0.name != "LiveFetch-Token" || !TestedStore.isPostgres }
          .map { "\($0.name): \($0.value)" }
      }
      #expect(headers[0] == headers[1], "\(probe)")
    }
    #expect(try fixture.ask(nil, "GET", "/v1/objects/note").json["sections"] == before)
  }

  @Test("The members that a replacement lists tell nothing of an unreadable object")
  func listedMembers() throws {
    let rule = #""update":"'boss' IN $user.roles""#
    let fixture = try AccessFixture(
      rules: AccessFixture.rules.replacing(rule, with: rule + #","insert":"name == 'x'""#))
    for (members, status) in [
      ("[]", 404), ("[1]", 403), ("[3]", 409), (#"{"add":[1,77]}"#, 403), (#"{"remove":[1]}"#, 403),
      (#"{"remove":[3]}"#, 404),
    ] {
      let body = #"{"name":"n","user":\#(members)}"#
      let answers = try [2, 99].map { id in
        try fixture.ask("1", "PUT", "/v1/objects/team/\(id)", body)
      }
      #expect(answers[0].status == status, "\(members): \(answers[0].text)")
      #expect(answers[0].text == answers[1].text)
    }
    #expect(try fixture.ask(nil, "GET", "/v1/objects/team/2?select=user").text.contains("[3]"))
  }

  @Test("The entity of an unreadable object stays unknown")
  func entities() throws {
    let fixture = try AccessFixture(
      model: """
        {"entities":[{"name":"Base",
          "access":{"read":"owner == $user.id","insert":"owner == $user.id","update":true},
          "attributes":[{"name":"owner","type":"Integer 64"}]},
         {"name":"Sub","parent":"Base","attributes":[{"name":"code","type":"String"}]}]}
        """)
    #expect(try fixture.ask(nil, "POST", "/v1/objects/Sub", #"{"owner":2}"#).status == 201)
    #expect(try fixture.ask(nil, "POST", "/v1/objects/Base", #"{"owner":2}"#).status == 201)
    for method in ["PATCH", "PUT"] {
      for (entity, named) in [("Base", "Base"), ("Base", "Sub"), ("Sub", "Sub")] {
        for owner in [1, 2] {
          let texts = try [1, 2, 99].map { id in
            // The rules allow this insert.
            if method == "PUT", owner == 1, id == 99 { return "" }
            let body = #"{"entity":"\#(named)","owner":\#(owner)}"#
            return try fixture.ask("1", method, "/v1/objects/\(entity)/\(id)", body).text
          }.filter { !$0.isEmpty }
          #expect(Set(texts).count == 1, "\(method) \(entity) \(named): \(texts)")
          #expect(texts[0].contains(#""status":404"#), "\(texts[0])")
        }
      }
    }
  }

  @Test("A delete needs the rule before")
  func delete() throws {
    let fixture = try AccessFixture()
    #expect(try fixture.ask("1", "DELETE", "/v1/objects/note/1").status == 204)
    #expect(try fixture.ask("2", "DELETE", "/v1/objects/note/2").status == 403)
    #expect(try fixture.ask("3", "DELETE", "/v1/objects/note/4").status == 403)
  }

  @Test("A reference to an unreadable object is one to an object that is not there")
  func references() throws {
    let fixture = try AccessFixture()
    let hidden = try fixture.ask("1", "PATCH", "/v1/objects/note/1", #"{"team":2}"#)
    let missing = try fixture.ask("1", "PATCH", "/v1/objects/note/1", #"{"team":99}"#)
    #expect(hidden.status == 409)
    #expect(hidden.text == missing.text)
    // Values that the caller read may be sent back.
    #expect(try fixture.ask(nil, "PATCH", "/v1/objects/note/1", #"{"team":2}"#).status == 200)
    #expect(
      try fixture.ask("1", "PATCH", "/v1/objects/note/1", #"{"team":2,"title":"q"}"#).status == 200)
  }

  @Test("A member is added or removed by an update of both ends")
  func members() throws {
    let fixture = try AccessFixture()
    let body = #"{"user":{"add":[3]}}"#
    #expect(try fixture.ask("1", "PATCH", "/v1/objects/team/1", body).status == 403)
    #expect(try fixture.ask("3", "PATCH", "/v1/objects/team/2", #"{"name":"B"}"#).status == 200)
    // No rule permits updates of users.
    #expect(try fixture.ask("3", "PATCH", "/v1/objects/team/2", body).status == 403)
  }

  @Test("A read-only attribute may not be written, and a replacement keeps it")
  func readOnly() throws {
    let fixture = try AccessFixture()
    let refused = try fixture.ask("1", "PATCH", "/v1/objects/note/1", #"{"created":"y"}"#)
    #expect(refused.status == 403)
    #expect(refused.text.contains(#""property":"created""#))
    #expect(
      try fixture.ask("1", "PUT", "/v1/objects/note/1", #"{"title":"p","owner":1}"#).status == 200)
    #expect(try fixture.ask(nil, "GET", "/v1/objects/note/1").json["created"]?.string == "x")
    #expect(try fixture.ask(nil, "GET", "/v1/objects/note/1").json["size"] == .null)
  }

  @Test("A 404 of several changes names no hidden attribute either")
  func hiddenNames() throws {
    let fixture = try AccessFixture(
      """
      CREATE TABLE note(id INTEGER PRIMARY KEY, title TEXT, salary INTEGER NOT NULL DEFAULT 1,
        UNIQUE(title, salary));
      INSERT INTO note(id, title) VALUES (1,'a');
      """,
      rules: """
        {"entities":{"note":{"access":{"read":true,"insert":true,"update":true},
          "attributes":{"salary":{"hidden":true}}}}}
        """)
    let answer = try fixture.ask(
      "1", "POST", "/v1/save",
      """
      {"changes":[{"update":"note","id":999,"values":{"title":"q"}},
        {"insert":"note","values":{"title":"a"}}]}
      """)
    #expect(answer.status == 404)
    #expect(!answer.text.contains("salary"))
  }

  @Test("A batch with one refused object is refused; leniently it changes the others")
  func batches() throws {
    let fixture = try AccessFixture()
    let target = "/v1/objects/note?where=TRUEPREDICATE"
    #expect(try fixture.ask("2", "PATCH", target, #"{"title":"z"}"#).status == 403)
    let lenient = [(name: "Prefer", value: "handling=lenient")]
    let answer = try fixture.ask("2", "PATCH", target, #"{"title":"z"}"#, headers: lenient)
    #expect(answer.status == 200)
    #expect(answer.json["updated"]?.integer == 1)
    #expect(try fixture.ids(nil, "/v1/objects/note?where=title=='z'") == [3])
    let given = try fixture.ask("1", "PATCH", target, #"{"owner":2}"#, headers: lenient)
    #expect(given.json["updated"]?.integer == 0)
    #expect(try fixture.ask("1", "DELETE", target).json["deleted"]?.integer == 2)
    #expect(try fixture.ids(nil, "/v1/objects/note?sort=id") == [3, 4, 5])
  }

  /// Members of a team read its notes; a member may move to another team, if it owns both.
  private static func teams(update: String) throws -> AccessFixture {
    try AccessFixture(
      """
      CREATE TABLE team(id INTEGER PRIMARY KEY, owner INTEGER);
      CREATE TABLE member(id INTEGER PRIMARY KEY, team_id INTEGER REFERENCES team(id), person INTEGER);
      CREATE TABLE note(id INTEGER PRIMARY KEY, team_id INTEGER REFERENCES team(id), text TEXT);
      INSERT INTO team VALUES (1,2),(3,1);
      INSERT INTO member VALUES (10,1,2),(11,3,1);
      INSERT INTO note VALUES (1,1,'secret'),(3,3,'own');
      """,
      rules: """
        {"entities":{"team":{"access":{"read":"TRUEPREDICATE","update":"TRUEPREDICATE"}},
          "member":{"access":{"read":"TRUEPREDICATE","update":"team.owner == $user.id"}},
          "note":{"access":{"read":"ANY team.member.person == $user.id",
            "update":"\(update)","delete":"\(update)"}}}}
        """)
  }

  @Test(
    "A condition in a save finds what was readable before the save, not what its changes make so")
  func conditionAfterAChange() throws {
    let move = { (team: Int) in #"{"update":"member","id":11,"values":{"team":\#(team)}}"# }
    func save(_ fixture: AccessFixture, _ changes: [String]) throws -> Answer {
      try fixture.ask(
        "1", "POST", "/v1/save", #"{"changes":[\#(changes.joined(separator: ","))]}"#)
    }
    let open = try Self.teams(update: "TRUEPREDICATE")
    for (change, counts) in [
      (#"{"update":"note","where":"id == 1","values":{"text":"changed"}}"#, (2, 0)),
      (#"{"update":"note","where":"id == 1","values":{"team":3}}"#, (2, 0)),
      (#"{"update":"note","where":"team == 1","values":{"text":"changed"}}"#, (2, 0)),
      (#"{"delete":"note","where":"id == 1"}"#, (2, 0)),
      (#"{"update":"note","where":"id == 3","values":{"text":"new"}}"#, (3, 0)),
      (#"{"delete":"note","where":"team == 3"}"#, (2, 1)),
    ] {
      // Team 1 belongs to somebody else, but what counts is where the member is before and after.
      try open.file.runExternally("UPDATE team SET owner = 1 WHERE id = 1")
      let saved = try save(open, [move(1), change, move(3)])
      #expect(saved.status == 200, "\(change): \(saved.text)")
      #expect(saved.json["updated"]?.integer == Int64(counts.0), "\(change): \(saved.text)")
      #expect(saved.json["deleted"]?.integer == Int64(counts.1), "\(change): \(saved.text)")
      let note = try open.ask(nil, "GET", "/v1/objects/note/1")
      #expect(note.text == #"{"id":1,"team":1,"text":"secret"}"#, "\(change)")
    }
    // The refusal of the first change does not depend on what the second one would find.
    let closed = try Self.teams(update: "FALSEPREDICATE")
    let answers = try ["s", "x"].map { letter in
      try save(
        closed,
        [
          move(1),
          #"{"update":"note","where":"text BEGINSWITH '\#(letter)'","values":{"text":"q"}}"#,
        ])
    }
    #expect(answers.map(\.status) == [403, 403])
    #expect(answers[0].text == answers[1].text)
    #expect(answers[0].text.contains(#""entity":"member""#), "\(answers[0].text)")
  }

  @Test("`base` is compared with what was readable before the save")
  func baseAfterAChange() throws {
    let fixture = try Self.teams(update: "TRUEPREDICATE")
    func save(_ first: String, base: String) throws -> Answer {
      let update = #"{"update":"team","id":1,"values":{"owner":2},"base":{"note":\#(base)}}"#
      return try fixture.ask("1", "POST", "/v1/save", #"{"changes":[\#(first)\#(update)]}"#)
    }
    let move = #"{"update":"member","id":11,"values":{"team":1}},"#
    for first in ["", move] {
      let refused = try save(first, base: "[77]")
      #expect(refused.status == 409, "\(refused.text)")
      #expect(refused.text.contains(#""stored":[]"#), "\(refused.text)")
    }
    #expect(try save("", base: "[]").status == 200)
    // The membership is refused, as without `base`.
    #expect(try save(move, base: "[]").status == 403)
  }

  @Test("A save of several changes is refused as a whole, and names each refused change")
  func several() throws {
    let fixture = try AccessFixture()
    let save = """
      {"changes":[{"update":"note","id":1,"values":{"title":"ok"}},
        {"insert":"note","values":{"title":"n","owner":2}},{"delete":"note","id":2}]}
      """
    let refused = try fixture.ask("1", "POST", "/v1/save", save)
    #expect(refused.status == 403)
    #expect(refused.text.contains(#""change":1"#), "\(refused.text)")
    #expect(try fixture.ask(nil, "GET", "/v1/objects/note/1").json["title"]?.string == "a1")
  }

  @Test("A refusal names the changes that are refused before the save and those refused after it")
  func kinds() throws {
    let fixture = try AccessFixture()
    let save = """
      {"changes":[{"update":"note","id":3,"values":{"title":"ok"}},
        {"insert":"note","values":{"title":"n","owner":1}},{"delete":"note","id":2}]}
      """
    let refused = try fixture.ask("2", "POST", "/v1/save", save)
    #expect(refused.status == 403)
    let named = refused.json["errors"]?.elements?.map { $0["change"]?.integer }
    #expect(named == [1, 2], "\(refused.text)")
    #expect(try fixture.ask(nil, "GET", "/v1/objects/note/3").json["title"]?.string == "b1")
  }

  @Test("An idempotency key of one caller is not another's")
  func idempotency() throws {
    let fixture = try AccessFixture()
    let key = [(name: "Idempotency-Key", value: "k")]
    let body = #"{"title":"n","owner":1}"#
    #expect(try fixture.ask("1", "POST", "/v1/objects/note", body, headers: key).status == 201)
    let other = try fixture.ask("2", "POST", "/v1/objects/note", body, headers: key)
    #expect(other.status == 403)
    let again = try fixture.ask("1", "POST", "/v1/objects/note", body, headers: key)
    #expect(again.status == 201 && again["Idempotency-Replayed"] == "true")
  }

  @Test("A save is repeated once under its idempotency key when the caller's roles have changed")
  func idempotencyAcrossRoles() async throws {
    let signer = try await JWTTests.hs256()
    var configuration = ServiceConfiguration()
    configuration.jwt = JWTVerifier(
      rules: JWTRules(), keys: try await JWTKey.keys(of: Array(signer.file.utf8)))
    configuration.access = try AccessDeclaration(parsing: Array(AccessFixture.rules.utf8))
    let file = try ServedFile(AccessFixture.sql, configuration: configuration)
    let answers = try ["[]", #"["boss"]"#].map { roles in
      let claims = #"{"sub":"1","scope":"read write","roles":\#(roles)}"#
      return try file.ask(
        "POST", "/v1/objects/note", body: #"{"title":"n","owner":1}"#,
        headers: [
          ("Authorization", "Bearer \(try signer.token(claims))"), ("Idempotency-Key", "pay"),
        ])
    }
    #expect(answers.map(\.status) == [201, 201])
    #expect(answers[0].json["id"]?.integer == 6 && answers[1].json["id"]?.integer == 6)
    #expect(answers.map { $0["Idempotency-Replayed"] } == [nil, "true"])
  }

  @Test(
    "Callers without `sub` are distinguished by their claims, whatever the times of their tokens")
  func idempotencyWithoutSubject() async throws {
    let signer = try await JWTTests.hs256()
    var configuration = ServiceConfiguration()
    configuration.jwt = JWTVerifier(
      rules: JWTRules(), keys: try await JWTKey.keys(of: Array(signer.file.utf8)))
    configuration.access = try AccessDeclaration(
      parsing: Array(
        #"{"entities":{"note":{"access":{"read":"title == $user.claims.tenant","insert":true}}}}"#
          .utf8))
    let file = try ServedFile(AccessFixture.sql, configuration: configuration)
    let answers = try [("a1", 1 << 33), ("b1", 1 << 33), ("a1", 1 << 34)].map { tenant, expires in
      let claims = #"{"scope":"read write","tenant":"\#(tenant)","exp":\#(expires)}"#
      return try file.ask(
        "POST", "/v1/objects/note", body: #"{"title":"a1"}"#,
        headers: [
          ("Authorization", "Bearer \(try signer.token(claims))"), ("Idempotency-Key", "pay"),
        ])
    }
    #expect(answers.map(\.status) == [201, 201, 201])
    #expect(answers.map { $0["Location"] } == [6, 7, 6].map { "/v1/objects/note/\($0)" })
    #expect(answers.map { $0["Idempotency-Replayed"] } == [nil, nil, "true"])
    #expect(answers[1].json["id"] == nil)
  }
}
