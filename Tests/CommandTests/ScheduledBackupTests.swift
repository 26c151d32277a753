// `serve --backup-every`: the copies that are made, kept and restored.

import Foundation
import TestSupport
import Testing

@Suite("Backups on a schedule", .mayBlock)
struct ScheduledBackupTests {
  private func copies(_ folder: Folder, in directory: String = "w.sqlite.backups") -> [String] {
    let names = try? FileManager.default.contentsOfDirectory(atPath: folder.file(directory))
    return (names ?? []).sorted()
  }

  /// The id in the names of a store's copies.
  private func id(_ folder: Folder, _ name: String = "w.sqlite") throws -> String {
    try #require(
      try folder.sql("SELECT value FROM livefetch_store WHERE key = 'backup_id'", on: name).first)
  }

  @Test("The newest copies are kept, and a copy can be restored")
  func rehearsal() throws {
    let folder = try smallFolder()
    let (_, address) = try folder.serve(
      "w.sqlite", ["--backup-every", "1s", "--keep", "2"])
    var seen: Set<String> = []
    #expect(
      eventually(within: .seconds(300)) {
        seen.formUnion(copies(folder).filter { $0.hasSuffix(".sqlite") })
        return seen.count >= 3 && copies(folder).filter { $0.hasSuffix(".sqlite") }.count <= 2
      })
    let shape = /w-[0-9a-z]{6}-[0-9]{8}T[0-9]{6}Z\.sqlite/
    #expect(seen.allSatisfy { $0.wholeMatch(of: shape) != nil }, "\(seen)")

    let saved = try folder.run(
      "save", address,
      input: #"{"changes":[{"update":"City","id":1,"values":{"name":"Saved"}}]}"#)
    #expect(saved.status == 0, "\(saved.errors)")
    let before = Set(copies(folder))
    #expect(
      eventually(within: .seconds(300)) {
        Set(copies(folder).filter { $0.hasSuffix(".sqlite") }).subtracting(before).count == 2
      })
    let newest = try #require(copies(folder).last { $0.hasSuffix(".sqlite") })
    let restored = try folder.run("restore", "w.sqlite.backups/\(newest)", "r.sqlite")
    #expect(restored.status == 0, "\(restored.errors)")
    #expect(try folder.sql("SELECT name FROM City WHERE id = 1", on: "r.sqlite") == ["Saved"])
    #expect(try folder.run("check", "r.sqlite").status == 0)
  }

  @Test("Of a file that is cut to nothing no copy is made, and the earlier ones stay")
  func emptiedFile() throws {
    let folder = try smallFolder()
    let (_, address) = try folder.serve("w.sqlite", ["--backup-every", "1s", "--keep", "2"])
    let good = { copies(folder).filter { $0.hasSuffix(".sqlite") } }
    #expect(eventually(within: .seconds(300)) { good().count == 2 })
    #expect(truncate(folder.file("w.sqlite"), 0) == 0)
    #expect(
      eventually(within: .seconds(300)) {
        let failed = try? FaultClient(address: address).metric("livefetch_backups_failed_total")
        return (failed ?? 0) >= 3
      })
    let newest = try #require(good().last)
    #expect(good().count == 2)
    #expect(try folder.run("restore", "w.sqlite.backups/\(newest)", "r.sqlite").status == 0)
    #expect(try folder.sql("SELECT count(*) FROM City", on: "r.sqlite") == ["3"])
  }

  @Test(
    "A copy of a later time neither counts nor is removed, and a removed directory is made again")
  func laterCopy() throws {
    let folder = try smallFolder()
    try folder.serveOnce("w.sqlite")
    let later = "w-\(try id(folder))-20991231T000000Z.sqlite"
    try FileManager.default.createDirectory(
      atPath: folder.file("w.sqlite.backups"), withIntermediateDirectories: false)
    try folder.write("x", to: "w.sqlite.backups/\(later)")
    _ = try folder.serve("w.sqlite", ["--backup-every", "1s", "--keep", "1"])
    let others = { copies(folder).filter { $0.hasSuffix(".sqlite") && $0 != later } }
    #expect(eventually(within: .seconds(300)) { others().count == 1 })
    #expect(copies(folder).contains(later))
    try FileManager.default.removeItem(atPath: folder.file("w.sqlite.backups"))
    #expect(eventually(within: .seconds(300)) { others().count == 1 })
  }

  @Test("The copies of an earlier run count, and other files are left alone")
  func earlierRun() throws {
    let folder = try smallFolder()
    let flags = ["--backup-every", "1h", "--backup-to", "b", "--keep", "1"]
    let (first, _) = try folder.serve("w.sqlite", flags)
    let made = { copies(folder, in: "b").filter { $0.hasSuffix(".sqlite") } }
    #expect(eventually(within: .seconds(300)) { made().count == 1 })
    stop(first)
    let others = [
      "w-20200101T000000Z.sqlite", "w-aaaaaa-20200101T000000Z.sqlite", "w-old.sqlite",
      "x-20200101T000000Z.sqlite", "notes.txt",
    ]
    let earlier = made() + others
    for name in others + ["w-\(try id(folder))-20200101T000000Z.sqlite.partial"] {
      try folder.write("x", to: "b/\(name)")
    }
    let (_, address) = try folder.serve("w.sqlite", flags)
    #expect(copies(folder, in: "b") == earlier.sorted())
    #expect(try FaultClient(address: address).metric("livefetch_backups_total") == 0)
  }

  @Test("Two stores of one name keep their own copies in one directory")
  func oneDirectory() throws {
    let folder = try Folder()
    let stores = ["a", "b"]
    for store in stores {
      try FileManager.default.createDirectory(
        atPath: folder.file(store), withIntermediateDirectories: false)
      try folder.sql(
        "CREATE TABLE T(id INTEGER PRIMARY KEY, name TEXT); INSERT INTO T VALUES (1, '\(store)')",
        on: "\(store)/w.sqlite")
    }
    let servers = try stores.map { store in
      try folder.serve(
        "\(store)/w.sqlite", ["--backup-every", "1s", "--keep", "2", "--backup-to", "out"]
      ).process
    }
    let starts = try stores.map { "w-\(try id(folder, "\($0)/w.sqlite"))-" }
    var seen: Set<String> = []
    #expect(
      eventually(within: .seconds(300)) {
        seen.formUnion(copies(folder, in: "out").filter { $0.hasSuffix(".sqlite") })
        return starts.allSatisfy { start in seen.count { $0.hasPrefix(start) } >= 3 }
      })
    for server in servers { stop(server) }
    let kept = copies(folder, in: "out").filter { $0.hasSuffix(".sqlite") }
    for (store, start) in zip(stores, starts) {
      let own = kept.filter { $0.hasPrefix(start) }
      #expect(own.count >= 2, "\(kept)")
      for name in own {
        #expect(try folder.sql("SELECT name FROM T", on: "out/\(name)") == [store])
      }
    }
  }

  @Test("A copied file that is served counts as another store, and the first one keeps its id")
  func copiedFile() throws {
    let folder = try smallFolder()
    try folder.serveOnce("w.sqlite")
    let first = try id(folder)
    try FileManager.default.copyItem(
      atPath: folder.file("w.sqlite"), toPath: folder.file("c.sqlite"))
    for name in ["w.sqlite", "c.sqlite"] { try folder.serveOnce(name) }
    #expect(try id(folder) == first)
    #expect(try id(folder, "c.sqlite") != first)
  }

  @Test(
    "Settings that cannot be used are refused",
    arguments: [
      (["--keep", "3"], "--keep needs --backup-every"),
      (["--backup-to", "b"], "--backup-to needs --backup-every"),
      (
        ["--backup-every", "soon"],
        "--backup-every takes a time such as 90s, 15m, 1h, 7d or 2w, not 'soon'"
      ),
      (
        ["--backup-every", "0s"],
        "--backup-every takes a time such as 90s, 15m, 1h, 7d or 2w, not '0s'"
      ),
      // Nobody could tell hours from seconds.
      (
        ["--backup-every", "24"],
        "--backup-every takes a time such as 90s, 15m, 1h, 7d or 2w, not '24'"
      ),
      (
        ["--backup-every", "1h", "--keep", "0"],
        "--keep takes a whole number from 1 to 100000, not '0'"
      ),
    ])
  func badSettings(flags: [String], complaint: String) throws {
    let (status, message) = try #require(refusal(of: flags))
    #expect(status == 64)
    #expect(message.contains(complaint), "\(message)")
  }

  @Test(
    "A directory that cannot be made, and a store that was never served for writing, end the start",
    arguments: [
      (["--backup-to", "w.sqlite/b"], "w.sqlite/b: cannot be made; backups need it"),
      (["--read-only"], "w.sqlite: was never served for writing here"),
    ])
  func refused(flags: [String], message: String) throws {
    let folder = try smallFolder()
    let run = try folder.run(
      ["serve", "w.sqlite", "--port", "0", "--backup-every", "1h"] + flags)
    #expect(run.status == 74)
    #expect(run.errors.contains(message), "\(run.errors)")
  }
}
