// Refused paths, methods and bodies.

import Foundation
import LiveFetchHTTPServer
import SQLiteStore
import TestSupport
import Testing

@Suite("Paths, methods and bodies that are refused", .mayBlock)
struct ErrorContractTests {
  static let paths = [
    Exchange("GET", "/nope", 404, "unknown-path"),
    Exchange("POST", "/nope", 404, "unknown-path"),
    Exchange("OPTIONS", "/nope", 404, "unknown-path"),
    Exchange("GET", "/v1/", 404, "unknown-path"),
    Exchange("OPTIONS", "/v1/nope", 404, "unknown-path"),
    Exchange("GET", "/v1/objects", 404, "unknown-path"),
    Exchange("GET", "/v1/objects/city/", 404, "unknown-id"),
    Exchange("GET", "/v1/objects/City", 404, "unknown-entity", text: #""hint":"city""#),
    Exchange("GET", "/v1/objects/city/9", 404, "unknown-id"),
    Exchange("GET", "/v1/objects/city/abc", 404, "unknown-id"),
    Exchange("GET", "/v1/objects/city/01", 404, "unknown-id"),
    Exchange("GET", "/v1/objects/city/+1", 404, "unknown-id"),
    Exchange("GET", "/v1/objects/city/1/nope", 404, "unknown-attribute"),
    Exchange("GET", "/v1/objects/city/%ff", 400, "malformed-encoding"),
    Exchange("GET", "/v1/objects/city/%4", 400, "malformed-encoding"),
    Exchange("GET", "/v1/objects/city/1?where=id==1", 400, "unknown-parameter"),
    Exchange("GET", "/v1/objects/city/1?expand=country", 400, "unknown-parameter"),
    Exchange(
      "GET", "/v1/objects/city?select=name.x", 400, "unknown-key-path",
      text: "has no property `name.x`"),
    Exchange("GET", "/v1/objects/city/1/name?limit=1", 400, "unknown-parameter"),
    Exchange("GET", "/v1?x=1", 400, "unknown-parameter"),
    Exchange("GET", "/v1/model?x=1", 400, "unknown-parameter"),
    Exchange("GET", "/v1/changes?x=1", 400, "unknown-parameter"),
    Exchange("GET", "/v1/changes?limit=-1", 400, "bad-parameter"),
    Exchange("GET", "/v1/fetches/x", 404, "unknown-template"),
    Exchange("GET", "/v1/objects/city/1", 200, text: #""name":"Lima""#),
    Exchange("GET", "/v1/objects/ci%74y/1/name", 200, text: "Lima"),
    Exchange("GET", "/v1/objects/city/2/population", 204),
    Exchange("GET", "/v1/objects/tag/%C3%A9%2F%C3%BC", 200, text: #""word":"slash""#),
    Exchange("GET", "/%761/objects/city/1", 200, text: #""name":"Lima""#),
    Exchange("GET", "/%761/nope", 404, "unknown-path"), Exchange("GET", "/v%31", 200),
    Exchange("GET", "/health/live", 200), Exchange("GET", "/health/ready", 200),
    Exchange("GET", "/health/%6Cive", 200),
    Exchange("GET", "/health%2Flive", 404, "unknown-path"),
  ]

  @Test func pathsAreAnsweredAsTheContractSays() throws { try check(Self.paths) }

  @Test func anotherMethodIsRefusedAndTheRightOnesAreNamed() throws {
    let file = try ServedFile(readingFixture)
    for (method, path, allowed) in [
      ("PUT", "/v1/objects/city", "GET, HEAD, POST, PATCH, DELETE, OPTIONS"),
      ("POST", "/v1/objects/city/1", "GET, HEAD, PATCH, PUT, DELETE, OPTIONS"),
      ("POST", "/v1/model", "GET, HEAD, OPTIONS"), ("HEAD", "/v1/fetch", "POST, OPTIONS"),
      ("TRACE", "/v1", "GET, HEAD, OPTIONS"), ("FOO", "/health/live", "GET, HEAD, OPTIONS"),
    ] {
      let answer = try file.ask(method, path)
      #expect(answer.status == 405, "\(method) \(path)")
      #expect(answer.code == "method-not-allowed", "\(method) \(path)")
      #expect(answer["Allow"] == allowed, "\(method) \(path)")
      let options = try file.ask("OPTIONS", path)
      #expect(options.status == 204, "\(path)")
      #expect(options["Allow"] == allowed, "\(path)")
    }
  }

  static let bodies = [
    Exchange("POST", "/v1/fetch", "", 400, "malformed-json"),
    Exchange("POST", "/v1/fetch", "{", 400, "malformed-json", text: #""offset":1"#),
    Exchange("POST", "/v1/fetch", "[]", 400, "bad-parameter"),
    Exchange("POST", "/v1/fetch", "{}", 400, "bad-parameter"),
    Exchange("POST", "/v1/fetch", #"{"entity":1}"#, 400, "bad-parameter"),
    Exchange("POST", "/v1/fetch", #"{"entity":"city","digest":"true"}"#, 400, "bad-parameter"),
    Exchange("POST", "/v1/fetch", #"{"entity":"city","arguments":1}"#, 400, "bad-parameter"),
    Exchange("POST", "/v1/fetch", #"{"entity":"city","variables":[]}"#, 400, "bad-parameter"),
    Exchange("POST", "/v1/fetch", #"{"entity":"nope"}"#, 400, "unknown-entity"),
    Exchange("POST", "/v1/fetch", #"{"entity":"city","limit":1,"limit":1}"#, 400, "malformed-json"),
    Exchange("POST", "/v1/fetch", #"{"entity":"city","limit":-1}"#, 400, "bad-parameter"),
    Exchange("POST", "/v1/fetch", #"{"entity":"city","limit":"1"}"#, 400, "bad-parameter"),
    Exchange("POST", "/v1/fetch", #"{"entity":"city","limit":1.5}"#, 400, "bad-parameter"),
    Exchange("POST", "/v1/fetch", #"{"entity":"city","where":null}"#, 400, "bad-parameter"),
    Exchange("POST", "/v1/fetch", #"{"entity":"city","sort":[1]}"#, 400, "bad-parameter"),
    Exchange("POST", "/v1/fetch", #"{"entity":"city","bogus":1}"#, 400, "unknown-parameter"),
    Exchange("POST", "/v1/fetch", #"{"entity":"city","arg":1}"#, 400, "unknown-parameter"),
    Exchange("POST", "/v1/fetch", #"{"entity":"city","var.n":1}"#, 400, "unknown-parameter"),
    Exchange("POST", "/v1/fetch", #"{"entity":"city","arguments":[1]}"#, 400, "bad-parameter"),
    Exchange(
      "POST", "/v1/fetch", #"{"entity":"city","variables":{"n":1}}"#, 400, "bad-parameter"),
    Exchange("POST", "/v1/fetch", #"{"entity":"city"} x"#, 400, "malformed-json"),
    Exchange("POST", "/v1/fetch?x=1", #"{"entity":"city"}"#, 400, "unknown-parameter"),
    Exchange(
      "POST", "/v1/fetch", String(repeating: "[", count: 100_000), 400, "malformed-json"),
    Exchange(
      "POST", "/v1/fetch", #"{"entity":"city","where":"id IN %@","arguments":[[1,2]],"as":"ids"}"#,
      200, text: #""items":[1,2]"#),
  ]

  @Test func bodiesAreAnsweredAsTheContractSays() throws { try check(Self.bodies) }

  @Test func aBodyThatIsNotDeclaredJSONIsRefusedWithAHint() throws {
    let answer = try ServedFile(readingFixture).ask("POST", "/v1/fetch")
    #expect(answer.status == 415)
    #expect(answer.json["hint"]?.string?.contains("curl --json") == true)
  }

  @Test func aReadOnlyStoreServesOnlyFetches() throws {
    var options = SQLiteStoreOptions()
    options.isReadOnly = true
    let file = try ServedFile(readingFixture, options: options)
    #expect(try file.ask("/v1/objects/city?as=count").text.hasSuffix("\"total\":4}"))
    for target in ["/v1/objects/city?since=now&wait=0", "/v1/changes?wait=0"] {
      #expect(try file.ask(target).code == "not-observable")
    }
    #expect(try file.ask("DELETE", "/v1/objects/city/1").code == "read-only")
    #expect(try file.ask("POST", "/v1/save", body: #"{"changes":[]}"#).code == "read-only")
  }

  private func check(_ exchanges: [Exchange]) throws {
    let file = try ServedFile(readingFixture)
    for exchange in exchanges { try exchange.check(file) }
  }
}
