// Exit statuses of commands whose files are missing, unreadable or unusable.

import Foundation
import TestSupport
import Testing

@Suite("Exit statuses", .mayBlock)
struct StatusTests {
  private func folder() throws -> Folder {
    let folder = try smallFolder()
    try folder.write(String(repeating: "no database ", count: 400), to: "junk.db")
    let model = #"{"entities":[{"name":"City","attributes":[{"name":"name","type":"String"}]}]}"#
    try folder.write(model, to: "m.json")
    return folder
  }

  @Test(
    "A missing file ends with status 66 and is named",
    arguments: [
      ["migrate", "GONE", "--model", "m.json"], ["migrate", "w.sqlite", "--model", "GONE"],
      ["model", "import", "GONE.xcdatamodeld"], ["model", "import", "GONE.xcdatamodel"],
      ["model", "show", "GONE"], ["model", "diff", "m.json", "GONE"], ["model", "check", "GONE"],
      ["backup", "GONE", "c.sqlite"], ["restore", "GONE", "w.sqlite"], ["serve", "GONE"],
      ["serve", "GONE", "--create", "--read-only"],
      ["serve", "w.sqlite", "--model", "GONE"], ["fetch", "GONE", "City"],
      ["export", "GONE", "City"], ["save", "GONE"], ["check", "GONE"], ["status", "GONE"],
      ["detach", "GONE"], ["import", "w.sqlite", "GONE", "--into", "City"],
      ["serve", "w.sqlite", "--config", "GONE"], ["config", "--config", "GONE"],
      ["serve", "w.sqlite", "--public", "GONE"], ["demo", "--public", "GONE"],
    ])
  func missing(arguments: [String]) throws {
    let run = try folder().run(arguments)
    #expect(run.status == 66, "\(run.errors)")
    #expect(run.errors.hasPrefix("livefetch: GONE"), "\(run.errors)")
    #expect(run.errors.components(separatedBy: "livefetch: ").count == 2, "\(run.errors)")
  }

  @Test(
    "A directory is not taken for a file",
    arguments: [
      ["serve", "."], ["demo", "--data", "."], ["fetch", ".", "City"], ["export", ".", "City"],
      ["save", "."], ["import", ".", "m.json", "--into", "City"], ["check", "."], ["status", "."],
      ["detach", "."], ["backup", ".", "c.sqlite"], ["backup", "w.sqlite", ".", "--force"],
      ["restore", ".", "w.sqlite"], ["restore", "w.sqlite", "."], ["model", "show", "."],
      ["migrate", ".", "--model", "m.json"], ["serve", "w.sqlite", "--model", "."],
      ["config", "--config", "."],
    ])
  func directory(arguments: [String]) throws {
    let run = try folder().run(arguments)
    #expect(run.status == 66, "\(run.errors)")
    #expect(run.errors == "livefetch: .: is a directory, not a file\n")
  }

  @Test(
    "A file that may not be read ends with status 66, and does not count as missing",
    arguments: [
      (["serve", "w.sqlite", "--port", "0"], "w.sqlite"), (["check", "w.sqlite"], "w.sqlite"),
      (["serve", "shut/x.sqlite", "--port", "0"], "shut/x.sqlite"),
      (["serve", "v.sqlite", "--port", "0", "--token-file", "token.txt"], "token.txt"),
    ])
  func unreadable(arguments: [String], name: String) throws {
    let folder = try folder()
    try folder.sql(smallFixture, on: "v.sqlite")
    try folder.write("s3cret", to: "token.txt")
    try FileManager.default.createDirectory(
      atPath: folder.file("shut"), withIntermediateDirectories: false)
    for path in ["w.sqlite", "token.txt", "shut"].map(folder.file) {
      try FileManager.default.setAttributes([.posixPermissions: 0], ofItemAtPath: path)
    }
    defer {
      try? FileManager.default.setAttributes(
        [.posixPermissions: 0o700], ofItemAtPath: folder.file("shut"))
    }
    // Root may read every file unless it gives up the capabilities for it.
    let command = #"exec setpriv --bounding-set=-dac_override,-dac_read_search "$0" "$@""#
    let run = try folder.start(
      arguments, output: "run.log", limits: geteuid() == 0 ? command : nil)
    run.waitUntilExit()
    #expect(run.terminationStatus == 66)
    #expect(try folder.read("run.log.err") == "livefetch: \(name): may not be read by this user\n")
  }

  @Test(
    "Of two files the unusable one is named",
    arguments: [
      (["restore", "junk.db", "w.sqlite"], Int32(65), "junk.db: the file is not an SQLite"),
      (["restore", "w.sqlite", "./w.sqlite"], 64, "./w.sqlite: is the backup itself"),
      (["backup", "junk.db", "c.sqlite"], 65, "junk.db: the file is not an SQLite"),
      (["backup", "w.sqlite", "none/c.sqlite"], 74, "none/c.sqlite: "),
      (["restore", "w.sqlite", "none/c.sqlite"], 74, "none/c.sqlite: "),
      (
        ["demo", "--data", "none/d.sqlite"], 74,
        "none/d.sqlite: the sample could not be loaded: the file"
      ),
      (["demo", "todo", "--data", ""], 64, "--data: the path is empty"),
      (
        ["demo", "blog", "--data", "w.sqlite"], 65, "w.sqlite: holds something else than the sample"
      ),
      (["fetch", "https://127.0.0.1:1", "City"], 69, "https://127.0.0.1:1: Connection refused"),
      (
        ["fetch", "ftp://h.example", "City"], 64,
        "ftp://h.example: an address begins with http:// or https://"
      ),
      (
        ["fetch", "http://me:secret@127.0.0.1:1", "City"], 64,
        "the address of a server has no user, password or query"
      ),
      (
        ["export", "http://127.0.0.1:1/?token=secret", "City"], 64,
        "the address of a server has no user, password or query"
      ),
    ])
  func named(arguments: [String], status: Int32, complaint: String) throws {
    let folder = try folder()
    let run = try folder.run(arguments)
    #expect(run.status == status, "\(run.errors)")
    #expect(run.errors.hasPrefix("livefetch: " + complaint), "\(run.errors)")
    #expect(try folder.sql("SELECT count(*) FROM City", on: "w.sqlite") == ["3"])
  }

  @Test("A server reports a damaged file on standard error")
  func damage() throws {
    let folder = try Folder()
    try folder.sql(
      """
      CREATE TABLE T(id INTEGER PRIMARY KEY, x TEXT);
      WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000)
      INSERT INTO T SELECT i, hex(zeroblob(100)) FROM n
      """, on: "t.sqlite")
    let (server, address) = try folder.serve("t.sqlite")
    let file = try FileHandle(forUpdating: URL(fileURLWithPath: folder.file("t.sqlite")))
    try file.seek(toOffset: 40 * 4_096)
    try file.write(contentsOf: Data(repeating: 0xAA, count: 100 * 4_096))
    try file.close()
    _ = try folder.run("fetch", address, "T", "--sort", "-x", "--limit", "3")
    server.terminate()
    server.waitUntilExit()
    let errors = try folder.read("serve.log.err")
    #expect(errors.contains("database corruption"), "\(errors)")
    #expect(errors.contains("`livefetch check t.sqlite` looks for damage"))
    // Started again, it looks for damage by itself: before the first save, for a quarter of a second,
    // and by the probe of readiness.
    let (second, again) = try folder.serve("t.sqlite")
    let found = try folder.wait(for: "serve.log.err") { $0.contains("is damaged") }
    #expect(try folder.run("status", again).status == 69)
    second.terminate()
    second.waitUntilExit()
    #expect(found.hasPrefix("livefetch: t.sqlite: "), "\(found)")
  }
}
