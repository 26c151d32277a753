// A write-ahead log whose database is missing or empty: no command opens, creates or overwrites the
// database.

import Foundation
import TestSupport
import Testing

/// SQLite deletes the log of a database that is missing or was cut to nothing.
@Suite("The log of a database that is missing or was cut to nothing", .mayBlock)
struct OrphanedLogTests {
  private static let frames = "frames of acknowledged saves"

  private func folder(database: String?) throws -> Folder {
    let folder = try Folder()
    try folder.sql(smallFixture, on: "whole.sqlite")
    try folder.write("name\nTrondheim\n", to: "c.csv")
    try folder.write(Self.frames, to: "w.sqlite-wal")
    if let database { try folder.write(database, to: "w.sqlite") }
    return folder
  }

  @Test(
    "No command opens the database",
    arguments: [
      ["serve", "w.sqlite", "--create", "--port", "0"], ["check", "w.sqlite"],
      ["status", "w.sqlite"], ["backup", "w.sqlite", "b.sqlite"], ["detach", "w.sqlite"],
      ["alter", "w.sqlite", "CREATE TABLE t(id INTEGER PRIMARY KEY)"], ["key", "list", "w.sqlite"],
      ["import", "w.sqlite", "c.csv", "--into", "City"], ["fetch", "w.sqlite", "City"],
      ["export", "w.sqlite", "City"],
    ], ["", "x"])
  func cut(arguments: [String], content: String) throws {
    let folder = try folder(database: content)
    let run = try folder.run(arguments)
    #expect(run.status == 65, "\(run.output)\(run.errors)")
    #expect(
      run.errors == """
        livefetch: w.sqlite: the file was cut short: it has \(content.count) bytes, and its log \
        has more (restore it from a backup)

        """)
    #expect(try folder.read("w.sqlite-wal") == Self.frames)
    #expect(try folder.read("w.sqlite") == content)
  }

  @Test("No database is created beside the log of a missing one")
  func missing() throws {
    for arguments in [
      ["serve", "w.sqlite", "--create", "--port", "0"],
      ["import", "w.sqlite", "c.csv", "--into", "City"],
    ] {
      let folder = try folder(database: nil)
      let run = try folder.run(arguments)
      #expect(run.status == 65, "\(run.errors)")
      #expect(run.errors.contains("holds data (put the database back, or move the log)"))
      #expect(try folder.read("w.sqlite-wal") == Self.frames)
      #expect(!folder.has("w.sqlite"))
    }
  }

  @Test("A backup is restored without the log, which is kept", arguments: [nil, "", "x"])
  func restore(content: String?) throws {
    let folder = try folder(database: content)
    let run = try folder.run("restore", "whole.sqlite", "w.sqlite")
    #expect(run.status == 0, "\(run.errors)")
    #expect(try folder.sql("SELECT count(*) FROM City", on: "w.sqlite") == ["3"])
    #expect(try folder.read("w.sqlite-wal-orphan") == Self.frames)
  }

  @Test("A copy takes over no log that lies at its place", arguments: [nil, "former"])
  func copy(former: String?) throws {
    let folder = try folder(database: former)
    try folder.write(Self.frames, to: "w.sqlite-journal")
    let run = try folder.run("backup", "whole.sqlite", "w.sqlite", "--force")
    #expect(run.status == 0, "\(run.errors)")
    #expect(!folder.has("w.sqlite-wal") && !folder.has("w.sqlite-journal"))
    #expect(folder.has("w.sqlite-wal-orphan") == (former == nil))
    #expect(try folder.sql("SELECT count(*) FROM City", on: "w.sqlite") == ["3"])
  }

  @Test("No sample is loaded beside a log")
  func sample() throws {
    let folder = try folder(database: nil)
    let run = try folder.run("demo", "todo", "--data", "w.sqlite", "--port", "0")
    #expect(run.status == 65, "\(run.errors)")
    #expect(run.errors.contains("holds data (put the database back, or move the log)"))
    #expect(try folder.read("w.sqlite-wal") == Self.frames)
    #expect(!folder.has("w.sqlite"))
  }

  @Test("No file is created in place of a symbolic link to a missing one")
  func link() throws {
    let folder = try Folder()
    symlink("gone.sqlite", folder.file("link.sqlite"))
    let run = try folder.run("serve", "link.sqlite", "--create", "--port", "0")
    #expect(run.status == 65, "\(run.errors)")
    #expect(run.errors.contains("it is a symbolic link to a file that does not exist"))
    #expect(!folder.has("gone.sqlite"))
  }
}
