// Every combination of scopes, access rules, routes and methods.

import FetchModel
import LiveFetchHTTPServer
import Service
import TestSupport
import Testing

/// Scopes × routes × verbs × objects, under rules. Each caller is user 1 with other scopes: it owns note 1;
/// note 2 is another user's, and note 9 does not exist.
@Suite("Scopes, access rules, routes and verbs", .mayBlock)
struct ScopeRuleMatrixTests {
  private static let model = """
    {"entities":[{"name":"Note","attributes":[
      {"name":"title","type":"String"},{"name":"owner","type":"Integer 64"},
      {"name":"secret","type":"String","hidden":true},
      {"name":"made","type":"String","readOnly":true}],
      "access":{"read":"owner == $user.id","insert":"owner == $user.id",
        "update":"owner == $user.id","delete":"owner == $user.id"}}],
     "fetchTemplates":[{"name":"all","entity":"Note","predicate":"title != nil"}]}
    """

  private static let callers = [
    AccessFixture.User(name: "reader", id: "1", scopes: ["read"]),
    AccessFixture.User(name: "writer", id: "1", scopes: ["write"]),
    AccessFixture.User(name: "both", id: "1", scopes: ["read", "write"]),
    AccessFixture.User(name: "admin", id: "1", scopes: ["admin"]),
    AccessFixture.User(name: "all", id: "1", scopes: ["read", "write", "admin"]),
  ]

  private func fixture() throws -> AccessFixture {
    let fixture = try AccessFixture(model: Self.model, users: Self.callers)
    let save = try fixture.ask(
      AccessFixture.serverToken, "POST", "/v1/save",
      #"{"changes":[{"insert":"Note","values":{"title":"a","owner":1}},"#
        + #"{"insert":"Note","values":{"title":"b","owner":2}}]}"#)
    #expect(save.status == 200, "\(save.text)")
    return fixture
  }

  typealias Case = ScopeMatrixTests.Case

  private static let insert = #"{"changes":[{"insert":"Note","values":{"title":"x","owner":@}}]}"#
  private static let update = #"{"changes":[{"update":"Note","id":@,"values":{"title":"x"}}]}"#

  /// By `read`, `write`, `read` and `write`, `admin`, all three, and the server's token. Each request has a store
  /// of its own.
  static let cases = [
    Case("GET", "/v1/objects/Note", [200, 403, 200, 403, 200, 200]),
    Case("HEAD", "/v1/objects/Note", [200, 403, 200, 403, 200, 200]),
    Case("GET", "/v1/objects/Note?since=now&wait=0", [200, 403, 200, 403, 200, 200]),
    Case("GET", "/v1/objects/Note/1", [200, 403, 200, 403, 200, 200]),
    Case("GET", "/v1/objects/Note/2", [404, 403, 404, 403, 404, 200]),
    Case("GET", "/v1/objects/Note/9", [404, 403, 404, 403, 404, 404]),
    Case("GET", "/v1/objects/Note/1/title", [200, 403, 200, 403, 200, 200]),
    Case("GET", "/v1/objects/Note/2/title", [404, 403, 404, 403, 404, 200]),
    Case("GET", "/v1/objects/Note/1/secret", [404, 403, 404, 403, 404, 204]),
    Case("GET", "/v1/objects/Note?where=secret==nil", [400, 403, 400, 403, 400, 200]),
    Case("GET", "/v1/fetches/all", [200, 403, 200, 403, 200, 200]),
    Case("GET", "/v1/model", [200, 403, 200, 403, 200, 200]),
    Case("GET", "/openapi.json", [200, 403, 200, 403, 200, 200]),
    Case("POST", "/v1/fetch", #"{"entity":"Note"}"#, [200, 403, 200, 403, 200, 200]),
    Case(
      "POST", "/v1/live", #"{"fetches":{"a":{"entity":"Note"}}}"#, [200, 403, 200, 403, 200, 200]),
    // Where rules exist, changes need `admin`; `explain` needs a fetch that may be read, too.
    Case("GET", "/v1/changes", [403, 403, 403, 200, 200, 200]),
    Case("GET", "/v1/objects/Note?explain=true", [403, 403, 403, 403, 200, 200]),
    Case("GET", "/metrics", [403, 403, 403, 200, 200, 200]),
    // A change of what the caller may not read is 404 for those who may write.
    Case("PATCH", "/v1/objects/Note/1", #"{"title":"x"}"#, [403, 200, 200, 403, 200, 200]),
    Case("PATCH", "/v1/objects/Note/2", #"{"title":"x"}"#, [403, 404, 404, 403, 404, 200]),
    Case("PATCH", "/v1/objects/Note/9", #"{"title":"x"}"#, [403, 404, 404, 403, 404, 404]),
    Case("PATCH", "/v1/objects/Note/1", #"{"made":"x"}"#, [403, 403, 403, 403, 403, 200]),
    Case("PATCH", "/v1/objects/Note/1", #"{"owner":2}"#, [403, 403, 403, 403, 403, 200]),
    Case(
      "PATCH", "/v1/objects/Note?where=title!=nil", #"{"title":"x"}"#,
      [403, 200, 200, 403, 200, 200]),
    Case("POST", "/v1/save", update.replacing("@", with: "1"), [403, 200, 200, 403, 200, 200]),
    Case("POST", "/v1/save", update.replacing("@", with: "2"), [403, 404, 404, 403, 404, 200]),
    Case("POST", "/v1/save", insert.replacing("@", with: "1"), [403, 200, 200, 403, 200, 200]),
    Case("POST", "/v1/save", insert.replacing("@", with: "2"), [403, 403, 403, 403, 403, 200]),
    Case(
      "POST", "/v1/objects/Note", #"{"title":"x","owner":2}"#, [403, 403, 403, 403, 403, 201]),
    Case("DELETE", "/v1/objects/Note/1", [403, 204, 204, 403, 204, 204]),
    Case("DELETE", "/v1/objects/Note/2", [403, 404, 404, 403, 404, 204]),
    Case("DELETE", "/v1/objects/Note/9", [403, 404, 404, 403, 404, 404]),
  ]

  @Test("A scope decides which routes answer, a rule decides for which objects", arguments: cases)
  func matrix(_ expected: Case) throws {
    let callers = Self.callers.map(\.name) + [AccessFixture.serverToken]
    for (caller, status) in zip(callers, expected.statuses) {
      let fixture = try fixture()
      let answer = try fixture.ask(caller, expected.method, expected.target, expected.body)
      #expect(answer.status == status, "\(caller ?? "server's token"): \(answer.text)")
    }
  }
}
