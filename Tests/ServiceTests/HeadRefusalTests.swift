// Requests whose head is invalid are refused before their body is read; CORS of
// several origins.

import FetchModel
import Foundation
import LiveFetchHTTPServer
import SQLiteStore
import Service
import TestSupport
import Testing

@Suite("Refusals at a request's head", .mayBlock)
struct HeadRefusalTests {
  private static let json = [(name: "Content-Type", value: "application/json")]

  private func protected() throws -> ServedFile {
    var configuration = ServiceConfiguration()
    configuration.bearerToken = "secret"
    return try ServedFile(contractFixture, configuration: configuration)
  }

  private func status(
    _ file: ServedFile, _ method: String, _ target: String,
    _ headers: [(name: String, value: String)]
  ) -> Int? {
    file.service.refusal(of: HTTPRequest(method: method, target: target, headers: headers))?.status
  }

  private static let bodies = [
    ("POST", "/v1/save"), ("POST", "/v1/fetch"), ("POST", "/v1/live"), ("POST", "/v1/objects/city"),
    ("PATCH", "/v1/objects/city/1"), ("PUT", "/v1/objects/city/1"),
    ("PATCH", "/v1/objects/city?where=TRUEPREDICATE"),
  ]

  @Test func withoutTheTokenABodyIsNotRead() throws {
    let file = try protected()
    let others = [("DELETE", "/v1/objects/city/1"), ("GET", "/v1"), ("POST", "/v1/objects/none")]
    for (method, target) in Self.bodies + others {
      for credential in [nil, "Bearer wrong", "Bearer ", "Basic secret", "secret"] {
        let headers = credential.map { [(name: "Authorization", value: $0)] } ?? []
        #expect(status(file, method, target, headers + Self.json) == 401, "\(method) \(target)")
      }
      for credential in ["Bearer secret", "bearer secret"] {
        let right = [(name: "Authorization", value: credential)]
        #expect(status(file, method, target, right + Self.json) == nil, "\(method) \(target)")
      }
    }
  }

  @Test func aRefusalHasTheHeadersOfEveryAnswer() throws {
    let file = try protected()
    let head = HTTPRequest(method: "POST", target: "/v1/save", headers: Self.json)
    let response = try #require(file.service.refusal(of: head))
    #expect(response.header("WWW-Authenticate") == "Bearer realm=\"LiveFetch\"")
    #expect(response.header("LiveFetch-Token") == file.store.newestToken.description)
    #expect(response.header("Content-Type") == "application/problem+json")
  }

  @Test func anUnknownPathOrMethodIsRefused() throws {
    let file = try ServedFile(contractFixture)
    for (method, target, expected) in [
      ("POST", "/nope", 404), ("POST", "/v1/nope", 404), ("POST", "/v1/model", 405),
      ("PUT", "/v1/objects/city", 405), ("POST", "/v1/objects/city/1", 405),
      ("POST", "/v1/objects/%ff", 400), ("POST", "/health/live", 405),
    ] {
      #expect(status(file, method, target, Self.json) == expected, "\(method) \(target)")
    }
  }

  private static let types: [(String?, Int?)] = [
    (nil, 415), ("text/plain", 415), ("application/x-www-form-urlencoded", 415),
    ("multipart/form-data; boundary=x", 415), ("", 415), ("text/plain; application/json", 415),
    ("application/jsonx", 415), ("text/plain, application/json", 415), ("application/json", nil),
    ("application/json; charset=utf-8", nil), ("Application/JSON", nil),
    ("application/merge-patch+json", nil),
  ]

  @Test func aBodyIsDeclaredAsJSON() throws {
    let file = try ServedFile(contractFixture)
    for (type, expected) in Self.types {
      let headers = type.map { [(name: "Content-Type", value: $0)] } ?? []
      for (method, target) in Self.bodies {
        let place = Comment("\(type ?? "none"): \(method) \(target)")
        #expect(status(file, method, target, headers) == expected, place)
        let request = HTTPRequest(
          method: method, target: target, headers: headers, body: Array("{".utf8))
        let answer = try #require(Pending.begin(file.service, request).wait(), place)
        #expect(answer.status == expected ?? 400, place)
      }
      #expect(status(file, "DELETE", "/v1/objects/city/1", headers) == nil)
    }
  }

  @Test func aReadOnlyStoreReadsNoSave() throws {
    var options = SQLiteStoreOptions()
    options.isReadOnly = true
    let file = try ServedFile(contractFixture, options: options)
    #expect(status(file, "POST", "/v1/save", Self.json) == 403)
    #expect(status(file, "PATCH", "/v1/objects/city/1", Self.json) == 403)
    #expect(status(file, "POST", "/v1/fetch", Self.json) == nil)
  }
}

@Suite("Browsers of several origins", .mayBlock)
struct CORSOriginTests {
  private func file(_ origins: [String]) throws -> ServedFile {
    var configuration = ServiceConfiguration()
    configuration.corsOrigins = origins
    return try ServedFile(contractFixture, configuration: configuration)
  }

  private static let origins = ["https://a.example", "https://b.example"]

  @Test(
    arguments: [
      ("https://a.example", "https://a.example"), ("https://b.example", "https://b.example"),
      ("https://c.example", nil), ("null", nil), (nil, nil), ("https://a.example.evil", nil),
    ] as [(String?, String?)])
  func eachIsAllowedByItsName(origin: String?, allowed: String?) throws {
    let file = try file(Self.origins)
    let headers = origin.map { [(name: "Origin", value: $0)] } ?? []
    // The third one comes from the cache.
    for _ in 0..<3 {
      for other in Self.origins {
        _ = try file.ask("/v1/objects/city", headers: [("Origin", other)])
      }
      let answer = try file.ask("/v1/objects/city", headers: headers)
      #expect(answer["Access-Control-Allow-Origin"] == allowed)
      #expect(answer.headers.contains { $0.name == "Vary" && $0.value == "Origin" })
    }
    let save = try file.ask(
      "PATCH", "/v1/objects/city/1", body: #"{"population":1}"#, headers: headers)
    #expect(save["Access-Control-Allow-Origin"] == allowed)
    let preflight = headers + [(name: "Access-Control-Request-Method", value: "PATCH")]
    let options = try file.ask("OPTIONS", "/v1/objects/city/1", headers: preflight)
    #expect(options["Access-Control-Allow-Origin"] == allowed)
  }

  @Test func waitingBrowsersOfTwoOriginsGetTheirOwnHeaders() throws {
    let file = try file(Self.origins)
    let token = file.store.newestToken
    let target = "/v1/objects/city?since=\(token)&wait=60&as=ids&sort=population"
    let pending = Self.origins.map { file.begin("GET", target, headers: [("Origin", $0)]) }
    _ = try file.ask("PATCH", "/v1/objects/city/1", body: #"{"population":1}"#)
    let allowed = pending.map { $0.wait()?["Access-Control-Allow-Origin"] }
    #expect(allowed == Self.origins)
  }

  @Test("scripts of other origins may read every header of LiveFetch")
  func exposedHeaders() throws {
    let answer = try file(["*"]).ask("/v1/objects/city", headers: [("Origin", "https://z")])
    let exposed = (answer["Access-Control-Expose-Headers"] ?? "").split(separator: ", ")
    #expect(
      exposed.sorted() == [
        "Accept-Ranges", "Allow", "Content-Range", "Date", "ETag", "Idempotency-Replayed",
        "LiveFetch-Token", "Location", "Preference-Applied", "RateLimit", "RateLimit-Policy",
        "Retry-After", "Server-Timing", "WWW-Authenticate", "X-Request-Id",
      ])
  }

  @Test(arguments: [["*"], ["https://a.example", "*"]])
  func aStarAllowsAll(origins: [String]) throws {
    let answer = try file(origins).ask("/v1/objects/city", headers: [("Origin", "https://z")])
    #expect(answer["Access-Control-Allow-Origin"] == "*")
  }

  @Test func whatTheServerRefusesWithoutAStoreHasTheirHeadersToo() throws {
    var configuration = ServiceConfiguration()
    configuration.corsOrigins = Self.origins
    let file = try HostedFile(contractFixture, configuration: configuration)
    let allowed = { (origin: String?) in
      file.host.commonHeaders(origin: origin).first { $0.name == "Access-Control-Allow-Origin" }?
        .value
    }
    #expect(allowed("https://b.example") == "https://b.example")
    #expect(allowed("https://c.example") == nil)
    #expect(allowed(nil) == nil)
    file.host.drain()
    file.host.close()
    let answer = try file.ask("GET", "/v1", headers: [("Origin", "https://b.example")])
    #expect(answer.status == 503)
    #expect(answer["Access-Control-Allow-Origin"] == "https://b.example")
    #expect(answer["X-Content-Type-Options"] == "nosniff")
  }

  @Test func withoutAnOriginNoneIsAllowed() throws {
    let answer = try file([]).ask("/v1/objects/city", headers: [("Origin", "https://z")])
    #expect(answer["Access-Control-Allow-Origin"] == nil)
  }
}

extension HTTPHandler {
  /// The refusal of a request with a body, without an attachment; nil to accept it.
  func refusal(of head: HTTPRequest) -> HTTPResponse? { refusal(of: head) { _ in } }
}
