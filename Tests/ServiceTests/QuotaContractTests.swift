// Quotas, `--limit`, over sockets.

import FetchModel
import LiveFetchHTTPServer
import Service
import TestSupport
import Testing

@Suite("Quotas over HTTP", .mayBlock)
struct QuotaContractTests {
  private static func quotas(_ limits: [(name: String, value: String)]) -> Quotas {
    var all = QuotaLimits()
    for limit in limits {
      let isSet = all.set(limit.name, to: limit.value)
      #expect(isSet)
    }
    return Quotas(all)
  }

  private static func served(_ limits: (String, String)...) throws -> ServedFile {
    var configuration = ServiceConfiguration()
    configuration.quotas = quotas(limits)
    return try ServedFile(contractFixture, configuration: configuration)
  }

  /// Calls `body` with the address of a server.
  private static func serve(_ service: Service, _ body: (String) throws -> Void) throws {
    var http = HTTPServerConfiguration()
    http.port = 0
    let server = try HTTPServer(http, handler: service)
    defer { server.stop() }
    try body("http://127.0.0.1:\(server.port)")
  }

  private static func expectRefusal(_ answer: Answer, _ name: String) {
    #expect(answer.status == 429)
    #expect(answer.code == "too-many-requests")
    #expect(Int(answer["Retry-After"] ?? "") ?? 0 >= 1)
    #expect(answer["RateLimit-Policy"]?.hasPrefix("\"\(name)\";q=") == true)
    #expect(answer["RateLimit"]?.hasPrefix("\"\(name)\";r=0") == true)
  }

  @Test(
    "A rate that is used up refuses what it counts, and nothing else",
    arguments: [
      ("requests-per-second", "GET"), ("bytes-per-second", "GET"), ("saves-per-second", "PATCH"),
    ])
  func rates(name: String, method: String) throws {
    let file = try Self.served((name, "0.01"))
    try Self.serve(file.service) { url in
      let body = method == "PATCH" ? #"{"population":1}"# : nil
      let item = "\(url)/v1/objects/city/1"
      var answer = try Curl.send(method, item, body, seconds: 120)
      #expect(answer.status == 200)
      // Bytes are counted once they are sent.
      #expect(
        try eventually(within: .seconds(60)) {
          answer = try Curl.send(method, item, body, seconds: 120)
          return answer.status == 429
        })
      Self.expectRefusal(answer, name)
      let probe = try Curl.send("GET", "\(url)/health/live", nil, seconds: 120)
      #expect(probe.status == 200)
      guard name == "saves-per-second" else { return }
      #expect(try Curl.send("GET", item, nil, seconds: 120).status == 200)
    }
  }

  @Test("A request that waits is counted until it is answered")
  func waitingRequests() throws {
    let file = try Self.served(("waiting-requests", "1"))
    try Self.serve(file.service) { url in
      let poll = "\(url)/v1/objects/city?since=now"
      let first = Pending.begin(
        file.service,
        HTTPRequest(
          target: "/v1/objects/city?since=now&wait=60", remoteAddress: "127.0.0.1"))
      try awaitWaitingFetches(1) { try file.ask($0) }
      Self.expectRefusal(
        try Curl.send("GET", poll + "&wait=0", nil, seconds: 120), "waiting-requests")
      _ = try file.ask("PATCH", "/v1/objects/city/1", body: #"{"population":1}"#)
      #expect(first.wait()?.status == 200)
      #expect(
        try eventually(within: .seconds(60)) {
          try Curl.send("GET", poll + "&wait=0", nil, seconds: 120).status == 200
        })
    }
  }

  @Test("A call that follows more fetches than allowed is refused")
  func liveFetches() throws {
    let file = try Self.served(("live-fetches", "2"))
    try Self.serve(file.service) { url in
      let call = { (count: Int) in
        let fetches = (0..<count).map { #""f\#($0)":{"entity":"city"}"# }.joined(separator: ",")
        return try Curl.send(
          "POST", "\(url)/v1/live", "{\"fetches\":{\(fetches)},\"wait\":0}", seconds: 120)
      }
      #expect(try call(2).status == 200)
      Self.expectRefusal(try call(3), "live-fetches")
      #expect(try call(2).status == 200)
    }
  }

  @Test("Two servers of one store count by themselves")
  func twoServers() throws {
    let file = try Self.served(("requests-per-second", "0.01"))
    var configuration = ServiceConfiguration()
    configuration.quotas = Self.quotas([("requests-per-second", "0.01")])
    let other = try Service(store: file.store, configuration: configuration)
    defer { other.drain() }
    try Self.serve(file.service) { one in
      try Self.serve(other) { two in
        let statuses = try [one, one, two, two].map { address in
          try Curl.send("GET", "\(address)/v1", nil, seconds: 120).status
        }
        #expect(statuses == [200, 429, 200, 429])
      }
    }
  }
}
