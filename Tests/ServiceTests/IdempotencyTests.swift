// Saves with an `Idempotency-Key`.

import FetchModel
import Foundation
import SQLiteStore
import TestSupport
import Testing

@Suite("A save with an Idempotency-Key is made once", .mayBlock)
struct IdempotencyTests {
  private func key(_ key: String) -> [(name: String, value: String)] {
    [(name: "Idempotency-Key", value: key)]
  }

  private func count(_ file: ServedFile, _ entity: String = "city") throws -> Int64? {
    try file.ask("/v1/objects/\(entity)?as=count").json["total"]?.integer
  }

  static let writes: [(method: String, target: String, body: String?)] = [
    ("POST", "/v1/save", #"{"changes":[{"insert":"city","values":{"name":"Rome"}}]}"#),
    ("POST", "/v1/objects/city", #"{"name":"Rome"}"#),
    ("PATCH", "/v1/objects/city/1", #"{"population":30}"#),
    ("PUT", "/v1/objects/city/77", #"{"name":"Oslo"}"#),
    ("DELETE", "/v1/objects/city/2", nil),
    ("PATCH", "/v1/objects/city?where=id+==+1", #"{"population":30}"#),
    ("DELETE", "/v1/objects/city?where=id+==+1", nil),
  ]

  @Test(.onlyForFiles, arguments: writes)
  func theSecondTimeItAnswersLikeTheFirstAndSavesNothing(
    _ write: (method: String, target: String, body: String?)
  ) throws {
    let file = try ServedFile(contractFixture)
    let first = try file.ask(
      write.method, write.target, body: write.body, headers: key("k1"))
    #expect((200..<300).contains(first.status), "\(first.text)")
    let token = file.store.newestToken
    // The objects of the response have changed meanwhile; the stored response has not.
    _ = try file.ask("PATCH", "/v1/objects/city/3", body: #"{"name":"Edo"}"#)
    let second = try file.ask(
      write.method, write.target, body: write.body, headers: key("k1"))
    #expect(second.status == first.status)
    #expect(second.bytes == first.bytes)
    for name in ["ETag", "Location", "LiveFetch-Token", "Content-Type"] {
      #expect(second[name] == first[name])
    }
    #expect(first["Idempotency-Replayed"] == nil)
    #expect(second["Idempotency-Replayed"] == "true")
    #expect(file.store.newestToken.position.number == token.position.number + 1)
  }

  @Test func anAnswerShowsTheObjectAsItWasThen() throws {
    let file = try ServedFile(contractFixture)
    let body = #"{"population":25}"#
    let first = try file.ask("PATCH", "/v1/objects/city/1", body: body, headers: key("k"))
    _ = try file.ask("PATCH", "/v1/objects/city/1", body: #"{"population":26}"#)
    let second = try file.ask("PATCH", "/v1/objects/city/1", body: body, headers: key("k"))
    #expect(second.json["population"]?.integer == 25)
    #expect(second["ETag"] == first["ETag"])
    #expect(try file.ask("/v1/objects/city/1").json["population"]?.integer == 26)
  }

  @Test func anotherRequestUnderTheSameKeyIsRefused() throws {
    let file = try ServedFile(contractFixture)
    let target = "/v1/objects/city/1"
    _ = try file.ask("PATCH", target, body: #"{"population":25}"#, headers: key("k"))
    let others = [
      try file.ask("PATCH", target, body: #"{"population":26}"#, headers: key("k")),
      try file.ask("PATCH", "/v1/objects/city/2", body: #"{"population":25}"#, headers: key("k")),
      try file.ask("PUT", target, body: #"{"population":25}"#, headers: key("k")),
    ]
    for answer in others {
      #expect(answer.status == 422)
      #expect(answer.code == "idempotency-key-reused")
    }
    #expect(try file.ask("/v1/objects/city/1").json["population"]?.integer == 25)
  }

  @Test func theSameBodyWithOtherHeadersIsNotSavedAgain() throws {
    let file = try ServedFile(contractFixture)
    let (target, body) = ("/v1/objects/city/1", #"{"population":25}"#)
    let first = try file.ask("PATCH", target, body: body, headers: key("k"))
    _ = try file.ask("PATCH", target, body: #"{"population":26}"#)
    for (name, value) in [("Prefer", "return=minimal"), ("If-Match", #""0""#)] {
      let second = try file.ask(
        "PATCH", target, body: body, headers: key("k") + [(name: name, value: value)])
      #expect(second.status == 200 && second.text == first.text)
      #expect(second["Idempotency-Replayed"] == "true")
    }
    #expect(try file.ask(target).json["population"]?.integer == 26)
  }

  @Test func anIdempotencyKeyIsCheckedBeforeTheBody() throws {
    let file = try ServedFile(contractFixture)
    _ = try file.ask("PATCH", "/v1/objects/city/1", body: #"{"population":25}"#, headers: key("k"))
    let others = [
      ("POST", "/v1/objects/country", #"{"population":25}"#),
      ("POST", "/v1/objects/nothing", "{}"), ("POST", "/v1/objects/city", "{"),
      ("POST", "/v1/save", #"{"changes":[{"insert":"city","values":{"wrong":1}}]}"#),
      ("PATCH", "/v1/objects/city?where=x%20==", "{}"),
    ]
    for (method, target, body) in others {
      let answer = try file.ask(method, target, body: body, headers: key("k"))
      #expect(answer.status == 422)
      #expect(answer.code == "idempotency-key-reused", "\(target): \(answer.text)")
    }
    let fresh = try file.ask("POST", "/v1/objects/city", body: "{", headers: key("other"))
    #expect(fresh.code == "malformed-json")
  }

  @Test func aRefusedSaveIsNotKept() throws {
    let file = try ServedFile(contractFixture)
    let body = #"{"name":"Rome","population":-1}"#
    let first = try file.ask("POST", "/v1/objects/city", body: body, headers: key("k"))
    #expect(first.status == 422)
    let second = try file.ask(
      "POST", "/v1/objects/city", body: #"{"name":"Rome"}"#, headers: key("k"))
    #expect(second.status == 201)
  }

  @Test func aRepeatedSaveIgnoresItsOutdatedPrecondition() throws {
    let file = try ServedFile(contractFixture)
    let etag = try #require(file.ask("/v1/objects/city/1")["ETag"])
    let headers = key("k") + [(name: "If-Match", value: etag)]
    let body = #"{"population":25}"#
    for _ in 0..<2 {
      let answer = try file.ask("PATCH", "/v1/objects/city/1", body: body, headers: headers)
      #expect(answer.status == 200)
    }
  }

  @Test func ofManyAtOnceOneIsMade() throws {
    let file = try ServedFile(contractFixture)
    let pending = (0..<40).map { _ in
      file.begin("POST", "/v1/objects/city", body: #"{"name":"Rome"}"#, headers: key("k"))
    }
    let answers = try pending.map { try #require($0.wait()) }
    #expect(Set(answers.map(\.text)).count == 1)
    #expect(answers.allSatisfy { $0.status == 201 })
    #expect(answers.count { $0["Idempotency-Replayed"] == nil } == 1)
    #expect(try count(file) == 4)
  }

  @Test func aStoredResponseSurvivesRestarts() throws {
    let file = try ServedFile(contractFixture)
    let first = try file.ask(
      "POST", "/v1/objects/city", body: #"{"name":"Rome"}"#, headers: key("k"))
    try file.restart()
    let second = try file.ask(
      "POST", "/v1/objects/city", body: #"{"name":"Rome"}"#, headers: key("k"))
    #expect(second.bytes == first.bytes)
    #expect(try count(file) == 4)
  }

  @Test(.onlyForFiles) func afterADayTheKeyIsFree() throws {
    let file = try ServedFile(contractFixture)
    let ask = {
      try file.ask("POST", "/v1/objects/city", body: #"{"name":"Rome"}"#, headers: key("k"))
    }
    _ = try ask()
    try file.runExternally("UPDATE livefetch_answer SET at = at - 86401")
    #expect(try ask()["Idempotency-Replayed"] == nil)
    #expect(try count(file) == 5)
  }

  @Test(arguments: ["", String(repeating: "k", count: 256), "k\u{7F}", "schlüssel"])
  func aKeyIsPrintableAndShort(_ text: String) throws {
    let file = try ServedFile(contractFixture)
    let answer = try file.ask(
      "POST", "/v1/objects/city", body: #"{"name":"Rome"}"#, headers: key(text))
    #expect(answer.code == "bad-idempotency-key")
    #expect(try count(file) == 3)
  }

  @Test(.onlyForFiles) func detachTakesTheAnswersOut() throws {
    let file = try ServedFile(contractFixture)
    _ = try file.ask("POST", "/v1/objects/city", body: #"{"name":"Rome"}"#, headers: key("k"))
    file.stop()
    #expect(try SQLiteShell.integer("SELECT count(*) FROM livefetch_answer", path: file.path) == 1)
    _ = try SQLiteStore.detach(path: file.path)
    #expect(try sqlite(file.path, "SELECT name FROM sqlite_schema WHERE name LIKE 'live%'") == [])
  }
}
