// Files that are removed, replaced or truncated while they are served, and the health endpoints.

import FetchModel
import Foundation
import LiveFetchHTTPServer
import SQLiteStore
import Service
import TestSupport
import Testing

private let fixture = """
  CREATE TABLE city(id INTEGER PRIMARY KEY, name TEXT);
  INSERT INTO city VALUES (1,'Shanghai'),(2,'Beijing');
  """

private func rename(_ from: String, to: String) throws {
  try FileManager.default.moveItem(atPath: from, toPath: to)
}

private func cut(_ path: String, to size: off_t = 0) { #expect(truncate(path, size) == 0) }

/// The codes of a probe's reasons; empty with status 200.
private func reasons(_ answer: Answer) -> [String] {
  if answer.status == 200 { return [] }
  #expect(answer.status == 503)
  #expect(answer["Content-Type"] == "application/problem+json")
  return (answer.json["reasons"]?.elements ?? []).compactMap { $0["code"]?.string }
}

@Suite(
  "The files of a store are removed, replaced or cut short under its server", .mayBlock, .serialized
)
struct ServedFilesTests {
  struct Loss: Sendable, CustomStringConvertible {
    let description: String
    let code: String
    let make: @Sendable (String) throws -> Void
  }

  static let losses = [
    Loss(description: "the file is removed", code: "file-removed") { unlink($0) },
    Loss(description: "the file is renamed", code: "file-removed") { try rename($0, to: $0 + "2") },
    Loss(description: "the file is replaced", code: "file-replaced") {
      try FileManager.default.copyItem(atPath: $0, toPath: $0 + "2")
      #expect(Foundation.rename($0 + "2", $0) == 0)
    },
    Loss(description: "the file is cut to nothing", code: "file-truncated") { cut($0) },
    Loss(description: "the file is cut to a byte", code: "file-truncated") { cut($0, to: 1) },
    Loss(description: "the index is cut to nothing", code: "index-truncated") { cut($0 + "-shm") },
    Loss(description: "the index is cut after its first header", code: "index-truncated") {
      cut($0 + "-shm", to: 96)
    },
    Loss(description: "the index is cut to a part", code: "index-truncated") {
      cut($0 + "-shm", to: 4_096)
    },
    Loss(description: "the log is cut to nothing", code: "log-truncated") { cut($0 + "-wal") },
    Loss(description: "the log is cut to a part", code: "log-truncated") {
      cut($0 + "-wal", to: 4_000)
    },
    Loss(description: "the log and its index are cut to nothing", code: "log-truncated") {
      cut($0 + "-wal")
      cut($0 + "-shm")
    },
    Loss(description: "the log is removed", code: "log-removed") { unlink($0 + "-wal") },
    Loss(description: "the index is removed", code: "log-removed") { unlink($0 + "-shm") },
    Loss(description: "the log is replaced", code: "log-replaced") {
      try FileManager.default.copyItem(atPath: $0 + "-wal", toPath: $0 + "2")
      #expect(Foundation.rename($0 + "2", $0 + "-wal") == 0)
    },
    Loss(description: "the index is replaced", code: "log-replaced") {
      try FileManager.default.copyItem(atPath: $0 + "-shm", toPath: $0 + "2")
      #expect(Foundation.rename($0 + "2", $0 + "-shm") == 0)
    },
    Loss(description: "all three are removed", code: "file-removed") {
      for end in ["", "-wal", "-shm"] { unlink($0 + end) }
    },
  ]

  @Test(
    "No save is acknowledged that would be lost, and the server is not ready", arguments: losses)
  func refusal(_ loss: Loss) throws {
    let file = try ServedFile(fixture)
    #expect(reasons(try file.ask("/health/ready")) == [])
    #expect(try file.ask("POST", "/v1/objects/city", body: #"{"name":"Rome"}"#).status == 201)
    try loss.make(file.path)
    let saves: [(method: String, target: String, body: String?)] = [
      ("POST", "/v1/objects/city", #"{"name":"Oslo"}"#),
      ("PATCH", "/v1/objects/city/1", #"{"name":"Oslo"}"#), ("DELETE", "/v1/objects/city/1", nil),
      ("PATCH", "/v1/objects/city?where=TRUEPREDICATE", #"{"name":"Oslo"}"#),
      ("POST", "/v1/save", #"{"changes":[{"insert":"city","values":{"name":"Oslo"}}]}"#),
    ]
    for save in saves {
      let answer = try file.ask(save.method, save.target, body: save.body)
      #expect(answer.status == 503, "\(save.method) \(save.target): \(answer.text)")
      #expect(answer.code == "storage-failed")
    }
    let ready = try file.ask("/health/ready")
    #expect(reasons(ready).contains(loss.code), "\(ready.text)")
    #expect(!ready.text.contains("/"), "\(ready.text)")
    #expect(try file.ask("/health/live").status == 200)
  }

  @Test(
    "The store is opened again after its index was cut, and lacks no acknowledged save",
    .enabled(if: Sqlite3.isInstalled), arguments: [0, 96, 4_096, 16_384])
  func cutIndex(size: off_t) throws {
    let file = try HostedFile(fixture)
    try file.shell("PRAGMA wal_checkpoint(PASSIVE)")
    for name in ["Rome", "Bern"] {
      let body = #"{"name":"\#(name)"}"#
      #expect(try file.ask("POST", "/v1/objects/city", body: body).status == 201)
    }
    cut(file.path + "-shm", to: size)
    let during = try file.ask("/v1/objects/city?as=count")
    #expect(during.status == 503 || during.json["total"]?.integer == 4, "\(during.text)")
    #expect(file.reopenings(atLeast: 1) == 1)
    #expect(try file.ask("/v1/objects/city?as=count").json["total"]?.integer == 4)
    #expect(try file.ask("POST", "/v1/objects/city", body: #"{"name":"Oslo"}"#).status == 201)
    #expect(reasons(try file.ask("/health/ready")) == [])
    #expect(try file.shell("PRAGMA integrity_check; SELECT count(*) FROM city") == "ok\n5\n")
  }

  @Test(
    "A fetch does not read an index that was cut, whichever part of it is left",
    arguments: [0, 96, 136, 4_096, 16_384])
  func staleReads(size: off_t) throws {
    let file = try ServedFile(fixture)
    #expect(try file.ask("POST", "/v1/objects/city", body: #"{"name":"Rome"}"#).status == 201)
    cut(file.path + "-shm", to: size)
    for _ in 1...3 { #expect(try file.ask("/v1/objects/city?as=count").status == 503) }
    #expect(reasons(try file.ask("/health/ready")).contains("index-truncated"))
  }

  @Test(
    "A database that lacks pages is saved to no more, and is not ready", arguments: [false, true])
  func lackingPages(isHealthFirst: Bool) throws {
    let pages = "CREATE TABLE big(t TEXT); INSERT INTO big VALUES (hex(zeroblob(100000)));"
    let file = try ServedFile(fixture + pages)
    try file.runExternally("PRAGMA wal_checkpoint(TRUNCATE)")
    #expect(try file.ask("POST", "/v1/objects/city", body: #"{"name":"Rome"}"#).status == 201)
    #expect(reasons(try file.ask("/health/ready")) == [])
    cut(file.path, to: 65_536)
    if isHealthFirst {
      // A commit of the last 250 ms answers a probe.
      #expect(
        try eventually(within: .seconds(300)) {
          reasons(try file.ask("/health/ready")).contains("file-truncated")
        })
    }
    let answer = try file.ask("POST", "/v1/objects/city", body: #"{"name":"Oslo"}"#)
    #expect(answer.status == 503, "\(answer.text)")
    #expect(reasons(try file.ask("/health/ready")).contains("file-truncated"))
    file.stop()
    #expect(try Data(contentsOf: URL(fileURLWithPath: file.path)).count == 65_536)
  }

  @Test("A cut log is not copied into the database, also not when the store is closed")
  func cutLog() throws {
    let file = try ServedFile(fixture)
    #expect(try file.ask("POST", "/v1/objects/city", body: #"{"name":"Rome"}"#).status == 201)
    let before = try Data(contentsOf: URL(fileURLWithPath: file.path))
    cut(file.path + "-wal")
    #expect(try file.ask("POST", "/v1/objects/city", body: #"{"name":"Oslo"}"#).status == 503)
    #expect(reasons(try file.ask("/health/ready")).contains("log-truncated"))
    file.stop()
    #expect(try Data(contentsOf: URL(fileURLWithPath: file.path)) == before)
  }

  @Test("A log that another program checkpoints and cuts is a whole one")
  func checkpoint() throws {
    let file = try ServedFile(fixture)
    for name in ["Rome", "Oslo", "Bern"] {
      let body = #"{"name":"\#(name)"}"#
      #expect(try file.ask("POST", "/v1/objects/city", body: body).status == 201)
      try file.runExternally("PRAGMA wal_checkpoint(TRUNCATE)")
      #expect(reasons(try file.ask("/health/ready")) == [])
    }
    #expect(try file.ask("/v1/objects/city?as=count").json["total"]?.integer == 5)
  }

  @Test("Fetches continue while the file has no name, and say why where they cannot")
  func removedFile() throws {
    let file = try ServedFile(fixture)
    #expect(try file.ask("/v1/objects/city?as=count").json["total"]?.integer == 2)
    unlink(file.path)
    #expect(try file.ask("POST", "/v1/objects/city", body: #"{"name":"Oslo"}"#).status == 503)
    #expect(try file.ask("/health/ready").status == 503)
    for _ in 1...20 {
      let answer = try file.ask("/v1/objects/city?as=count")
      #expect(answer.json["total"]?.integer == 2, "\(answer.text)")
    }
  }

  @Test("A file that has its name again is saved to again")
  func back() throws {
    let file = try ServedFile(fixture)
    try rename(file.path, to: file.path + "2")
    #expect(try file.ask("POST", "/v1/objects/city", body: #"{"name":"Oslo"}"#).status == 503)
    try rename(file.path + "2", to: file.path)
    #expect(reasons(try file.ask("/health/ready")) == [])
    #expect(try file.ask("POST", "/v1/objects/city", body: #"{"name":"Rome"}"#).status == 201)
    #expect(try file.ask("/v1/objects/city?as=count").json["total"]?.integer == 3)
  }

  @Test(
    "Acknowledged saves are not lost with the log: they are copied into the file",
    .enabled(if: Sqlite3.isInstalled))
  func copied() throws {
    let file = try HostedFile(fixture)
    #expect(try file.ask("POST", "/v1/objects/city", body: #"{"name":"Rome"}"#).status == 201)
    unlink(file.path + "-wal")
    unlink(file.path + "-shm")
    #expect(file.reopenings(atLeast: 1) == 1)
    // The files that a server leaves if it is killed now.
    let copy = file.directory.file("copy.sqlite")
    try FileManager.default.copyItem(atPath: file.path, toPath: copy)
    #expect(try Sqlite3.run("SELECT name FROM city WHERE id = 3", copy) == "Rome\n")
    #expect(try file.ask("POST", "/v1/objects/city", body: #"{"name":"Oslo"}"#).status == 201)
    #expect(reasons(try file.ask("/health/ready")) == [])
  }

  @Test(
    "A log that another process replaced is left to that process",
    .enabled(if: Sqlite3.isInstalled))
  func replacedLog() throws {
    let file = try HostedFile(fixture)
    #expect(try file.ask("POST", "/v1/objects/city", body: #"{"name":"Rome"}"#).status == 201)
    let copy = file.path + "2"
    try FileManager.default.copyItem(atPath: file.path + "-wal", toPath: copy)
    #expect(Foundation.rename(copy, file.path + "-wal") == 0)
    #expect(file.reopenings(atLeast: 1) == 1)
    let orphan = try #require(FileManager.default.contents(atPath: file.path + "-wal-orphan"))
    #expect(orphan.range(of: Data("Rome".utf8)) != nil)
    #expect(try file.ask("/v1/objects/city?as=count").json["total"]?.integer == 3)
    #expect(try file.ask("POST", "/v1/objects/city", body: #"{"name":"Oslo"}"#).status == 201)
    #expect(try file.shell("PRAGMA integrity_check") == "ok\n")
  }

  @Test(
    "A file cut short is not served as an empty store", .enabled(if: Sqlite3.isInstalled),
    arguments: [0, 1])
  func truncated(size: off_t) throws {
    var options = SQLiteStoreOptions()
    options.acceptsEmptyFile = false
    let file = try HostedFile(fixture, options: options)
    #expect(try file.ask("POST", "/v1/objects/city", body: #"{"name":"Rome"}"#).status == 201)
    let backup = file.directory.file("backup.sqlite")
    try file.shell(".backup \(backup)")
    cut(file.path, to: size)
    // Until the store is closed, and while it cannot be opened.
    for _ in 1...200 {
      let readiness = try file.ask("/health/ready")
      #expect(readiness.status == 503)
      // For a short time the store is being opened again.
      let isKnown = ["file-truncated", "reopening"].contains { reasons(readiness).contains($0) }
      #expect(isKnown, "\(readiness.text)")
      #expect(
        try file.ask("POST", "/v1/objects/city", body: #"{"name":"Oslo"}"#).code
          == "storage-failed")
      #expect(try file.ask("/health/live").status == 200)
      usleep(1000)
    }
    let fetch = file.begin("GET", "/v1/objects/city?as=count")
    let log = try FileManager.default.attributesOfItem(atPath: file.path + "-wal-orphan")
    #expect((log[.size] as? Int ?? 0) > 0)
    #expect(FileManager.default.fileExists(atPath: file.path + "-wal") == false)
    // Its contents come back under the same name and inode.
    let contents = try Data(contentsOf: URL(fileURLWithPath: backup))
    let handle = try FileHandle(forWritingTo: URL(fileURLWithPath: file.path))
    try handle.write(contentsOf: contents)
    try handle.close()
    #expect(file.reopenings(atLeast: 1) == 1)
    let answer = try #require(fetch.wait())
    #expect(answer.status == 503 || answer.json["total"]?.integer == 3, "\(answer.text)")
    #expect(try file.ask("/v1/objects/city?as=count").json["total"]?.integer == 3)
    #expect(try file.ask("POST", "/v1/objects/city", body: #"{"name":"Oslo"}"#).status == 201)
    #expect(reasons(try file.ask("/health/ready")) == [])
    #expect(try file.shell("PRAGMA integrity_check") == "ok\n")
  }

  @Test("A server that drains is not ready, and lives")
  func draining() throws {
    let file = try ServedFile(fixture)
    file.service.drain()
    #expect(reasons(try file.ask("/health/ready")) == ["draining"])
    #expect(try file.ask("/health/live").text == #"{"status":"ok"}"#)
  }

  @Test("A server that another process keeps from saving is not ready")
  func locked() throws {
    let file = try ServedFile(fixture)
    let holder = try WriteLockHolder(file.path)
    #expect(reasons(try file.ask("/health/ready")) == ["busy"])
    holder.release()
    #expect(try eventually(within: .seconds(300)) { try file.ask("/health/ready").status == 200 })
  }

  @Test("A read-only server is ready while its file is there")
  func readOnly() throws {
    var options = SQLiteStoreOptions()
    options.isReadOnly = true
    let file = try ServedFile(fixture, options: options)
    #expect(reasons(try file.ask("/health/ready")) == [])
    unlink(file.path)
    #expect(reasons(try file.ask("/health/ready")) == ["file-removed"])
  }

  @Test("A probe changes no token and ends no wait")
  func silence() throws {
    let file = try ServedFile(fixture)
    let before = try file.ask("/v1").json["token"]?.string
    let poll = file.begin("GET", "/v1/objects/city?as=count&since=now&wait=1")
    #expect(reasons(try file.ask("/health/ready")) == [])
    let answer = try #require(poll.wait(seconds: 120))
    #expect(answer.json["from"]?.string == answer.json["to"]?.string)
    #expect(try file.ask("/v1").json["token"]?.string == before)
  }
}
