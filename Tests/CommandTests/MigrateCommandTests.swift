// `livefetch migrate` in a process of its own: scripts, copies, a killed migration.

import FetchModel
import Foundation
import TestSupport
import Testing

@Suite("livefetch migrate", .mayBlock)
struct MigrateCommandTests {
  static let first = """
    {"entities":[
    {"name":"Person","attributes":[{"name":"name","type":"String","optional":false},
      {"name":"age","type":"Integer 16"}],
     "relationships":[{"name":"city","destination":"City","inverse":"people"}]},
    {"name":"City","relationships":[
      {"name":"people","destination":"Person","toMany":true,"inverse":"city"}]}]}
    """
  /// Splits the name, widens the age, adds an ordered relationship and a common parent.
  static let second = """
    {"entities":[
    {"name":"Thing","abstract":true},
    {"name":"Person","parent":"Thing","attributes":[
      {"name":"fullName","type":"String","optional":false,"renamingIdentifier":"name"},
      {"name":"age","type":"Integer 64"},{"name":"rank","type":"Integer 32","default":7}],
     "relationships":[{"name":"city","destination":"City","inverse":"people"}]},
    {"name":"City","attributes":[
      {"name":"peopleCount","type":"Integer 64","derivation":"people.@count"}],"relationships":[
      {"name":"people","destination":"Person","toMany":true,"ordered":true,"inverse":"city"}]}]}
    """

  /// Creates `store.sqlite` under the first version, with `count` people in ten cities.
  private static func folder(_ count: Int) throws -> Folder {
    let folder = try Folder()
    try folder.write(first, to: "one.json")
    try folder.write(second, to: "two.json")
    try folder.write("", to: "store.sqlite")
    try folder.serveOnce("store.sqlite", ["--model", "one.json"])
    try folder.sql(
      """
      WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10)
      INSERT INTO City(id) SELECT i FROM n;
      WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(count))
      INSERT INTO Person(id, name, age, city) SELECT i, 'p' || i, i % 100, 1 + i % 10 FROM n
      """, on: "store.sqlite")
    return folder
  }

  private static let migration = [
    "migrate", "store.sqlite", "--model", "two.json", "--no-backup",
  ]

  /// Returns the version of the model and of all data of the file.
  private static func version(_ folder: Folder, _ count: Int) throws -> Int {
    let model = try folder.run("model", "export", "store.sqlite").output
    #expect(try folder.sql("PRAGMA integrity_check", on: "store.sqlite") == ["ok"])
    #expect(try folder.sql("PRAGMA foreign_key_check", on: "store.sqlite") == [])
    #expect(try folder.run("model", "check", "store.sqlite", "store.sqlite").status == 0)
    if model.contains("fullName") {
      #expect(
        try folder.sql(
          "SELECT count(*), max(fullName), sum(rank), sum(age) FROM Thing WHERE entity = 'Person'",
          on: "store.sqlite") == ["\(count)|p99999|\(count * 7)|\(count / 100 * 4_950)"])
      #expect(
        try folder.sql("SELECT sum(peopleCount) FROM City", on: "store.sqlite") == ["\(count)"])
      return 2
    }
    #expect(
      try folder.sql("SELECT count(*), max(name), sum(age) FROM Person", on: "store.sqlite")
        == ["\(count)|p99999|\(count / 100 * 4_950)"])
    return 1
  }

  @Test func aMigrationThatIsKilledLeavesTheFileBeforeOrAfter() throws {
    let count = 100_000
    let folder = try Self.folder(count)
    try FileManager.default.copyItem(
      atPath: folder.file("store.sqlite"), toPath: folder.file("whole.sqlite"))
    let start = Date()
    let whole = try folder.run(
      "migrate", "whole.sqlite", "--model", "two.json", "--no-backup")
    #expect(whole.status == 0, "\(whole.errors)")
    let duration = Date().timeIntervalSince(start)
    var versions: [Int] = []
    for part in 0..<6 {
      let process = try folder.start(Self.migration, output: "kill.log")
      usleep(UInt32(duration * Double(part + 1) / 7 * 1e6))
      kill(process.processIdentifier, SIGKILL)
      process.waitUntilExit()
      let version = try Self.version(folder, count)
      versions.append(version)
      if version == 2 { break }
    }
    #expect(versions.first == 1, "the first was killed too late: \(versions)")
    if versions.last == 1 {
      #expect(try folder.run(Self.migration).status == 0)
      #expect(try Self.version(folder, count) == 2)
    }
    // The file can be served, whether the migration was killed or not.
    let (server, address) = try folder.serve("store.sqlite")
    let fetched = try folder.run(
      "fetch", address, "Person", "--where", "fullName == 'p77'", "--format", "csv")
    #expect(fetched.output.contains("p77"), "\(fetched.output)\(fetched.errors)")
    stop(server)
  }

  @Test("A dry run of a migration that needs --allow-loss ends with status 65 without it")
  func dryRunOfALoss() throws {
    let folder = try Self.folder(10)
    let age = #"{"name":"age","type":"Integer 16"}"#
    let other = #"{"name":"other","type":"String"}"#
    try folder.write(Self.first.replacing(age, with: other), to: "two.json")
    let plan = ["migrate", "store.sqlite", "--model", "two.json", "--dry-run"]
    let run = try folder.run(plan)
    #expect(run.status == 65)
    #expect(
      run.output == """
        rebuild the table Person from Person
        loses the values of Person.age (10)
        refused: the losses need --allow-loss

        """)
    #expect(run.errors == "")
    let allowed = try folder.run(plan + ["--allow-loss"])
    #expect(allowed.status == 0)
    #expect(
      allowed.output == """
        rebuild the table Person from Person
        loses the values of Person.age (10)

        """)
  }

  @Test func everyMigrationMakesACopyOfItsOwn() throws {
    let folder = try Self.folder(10)
    let to = try folder.run("migrate", "store.sqlite", "--model", "two.json")
    #expect(to.status == 0, "\(to.errors)")
    #expect(try folder.run("check", "store.sqlite").output == "store.sqlite: nothing is wrong\n")
    try folder.write(
      Self.second.replacing("\"rank\"", with: "\"grade\",\"renamingIdentifier\":\"rank\""),
      to: "three.json")
    let on = try folder.run("migrate", "store.sqlite", "--model", "three.json")
    #expect(on.status == 0, "\(on.errors)")
    let copies = try FileManager.default.contentsOfDirectory(atPath: folder.path)
      .filter { $0.hasPrefix("store.sqlite.before-") }.sorted()
    try #require(copies.count == 2, "\(copies)")
    #expect(try folder.run("model", "export", copies[0]).output.contains(#""name":"name""#))
    #expect(try folder.run("model", "export", copies[1]).output.contains("fullName"))
    let taken = try folder.run(
      "migrate", "store.sqlite", "--model", "two.json", "--backup", copies[0])
    #expect(taken.status == 65)
    #expect(taken.errors == "livefetch: \(copies[0]): already exists and would be overwritten\n")
    // A refused migration leaves no copy.
    try folder.write("SELECT nothing;", to: "bad.sql")
    let bad = try folder.run("migrate", "store.sqlite", "--model", "two.json", "--sql", "bad.sql")
    #expect(bad.status == 65)
    let after = try FileManager.default.contentsOfDirectory(atPath: folder.path)
    #expect(after.count { $0.hasPrefix("store.sqlite.before-") } == 2)
  }

  @Test(arguments: [
    ("SELECT 1;\nUPDATE Thing SET fulName = 'x';", "own.sql, line 2: no such column: fulName"),
    ("-- a\n/* b\n c */ SELEC 1", "own.sql, line 3: near \"SELEC\": syntax error"),
    ("SELECT 1;\n\nINSERT INTO City(id) VALUES (1);", "own.sql, line 3: UNIQUE constraint failed"),
    ("SELECT 1; COMMIT;", "own.sql, line 1: a script may not begin or end transactions"),
    ("\nATTACH 'x' AS y", "own.sql, line 2: a script may not begin or end transactions"),
  ])
  func aFailedScriptIsReportedWithItsLine(_ sql: String, _ message: String) throws {
    let folder = try Self.folder(3)
    try folder.write(sql, to: "own.sql")
    let run = try folder.run(
      "migrate", "store.sqlite", "--model", "two.json", "--sql", "own.sql")
    #expect(run.status == 65)
    #expect(run.errors.hasPrefix("livefetch: store.sqlite: \(message)"), "\(run.errors)")
    #expect(try folder.sql("SELECT count(name) FROM Person", on: "store.sqlite") == ["3"])
  }

  @Test func scriptsBeforeAndAfterTransferValues() throws {
    let folder = try Self.folder(3)
    try folder.write(
      "CREATE TABLE kept AS SELECT id, name FROM Person; UPDATE Person SET age = NULL;",
      to: "before.sql")
    try folder.write(
      "UPDATE Thing SET rank = length((SELECT name FROM kept WHERE kept.id = Thing.id));\nDROP TABLE kept;",
      to: "after.sql")
    let run = try folder.run(
      "migrate", "store.sqlite", "--model", "two.json", "--sql-before", "before.sql", "--sql",
      "after.sql", "--no-backup")
    #expect(run.status == 0, "\(run.errors)")
    #expect(
      try folder.sql("SELECT fullName, age, rank FROM Thing", on: "store.sqlite")
        == ["p1|NULL|2", "p2|NULL|2", "p3|NULL|2"])
  }

  @Test func aMissingFileIsReported() throws {
    let folder = try Folder()
    try folder.write(Self.first, to: "one.json")
    let run = try folder.run("migrate", "none.sqlite", "--model", "one.json")
    #expect(run.status == 66)
    #expect(run.errors == "livefetch: none.sqlite: there is no such file\n")
  }
}
