// The log of requests, the audit file, quotas and proxies of a server.

import FetchModel
import Foundation
import TestSupport
import Testing

@Suite("The records and limits of a server", .mayBlock)
struct RecordTests {
  private func ask(
    _ address: String, _ target: String, method: String = "GET", _ headers: String = "",
    body: String = ""
  ) throws -> String {
    try WaitingClient(address, target, method: method, headers: headers, body: body).receiveHead()
  }

  /// The lines of `name` as JSON once there are `count` of them.
  private func lines(_ folder: Folder, _ name: String, count: Int) throws -> [JSON] {
    let text = try folder.wait(for: name) { text in
      text.split(separator: "\n").filter { $0.hasPrefix("{") }.count >= count
    }
    return try text.split(separator: "\n").filter { $0.hasPrefix("{") }.map {
      try JSON(parsing: Array($0.utf8))
    }
  }

  private let update = #"{"changes":[{"update":"City","id":2,"values":{"name":"Vik"}}]}"#

  @Test("Each request is one line of JSON without values of the client")
  func jsonLog() throws {
    let folder = try smallFolder()
    let (_, address) = try folder.serve(
      "w.sqlite", ["--log-requests", "--log-format", "json"],
      environment: ["LIVEFETCH_TOKEN": "s3cret"])
    let credential = "Authorization: Bearer s3cret\r\n"
    let first = try ask(
      address, "/v1/objects/City?where=name=='Lima'", credential + "X-Request-Id: abc-1\r\n")
    #expect(first.contains("X-Request-Id: abc-1\r\n"))
    #expect(
      try ask(address, "/v1/save", method: "POST", credential, body: update).contains("200 OK"))
    #expect(try ask(address, "/v1/objects/City/2").hasPrefix("HTTP/1.1 401"))
    #expect(
      try ask(address, "/v1/save", method: "POST", "Authorization: Bearer no\r\n", body: update)
        .hasPrefix("HTTP/1.1 401"))
    #expect(try ask(address, "/%zz", "X-Request-Id: \"\r\n").contains("\r\nX-Request-Id: "))
    let lines = try lines(folder, "serve.log.err", count: 5)
    try #require(lines.count == 5)
    // A request is logged after its response has been sent, so the order may differ.
    let fetch = try #require(lines.first { $0["id"] == .string("abc-1") })
    #expect(fetch["method"] == .string("GET"))
    #expect(fetch["route"] == .string("/v1/objects/{Entity}"))
    #expect(fetch["status"] == .number("200"))
    #expect(fetch["items"] == .number("1"))
    #expect(fetch["caller"] == .string("token"))
    #expect(fetch["address"] == .string("127.0.0.1"))
    let save = try #require(
      lines.first { $0["route"] == .string("/v1/save") && $0["status"] == .number("200") })
    #expect(save["items"] == .number("1"))
    #expect(save["token"] != fetch["token"])
    // A refused body is read to its end, so its request may be logged later.
    let refused = lines.filter { $0["status"] == .number("401") }
    #expect(refused.allSatisfy { $0["caller"] == .string("none") })
    let routes = refused.compactMap { $0["route"]?.string }.sorted()
    #expect(routes == ["/v1/objects/{Entity}/{id}", "/v1/save"])
    #expect(
      Set(refused.map { $0["refusal"]?.string }) == [
        "no credential", "neither a known key nor a JWT of an accepted algorithm",
      ])
    #expect(fetch["refusal"] == nil)
    let text = try folder.read("serve.log.err")
    for secret in ["Lima", "Vik", "s3cret", "Bearer"] { #expect(!text.contains(secret)) }
  }

  @Test("A line has the number of items that its answer lists")
  func itemCounts() throws {
    let folder = try smallFolder()
    let (_, address) = try folder.serve("w.sqlite", ["--log-requests", "--log-format", "json"])
    let head = try ask(address, "/v1/objects/City/2", "X-Request-Id: object\r\n")
    let token = try #require(head.firstMatch(of: /LiveFetch-Token: (\S+)/)).1
    let two =
      #"{"changes":[{"update":"City","id":1,"values":{"population":1}},"#
      + #"{"update":"City","id":2,"values":{"population":2}}]}"#
    _ = try ask(address, "/v1/save", method: "POST", "X-Request-Id: save\r\n", body: two)
    let fetch = "/v1/objects/City?sort=name&since=\(token)&wait=0"
    _ = try ask(address, fetch, "X-Request-Id: diff\r\n")
    _ = try ask(address, fetch + "&as=count", "X-Request-Id: count\r\n")
    _ = try ask(address, "/v1/changes?since=\(token)&wait=0", "X-Request-Id: changes\r\n")
    let one = #"{"entity":"City","where":"id == 1","since":"\#(token)"}"#
    let group = #"{"wait":0,"fetches":{"a":\#(one),"b":{"entity":"City","limit":1}}}"#
    _ = try ask(address, "/v1/live", method: "POST", "X-Request-Id: group\r\n", body: group)
    let lines = try lines(folder, "serve.log.err", count: 6)
    let counts = Dictionary(lines.map { ($0["id"]?.string, $0["items"]) }) { first, _ in first }
    #expect(
      counts == [
        "object": .number("1"), "save": .number("2"), "diff": .number("2"), "count": .number("0"),
        "changes": .number("2"), "group": .number("2"),
      ])
  }

  @Test(
    "A request that is not HTTP has a line with its status, whose id the answer has",
    arguments: [
      ("GET /v1 HTTP/1.1\r\nHost: localhost\r\nno colon\r\n\r\n", "-"),
      ("POST /v1/save HTTP/1.1\r\nHost: localhost\r\nContent-Length: x\r\n\r\n", "-"),
      (
        "POST /v1/save HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
          + "Transfer-Encoding: chunked\r\n\r\nzz\r\n", "POST"
      ),
    ])
  func malformed(request: String, method: String) throws {
    let folder = try smallFolder()
    let (_, address) = try folder.serve("w.sqlite", ["--log-requests", "--log-format", "json"])
    let client = try WaitingClient(port: portNumber(of: address), sending: request)
    let answer = client.receiveHead()
    #expect(answer.hasPrefix("HTTP/1.1 400"), "\(answer)")
    let line = try #require(try lines(folder, "serve.log.err", count: 1).first)
    #expect(line["status"] == .number("400"))
    #expect(line["method"] == .string(method))
    let id = try #require(line["id"]?.string)
    #expect(answer.contains("X-Request-Id: \(id)\r\n"), "\(answer)")
  }

  @Test("A stream and a long-poll are logged when they end, in text by default")
  func textLog() throws {
    let folder = try smallFolder()
    let (server, address) = try folder.serve("w.sqlite", ["--log-requests"])
    let stream = try WaitingClient(
      address, "/v1/objects/City", headers: "Accept: text/event-stream\r\n")
    #expect(stream.receiveHead().contains("200 OK"))
    #expect(try ask(address, "/v1").contains("\r\nX-Request-Id: "))
    let before = try folder.wait(for: "serve.log.err") { $0.contains("route=/v1 ") }
    #expect(!before.contains("/v1/objects"))
    stream.leave(abruptly: false)
    let after = try folder.wait(for: "serve.log.err") { $0.contains("/v1/objects") }
    #expect(after.contains(" method=GET route=/v1/objects/{Entity} status=200 ms="), "\(after)")
    #expect(after.contains(" caller=anonymous address=127.0.0.1 "), "\(after)")
    stop(server)
  }

  @Test("A user's name cannot make a line look like another one", arguments: ["text", "json"])
  func invisibleCharacters(format: String) throws {
    let folder = try smallFolder()
    // An HS256 token whose `sub` has U+202E, U+2028 and U+0085.
    let token =
      "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhXHUyMDJlYlx1MjAyOGNcdTAwODVcdTAwZTkiLCJzY29wZSI6InJlYWQifQ."
      + "jSyN1wv_5v8pYUoRaRebkhL8SB_MVywIvW9-BF2mApo"
    try folder.write("a secret of at least thirty-two bytes\n", to: "key")
    let (server, address) = try folder.serve(
      "w.sqlite", ["--jwt-key", "key", "--log-requests", "--log-format", format])
    #expect(try ask(address, "/v1", "Authorization: Bearer \(token)\r\n").contains("200 OK"))
    let log = try folder.wait(for: "serve.log.err") { $0.contains("/v1") && $0.hasSuffix("\n") }
    #expect(log.contains(#"a\u202Eb\u2028c\u0085é"#), "\(log)")
    stop(server)
  }

  @Test("The audit file has a line for each committed save")
  func audit() throws {
    let folder = try smallFolder()
    let (server, address) = try folder.serve("w.sqlite", ["--audit", "audit.log"])
    let mode = try FileManager.default.attributesOfItem(atPath: folder.file("audit.log"))
    #expect(mode[.posixPermissions] as? Int == 0o600)
    _ = try ask(address, "/v1/save", method: "POST", body: update)
    _ = try ask(address, "/v1/objects/City/99", method: "DELETE")
    _ = try ask(
      address, "/v1/objects/City?where=population%3E1", method: "PATCH", body: #"{"capital":true}"#)
    let key = "Idempotency-Key: k1\r\n"
    let insert = #"{"name":"Rio","population":5}"#
    for _ in 0..<2 {
      #expect(
        try ask(address, "/v1/objects/City", method: "POST", key, body: insert).contains("201"))
    }
    let lines = try lines(folder, "audit.log", count: 3)
    try #require(lines.count == 3)
    #expect(lines[0]["caller"] == .string("anonymous"))
    #expect(lines[0]["updated"] == .number("1"))
    #expect(
      lines[0]["objects"]
        == .object([
          .init(
            name: "City",
            value: .object([.init(name: "updated", value: .array([.number("2")]))]))
        ]))
    #expect(
      lines[1]["batch"] == .object([.init(name: "City", value: .array([.string("updated")]))]))
    #expect(lines[1]["updated"] == .number("3"))
    #expect(lines[2]["inserted"] == .number("1"))
    #expect(!(try folder.read("audit.log")).contains("Vik"))

    try FileManager.default.moveItem(atPath: folder.file("audit.log"), toPath: folder.file("old"))
    kill(server.processIdentifier, SIGHUP)
    #expect(eventually(within: .seconds(60)) { folder.has("audit.log") })
    _ = try ask(address, "/v1/save", method: "POST", body: #"{"changes":[]}"#)
    let conditional = """
      {"changes":[{"delete":"City","where":"name == 'Rio'"},{"delete":"City","where":"name == 'Ulm'"},
        {"update":"City","where":"TRUEPREDICATE","values":{"capital":false}}]}
      """
    #expect(try ask(address, "/v1/save", method: "POST", body: conditional).contains("200 OK"))
    let later = try self.lines(folder, "audit.log", count: 1)
    #expect(later.map { $0["deleted"] } == [.number("1")])
    #expect(
      later.map { $0["batch"] } == [
        .object([.init(name: "City", value: .array([.string("deleted"), .string("updated")]))])
      ])
    #expect(try self.lines(folder, "old", count: 3).count == 3)
  }

  @Test("An audit file that was removed is made again for the next save, and the log says so")
  func removedAudit() throws {
    let folder = try smallFolder()
    let (_, address) = try folder.serve("w.sqlite", ["--audit", "audit.log"])
    unlink(folder.file("audit.log"))
    #expect(try ask(address, "/v1/save", method: "POST", body: update).contains("200 OK"))
    #expect(try lines(folder, "audit.log", count: 1).count == 1)
    let log = try folder.wait(for: "serve.log.err") { $0.contains("in the file of that name\n") }
    #expect(
      log.contains(
        "audit.log: was removed or renamed; further saves are recorded in the file of that name\n"),
      "\(log)")
  }

  @Test("A server whose audit file cannot be written saves, says so, and is not ready")
  func fullAudit() throws {
    let folder = try smallFolder()
    let (_, address) = try folder.serve("w.sqlite", ["--audit", "/dev/full"])
    #expect(try ask(address, "/health/ready").hasPrefix("HTTP/1.1 200"))
    #expect(try ask(address, "/v1/save", method: "POST", body: update).contains("200 OK"))
    #expect(try ask(address, "/health/ready").hasPrefix("HTTP/1.1 503"))
    let note = try folder.wait(for: "serve.log.err") { $0.contains("/dev/full") }
    #expect(note.contains("/dev/full: cannot be written: "), "\(note)")
    let log = try folder.wait(for: "serve.log.err") { $0.contains(" reasons=") }
    #expect(
      log.contains(
        " error The server is not ready: Saves cannot be written to the audit file. "
          + "reasons=audit-failed\n"), "\(log)")
    let run = try folder.run("serve", "w.sqlite", "--port", "0", "--audit", "none/audit.log")
    #expect(run.status == 74)
    #expect(run.errors.contains("none/audit.log: cannot be written: "), "\(run.errors)")
  }

  @Test("A caller beyond a limit gets 429 with the time to wait; another caller does not")
  func limits() throws {
    let folder = try smallFolder()
    let (_, address) = try folder.serve(
      "w.sqlite", ["--limit", "requests-per-second=0.01", "--trust-proxy", "127.0.0.1"])
    #expect(try ask(address, "/v1").hasPrefix("HTTP/1.1 200"))
    let refused = try ask(address, "/v1/model")
    #expect(refused.hasPrefix("HTTP/1.1 429 "))
    let seconds = try #require(refused.firstMatch(of: /Retry-After: (\d+)/)).1
    #expect((40...100).contains(try #require(Int(seconds))))
    #expect(refused.contains("\r\nRateLimit-Policy: \"requests-per-second\";q=1;w=100\r\n"))
    #expect(refused.contains("\r\nRateLimit: \"requests-per-second\";r=0;t="))
    #expect(try ask(address, "/health/ready").hasPrefix("HTTP/1.1 200"))
    #expect(try ask(address, "/").hasPrefix("HTTP/1.1 200"))
    #expect(try ask(address, "/v1", "X-Forwarded-For: 192.0.2.1\r\n").hasPrefix("HTTP/1.1 200"))
    let body = try ask(
      address, "/v1/save", method: "POST", "Expect: 100-continue\r\n", body: update)
    #expect(body.hasPrefix("HTTP/1.1 429 "), "\(body)")
  }

  @Test("Requests with a refused credential count for their address, others for their credential")
  func guesses() throws {
    let folder = try smallFolder()
    let (_, address) = try folder.serve(
      "w.sqlite", ["--limit", "requests-per-second=0.01"], environment: ["LIVEFETCH_TOKEN": "s3"])
    #expect(try ask(address, "/v1", "Authorization: Bearer a\r\n").hasPrefix("HTTP/1.1 401"))
    #expect(try ask(address, "/v1", "Authorization: Bearer b\r\n").hasPrefix("HTTP/1.1 429"))
    #expect(try ask(address, "/v1", "Authorization: Bearer s3\r\n").hasPrefix("HTTP/1.1 200"))
    #expect(try ask(address, "/v1", "Authorization: Bearer s3\r\n").hasPrefix("HTTP/1.1 429"))
  }

  @Test(
    "Requests that their head refuses count, with a body and without",
    arguments: [
      ("POST", "/v1/save", "Authorization: Bearer a\r\n", "{}", "401"),
      ("GET", "/v1/nothing", "", "", "404"), ("PUT", "/v1/model", "", "", "405"),
    ])
  func refusedHeads(
    method: String, target: String, headers: String, body: String, status: String
  ) throws {
    let folder = try smallFolder()
    let (_, address) = try folder.serve(
      "w.sqlite", ["--limit", "requests-per-second=0.01"], environment: ["LIVEFETCH_TOKEN": "s3"])
    for expected in [status, "429"] {
      let head = try ask(address, target, method: method, headers, body: body)
      #expect(head.hasPrefix("HTTP/1.1 \(expected)"), "\(head)")
    }
  }

  @Test("A caller has no more waiting requests than its limit, and gets room when one ends")
  func waiting() throws {
    let folder = try smallFolder()
    let (_, address) = try folder.serve("w.sqlite", ["--limit", "waiting-requests=1"])
    let first = try WaitingClient(address, "/v1/objects/City?since=now&wait=60")
    // The other request does not take the first one's place.
    #expect(
      try eventually(within: .seconds(300)) {
        try FaultClient(address: address).metric("livefetch_live_waiting") == 1
      })
    #expect(
      try ask(address, "/v1/objects/City?since=now&wait=0").hasPrefix("HTTP/1.1 429"))
    #expect(try ask(address, "/v1/objects/City").hasPrefix("HTTP/1.1 200"))
    first.leave(abruptly: true)
    // Before its wait ends.
    #expect(
      try eventually(within: .seconds(30)) {
        try ask(address, "/v1/objects/City?since=now&wait=0").hasPrefix("HTTP/1.1 200")
      })
  }

  @Test(
    "A limit or a proxy that cannot be understood is refused",
    arguments: [
      (["--limit", "requests-per-second"], "--limit takes NAME=VALUE"),
      (["--limit", "request-per-second=1"], "did you mean 'requests-per-second'?"),
      (["--limit", "live-fetches=0"], "'live-fetches' takes a whole number above zero, not '0'"),
      (["--limit", "saves-per-second=1e-300"], "'saves-per-second' takes a number above zero"),
      (["--limit", "live-fetches=1.5"], "takes a whole number above zero, not '1.5'"),
      (["--limit", "live-fetches=1", "--limit", "live-fetches=2"], "is given more than once"),
      (["--trust-proxy", "proxy.example"], "--trust-proxy takes an address or a range"),
      (["--trust-proxy", "10.0.0.0/40"], "--trust-proxy takes an address or a range"),
      (["--log-format", "xml"], "--log-format takes 'text' or 'json', not 'xml'"),
    ])
  func badSettings(flags: [String], complaint: String) throws {
    let (status, message) = try #require(refusal(of: flags))
    #expect(status == 64)
    #expect(message.contains(complaint), "\(message)")
  }

  @Test("Pages cannot be framed, and give no address of theirs to other sites")
  func pages() throws {
    let folder = try smallFolder()
    let (_, address) = try folder.serve(
      "w.sqlite", ["--cors-origin", "https://a.example", "--cors-origin", "https://b.example"])
    for target in ["/", "/docs/"] {
      let head = try ask(address, target)
      #expect(
        head.contains(
          "Content-Security-Policy: default-src 'self'; base-uri 'none'; form-action 'self'; "
            + "frame-ancestors 'none'\r\n"), "\(head)")
      #expect(head.contains("Referrer-Policy: no-referrer\r\n"))
    }
    for target in ["/", "/docs/", "/v1/model", "/v1/objects/country", "/nope", "/v1/%zz"] {
      let head = try ask(address, target)
      #expect(
        head.components(separatedBy: "X-Content-Type-Options: nosniff\r\n").count == 2, "\(head)")
    }
    for origin in ["https://a.example", "https://b.example"] {
      let head = try ask(address, "/v1", "Origin: \(origin)\r\n")
      #expect(head.contains("Access-Control-Allow-Origin: \(origin)\r\n"))
      #expect(head.contains("Vary: Origin\r\n"))
    }
    let other = try ask(address, "/v1", "Origin: https://c.example\r\n")
    #expect(!other.contains("Access-Control-Allow-Origin"))
    #expect(other.contains("Vary: Origin\r\n"))
  }

  @Test("Answers of saves have the headers of other answers once, also when a save is repeated")
  func headersOfSaves() throws {
    let folder = try smallFolder()
    let (_, address) = try folder.serve("w.sqlite", ["--cors-origin", "https://a.example"])
    let key = "Idempotency-Key: k1\r\n"
    let (insert, name) = (#"{"name":"Rio","population":5}"#, #"{"name":"Vik"}"#)
    let saves = [
      ("POST", "/v1/objects/City", key, insert, "201"),
      ("POST", "/v1/objects/City", key, insert, "201"),
      ("POST", "/v1/objects/City", "Prefer: return=minimal\r\n", insert, "201"),
      ("PATCH", "/v1/objects/City/2", "", name, "200"),
      ("PUT", "/v1/objects/City/9", "", name, "201"),
      ("PATCH", "/v1/objects/City?where=population%3E1", "", #"{"capital":true}"#, "200"),
      ("POST", "/v1/save", "", update, "200"),
      ("DELETE", "/v1/objects/City/9", "", "", "204"),
      ("DELETE", "/v1/objects/City?where=population==5", "", "", "200"),
    ]
    for (method, target, headers, body, status) in saves {
      let head = try ask(address, target, method: method, headers, body: body)
      #expect(head.hasPrefix("HTTP/1.1 \(status) "), "\(method) \(target): \(head)")
      for header in [
        "X-Content-Type-Options: nosniff\r\n", "LiveFetch-Token: ",
        "Access-Control-Allow-Origin: https://a.example\r\n",
      ] {
        #expect(head.components(separatedBy: header).count == 2, "\(method) \(target): \(head)")
      }
    }
    #expect(
      try ask(address, "/v1/objects/City", method: "POST", key, body: insert)
        .contains("Idempotency-Replayed: true\r\n"))
  }
}
