// Malformed `If-Match`, `If-None-Match` and `Prefer` are refused.

import FetchModel
import Foundation
import TestSupport
import Testing

@Suite("Headers that limit a change are never ignored", .mayBlock)
struct PreconditionFormTests {
  private typealias Headers = [(name: String, value: String)]

  /// `Prefer` header values, each list on headers of its own.
  static let malformedPreferences: [[String]] = [
    ["max-affected"], ["max-affected="], ["max-affected= "], ["max-affected=1x"],
    ["max-affected=-1"], ["max-affected=+1"], ["max-affected=1.0"], ["max-affected=1e3"],
    ["max-affected=0x1"], ["max-affected=1 2"], ["max-affected 1"], ["max-affected=\"\""],
    ["max-affected=\"1"], ["max-affected=1\""], ["max-affected=\"1\"x"], ["max-affected='1'"],
    ["max-affected=٣"], ["max-affected=9223372036854775808"], ["max-affected=1=1"],
    ["max-affected=99999999999999999999999999"], ["max-affected=none"], ["\"max-affected\"=1"],
    ["=1"], ["=", "max-affected=9"], ["return=minimal, max-affected=x"],
    ["return=minimal; max-affected=x"], ["max-affected=1, max-affected=x"],
    ["max-affected=x, max-affected=1"], ["max-affected=9", "max-affected=x"],
    ["max-affected=x", "max-affected=9"], ["foo=\"a, max-affected=1"], ["handling"],
    ["handling="], ["handling=kind"], ["handling=\"lenient"], ["handling=strict, handling=x"],
    ["return=minimal max-affected=1"], ["MAX-AFFECTED=x"], ["max-affected=1\u{7F}"],
    ["max-affected:0"], ["max-affected:0, max-affected=9"], ["max_affected=0"], ["maxaffected=0"],
    ["Max_Affected=0"], ["(max-affected)=0"], ["max/affected=0"], ["foo@bar"],
  ]

  @Test func aMalformedPreferenceChangesNothing() throws {
    let requests: [(String, String, String?)] = [
      ("DELETE", "/v1/objects/city?where=TRUEPREDICATE", nil),
      ("PATCH", "/v1/objects/city?where=TRUEPREDICATE", #"{"population":1}"#),
      ("DELETE", "/v1/objects/city/1", nil),
      ("POST", "/v1/save", #"{"changes":[{"delete":"city","id":1}]}"#),
    ]
    try expectRefusals(requests, "Prefer", Self.malformedPreferences, "bad-preference")
  }

  @Test("a part of an object replaces nothing") func contentRange() throws {
    let file = try ServedFile(readingFixture)
    let before = try file.ask("/v1/objects/city/1").text
    let part = [(name: "Content-Range", value: "bytes 0-5/100")]
    let answer = try file.ask("PUT", "/v1/objects/city/1", body: #"{"name":"x"}"#, headers: part)
    #expect(answer.status == 400)
    #expect(answer.code == "bad-request")
    #expect(try file.ask("/v1/objects/city/1").text == before)
  }

  /// Expects that no request with one of these lists of headers `name` changes anything.
  private func expectRefusals(
    _ requests: [(String, String, String?)], _ name: String, _ lists: [[String]], _ code: String
  ) throws {
    let file = try ServedFile(contractFixture)
    let before = try file.ask("/v1/objects/city").json["sections"]
    for values in lists {
      let headers: Headers = values.map { (name: name, value: $0) }
      for (method, target, body) in requests {
        let answer = try file.ask(method, target, body: body, headers: headers)
        #expect(answer.status == 400, "\(values), \(method) \(target): \(answer.text)")
        #expect(answer.code == code, "\(values), \(method) \(target)")
      }
    }
    #expect(try file.ask("/v1/objects/city").json["sections"] == before)
  }

  /// `Prefer` values, and how many of three objects a batch with them may delete; nil: all.
  static let preferences: [([String], Int?)] = [
    (["max-affected=0, max-affected=9"], 0), (["max-affected=0", "max-affected=9"], 0),
    (["max-affected=9, max-affected=0"], nil), (["max-affected=2"], 2),
    (["max-affected=3"], nil), (["max-affected=\"2\""], 2), (["max-affected = 2"], 2),
    (["Max-Affected=2"], 2), (["max-affected=\"\\2\""], 2), (["max-affected=002"], 2),
    (["return=minimal, max-affected=2"], 2), (["return=minimal;max-affected=2"], 2),
    (["foo=\"max-affected=0\""], nil), (["foo=\"a\\\", max-affected=0\""], nil),
    (["foo, bar=1; baz=\"x\", max-affected=2"], 2), ([",, max-affected=2 ,"], 2),
    ([""], nil), (["respond-async, wait=10"], nil), (["handling=strict"], nil),
    (["handling=lenient, max-affected=1"], 1), (["max-affected=9223372036854775807"], nil),
    (["return=odd"], nil), (["foo", "max-affected=1"], 1),
  ]

  @Test(arguments: preferences)
  func ofTwoPreferencesTheFirstCounts(values: [String], most: Int?) throws {
    let file = try ServedFile(contractFixture)
    let answer = try file.ask(
      "DELETE", "/v1/objects/city?where=TRUEPREDICATE",
      headers: values.map { (name: "Prefer", value: $0) })
    let left = try file.ask("/v1/objects/city?as=count").json["total"]?.integer
    if let most {
      #expect(answer.code == "too-many-affected")
      #expect(answer.text.contains("more than \(most) objects"))
      #expect(left == 3)
    } else {
      #expect(answer.json["deleted"]?.integer == 3, "\(answer.text)")
      #expect(left == 0)
    }
  }

  @Test(arguments: [
    ("return=minimal, return=representation", 204, "return=minimal"),
    ("return=odd, return=minimal", 200, nil),
  ])
  func theFirstReturnPreferenceCounts(preferences: String, status: Int, applied: String?) throws {
    let file = try ServedFile(contractFixture)
    let answer = try file.ask(
      "PATCH", "/v1/objects/city/1", body: #"{"population":1}"#,
      headers: [("Prefer", preferences)])
    #expect(answer.status == status)
    #expect(answer["Preference-Applied"] == applied)
  }

  static let malformedTags: [[String]] = [
    [""], ["x"], ["\""], ["\"x"], ["x\""], ["\"x\" \"y\""], ["\"x\"y"], ["*, \"x\""], ["**"],
    ["\"x\", *"], ["W/x"], ["W/"], ["w/\"x\""], ["'x'"], [","], [", ,"], ["\"x y\""],
    ["\"x\";q=1"], ["*", "*"], ["\"x\"", "y"], ["\"x\u{7F}\""],
  ]

  @Test func aMalformedIfMatchChangesNothing() throws {
    let city = "/v1/objects/city/1"
    let requests: [(String, String, String?)] = [
      ("DELETE", city, nil), ("PATCH", city, #"{"population":1}"#), ("PUT", city, #"{"name":"x"}"#),
    ]
    try expectRefusals(requests, "If-Match", Self.malformedTags, "bad-etag")
  }

  @Test("The `@etag` of an item is taken in place of the object's ETag, and its id in `base`")
  func itemsSentBack() throws {
    let file = try ServedFile(contractFixture)
    let item = try file.ask("/v1/objects/city?where=id%3D%3D1&select=@etag,population").text
    let tag = try #require(item.firstMatch(of: /"@etag":"([0-9a-f]{16})"/)?.1)
    let refused = try file.ask(
      "PATCH", "/v1/objects/city/1", body: #"{"population":1}"#,
      headers: [("If-Match", "0123456789abcdef")])
    #expect(refused.status == 412)
    let saved = try file.ask(
      "POST", "/v1/save",
      body: #"""
        {"changes":[{"update":"city","id":1,"values":{"population":1},"ifMatch":"\#(tag)"}]}
        """#)
    #expect(saved.status == 200, "\(saved.text)")
    for (id, status) in [(1, 200), (2, 422)] {
      let answer = try file.ask(
        "POST", "/v1/save",
        body: #"""
          {"changes":[{"update":"city","id":1,"values":{"population":2},
            "base":{"id":\#(id),"population":1}}]}
          """#)
      #expect(answer.status == status, "\(answer.text)")
    }
  }

  @Test(arguments: [
    (["\"no\""], 412), (["\"no\", \"ETAG\""], 204), (["\"no\"", "\"ETAG\""], 204),
    (["\"ETAG\",\"no\""], 204), ([" \t\"ETAG\"\t "], 204), ([",\"ETAG\",,"], 204), (["*"], 204),
    (["W/\"ETAG\""], 412), (["W/\"no\", \"ETAG\""], 204), (["\"a,b\""], 412), (["\"\""], 412),
  ])
  func anIfMatchHoldsWhereOneOfItsTagsIsTheObjects(values: [String], status: Int) throws {
    let file = try ServedFile(contractFixture)
    let quoted = try #require(file.ask("/v1/objects/city/1")["ETag"])
    let tag = String(quoted.dropFirst().dropLast())
    let headers = values.map { (name: "If-Match", value: $0.replacing("ETAG", with: tag)) }
    #expect(try file.ask("DELETE", "/v1/objects/city/1", headers: headers).status == status)
  }

  @Test func anIfMatchThatCannotBeHeldAgainstAnObjectIsRefused() throws {
    let requests: [(String, String, String?)] = [
      ("DELETE", "/v1/objects/city?where=TRUEPREDICATE", nil),
      ("PATCH", "/v1/objects/city?where=TRUEPREDICATE", #"{"population":1}"#),
      ("POST", "/v1/objects/city", #"{"name":"x"}"#),
      ("POST", "/v1/save", #"{"changes":[{"delete":"city","id":1}]}"#),
    ]
    try expectRefusals(requests, "If-Match", [["\"x\""], ["*"]], "bad-etag")
  }

  @Test func anIfNoneMatchOfAChangeIsAStar() throws {
    let lists = [["\"x\""], [""], ["*", "*"], ["*, *"], ["x"]]
    try expectRefusals(
      [("PUT", "/v1/objects/city/1", #"{"name":"x"}"#)], "If-None-Match", lists, "bad-etag")
  }

  @Test func bothPreconditionsAtOnceAreRefused() throws {
    let file = try ServedFile(contractFixture)
    let answer = try file.ask(
      "DELETE", "/v1/objects/city/1", headers: [("If-Match", "*"), ("If-None-Match", "*")])
    #expect(answer.code == "bad-etag")
  }

  @Test func aMalformedIdempotencyKeyChangesNothing() throws {
    let keys = [
      [""], ["\t"], ["k", "k"], ["k", ""], [String(repeating: "k", count: 256)], ["k\u{7F}"],
      ["k\tk"], ["schlüssel"],
    ]
    let requests: [(String, String, String?)] = [
      ("DELETE", "/v1/objects/city?where=TRUEPREDICATE", nil),
      ("POST", "/v1/objects/city", #"{"name":"x"}"#), ("DELETE", "/v1/objects/city/1", nil),
      ("POST", "/v1/save", #"{"changes":[{"delete":"city","id":1}]}"#),
    ]
    try expectRefusals(requests, "Idempotency-Key", keys, "bad-idempotency-key")
  }
}
