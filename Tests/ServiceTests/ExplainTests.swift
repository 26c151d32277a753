// `explain=true`: the statement, its plan and a hint in place of the result.

import Bytes
import FetchModel
import Foundation
import Service
import TestSupport
import Testing

@Suite("explain=true", .mayBlock)
struct ExplainTests {
  private static func file() throws -> ServedFile {
    var configuration = ServiceConfiguration()
    configuration.explains = true
    return try ServedFile(contractFixture, configuration: configuration)
  }

  @Test func theStatementItsTypesItsPlanAndAHintAreShownInPlaceOfTheResult() throws {
    let answer = try Self.file().ask(
      "/v1/objects/city?where=population%3E10&sort=-population&as=ids&explain=true")
    #expect(
      answer.text == #"{"entity":"city","statements":[{"for":"items","#
        + #""sql":"SELECT \"t0\".\"id\", \"t0\".\"population\" FROM \"city\" AS \"t0\" "#
        + #"WHERE \"t0\".\"population\" > ? "#
        + #"ORDER BY \"t0\".\"population\" DESC, \"t0\".\"id\" LIMIT ?","#
        + #""types":["integer","integer"],"#
        + #""plan":[{"detail":"SCAN t0"},{"detail":"USE TEMP B-TREE FOR ORDER BY"}],"#
        + #""hints":[{"index":"CREATE INDEX \"city_population\" ON \"city\"(\"population\" DESC)","#
        + #""reason":"every row of `city` is read and sorted"}]}]}"#)
    #expect(answer["Cache-Control"] == "no-store")
  }

  @Test func everyShapeIsExplained() throws {
    let file = try Self.file()
    for (query, purposes) in [
      ("as=count", ["total"]), ("as=ids&count=exact", ["items", "total"]),
      ("limit=3", ["items", "item"]), ("section=country.name&select=name,country.name", ["items"]),
      ("as=dictionaries&select=n:@count&count=exact", ["dictionaries", "total"]),
      ("expand=country", ["items", "included"]), ("since=now&wait=60", ["items"]),
    ] {
      let answer = try file.ask("/v1/objects/city?\(query)&explain=true")
      #expect(answer.status == 200, "\(query)")
      let statements = try #require(answer.json["statements"]?.elements, "\(query): \(answer.text)")
      #expect(statements.map { $0["for"]?.string } == purposes, "\(query)")
    }
  }

  @Test func aCursorAndABodyAreExplainedAndAnErrorIsStillAnError() throws {
    let file = try Self.file()
    let next = try #require(
      file.ask("/v1/objects/city?sort=name&limit=1").json["next"]?.string)
    let page = try file.ask("/v1/objects/city?sort=name&limit=1&after=\(next)&explain=true")
    #expect(page.text.contains(#"\"name\" >= ?"#))
    let body = try file.ask(
      "POST", "/v1/fetch", body: #"{"entity":"city","as":"count","explain":true}"#)
    #expect(body.text.hasPrefix(#"{"entity":"city","statements":[{"for":"total""#))
    #expect(try file.ask("/v1/objects/city?where=nope==1&explain=true").code == "unknown-key-path")
    #expect(try file.ask("/v1/objects/city?explain=false&limit=0").json["count"]?.integer == 0)
  }

  /// A server with a rule for notes, and the token of a user who may see statements.
  private static func ruled(
    _ rule: String, _ sql: String = AccessFixture.sql
  ) async throws -> (file: ServedFile, token: String) {
    let signer = try await JWTTests.hs256()
    var configuration = ServiceConfiguration()
    configuration.explains = true
    configuration.bearerToken = "secret"
    configuration.jwt = JWTVerifier(
      rules: JWTRules(), keys: try await JWTKey.keys(of: Array(signer.file.utf8)))
    configuration.access = try AccessDeclaration(
      parsing: Array(#"{"entities":{"note":{"access":{"read":"\#(rule)"}}}}"#.utf8))
    return (
      try ServedFile(sql, configuration: configuration),
      try signer.token(#"{"sub":"7001","scope":"read admin"}"#)
    )
  }

  @Test func theAccessRuleOfTheCallerIsShownInTheStatement() async throws {
    let (file, token) = try await Self.ruled("owner == $user.id")
    let texts = try [token, "secret"].map { credential in
      let answer = try file.ask(
        "/v1/objects/note?select=title&sort=id&explain=true",
        headers: [("Authorization", "Bearer \(credential)")])
      #expect(answer.status == 200, "\(answer.text)")
      return answer.text
    }
    #expect(texts[0].contains(#"WHERE \"t0\".\"owner_id\" = ?"#), "\(texts[0])")
    #expect(!texts[0].contains("7001"))
    #expect(!texts[1].contains("owner_id"))
  }

  @Test(
    "What may take long or fail is evaluated after the rule, and so for readable rows only",
    arguments: [
      ("owner == $user.id", "title MATCHES 'a'", true),
      (
        "owner == $user.id", "(SELF == 2 AND size == 1) OR (SELF == 2 AND title CONTAINS 'a')", true
      ),
      (
        "owner == $user.id", "size > 1 AND title CONTAINS 'a' AND (size == 2 OR title LIKE 'b')",
        true
      ),
      ("owner == $user.id", "long == 3", true), ("owner == $user.id", "size == 3", false),
      ("team.name == 'red'", "title ==[c] 'a'", true),
      ("team.name == 'red'", "title == 'a'", false),
      ("ANY team.user.id == $user.id", "length(title) > 3", true),
    ])
  func conditionsAfterTheRule(rule: String, condition: String, isAfter: Bool) async throws {
    let (file, token) = try await Self.ruled(
      rule, AccessFixture.sql + "ALTER TABLE note ADD COLUMN long INTEGER AS (size * 2) VIRTUAL;")
    let encoded = condition.utf8.map { "%\(Hexadecimal.text(of: [$0]))" }.joined()
    let answer = try file.ask(
      "/v1/objects/note?as=count&where=\(encoded)&explain=true",
      headers: [("Authorization", "Bearer \(token)")])
    #expect(answer.status == 200, "\(answer.text)")
    // Once for all conditions: the time does not show how many of them are evaluated.
    let tests = answer.text.components(separatedBy: "CASE WHEN (").count - 1
    #expect(tests == (isAfter ? 1 : 0), "\(answer.text)")
  }

  @Test func aServerThatWasNotStartedForItRefuses() throws {
    let answer = try ServedFile(contractFixture).ask("/v1/objects/city?explain=true")
    #expect(answer.status == 403)
    #expect(answer.code == "explain-disabled")
    #expect(answer.text.contains("--explain"))
  }
}
