// Files with damaged pages: saves are refused and nothing is written.

import FetchModel
import Foundation
import SQLiteStore
import Service
import TestSupport
import Testing

/// Two tables; the rows of `big` fill about 100 pages.
private let fixture = """
  CREATE TABLE city(id INTEGER PRIMARY KEY, name TEXT);
  INSERT INTO city VALUES (1,'Shanghai'),(2,'Beijing');
  CREATE TABLE big(id INTEGER PRIMARY KEY, t TEXT);
  WITH n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 100)
  INSERT INTO big SELECT i, hex(zeroblob(1900)) FROM n;
  """

/// Overwrites a part of a file with zeros.
private func zero(_ path: String, from start: UInt64, bytes: Int) throws {
  let file = try FileHandle(forUpdating: URL(fileURLWithPath: path))
  try file.seek(toOffset: start)
  try file.write(contentsOf: Data(count: bytes))
  try file.close()
}

private func content(_ path: String) throws -> Data {
  try Data(contentsOf: URL(fileURLWithPath: path))
}

@Suite("The content of a store's file is damaged", .mayBlock, .serialized)
struct DamagedFileTests {
  private func readAll(_ file: ServedFile) throws -> Answer {
    try file.ask("/v1/objects/big?as=count&where=t%20CONTAINS%20'x'")
  }

  @Test("After SQLite has found damage, no save is acknowledged, and the server is not ready")
  func damageInTheFile() throws {
    let file = try ServedFile(fixture)
    // The content is checked before the first save.
    #expect(try file.ask("POST", "/v1/objects/city", body: #"{"name":"Rome"}"#).status == 201)
    try file.runExternally("PRAGMA wal_checkpoint(TRUNCATE)")
    try zero(file.path, from: 40 * 4_096, bytes: 20 * 4_096)
    let fetch = try readAll(file)
    #expect(fetch.status == 500 && fetch.code == "file-damaged", "\(fetch.text)")
    for (method, target, body) in [
      ("POST", "/v1/objects/city", #"{"name":"Oslo"}"#), ("DELETE", "/v1/objects/city/1", nil),
    ] as [(String, String, String?)] {
      let answer = try file.ask(method, target, body: body)
      #expect(answer.status == 500 && answer.code == "file-damaged", "\(answer.text)")
    }
    let ready = try file.ask("/health/ready")
    #expect(ready.status == 503)
    #expect(ready.text.contains(#""file-damaged""#), "\(ready.text)")
    #expect(try file.ask("/health/live").status == 200)
    #expect(try file.ask("/v1/objects/city?as=count").json["total"]?.integer == 3)
  }

  @Test("A log with damaged pages is not copied into the file, also not when the store is closed")
  func damageInTheLog() throws {
    let file = try ServedFile(fixture)
    try file.runExternally("PRAGMA wal_checkpoint(TRUNCATE)")
    #expect(try file.ask("POST", "/v1/objects/city", body: #"{"name":"Rome"}"#).status == 201)
    let text = String(repeating: "x", count: 200_000)
    let long = try file.ask("POST", "/v1/objects/big", body: #"{"t":"\#(text)"}"#)
    #expect(long.status == 201)
    let whole = try content(file.path + "-wal").count
    try zero(file.path + "-wal", from: UInt64(whole / 2), bytes: whole / 4)
    #expect(try readAll(file).status == 500)
    let before = try content(file.path)
    #expect(try file.ask("POST", "/v1/objects/city", body: #"{"name":"Oslo"}"#).status == 500)
    file.stop()
    #expect(try content(file.path) == before)
  }

  @Test("A file that was served before is served at once; damage is found before the first save")
  func openingAgain() throws {
    let file = try ServedFile(fixture)
    var before = Data()
    try file.restart { file in
      try zero(file.path, from: 40 * 4_096, bytes: 4_096)
      before = try content(file.path)
    }
    let save = try file.ask("POST", "/v1/objects/city", body: #"{"name":"Oslo"}"#)
    #expect(save.status == 500 && save.code == "file-damaged", "\(save.text)")
    let ready = try file.ask("/health/ready")
    #expect(ready.status == 503 && ready.text.contains(#""file-damaged""#), "\(ready.text)")
    #expect(try file.ask("/v1/objects/city?as=count").json["total"]?.integer == 2)
    file.stop()
    #expect(try content(file.path) == before)
  }

  @Test("A file with damaged pages is not followed, and stays as it is")
  func opening() throws {
    let directory = try TemporaryDirectory()
    let path = directory.file("damaged.sqlite")
    try sqlite(path, fixture)
    try zero(path, from: 40 * 4_096, bytes: 4_096)
    let before = try content(path)
    let error = #expect(throws: StoreError.self) { try SQLiteStore(path: path) }
    guard case .damaged(let reason)? = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(reason.hasPrefix("the file is damaged"), "\(reason)")
    #expect(try content(path) == before)
  }

  @Test("Rows that violate a constraint are no damage")
  func constraints() throws {
    let directory = try TemporaryDirectory()
    let path = directory.file("constraints.sqlite")
    try sqlite(
      path,
      """
      PRAGMA ignore_check_constraints = ON;
      CREATE TABLE city(id INTEGER PRIMARY KEY, name TEXT CHECK (length(name) < 3));
      INSERT INTO city VALUES (1,'Shanghai');
      """)
    let store = try SQLiteStore(path: path)
    store.close()
  }
}
