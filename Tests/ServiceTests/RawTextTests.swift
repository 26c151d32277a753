// The raw value of an attribute, over columns that contain text, bytes or numbers.

import TestSupport
import Testing

/// SQLite stores text in a BLOB column as well.
@Suite("The raw value of an attribute", .onlyForFiles, .mayBlock)
struct RawTextTests {
  @Test(
    "is text where text or a number is stored",
    arguments: [
      ("'abcd'", "text/plain; charset=utf-8", "abcd"), ("12", "text/plain; charset=utf-8", "12"),
      ("''", "text/plain; charset=utf-8", ""), ("X'61626364'", "application/octet-stream", "abcd"),
      ("X'89504E47'", "image/png", "\u{FFFD}PNG"),
    ])
  func types(value: String, type: String, text: String) throws {
    let file = try ServedFile(
      "CREATE TABLE t(id INTEGER PRIMARY KEY, b BLOB); INSERT INTO t VALUES (1, \(value))")
    let answer = try file.ask("/v1/objects/t/1/b")
    #expect(answer.status == 200)
    #expect(answer["Content-Type"] == type)
    #expect(answer.text == text)
    let etag = try #require(answer["ETag"])
    let again = try file.ask("/v1/objects/t/1/b", headers: [("If-None-Match", etag)])
    #expect(again.status == 304)
  }

  @Test("has another ETag when bytes replace the same text")
  func tags() throws {
    let file = try ServedFile(
      "CREATE TABLE t(id INTEGER PRIMARY KEY, b BLOB); INSERT INTO t VALUES (1, 'a'), (2, X'61')")
    let answers = try [1, 2].map { try file.ask("/v1/objects/t/\($0)/b") }
    #expect(answers.map(\.text) == ["a", "a"])
    #expect(answers[0]["ETag"] != answers[1]["ETag"])
  }

  @Test("of a double has all of its digits")
  func digits() throws {
    let file = try ServedFile(
      "CREATE TABLE t(id INTEGER PRIMARY KEY, r REAL); INSERT INTO t VALUES (1, 0.1 + 0.2), (2, 5)")
    #expect(try file.ask("/v1/objects/t/1/r").text == "0.30000000000000004")
    #expect(try file.ask("/v1/objects/t/2/r").text == "5")
  }

  @Test("is no content where NULL is stored")
  func null() throws {
    let file = try ServedFile(
      "CREATE TABLE t(id INTEGER PRIMARY KEY, b BLOB); INSERT INTO t VALUES (1, NULL)")
    #expect(try file.ask("/v1/objects/t/1/b").status == 204)
  }
}
