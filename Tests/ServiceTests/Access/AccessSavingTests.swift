import FetchModel
import LiveFetchHTTPServer
import Service
import TestSupport
import Testing

@Suite("A caller changes what the access rules allow", .mayBlock)
struct AccessSavingTests {
  @Test("An insert needs the rule for the new object")
  func insert() throws {
    let world = try AccessWorld()
    #expect(
      try world.ask("1", "POST", "/v1/objects/note", #"{"title":"n","owner":1}"#).status == 201)
    let refused = try world.ask("1", "POST", "/v1/objects/note", #"{"title":"n","owner":2}"#)
    #expect(refused.status == 403)
    #expect(refused.code == "forbidden")
    #expect(refused.text.contains(#""change":0"#) && refused.text.contains(#""entity":"note""#))
    #expect(!refused.text.contains("$user"))
    #expect(try world.ids(nil, "/v1/objects/note?where=title=='n'").count == 1)
  }

  @Test("An update needs the rule before and after")
  func update() throws {
    let world = try AccessWorld()
    #expect(try world.ask("1", "PATCH", "/v1/objects/note/1", #"{"title":"z"}"#).status == 200)
    // Bob reads note 2 by his team, and is not its owner.
    #expect(try world.ask("2", "PATCH", "/v1/objects/note/2", #"{"title":"z"}"#).status == 403)
    #expect(try world.ask("1", "PATCH", "/v1/objects/note/1", #"{"owner":2}"#).status == 403)
    #expect(try world.ask(nil, "GET", "/v1/objects/note/1").json["owner"]?.integer == 1)
  }

  @Test("A change outside of read is the same 404 as for an object that is not there")
  func missing() throws {
    let world = try AccessWorld()
    for (method, body) in [("PATCH", #"{"title":"z"}"#), ("DELETE", nil)] {
      let hidden = try world.ask("1", method, "/v1/objects/note/3", body)
      let missing = try world.ask("1", method, "/v1/objects/note/99", body)
      #expect(hidden.status == 404)
      #expect(hidden.text == missing.text)
    }
    #expect(try world.ask("1", "PUT", "/v1/objects/note/3", #"{"owner":1}"#).status == 404)
  }

  @Test("A delete needs the rule before")
  func delete() throws {
    let world = try AccessWorld()
    #expect(try world.ask("1", "DELETE", "/v1/objects/note/1").status == 204)
    #expect(try world.ask("2", "DELETE", "/v1/objects/note/2").status == 403)
    #expect(try world.ask("3", "DELETE", "/v1/objects/note/4").status == 403)
  }

  @Test("A reference to an unreadable object is one to an object that is not there")
  func references() throws {
    let world = try AccessWorld()
    let hidden = try world.ask("1", "PATCH", "/v1/objects/note/1", #"{"team":2}"#)
    let missing = try world.ask("1", "PATCH", "/v1/objects/note/1", #"{"team":99}"#)
    #expect(hidden.status == 409)
    #expect(hidden.text == missing.text)
    // Values that the caller read may be sent back.
    #expect(try world.ask(nil, "PATCH", "/v1/objects/note/1", #"{"team":2}"#).status == 200)
    #expect(
      try world.ask("1", "PATCH", "/v1/objects/note/1", #"{"team":2,"title":"q"}"#).status == 200)
  }

  @Test("A member is added or removed by an update of both ends")
  func members() throws {
    let world = try AccessWorld()
    let body = #"{"user":{"add":[3]}}"#
    #expect(try world.ask("1", "PATCH", "/v1/objects/team/1", body).status == 403)
    #expect(try world.ask("3", "PATCH", "/v1/objects/team/2", #"{"name":"B"}"#).status == 200)
    // No rule permits updates of users.
    #expect(try world.ask("3", "PATCH", "/v1/objects/team/2", body).status == 403)
  }

  @Test("A read-only attribute may not be written, and a replacement keeps it")
  func readOnly() throws {
    let world = try AccessWorld()
    let refused = try world.ask("1", "PATCH", "/v1/objects/note/1", #"{"created":"y"}"#)
    #expect(refused.status == 403)
    #expect(refused.text.contains(#""property":"created""#))
    #expect(
      try world.ask("1", "PUT", "/v1/objects/note/1", #"{"title":"p","owner":1}"#).status == 200)
    #expect(try world.ask(nil, "GET", "/v1/objects/note/1").json["created"]?.string == "x")
    #expect(try world.ask(nil, "GET", "/v1/objects/note/1").json["size"] == .null)
  }

  @Test("A batch with one refused object is refused; leniently it changes the others")
  func batches() throws {
    let world = try AccessWorld()
    let target = "/v1/objects/note?where=TRUEPREDICATE"
    #expect(try world.ask("2", "PATCH", target, #"{"title":"z"}"#).status == 403)
    let lenient = [(name: "Prefer", value: "handling=lenient")]
    let answer = try world.ask("2", "PATCH", target, #"{"title":"z"}"#, headers: lenient)
    #expect(answer.status == 200)
    #expect(answer.json["updated"]?.integer == 1)
    #expect(try world.ids(nil, "/v1/objects/note?where=title=='z'") == [3])
    let given = try world.ask("1", "PATCH", target, #"{"owner":2}"#, headers: lenient)
    #expect(given.json["updated"]?.integer == 0)
    #expect(try world.ask("1", "DELETE", target).json["deleted"]?.integer == 2)
    #expect(try world.ids(nil, "/v1/objects/note?sort=id") == [3, 4, 5])
  }

  @Test("A save of several changes is refused as a whole, and names each refused change")
  func several() throws {
    let world = try AccessWorld()
    let save = """
      {"changes":[{"update":"note","id":1,"values":{"title":"ok"}},
        {"insert":"note","values":{"title":"n","owner":2}},{"delete":"note","id":2}]}
      """
    let refused = try world.ask("1", "POST", "/v1/save", save)
    #expect(refused.status == 403)
    #expect(refused.text.contains(#""change":1"#), "\(refused.text)")
    #expect(try world.ask(nil, "GET", "/v1/objects/note/1").json["title"]?.string == "a1")
  }

  @Test("An idempotency key of one caller is not another's")
  func idempotency() throws {
    let world = try AccessWorld()
    let key = [(name: "Idempotency-Key", value: "k")]
    let body = #"{"title":"n","owner":1}"#
    #expect(try world.ask("1", "POST", "/v1/objects/note", body, headers: key).status == 201)
    let other = try world.ask("2", "POST", "/v1/objects/note", body, headers: key)
    #expect(other.status == 403)
    let again = try world.ask("1", "POST", "/v1/objects/note", body, headers: key)
    #expect(again.status == 201 && again["Idempotency-Replayed"] == "true")
  }

  @Test("A save is repeated once under its idempotency key when the caller's roles have changed")
  func idempotencyAcrossRoles() async throws {
    let signer = try await JWTTests.hs256()
    var configuration = ServiceConfiguration()
    configuration.jwt = JWTVerifier(
      rules: JWTRules(), keys: try await JWTKey.keys(of: Array(signer.file.utf8)))
    configuration.access = try AccessDeclaration(parsing: Array(AccessWorld.rules.utf8))
    let file = try ServedFile(AccessWorld.sql, configuration: configuration)
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
}
