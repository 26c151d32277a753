// Every combination of credentials, scopes, routes and methods.

import FetchModel
import LiveFetchHTTPServer
import Service
import TestSupport
import Testing

@Suite("Credentials, scopes, routes and verbs", .mayBlock)
struct ScopeMatrixTests {
  /// A file with these keys, which is served with the token `secret`.
  static func served(
    _ keys: [String: (key: APIKey, record: APIKeyRecord)], token: String? = "secret"
  ) throws -> ServedFile {
    var configuration = ServiceConfiguration()
    configuration.bearerToken = token
    configuration.explains = true
    let file = try ServedFile(contractFixture, configuration: configuration)
    try file.restart { file in
      for (_, record) in keys.values {
        let isAdded = try file.addAPIKey(record)
        #expect(isAdded)
      }
    }
    return file
  }

  static func key(
    _ name: String, _ scopes: [String], expires: Double? = nil
  ) -> (key: APIKey, record: APIKeyRecord) {
    let key = APIKey()
    return (
      key,
      APIKeyRecord(
        id: key.id, name: name, digest: key.digest, scopes: scopes, created: 1, expires: expires)
    )
  }

  static func bearer(_ credential: String) -> [(name: String, value: String)] {
    [("Authorization", "Bearer \(credential)")]
  }

  /// A request, and the status that each of a test's callers gets.
  struct Case: Sendable {
    let method: String
    let target: String
    let body: String?
    let statuses: [Int]

    init(_ method: String, _ target: String, _ statuses: [Int]) {
      self.init(method, target, nil, statuses)
    }

    init(_ method: String, _ target: String, _ body: String?, _ statuses: [Int]) {
      (self.method, self.target, self.body, self.statuses) = (method, target, body, statuses)
    }
  }

  /// By `read`, `write`, `admin`, and the server's token.
  private static let cases = [
    Case("GET", "/v1", [200, 403, 403, 200]),
    Case("HEAD", "/v1", [200, 403, 403, 200]),
    Case("GET", "/v1/model", [200, 403, 403, 200]),
    Case("GET", "/openapi.json", [200, 403, 403, 200]),
    Case("GET", "/v1/objects/city", [200, 403, 403, 200]),
    Case("GET", "/v1/objects/city?limit=1", [200, 403, 403, 200]),
    Case("GET", "/v1/objects/city/1", [200, 403, 403, 200]),
    Case("GET", "/v1/objects/city/1/name", [200, 403, 403, 200]),
    Case("GET", "/v1/objects/city?since=now&wait=0", [200, 403, 403, 200]),
    Case("GET", "/v1/changes", [200, 403, 403, 200]),
    Case("POST", "/v1/fetch", #"{"entity":"city"}"#, [200, 403, 403, 200]),
    Case("POST", "/v1/live", #"{"fetches":{"a":{"entity":"city"}}}"#, [200, 403, 403, 200]),
    // `explain` needs a fetch that may be read, too.
    Case("GET", "/v1/objects/city?explain=true", [403, 403, 403, 200]),
    Case("GET", "/metrics", [403, 403, 200, 200]),
    Case(
      "POST", "/v1/save", #"{"changes":[{"update":"city","id":1,"values":{"population":2}}]}"#,
      [403, 200, 403, 200]),
    Case("POST", "/v1/objects/country", #"{"name":"%"}"#, [403, 201, 403, 201]),
    Case("PATCH", "/v1/objects/city/1", #"{"population":1}"#, [403, 200, 403, 200]),
    Case("PUT", "/v1/objects/city/2", #"{"name":"B"}"#, [403, 200, 403, 200]),
    Case("PATCH", "/v1/objects/city?where=id==1", #"{"population":1}"#, [403, 200, 403, 200]),
    Case("DELETE", "/v1/objects/city?where=id==99", [403, 200, 403, 200]),
    Case("DELETE", "/v1/objects/city/99", [403, 404, 403, 404]),
    Case("OPTIONS", "/v1/objects/city", [204, 204, 204, 204]),
    Case("GET", "/health/live", [200, 200, 200, 200]),
    Case("GET", "/v1/none", [404, 404, 404, 404]),
    Case("DELETE", "/v1/model", [405, 405, 405, 405]),
  ]

  @Test("A scope permits its requests and no others")
  func scopes() throws {
    let keys = [
      "read": Self.key("r", ["read"]), "write": Self.key("w", ["write"]),
      "admin": Self.key("a", ["admin"]),
    ]
    let file = try Self.served(keys)
    let credentials = ["read", "write", "admin"].compactMap { keys[$0]?.key.text } + ["secret"]
    for example in Self.cases {
      for (index, credential) in credentials.enumerated() {
        let body = example.body?.replacing("%", with: "new \(index)")
        let answer = try file.ask(
          example.method, example.target, body: body, headers: Self.bearer(credential))
        let place = "\(example.method) \(example.target), credential \(index): \(answer.text)"
        #expect(answer.status == example.statuses[index], "\(place)")
      }
    }
  }

  @Test("A key with several scopes has all of them")
  func severalScopes() throws {
    let keys = ["rw": Self.key("rw", ["read", "write"])]
    let file = try Self.served(keys)
    let bearer = Self.bearer(keys["rw"]?.key.text ?? "")
    #expect(try file.ask("/v1/objects/city", headers: bearer).status == 200)
    let save = try file.ask(
      "POST", "/v1/save",
      body: #"{"changes":[{"update":"city","id":1,"values":{"population":2}}]}"#, headers: bearer)
    #expect(save.status == 200)
    #expect(try file.ask("/metrics", headers: bearer).status == 403)
  }

  @Test("A refusal names the scope that is needed, and nothing of the credential")
  func missingScope() throws {
    let keys = ["read": Self.key("reader", ["read"])]
    let file = try Self.served(keys)
    let text = keys["read"]?.key.text ?? ""
    let answer = try file.ask(
      "DELETE", "/v1/objects/city/1", headers: Self.bearer(text))
    #expect(answer.status == 403)
    #expect(answer.code == "forbidden")
    #expect(
      answer.json["detail"]?.string
        == "The credential lacks the scope `write`, which this request needs.")
    #expect(
      answer["WWW-Authenticate"]
        == "Bearer realm=\"LiveFetch\", error=\"insufficient_scope\", scope=\"write\"")
    #expect(!answer.text.contains(text))
  }

  /// Credentials that are refused, by reason.
  private static func refused(_ keys: [String: (key: APIKey, record: APIKeyRecord)]) -> [String?] {
    let text = keys["read"]?.key.text ?? ""
    let values = [
      "secre", "secretx", "SECRET", APIKey().text, String(text.dropLast()), text + "a",
      String(text.dropLast()) + (text.hasSuffix("a") ? "b" : "a"), text.uppercased(),
      keys["revoked"]?.key.text ?? "", keys["expired"]?.key.text ?? "", "lf_", "a.b.c",
      "eyJhbGciOiJub25lIn0.e30.", String(repeating: "x", count: 8_000),
    ]
    return [nil, "", "Bearer", "Bearer ", "Basic secret", "secret", "Bearer  secret"]
      + values.map { "Bearer \($0)" } + ["Bearer secret, Bearer secret", "Bearer secret x"]
  }

  @Test("A missing, unknown, malformed, expired or revoked credential is one and the same answer")
  func refusals() throws {
    let keys = [
      "read": Self.key("r", ["read"]), "revoked": Self.key("gone", ["read"]),
      "expired": Self.key("old", ["read"], expires: 2),
    ]
    let file = try Self.served(keys)
    try file.restart { file in
      let revoked = try file.revokeAPIKey("gone")
      #expect(revoked?.name == "gone")
    }
    for example in Self.cases where example.statuses.contains(403) {
      for header in Self.refused(keys) {
        let headers = header.map { [(name: "Authorization", value: $0)] } ?? []
        let answer = try file.ask(
          example.method, example.target, body: example.body, headers: headers)
        #expect(answer.status == 401, "\(example.target) \(header ?? "none")")
        #expect(answer["WWW-Authenticate"] == "Bearer realm=\"LiveFetch\"")
        #expect(answer.code == "unauthorized")
        #expect(
          answer.json["detail"]?.string
            == "A valid credential is required: `Authorization: Bearer …`.")
        let json = [(name: "Content-Type", value: "application/json")]
        let head = HTTPRequest(
          method: example.method, target: example.target, headers: headers + json)
        #expect(file.service.refusal(of: head)?.status == 401)
      }
    }
  }

  @Test("A missing scope is refused before the body is read")
  func headRefusal() throws {
    let keys = ["read": Self.key("r", ["read"])]
    let file = try Self.served(keys)
    let json = [(name: "Content-Type", value: "application/json")]
    let bearer = Self.bearer(keys["read"]?.key.text ?? "")
    let save = HTTPRequest(method: "POST", target: "/v1/save", headers: bearer + json)
    #expect(file.service.refusal(of: save)?.status == 403)
    let fetch = HTTPRequest(method: "POST", target: "/v1/fetch", headers: bearer + json)
    #expect(file.service.refusal(of: fetch) == nil)
  }

  @Test("Without a token and keys everyone may do everything, and a credential does not matter")
  func open() throws {
    let file = try Self.served([:], token: nil)
    #expect(try file.ask("/v1/objects/city").status == 200)
    #expect(try file.ask("/metrics", headers: Self.bearer("x")).status == 200)
    #expect(try file.ask("DELETE", "/v1/objects/city/1").status == 204)
  }

  @Test("A cached snapshot is not given to a caller without a credential")
  func cache() throws {
    let keys = ["read": Self.key("r", ["read"]), "write": Self.key("w", ["write"])]
    let file = try Self.served(keys)
    let bearer = Self.bearer(keys["read"]?.key.text ?? "")
    for _ in 0..<4 {
      let answer = try file.ask("/v1/objects/city?limit=2", headers: bearer)
      #expect(answer.status == 200)
      let etag = [(name: "If-None-Match", value: answer["ETag"] ?? "")]
      #expect(try file.ask("/v1/objects/city?limit=2", headers: etag).status == 401)
      #expect(try file.ask("/v1/objects/city?limit=2").status == 401)
      let writer = Self.bearer(keys["write"]?.key.text ?? "")
      #expect(try file.ask("/v1/objects/city?limit=2", headers: writer).status == 403)
    }
  }
}
