// Tokens and the access rules under which they were given.

import FetchModel
import LiveFetchHTTPServer
import Service
import TestSupport
import Testing

@Suite("A token goes on for a caller with the rules that it was given under", .mayBlock)
struct AccessTokenTests {
  /// Bosses read every note; `team` has no rule.
  private static let rules = """
    {"entities":{"note":{"access":{"read":"owner == $user.id OR 'boss' IN $user.roles",
      "insert":true,"update":true}},"team":{"access":{"read":true}}}}
    """

  private let file: ServedFile
  /// The headers of one user without roles, and with the role `boss`.
  private let (plain, boss): ([(name: String, value: String)], [(name: String, value: String)])

  init() async throws {
    let signer = try await JWTTests.hs256()
    var configuration = ServiceConfiguration()
    configuration.bearerToken = "secret"
    configuration.jwt = JWTVerifier(
      rules: JWTRules(), keys: try await JWTKey.keys(of: Array(signer.file.utf8)))
    configuration.access = try AccessDeclaration(parsing: Array(Self.rules.utf8))
    file = try ServedFile(AccessFixture.sql, configuration: configuration)
    let headers = try ["[]", #"["boss"]"#].map { roles in
      let claims = #"{"sub":"1","scope":"read write","roles":\#(roles)}"#
      return [(name: "Authorization", value: "Bearer \(try signer.token(claims))")]
    }
    (plain, boss) = (headers[0], headers[1])
  }

  private let server = [(name: "Authorization", value: "Bearer secret")]
  private let notes = "/v1/objects/note?select=title&sort=id"

  @Test("A poll with a token from before the caller's roles changed is 410")
  func poll() throws {
    let token = try #require(file.ask(notes, headers: plain).json["token"]?.string)
    let promoted = try file.ask("\(notes)&since=\(token)&wait=0", headers: boss)
    #expect(promoted.status == 410)
    #expect(promoted.code == "token-expired")
    let same = try file.ask("\(notes)&since=\(token)&wait=0", headers: plain)
    #expect(same.status == 200)
    #expect(same.json["from"]?.string == token)
    #expect(same.json["to"]?.string == token)
    let all = try #require(file.ask(notes, headers: boss).json["token"]?.string)
    #expect(all != token)
    #expect(try file.ask("\(notes)&since=\(all)&wait=0", headers: plain).status == 410)
    // The object is not there for the caller, and its token does not change that.
    let single = "/v1/objects/note/3?wait=0&since="
    #expect(try file.ask(single + all, headers: plain).status == 410)
    #expect(try file.ask(single + token, headers: plain).status == 404)
  }

  @Test("A stream and a group send a snapshot instead")
  func streams() throws {
    let token = try #require(file.ask(notes, headers: plain).json["token"]?.string)
    let accept = [(name: "Accept", value: "text/event-stream")]
    let resumed = file.begin(
      "GET", notes, headers: boss + accept + [("Last-Event-ID", token)])
    _ = resumed.wait()
    let events = EventReader(try #require(resumed.stream))
    let snapshot = try #require(events.next())
    #expect(snapshot.kind == "snapshot")
    #expect(snapshot.json["count"]?.integer == 5)
    #expect(snapshot.id == snapshot.json["token"]?.string)
    let body = #"{"fetches":{"a":{"entity":"note","as":"count","since":"\#(token)"}},"wait":0}"#
    let group = try file.ask("POST", "/v1/live", body: body, headers: boss)
    #expect(group.json["results"]?["a"]?["total"]?.integer == 5)
    #expect(group.json["results"]?["a"]?["from"] == nil)
    let same = try file.ask("POST", "/v1/live", body: body, headers: plain)
    #expect(same.json["results"] == .object([]))
  }

  @Test("Callers that wait for one fetch without rules go on from their own tokens")
  func shared() throws {
    let teams = "/v1/objects/team?sort=id"
    let callers = [plain, boss, server]
    let tokens = try callers.map { caller in
      try #require(file.ask(teams, headers: caller).json["token"]?.string)
    }
    #expect(Set(tokens).count == 3)
    let waiting = zip(callers, tokens).map { caller, token in
      file.begin("GET", "\(teams)&since=\(token)&wait=60", headers: caller)
    }
    #expect(
      try file.ask("PATCH", "/v1/objects/team/1", body: #"{"name":"x"}"#, headers: server).status
        == 200)
    for (index, pending) in waiting.enumerated() {
      let answer = try #require(pending.wait())
      #expect(answer.text.contains(#""changed":{"name":"x"}"#), "\(answer.text)")
      let diff = answer.json
      #expect(diff["from"]?.string == tokens[index])
      let to = try #require(diff["to"]?.string)
      let next = try file.ask("\(teams)&since=\(to)&wait=0", headers: callers[index])
      #expect(next.status == 200)
      #expect(next.json["from"]?.string == to)
    }
  }

  @Test("The tokens of a save, a header, an event and a group go on in every fetch of the caller")
  func everywhere() throws {
    let save = try file.ask(
      "POST", "/v1/objects/note", body: #"{"title":"n","owner":1}"#, headers: plain)
    let header = try #require(save["LiveFetch-Token"])
    let about = try #require(file.ask("/v1", headers: plain).json["token"]?.string)
    let live = #"{"fetches":{"a":{"entity":"note","as":"count"}}}"#
    let group = try #require(
      file.ask("POST", "/v1/live", body: live, headers: plain).json["token"]?.string)
    for token in [header, about, group] {
      for target in [notes, "/v1/objects/team?as=ids"] {
        let join = target.contains("?") ? "&" : "?"
        let diff = try file.ask("\(target)\(join)since=\(token)&wait=0", headers: plain)
        #expect(diff.json["from"]?.string == token, "\(target)")
        #expect(try file.ask("\(target)\(join)since=\(token)&wait=0", headers: boss).status == 410)
      }
    }
  }

  @Test("A token of the server's own token goes on for every caller")
  func ofTheServer() throws {
    let token = try #require(file.ask("/v1", headers: server).json["token"]?.string)
    let changes = try file.ask("/v1/changes?since=\(token)&wait=0", headers: server).json
    #expect(changes["from"]?.string == token && changes["to"]?.string == token)
    let parts = token.split(separator: "-")
    #expect(parts.count == 4)
    #expect(
      try file.ask(
        "POST", "/v1/objects/note", body: #"{"title":"n","owner":1}"#, headers: server
      ).status == 201)
    let diff = try file.ask("\(notes)&since=\(token)", headers: plain).json
    #expect(diff["from"]?.string == token)
    #expect(diff["to"]?.string?.split(separator: "-").count == 4)
    let untagged = parts.dropLast().joined(separator: "-")
    #expect(
      try file.ask("\(notes)&since=\(untagged)-0000000", headers: plain).code == "bad-token")
    #expect(
      try file.ask("\(notes)&since=\(untagged)-0000000g", headers: plain).code == "bad-token")
    #expect(
      try file.ask("\(notes)&since=\(untagged)-00000000-1", headers: plain).code == "bad-token")
    #expect(
      try file.ask("\(notes)&since=\(untagged)-00000000", headers: server).status == 410)
  }

  @Test("A token from before there were rules, or from after their removal, is not continued from")
  func firstRules() throws {
    let open = try ServedFile(AccessFixture.sql)
    let old = try #require(open.ask(notes).json["token"]?.string)
    #expect(old.split(separator: "-").count == 3)
    let new = try #require(file.ask("/v1", headers: server).json["token"]?.string)
    let untagged = new.split(separator: "-").dropLast().joined(separator: "-")
    for caller in [plain, boss, server] {
      let answer = try file.ask("\(notes)&since=\(untagged)&wait=0", headers: caller)
      #expect(answer.status == 410 && answer.code == "token-expired")
    }
    #expect(try open.ask("\(notes)&since=\(old)-00000001&wait=0").status == 410)
  }

  @Test(
    "The token of an answer without objects goes on for a caller with the same rules alone",
    arguments: [
      ("GET", "/nope", 404, 404), ("GET", "/v1/objects/none", 404, 401),
      ("OPTIONS", "/v1", 204, 204), ("GET", "/health/live", 200, 200),
      ("GET", "/metrics", 403, 401), ("GET", "/v1/changes", 403, 401),
      ("GET", "/v1/objects/note?where=", 400, 401),
    ])
  func withoutObjects(method: String, target: String, status: Int, refused: Int) throws {
    let known = try file.ask(method, target, headers: plain)
    let unknown = try file.ask(method, target, headers: [("Authorization", "Bearer wrong")])
    #expect(known.status == status)
    #expect(unknown.status == refused)
    let tokens = try [known, unknown].map { try #require($0["LiveFetch-Token"]) }
    for (token, statuses) in zip(tokens, [[200, 410, 410], [410, 410, 410]]) {
      #expect(token.split(separator: "-").count == 4)
      let answers = try [plain, boss, server].map {
        try file.ask("\(notes)&since=\(token)&wait=0", headers: $0).status
      }
      #expect(answers == statuses, "\(token)")
    }
    let whole = try #require(file.ask(method, target, headers: server)["LiveFetch-Token"])
    let diff = try file.ask("\(notes)&since=\(whole)&wait=0", headers: plain)
    #expect(diff.json["from"]?.string == whole)
  }

  @Test("Each event of a group's stream goes on from the one before")
  func groupStream() throws {
    let body = """
      {"fetches":{"a":{"entity":"note","as":"count"},"b":{"entity":"team","as":"count"}}}
      """
    let pending = file.begin(
      "POST", "/v1/live", body: body, headers: plain + [("Accept", "text/event-stream")])
    _ = pending.wait()
    let events = EventReader(try #require(pending.stream))
    let snapshots = events.next(2)
    #expect(snapshots.map { $0.json["total"]?.integer } == [2, 2])
    var held = try #require(snapshots.last?.json["token"]?.string)
    #expect(held.split(separator: "-").count == 4)
    for title in ["n", "m"] {
      _ = try file.ask(
        "POST", "/v1/objects/note", body: #"{"title":"\#(title)","owner":1}"#, headers: server)
      let diff = try #require(events.next())
      #expect(diff.json["from"]?.string == held)
      held = try #require(diff.json["to"]?.string)
      #expect(diff.id == held)
    }
  }
}
