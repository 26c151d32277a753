// The responses to saves.

import FetchModel
import TestSupport
import Testing

@Suite("Saves answer as the contract says", .mayBlock)
struct SaveContractTests {
  static let table: [Exchange] = [
    .init(
      "POST", "/v1/save",
      #"{"changes":[{"insert":"city","values":{"name":"A","country":{"temporaryID":"c"}}},{"insert":"country","temporaryID":"c","values":{"name":"B"}}]}"#,
      200, text: #""ids":{"0":4,"c":3},"inserted":2,"updated":0,"deleted":0}"#),
    .init(
      "POST", "/v1/save",
      #"{"changes":[{"insert":"city","values":{"name":"A"}},{"insert":"city","temporaryID":"0","values":{"name":"B"}}]}"#,
      422, "validation-failed", text: #"{"change":1,"code":"repeated-temporary-id""#),
    .init(
      "POST", "/v1/save",
      #"{"changes":[{"update":"city","id":1,"values":{"population":-1}},{"insert":"country","values":{"name":"China"}}]}"#,
      422, "validation-failed", text: #"{"change":1,"property":"name","code":"not-unique""#),
    .init(
      "POST", "/v1/save", #"{"changes":[{"update":"city","id":1,"values":{"country":9}}]}"#,
      409, "conflict", text: #"{"change":0,"property":"country","code":"no-such-object""#),
    .init(
      "POST", "/v1/save",
      #"{"changes":[{"update":"city","id":1,"values":{"name":"x"},"ifMatch":"\"0\""}]}"#,
      409, "conflict", text: #""code":"changed""#),
    .init("POST", "/v1/save", #"{"changes":{}}"#, 400, "malformed-save"),
    .init("POST", "/v1/save", #"{"changes":["#, 400, "malformed-json"),
    .init("GET", "/v1/save", 405, "method-not-allowed"),
    .init("POST", "/v1/objects/city", #"{"name":7}"#, 422, "validation-failed"),
    .init("POST", "/v1/objects/town", #"{"name":"x"}"#, 404, "unknown-entity"),
    .init("POST", "/v1/objects/city", 415, "not-json"),
    .init("PATCH", "/v1/objects/city/99", #"{"name":"x"}"#, 404, "unknown-id"),
    .init("PATCH", "/v1/objects/city/1", #"{"id":1,"name":"x"}"#, 200, text: #""name":"x""#),
    .init("PATCH", "/v1/objects/city/1", #"{"id":2}"#, 422, "validation-failed"),
    .init(
      "PATCH", "/v1/objects/city/1", #"{"name":"x"}"#, header: ("If-Match", "\"x\""), 412,
      "precondition-failed"),
    .init(
      "PATCH", "/v1/objects/city/1", #"{"name":"x"}"#, header: ("If-Match", "x"), 400, "bad-etag"),
    .init(
      "PUT", "/v1/objects/city/1", #"{"name":"x"}"#, header: ("If-None-Match", "*"), 412,
      "precondition-failed"),
    .init("PUT", "/v1/objects/city/9", #"{"id":9,"name":"x"}"#, 201),
    .init("PUT", "/v1/objects/city/1", "{}", 422, "validation-failed", text: #""missing""#),
    .init("DELETE", "/v1/objects/country/1", 409, "conflict", text: #""still-referenced""#),
    .init("DELETE", "/v1/objects/city/1", 204),
    .init("PATCH", "/v1/objects/city", #"{"population":1}"#, 400, "missing-where"),
    .init(
      "PATCH", "/v1/objects/city?where=id<3", #"{"population":1}"#, 200, text: #""updated":2}"#),
    .init(
      "PATCH", "/v1/objects/city?where=TRUEPREDICATE", #"{"id":0}"#, 422, "validation-failed"),
    .init(
      "DELETE", "/v1/objects/city?where=TRUEPREDICATE", header: ("Prefer", "max-affected=2"), 400,
      "too-many-affected"),
    .init(
      "DELETE", "/v1/objects/city?where=TRUEPREDICATE", header: ("Prefer", "max-affected=3"), 200,
      text: #""deleted":3}"#),
    .init("PATCH", "/v1/objects/city?where=id==1&limit=1", "{}", 400, "unknown-parameter"),
    .init("DELETE", "/v1/objects/big?where=TRUEPREDICATE", 403, "read-only"),
  ]

  @Test func aSaveIsAnsweredAndARefusedOneChangesNothing() throws {
    var file = try ServedFile(contractFixture)
    let before = try file.ask("GET", "/v1/objects/city").json["sections"]
    for exchange in Self.table {
      try exchange.check(file)
      if exchange.status >= 400 {
        let after = try file.ask("GET", "/v1/objects/city").json["sections"]
        #expect(after == before, "\(exchange.testDescription)")
      } else {
        file = try ServedFile(contractFixture)
      }
    }
  }

  @Test func aRepresentationIsJSONWithTheObjects() throws {
    let file = try ServedFile(contractFixture)
    let answer = try file.ask(
      "POST", "/v1/save", body: #"{"changes":[{"insert":"country","values":{"name":"N"}}]}"#,
      headers: [("Prefer", "return=representation")])
    #expect(answer.json["included"]?["country"]?["3"]?["name"]?.string == "N")
  }

  @Test func everyMissingValueOfAnObjectIsReportedOnce() throws {
    let file = try ServedFile(contractFixture)
    let answer = try file.ask("POST", "/v1/objects/city", body: #"{"name":1}"#)
    #expect(!answer.text.contains("missing"))
  }

  @Test func aCompositeIDGivesItsPartsTheirValues() throws {
    let file = try ServedFile(contractFixture)
    let answer = try file.ask("PUT", "/v1/objects/part/q,9", body: #"{"note":"x"}"#)
    #expect(answer.status == 201)
  }

  @Test(
    "a number beyond the largest double is refused, and the message says what infinity is",
    arguments: [
      ("area", "takes a number, not a number beyond the largest double; infinity is the string "),
      ("population", "takes an integer of 64 bits, not a number beyond the largest double"),
    ])
  func aNumberBeyondDoubles(property: String, message: String) throws {
    let answer = try ServedFile(readingFixture).ask(
      "PATCH", "/v1/objects/city/1", body: #"{"\#(property)":1e400}"#)
    #expect(answer.status == 422)
    #expect(answer.text.contains("`\(property)` \(message)"), "\(answer.text)")
  }
}
