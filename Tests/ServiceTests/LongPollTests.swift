// Long polls.

import FetchModel
import Foundation
import LiveFetchHTTPServer
import TestSupport
import Testing

#if canImport(Glibc)
  import Glibc
#endif

@Suite("Long-polls and changes answer as the contract says", .mayBlock)
struct LongPollTests {
  static let table: [Exchange] = [
    .init("GET", "/v1/objects/city?since=zz", 400, "bad-token"),
    .init("GET", "/v1/objects/city?since=k3-1-00000000", 410, "token-expired"),
    .init("GET", "/v1/objects/city?since=now&wait=61", 400, "bad-parameter"),
    .init("GET", "/v1/objects/city?since=now&wait=-1", 400, "bad-parameter"),
    .init("GET", "/v1/objects/city?since=now&since=now", 400, "repeated-parameter"),
    .init("GET", "/v1/objects/big?since=now&wait=0", 400, "not-observable"),
    .init(
      "GET", "/v1/objects/city?since=now&wait=0", 200,
      text: #""items":{"deleted":[],"inserted":[],"moved":[],"updated":[]}}"#),
    .init("GET", "/v1/objects/city?since=now&wait=0&as=count", 200, text: #""total":3}"#),
    .init("GET", "/v1/objects/city/1?since=now&wait=0", 200, text: #""changed":{}}"#),
    .init("GET", "/v1/objects/city/99?since=now&wait=0", 404, "unknown-id"),
    .init(
      "GET", "/v1/objects/city/99", header: ("Accept", "text/event-stream"), 404, "unknown-id"),
    .init(
      "GET", "/v1/objects/city", header: ("Last-Event-ID", "x"), 200),
    .init("GET", "/v1/changes?since=now&wait=0", 200, text: #""saves":[]}"#),
    .init("GET", "/v1/changes?since=k3-1-00000000&wait=0", 410, "token-expired"),
    .init("GET", "/v1/changes?limit=0", 400, "bad-parameter"),
    .init("GET", "/v1/changes?limit=-1", 400, "bad-parameter"),
    .init("GET", "/v1/changes?sort=x", 400, "unknown-parameter"),
  ]

  @Test func areAnswered() throws {
    let file = try ServedFile(contractFixture)
    for exchange in Self.table { try exchange.check(file) }
  }

  @Test(arguments: [
    ("/v1/fetch", #"{"entity":"city","since":"now","wait":60}"#),
    ("/v1/live", #"{"fetches":{"a":{"entity":"city","since":"now"}},"wait":60}"#),
  ])
  func aRequestKeepsNoBodyWhileItWaits(target: String, fetch: String) throws {
    let file = try ServedFile(contractFixture)
    var configuration = HTTPServerConfiguration()
    configuration.port = 0
    let server = try HTTPServer(configuration, handler: file.service)
    defer { server.stop() }
    let client = try LoopbackSocket.connect(to: server.port)
    defer { LoopbackSocket.close(client) }
    let request = Array(
      """
      POST \(target) HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
      Content-Length: \(fetch.utf8.count + 100_000)\r\n\r\n\
      \(fetch)\(String(repeating: " ", count: 100_000))
      """.utf8)
    try #require(write(client, request, request.count) == request.count)
    try awaitWaitingFetches(1) { try file.ask($0) }
    #expect(eventually(within: .seconds(300)) { server.memoryInFlight == 0 })
    _ = try file.ask("PATCH", "/v1/objects/city/1", body: #"{"population":123}"#)
    var answer = [UInt8](repeating: 0, count: 4_096)
    LoopbackSocket.setTimeout(60, of: client)
    let count = read(client, &answer, answer.count)
    #expect(String(decoding: answer.prefix(max(0, count)), as: UTF8.self).hasPrefix("HTTP/1.1 200"))
  }

  @Test func aDeleteByAnotherProcessIsReported() throws {
    let file = try ServedFile(contractFixture)
    let waiting = file.begin("GET", "/v1/objects/city/3?since=now&wait=60")
    try awaitWaitingFetches(1) { try file.ask($0) }
    try file.runExternally("DELETE FROM city WHERE id = 3")
    let answer = try #require(waiting.wait())
    #expect(answer.json["deleted"] == .boolean(true))
  }

  @Test func idsReportObjectsWhoseValuesChanged() throws {
    let file = try ServedFile(contractFixture)
    let token = try #require(file.ask("GET", "/v1").json["token"]?.string)
    try file.runExternally("UPDATE city SET population = 5 WHERE id = 1")
    try file.settle()
    let answer = try file.ask("GET", "/v1/objects/city?as=ids&wait=0&since=\(token)")
    #expect(answer.text.contains(#""updated":[{"from":[0,0],"to":[0,0],"id":1}]"#))
  }
}
