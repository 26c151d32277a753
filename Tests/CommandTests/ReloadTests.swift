// SIGHUP: a server reads its token, quotas, rules and configuration again.

import FetchModel
import Foundation
import TestSupport
import Testing

@testable import PostgresStore

@Suite("SIGHUP has a server read its settings again", .mayBlock)
struct ReloadTests {
  private func client(
    _ address: String, _ target: String, token: String? = nil, method: String = "GET",
    headers: String = "", body: String = ""
  ) throws -> WaitingClient {
    let credential = token.map { "Authorization: Bearer \($0)\r\n" } ?? ""
    return try WaitingClient(
      address, target, method: method, headers: credential + headers, body: body)
  }

  /// The status of `GET /v1/objects/City?limit=1` for a bearer of `token`.
  private func status(_ address: String, token: String? = nil) throws -> String {
    let head = try client(address, "/v1/objects/City?limit=1", token: token).receiveHead()
    return String(head.dropFirst("HTTP/1.1 ".count).prefix(3))
  }

  /// Sends SIGHUP and waits until the server has written `text` to its log.
  private func hangUp(_ server: Process, _ folder: Folder, until text: String) throws -> String {
    kill(server.processIdentifier, SIGHUP)
    return try folder.wait(for: "serve.log.err") { $0.contains(text) }
  }

  @Test("Another token in the token file takes the place of the earlier one")
  func token() throws {
    let folder = try smallFolder()
    try folder.write("first\n", to: "token")
    let (server, address) = try folder.serve("w.sqlite", ["--token-file", "token"])
    #expect(try status(address, token: "first") == "200")
    try folder.write("second\n", to: "token")
    let log = try hangUp(server, folder, until: "read again: ")
    #expect(log.hasSuffix("livefetch: read again: token-file\n"), "\(log)")
    #expect(!log.contains("opened again"), "\(log)")
    #expect(try status(address, token: "first") == "401")
    #expect(try status(address, token: "second") == "200")
  }

  @Test("A token file that is written again with the same token changes nothing")
  func sameToken() throws {
    let folder = try smallFolder()
    try folder.write("first\n", to: "token")
    try folder.write(#"{"max-items": 100}"#, to: "livefetch.json")
    let (server, address) = try folder.serve("w.sqlite", ["--token-file", "token"])
    try folder.write("first", to: "token")
    try folder.write(#"{"max-items": 50}"#, to: "livefetch.json")
    let log = try hangUp(server, folder, until: "read again: ")
    #expect(log.hasSuffix("livefetch: read again: max-items\n"), "\(log)")
    #expect(try status(address, token: "first") == "200")
  }

  @Test("Settings that a database does not take are refused, as at the start")
  func database() throws {
    let folder = try smallFolder()
    let database = try PostgresServer.shared().newDatabase(copying: folder.file("w.sqlite"))
    try folder.write(#"{"max-items": 100}"#, to: "livefetch.json")
    let (server, address) = try folder.serve(database)
    try folder.write(#"{"max-items": 50, "keep-history": 5}"#, to: "livefetch.json")
    let log = try hangUp(server, folder, until: "the settings from before stay in use\n")
    #expect(
      log.contains(
        "livefetch.json: 'keep-history' concerns SQLite files; a PostgreSQL database takes no such "
          + "option"),
      "\(log)")
    #expect(!log.contains("read again: "), "\(log)")
    #expect(try client(address, "/v1").receiveHead().hasPrefix("HTTP/1.1 200"))
  }

  @Test("The model of the start stays in use, and the server ends after a reload")
  func model() throws {
    let folder = try Folder()
    func model(_ attribute: String) -> String {
      #"{"entities":[{"name":"City","attributes":[{"name":"\#(attribute)","type":"String"}]}]}"#
    }
    try folder.write(model("name"), to: "m.json")
    try folder.write(#"{"max-items": 100}"#, to: "livefetch.json")
    let (server, address) = try folder.serve("m.sqlite", ["--model", "m.json"])
    try folder.write(model("title"), to: "m.json")
    try folder.write(#"{"max-items": 50}"#, to: "livefetch.json")
    let log = try hangUp(server, folder, until: "read again: ")
    #expect(!log.contains("cannot be opened again"), "\(log)")
    #expect(
      try client(address, "/v1/objects/City?sort=name").receiveHead().hasPrefix("HTTP/1.1 200"))
    stop(server)
  }

  @Test("The configuration file that `config` prints, with every default, serves a database")
  func defaults() throws {
    let folder = try smallFolder()
    let database = try PostgresServer.shared().newDatabase(copying: folder.file("w.sqlite"))
    let settings = try folder.run("config", "--format", "json")
    try folder.write(settings.output, to: "livefetch.json")
    stop(try folder.serve(database).process)
  }

  @Test("SIGTERM ends a server whose store cannot be opened again")
  func unreachable() throws {
    let folder = try smallFolder()
    let database = try PostgresServer.shared().newDatabase(copying: folder.file("w.sqlite"))
    try folder.write(#"{"max-items": 100}"#, to: "livefetch.json")
    let (server, _) = try folder.serve(database)
    let other = try PostgresConnection(database)
    try other.execute("UPDATE livefetch.store SET format = 99")
    try folder.write(#"{"max-items": 50}"#, to: "livefetch.json")
    _ = try hangUp(server, folder, until: "cannot be opened again")
    other.close()
    stop(server)
  }

  @Test("Another configuration file changes quotas; its port waits for the next start")
  func configurationFile() throws {
    let folder = try smallFolder()
    try folder.write(#"{"max-items": 100}"#, to: "livefetch.json")
    let (server, address) = try folder.serve("w.sqlite")
    #expect(try status(address) == "200")
    try folder.write(
      #"{"max-items": 1, "limit": ["requests-per-second=1"], "workers": 2, "keep": 3}"#,
      to: "livefetch.json")
    let log = try hangUp(server, folder, until: "read again: ")
    #expect(log.contains("livefetch: read again: limit, max-items\n"), "\(log)")
    #expect(log.contains("take effect at the next start: "), "\(log)")
    #expect(log.contains("keep"), "\(log)")
    try folder.write(
      #"{"max-items": 2, "limit": ["requests-per-second=1"]}"#, to: "livefetch.json")
    let second = try hangUp(server, folder, until: "read again: max-items\n")
    #expect(second.components(separatedBy: "take effect at the next start: ").count == 2)
    let statuses = try (0..<3).map { _ in try status(address) }
    #expect(statuses == ["200", "429", "429"])
  }

  @Test("A configuration file that is gone or cannot be read opens no server")
  func missingFile() throws {
    let folder = try smallFolder()
    try folder.write(#"{"token": "first"}"#, to: "livefetch.json")
    let (server, address) = try folder.serve("w.sqlite")
    #expect(try status(address) == "401")
    unlink(folder.file("livefetch.json"))
    let log = try hangUp(server, folder, until: "the settings from before stay in use\n")
    #expect(log.contains("livefetch.json: there is no such file"), "\(log)")
    #expect(try status(address) == "401")
    mkdir(folder.file("livefetch.json"), 0o755)
    let run = try folder.run("serve", "w.sqlite", "--port", "0")
    #expect(run.status != 0)
    #expect(run.errors.contains("livefetch.json: "), "\(run.errors)")
  }

  @Test("A server whose messages nobody reads answers, saves and ends")
  func unreadMessages() throws {
    let folder = try smallFolder()
    let (server, address) = try folder.serve(
      "w.sqlite", ["--log-requests", "--shutdown-timeout", "5"],
      limits: "mkfifo full; exec 3<> full 2> full")
    // More lines than a pipe holds.
    let requests = Process()
    requests.executableURL = URL(fileURLWithPath: "/usr/bin/curl")
    requests.arguments = ["-s", "-o", folder.file("answers"), address + "/v1/model?n=[1-1000]"]
    try requests.run()
    requests.waitUntilExit()
    try folder.sql("UPDATE City SET name = 'x' WHERE id = 1", on: "w.sqlite")
    let save = try client(
      address, "/v1/objects/City/1", method: "PATCH", body: #"{"name":"y"}"#)
    #expect(save.receiveHead().hasPrefix("HTTP/1.1 200"))
    server.terminate()
    #expect(eventually(within: .seconds(120)) { !server.isRunning })
  }

  @Test("A setting that waits for the next start does not take effect with another one")
  func waitingSetting() throws {
    let folder = try smallFolder()
    try folder.write(#"{"read-only": true}"#, to: "livefetch.json")
    let (server, address) = try folder.serve("w.sqlite")
    let deletion = { try client(address, "/v1/objects/City/1", method: "DELETE").receiveHead() }
    #expect(try deletion().hasPrefix("HTTP/1.1 403"))
    try folder.write(
      #"{"read-only": false, "log-requests": true, "max-items": 50}"#, to: "livefetch.json")
    let log = try hangUp(server, folder, until: "read again: max-items\n")
    #expect(
      log.contains("livefetch: take effect at the next start: log-requests, read-only\n"),
      "\(log)")
    #expect(try deletion().hasPrefix("HTTP/1.1 403"))
    #expect(try !folder.read("serve.log.err").contains("request id="))
  }

  @Test("Under other access rules a snapshot has another ETag")
  func etag() throws {
    let folder = try smallFolder()
    let rules = { (least: Int) in
      #"{"entities":{"City":{"access":{"read":"population > \#(least)"}}}}"#
    }
    try folder.write(rules(0), to: "rules.json")
    let (server, address) = try folder.serve("w.sqlite", ["--access", "rules.json"])
    let etag = {
      let head = try client(address, "/v1/objects/City").receiveHead()
      return try #require(head.split(separator: "\r\n").first { $0.hasPrefix("ETag: ") })
    }
    let first = try etag()
    #expect(try etag() == first)
    try folder.write(rules(1_000_000), to: "rules.json")
    _ = try hangUp(server, folder, until: "read again: access")
    #expect(try etag() != first)
  }

  @Test("A server that serves anonymous callers does not lose its access rules")
  func anonymous() throws {
    let folder = try smallFolder()
    try folder.write(#"{"entities":{"City":{"access":{"read":true}}}}"#, to: "rules.json")
    try folder.write(
      #"{"anonymous": true, "token": "first", "access": "rules.json"}"#, to: "livefetch.json")
    let (server, address) = try folder.serve("w.sqlite")
    #expect(try status(address) == "200")
    #expect(try status(address, token: "other") == "401")
    try folder.write(#"{"anonymous": true, "token": "first"}"#, to: "livefetch.json")
    let log = try hangUp(server, folder, until: "the settings from before stay in use\n")
    #expect(log.contains("livefetch.json: 'anonymous' needs access rules"), "\(log)")
    #expect(try status(address) == "200")
    #expect(try status(address, token: "other") == "401")
  }

  @Test("Settings that cannot be used leave those from before in use")
  func refused() throws {
    let folder = try smallFolder()
    try folder.write("first", to: "token")
    try folder.write(#"{"token-file": "token"}"#, to: "livefetch.json")
    let (server, address) = try folder.serve("w.sqlite")
    let kept = "the settings from before stay in use"
    for (name, text, reason) in [
      ("livefetch.json", "{", "livefetch.json: expected "),
      ("livefetch.json", #"{"limits": []}"#, "there is no setting 'limits'"),
      ("token", "a b", "a token has no blanks"),
    ] {
      let before = try folder.read("serve.log.err").count
      try folder.write(#"{"token-file": "token"}"#, to: "livefetch.json")
      try folder.write(text, to: name)
      kill(server.processIdentifier, SIGHUP)
      let log = try folder.wait(for: "serve.log.err") { $0.dropFirst(before).contains(kept) }
      #expect(log.dropFirst(before).contains(reason), "\(log)")
      #expect(try status(address, token: "first") == "200")
      #expect(try status(address) == "401")
    }
  }

  @Test("Long-polls end without changes, streams with a reason, and their tokens stay valid")
  func waiting() throws {
    let folder = try smallFolder()
    try folder.write(#"{"query-timeout": 100}"#, to: "livefetch.json")
    let (server, address) = try folder.serve("w.sqlite")
    let about = try client(address, "/v1").receiveHead()
    let token = try #require(about.firstMatch(of: /LiveFetch-Token: (\S+)/)?.1)
    let poll = try client(address, "/v1/objects/City?since=\(token)&wait=60")
    let changes = try client(address, "/v1/changes?since=\(token)&wait=60")
    let stream = try client(
      address, "/v1/objects/City?since=\(token)", headers: "Accept: text/event-stream\r\n")
    let body = #"{"fetches":{"a":{"entity":"City","since":"\#(token)"}},"wait":60}"#
    let group = try client(address, "/v1/live", method: "POST", body: body)
    // The four, and the request of the metrics itself.
    #expect(
      try eventually(within: .seconds(300)) {
        try FaultClient(address: address).metric("livefetch_connections_waiting") == 5
      })
    try folder.write(#"{"query-timeout": 50}"#, to: "livefetch.json")
    _ = try hangUp(server, folder, until: "read again: ")
    for (waiting, last) in [
      (poll, #""items":{"deleted":[],"inserted":[],"moved":[],"updated":[]}}"#),
      (changes, #"{"from":"\#(token)","to":"\#(token)","saves":[]}"#),
      (group, #"{"token":"\#(token)","results":{}}"#),
      (stream, #""code":"shutting-down""#),
    ] {
      let answer = waiting.receive(until: last)
      #expect(answer.hasPrefix("HTTP/1.1 200"), "\(answer)")
      #expect(answer.contains(last), "\(answer)")
    }
    let again = try client(address, "/v1/objects/City?since=\(token)&wait=0").receiveHead()
    #expect(again.hasPrefix("HTTP/1.1 200"), "\(again)")
  }

  @Test("Without another value a server says nothing, and its long-polls wait on")
  func unchanged() throws {
    let folder = try smallFolder()
    try folder.write("first", to: "token")
    let (server, address) = try folder.serve(
      "w.sqlite", ["--token-file", "token", "--audit", "audit.log"])
    let poll = try client(address, "/v1/objects/City?since=now&wait=60", token: "first")
    #expect(
      try eventually(within: .seconds(60)) {
        try FaultClient(address: address).metric("livefetch_live_waiting", token: "first") == 1
      })
    // When the audit file is there for the second time, the first reading is over.
    for _ in 0..<2 {
      unlink(folder.file("audit.log"))
      kill(server.processIdentifier, SIGHUP)
      #expect(eventually(within: .seconds(60)) { folder.has("audit.log") })
    }
    #expect(poll.isWaiting)
    #expect(try !folder.read("serve.log.err").contains("read again"))
    let save = try client(
      address, "/v1/objects/City/1", token: "first", method: "PATCH", body: #"{"name":"y"}"#)
    #expect(save.receiveHead().hasPrefix("HTTP/1.1 200"))
    #expect(poll.receiveHead().hasPrefix("HTTP/1.1 200"))
  }
}
