// Credentials that are revoked or expire while a request waits or a stream runs.

import FetchModel
import LiveFetchHTTPServer
import Service
import TestSupport
import Testing

@Suite("Credentials that end", .mayBlock)
struct CredentialEndTests {
  private static func bearer(_ key: APIKey) -> [(name: String, value: String)] {
    ScopeMatrixTests.bearer(key.text)
  }

  private static let group = #"{"fetches":{"a":{"entity":"city","since":"now"}},"wait":60}"#

  /// Requests that wait for a save.
  private func polls(_ file: ServedFile, _ key: APIKey) -> [Pending] {
    let headers = Self.bearer(key)
    return [
      file.begin("GET", "/v1/objects/city?since=now&wait=60", headers: headers),
      file.begin("GET", "/v1/objects/city/1?since=now&wait=60", headers: headers),
      file.begin("GET", "/v1/changes?since=now&wait=60", headers: headers),
      file.begin("POST", "/v1/live", body: Self.group, headers: headers),
    ]
  }

  /// Streams that have sent their first event.
  private func streams(_ file: ServedFile, _ key: APIKey) throws -> [EventReader] {
    let headers = Self.bearer(key) + [(name: "Accept", value: "text/event-stream")]
    let pending = [
      file.begin("GET", "/v1/objects/city", headers: headers),
      file.begin("GET", "/v1/objects/city/1", headers: headers),
      file.begin("GET", "/v1/changes", headers: headers),
      file.begin("POST", "/v1/live", body: Self.group, headers: headers),
    ]
    return try pending.map {
      #expect($0.wait()?.status == 200)
      return EventReader(try #require($0.stream))
    }
  }

  private func expectEnd(_ polls: [Pending], _ streams: [EventReader]) throws {
    for poll in polls {
      let answer = try #require(poll.wait())
      #expect(answer.status == 401)
      #expect(answer.code == "unauthorized")
      #expect(answer["LiveFetch-Token"] != nil)
    }
    for stream in streams {
      var last: SentEvent?
      while let event = stream.next() { last = event }
      #expect(last?.kind == "error")
      #expect(last?.json["status"]?.integer == 401)
      #expect(last?.json["code"]?.string == "unauthorized")
      #expect(stream.isOver)
    }
  }

  @Test("A revoked key ends every request that waits and every stream, and no other one")
  func revoked() throws {
    let keys = [
      "gone": ScopeMatrixTests.key("gone", ["read"]),
      "kept": ScopeMatrixTests.key("kept", ["read"]),
    ]
    let file = try ScopeMatrixTests.served(keys, token: nil)
    let gone = try #require(keys["gone"]?.key)
    let kept = try #require(keys["kept"]?.key)
    let (polls, streams) = (polls(file, gone), try streams(file, gone))
    let other = file.begin(
      "GET", "/v1/objects/city?since=now&wait=60&select=name", headers: Self.bearer(kept))
    let otherStream = try self.streams(file, kept)[0]
    #expect(try file.revokeAPIKey("gone")?.id == gone.id)
    try expectEnd(polls, streams)
    #expect(!other.isThere)
    #expect(otherStream.next()?.kind == "snapshot")
    #expect(!otherStream.isOver)
    #expect(try file.ask("/v1", headers: Self.bearer(gone)).status == 401)
    #expect(try file.ask("/v1", headers: Self.bearer(kept)).status == 200)
    try file.runExternally("UPDATE city SET name = 'S' WHERE id = 1")
    #expect(other.wait()?.status == 200)
  }

  @Test("A key that expires ends waiting requests")
  func expired() throws {
    let end = Instant.now.secondsSince1970 + 4
    let keys = ["brief": ScopeMatrixTests.key("brief", ["read"], expires: end)]
    let file = try ScopeMatrixTests.served(keys, token: nil)
    let key = try #require(keys["brief"]?.key)
    try expectEnd(polls(file, key), [])
    #expect(Instant.now.secondsSince1970 >= end)
  }

  @Test(
    "The first key closes an open server, also for waiting requests; the last one keeps it closed")
  func firstKey() throws {
    let file = try ScopeMatrixTests.served([:], token: nil)
    let poll = file.begin("GET", "/v1/objects/city?since=now&wait=60")
    let (key, record) = ScopeMatrixTests.key("first", ["read"])
    #expect(try file.addAPIKey(record))
    #expect(poll.wait()?.status == 401)
    #expect(try file.ask("/v1").status == 401)
    #expect(try file.ask("/v1", headers: Self.bearer(key)).status == 200)
    #expect(try file.revokeAPIKey(record.id) != nil)
    #expect(
      try eventually(within: .seconds(60)) {
        try file.ask("/v1", headers: Self.bearer(key)).status == 401
      })
    try file.runExternally(
      "DELETE FROM \(TestedStore.isPostgres ? "livefetch.key" : "livefetch_key")")
    try file.runExternally("UPDATE city SET name = 'S' WHERE id = 1")
    try file.settle()
    #expect(try file.ask("/v1").status == 401)
  }

  @Test(
    "Keys are no entity, and the history contains neither them nor their changes", .onlyForFiles)
  func noEntity() throws {
    let file = try ScopeMatrixTests.served(["a": ScopeMatrixTests.key("a", ["read"])])
    let token = ScopeMatrixTests.bearer("secret")
    let model = try file.ask("/v1/model", headers: token)
    #expect(!model.text.contains("livefetch"))
    let before = try file.ask("/v1", headers: token).json["token"]?.string
    #expect(try file.revokeAPIKey("a") != nil)
    let (_, record) = ScopeMatrixTests.key("b", ["write"])
    #expect(try file.addAPIKey(record))
    try file.settle()
    let after = try file.ask("/v1", headers: token).json["token"]?.string
    #expect(after == before)
    #expect(try file.ask("/v1/changes", headers: token).json["saves"] == .array([]))
  }
}
