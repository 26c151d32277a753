// Access rules that no longer fit the tables of a served file.

import FetchModel
import LiveFetchHTTPServer
import Service
import TestSupport
import Testing

@Suite("Access rules that do not fit the tables", .mayBlock)
struct AccessFaultTests {
  private static let rules = """
    {"entities":{"note":{"access":{"read":"owner == $user.id"}},
      "user":{"attributes":{"pay":{"hidden":true}}}}}
    """

  @Test("No request is served under them")
  func requests() throws {
    let fixture = try AccessFixture(rules: Self.rules)
    let requests: [(method: String, target: String, body: String?)] = [
      ("GET", "/v1/objects/note", nil), ("GET", "/v1/objects/note/1", nil),
      ("GET", "/v1/model", nil), ("GET", "/v1/changes", nil),
      ("POST", "/v1/live", #"{"fetches":{"a":{"entity":"team"}}}"#),
      ("PATCH", "/v1/objects/team/1", #"{"name":"x"}"#),
    ]
    for request in requests {
      let user = request.target == "/v1/changes" ? AccessFixture.admin : "1"
      let answer = try fixture.ask(user, request.method, request.target, request.body)
      #expect(answer.status == 503, "\(request.target)")
      #expect(answer.code == "not-ready")
      #expect(answer.text.contains("The access rules do not fit the tables."), "\(answer.text)")
      #expect(!answer.text.contains("pay"))
    }
  }

  @Test("The server is not ready, names no rule, and serves the server token")
  func readiness() throws {
    let fixture = try AccessFixture(rules: Self.rules)
    let ready = try fixture.ask(nil, "GET", "/health/ready")
    #expect(ready.status == 503)
    #expect(ready.text.contains(#""code":"access-rules""#), "\(ready.text)")
    #expect(!ready.text.contains("pay"))
    #expect(try fixture.ids(nil, "/v1/objects/note") == [1, 2, 3, 4, 5])
  }
}
