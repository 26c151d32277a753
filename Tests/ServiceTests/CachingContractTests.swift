// ETags, `Cache-Control` and ranges.

import Foundation
import LiveFetchHTTPServer
import TestSupport
import Testing

@Suite("Caching", .mayBlock)
struct CachingContractTests {
  private let city = "/v1/objects/city"

  @Test func aSnapshotHasAStrongTagThatChangesOnlyWithItsBody() throws {
    let file = try ServedFile(readingFixture)
    let first = try file.ask(city)
    let tag = try #require(first["ETag"])
    #expect(tag.hasPrefix("\""))
    #expect(first["Cache-Control"] == "no-cache")
    #expect(first["Vary"] == "Accept-Encoding")
    #expect(first["LiveFetch-Token"] != nil)
    for condition in [tag, "W/\(tag)", "*", "\"x\", \(tag)"] {
      let again = try file.ask(city, headers: [("If-None-Match", condition)])
      #expect(again.status == 304, "\(condition)")
      #expect(again.bytes.isEmpty)
      #expect(again["ETag"] == tag)
    }
    let lines = [(name: "If-None-Match", value: "\"x\""), (name: "If-None-Match", value: tag)]
    #expect(try file.ask(city, headers: lines).status == 304)
    #expect(try file.ask(city, headers: [("If-None-Match", "\"x\"")]).status == 200)
    #expect(try file.ask("HEAD", city, headers: [("If-None-Match", tag)]).status == 304)
    try file.runExternally("UPDATE city SET name = 'Callao' WHERE id = 1")
    try file.settle()
    let changed = try file.ask(city, headers: [("If-None-Match", tag)])
    #expect(changed.status == 200)
    #expect(changed["ETag"] != tag)
    #expect(changed.text.contains("Callao"))
  }

  @Test(.onlyForFiles) func theTagOfAFetchWithTheTimeChangesWithItsBodyWithoutASave() throws {
    // One of the rows expires each second.
    let file = try ServedFile(
      """
      CREATE TABLE lease(id INTEGER PRIMARY KEY, until DATETIME);
      WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000)
        INSERT INTO lease SELECT i, strftime('%Y-%m-%dT%H:%M:%SZ', 'now', i || ' seconds') FROM n;
      """)
    let target = "/v1/objects/lease?as=count&where=until%20%3E%20now()"
    let first = try file.ask(target)
    let tag = try #require(first["ETag"])
    #expect(
      try eventually(within: .seconds(60)) {
        try file.ask(target, headers: [("If-None-Match", tag)]).status == 200
      })
    let second = try file.ask(target)
    #expect(second.text != first.text)
    #expect(second["ETag"] != tag)
    #expect(second["LiveFetch-Token"] == first["LiveFetch-Token"])
  }

  @Test(.onlyForFiles, arguments: ["GET", "HEAD"])
  func `LiveFetch-Token of a cached snapshot is the token of its body, also with 304`(
    method: String
  ) throws {
    let file = try ServedFile(readingFixture + "CREATE TABLE other(id INTEGER PRIMARY KEY);")
    _ = try file.ask(city)
    let cached = try file.ask(city)
    let tag = try #require(cached["ETag"])
    try file.runExternally("INSERT INTO other VALUES (1)")
    try file.settle()
    let token = try #require(cached.json["token"]?.string)
    #expect(try file.ask("/v1").json["token"]?.string != token)
    #expect(try file.ask(method, city)["LiveFetch-Token"] == token)
    let known = try file.ask(method, city, headers: [("If-None-Match", tag)])
    #expect(known.status == 304)
    #expect(known["LiveFetch-Token"] == token)
  }

  @Test(arguments: [
    ("/v1", "token"), ("/v1/objects/city", "token"), ("/v1/objects/city?as=count", "token"),
    ("/v1/objects/city?since=now&wait=0", "to"), ("/v1/changes", "to"),
  ])
  func `LiveFetch-Token is the token of the body`(target: String, member: String) throws {
    let answer = try ServedFile(readingFixture).ask(target)
    let token = try #require(answer.json[member]?.string)
    #expect(answer["LiveFetch-Token"] == token)
  }

  @Test func aCompressedSnapshotHasATagOfItsOwn() throws {
    let file = try ServedFile(
      readingFixture + "UPDATE city SET name = hex(zeroblob(2000)) WHERE id = 1;")
    let plain = try file.ask(city, headers: [("Accept-Encoding", "gzip;q=0")])
    let packed = try file.ask(city, headers: [("Accept-Encoding", "br, gzip")])
    #expect(plain["Content-Encoding"] == nil)
    #expect(packed["Content-Encoding"] == "gzip")
    let lines = [(name: "Accept-Encoding", value: "br"), (name: "Accept-Encoding", value: "gzip")]
    #expect(try file.ask(city, headers: lines)["Content-Encoding"] == "gzip")
    #expect(packed.bytes.starts(with: [0x1F, 0x8B]))
    #expect(packed["Vary"] == "Accept-Encoding")
    #expect(packed["ETag"] != plain["ETag"])
  }

  @Test func onlySnapshotsMayBeStored() throws {
    let file = try ServedFile(readingFixture)
    for path in [
      "/v1", "/v1/model", "/v1/changes", "/health/live", "/nope", "\(city)?since=now&wait=0",
    ] {
      let answer = try file.ask(path)
      #expect(answer["Cache-Control"] == "no-store", "\(path)")
      #expect(answer["LiveFetch-Token"] != nil, "\(path)")
    }
    let posted = try file.ask("POST", "/v1/fetch", body: #"{"entity":"city"}"#)
    #expect(posted["Cache-Control"] == "no-store")
    let tag = try #require(posted["ETag"])
    let known = [(name: "If-None-Match", value: tag)]
    let again = try file.ask("POST", "/v1/fetch", body: #"{"entity":"city"}"#, headers: known)
    #expect(again.status == 200)
  }

  @Test func anObjectsTagIsItsETagAttribute() throws {
    let file = try ServedFile(readingFixture)
    let answer = try file.ask("\(city)/1")
    let tag = try #require(answer["ETag"])
    #expect(try file.ask("\(city)?select=@etag&limit=1").text.contains("\"@etag\":\(tag)"))
    #expect(try file.ask("\(city)/1", headers: [("If-None-Match", tag)]).status == 304)
    #expect(try file.ask("\(city)/1?select=name")["ETag"] == nil)
  }

  @Test func aRawValueIsSentInRanges() throws {
    let file = try ServedFile(readingFixture)
    let part = try file.ask("\(city)/1/name", headers: [("Range", "bytes=1-2")])
    #expect(part.status == 206)
    #expect(part.text == "im")
    #expect(part["Content-Range"] == "bytes 1-2/4")
    let beyond = try file.ask("\(city)/1/name", headers: [("Range", "bytes=9-")])
    #expect(beyond.status == 416)
    #expect(beyond["Content-Range"] == "bytes */4")
    let head = try file.ask("HEAD", "\(city)/1/name", headers: [("Range", "bytes=1-2")])
    #expect(head.status == 200)
    #expect(try file.ask("\(city)/1/pic").bytes == [0, 1, 0xFF])
  }
}
