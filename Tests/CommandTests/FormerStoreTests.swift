// A file that an earlier release wrote is opened by this one, with its history, its keys and its
// stored responses.

import Foundation
import HTTPClient
import TestSupport
import Testing

/// Stores/format-3.db and its log were written by the release whose history has the format 3: a server
/// with the tables below served them, an API key was made, Bergen's population was changed and an
/// idempotent save was made, and `kill -9` ended the server. Its clock was set to the year 2100, so that
/// neither the history nor the answer of the save expires.
@Suite("A store that an earlier release wrote, ended by kill -9", .mayBlock)
struct FormerStoreTests {
  private static let key = "lf_6stjdsu6tqqaxiramrnudjmgn4nesshiemayrw4s"
  private static let token = "8u4crt-1-e52e2528"
  private static let newestToken = "8u4crt-4-a0fe7f16"
  private static let save = """
    {"changes":[{"insert":"City","values":{"name":"Tromsø","population":77000,"country":2}},\
    {"update":"City","id":2,"values":{"population":9000000}}]}
    """

  private func folder() throws -> Folder {
    let folder = try Folder()
    let stores = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .appendingPathComponent("Stores")
    for suffix in ["", "-wal"] {
      try FileManager.default.copyItem(
        atPath: stores.appendingPathComponent("format-3.db\(suffix)").path,
        toPath: folder.file("store.db\(suffix)"))
    }
    return folder
  }

  private func send(
    _ method: String, _ target: String, _ address: String, body: String? = nil,
    headers: [(name: String, value: String)] = []
  ) throws -> (status: Int, text: String) {
    let request = ClientRequest(
      method, address + target,
      headers: [("Authorization", "Bearer \(Self.key)"), ("Content-Type", "application/json")]
        + headers, body: Array((body ?? "").utf8))
    let response = try request.waitForResponse()
    return (response.status, String(decoding: response.body, as: UTF8.self))
  }

  @Test("resumes from a token with the diff, and accepts the API key")
  func resumption() throws {
    let folder = try folder()
    let (_, address) = try folder.serve("store.db")
    let answer = try send(
      "GET", "/v1/objects/City?sort=-population&limit=2&since=\(Self.token)", address)
    #expect(answer.status == 200)
    let start =
      #"{"entity":"City","from":"8u4crt-1-e52e2528","to":"8u4crt-4-a0fe7f16","count":2,"next":"#
    let end = """
      "sections":{"deleted":[],"inserted":[]},"items":{"deleted":[],"inserted":[],\
      "moved":[{"from":[0,1],"to":[0,0],"id":2,"changed":{"population":9000000}}],"updated":[]}}
      """
    #expect(answer.text.hasPrefix(start), "\(answer.text)")
    #expect(answer.text.hasSuffix(end), "\(answer.text)")
  }

  @Test("answers a repeated save from its idempotency key, and saves nothing again")
  func idempotency() throws {
    let folder = try folder()
    let (_, address) = try folder.serve("store.db")
    let repeated = try send(
      "POST", "/v1/save", address, body: Self.save, headers: [("Idempotency-Key", "order-1")])
    #expect(repeated.status == 200)
    #expect(
      repeated.text == """
        {"token":"\(Self.newestToken)","ids":{"0":4},"inserted":1,"updated":1,"deleted":0}
        """)
    #expect(try send("GET", "/v1/objects/City?as=count", address).text.contains(#""total":4"#))
  }

  /// Stores/format-2.sql has the tables and triggers of version 0.1.0.
  @Test("with a history of an older format begins a new one, says so, and keeps its rows")
  func olderFormat() throws {
    let folder = try Folder()
    let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .appendingPathComponent("Stores/format-2.sql")
    try folder.sql(String(contentsOf: script, encoding: .utf8), on: "store.db")
    let (server, address) = try folder.serve("store.db")
    #expect(
      try folder.read("serve.log.err").contains(
        """
        livefetch: store.db: the format of its history was 2 and is 3 now, so a new history begins: \
        earlier tokens are 410, and clients fetch again

        """))
    let old = try send("GET", "/v1/objects/City?since=4kq7z2-1-7332d237&wait=0", address)
    #expect(old.status == 410)
    #expect(old.text.contains(#""code":"token-expired""#), "\(old.text)")
    let cities = try send("GET", "/v1/objects/City?select=name,population&sort=id", address)
    #expect(
      cities.text.contains(
        #""items":[{"id":1,"name":"Lima","population":7737002},{"id":2,"name":"Oslo","#
          + #""population":580000},{"id":3,"name":"Bergen","population":300000}]"#),
      "\(cities.text)")
    let start = try send("GET", "/v1/changes", address)
    #expect(start.text.hasSuffix(#""saves":[]}"#), "\(start.text)")
    #expect(
      try send("PATCH", "/v1/objects/City/3", address, body: #"{"population":1}"#).status == 200)
    let saves = try send("GET", "/v1/changes", address)
    #expect(saves.text.contains(#""updated":{"City":[{"id":3,"properties":["population"]}]}"#))
    stop(server)
    #expect(try folder.run("check", "store.db").status == 0)
    let again = try folder.serve("store.db")
    #expect(try !folder.read("serve.log.err").contains("a new history begins"))
    stop(again.process)
    #expect(try folder.run("detach", "store.db").status == 0)
    #expect(
      try folder.sql("SELECT name FROM sqlite_schema WHERE name LIKE '%livefetch%'", on: "store.db")
        == [])
  }

  @Test("has the rows of its log, and takes further saves")
  func rows() throws {
    let folder = try folder()
    let (server, address) = try folder.serve("store.db")
    let changed = try send("PATCH", "/v1/objects/City/3", address, body: #"{"population":1}"#)
    #expect(changed.status == 200)
    stop(server)
    #expect(
      try folder.sql("SELECT name, population FROM City ORDER BY id", on: "store.db")
        == ["Lima|7737002", "Oslo|9000000", "Bergen|1", "Tromsø|77000"])
  }
}
