// To-many relationships at earlier positions, compared with the rows as they were.

import FetchModel
import TestSupport
import Testing

@testable import SQLiteStore

@Suite("Past positions: to-many links, with indexes and without", .mayBlock)
struct PastLinksTests {
  /// Things refer to their owner without an index. Owners and marks are linked in both directions:
  /// by pairs that are the key, and by a join table with a rowid.
  static let owners = """
    CREATE TABLE Owner(id INTEGER PRIMARY KEY, name TEXT);
    CREATE TABLE Thing(id INTEGER PRIMARY KEY, price INTEGER, owner INTEGER REFERENCES Owner);
    CREATE TABLE Mark(code TEXT PRIMARY KEY NOT NULL, size INTEGER);
    CREATE TABLE Owner_Mark(owner INTEGER REFERENCES Owner, mark TEXT REFERENCES Mark,
      PRIMARY KEY(owner, mark));
    CREATE TABLE Place(x INTEGER NOT NULL, y INTEGER NOT NULL, name TEXT, PRIMARY KEY(x, y));
    CREATE TABLE Visit(id INTEGER PRIMARY KEY, x INTEGER, y INTEGER, days INTEGER,
      FOREIGN KEY (x, y) REFERENCES Place(x, y));
    CREATE TABLE Word(id INTEGER PRIMARY KEY, text TEXT);
    CREATE TABLE Owner_Word(owner INTEGER REFERENCES Owner, word INTEGER REFERENCES Word);
    """

  static let queries: [(entity: String, query: String)] = [
    ("Owner", "where=Thing.@count>1&select=name,Thing"),
    ("Owner", "where=ANY Thing.price>3 AND Thing.@sum.price<9&sort=name"),
    ("Owner", "where=NONE Mark.size>2&select=name,Mark"),
    ("Owner", "where=Mark.@count==2 OR Mark.@max.size>3&sort=-name"),
    ("Owner", "where=SUBQUERY(Mark, $m, $m.size>1 AND ANY $m.Owner.name=='a').@count>0"),
    ("Owner", "where=Word.@count>0&select=name,Word"),
    ("Owner", "where=ANY Word.text=='a' AND Word.@max.text!='b'"),
    ("Mark", "where=ANY Owner.Thing.price>2&select=size,Owner"),
    ("Place", "where=Visit.@sum.days>2&select=name,Visit"),
    ("Thing", "where=ANY owner.Mark.size>2 AND owner.Thing.@count>1&sort=owner.name,price"),
  ]

  private static func fill() -> String {
    """
    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 40)
      INSERT INTO Owner SELECT i, 'b' FROM n;
    INSERT INTO Thing SELECT id, id % 6, 1 + id * 7 % 30 FROM Owner;
    INSERT INTO Mark SELECT 'm' || id, id % 5 FROM Owner;
    INSERT INTO Owner_Mark SELECT id, 'm' || (1 + id * 3 % 20) FROM Owner;
    INSERT INTO Place SELECT id % 7, id, 'p' FROM Owner;
    INSERT INTO Word SELECT id, 'a' FROM Owner;
    INSERT INTO Owner_Word SELECT id, 1 + id * 3 % 20 FROM Owner;
    INSERT INTO Visit SELECT id, id % 7, id, id % 3 FROM Owner;
    """
  }

  @Test(arguments: [1, 2, 3] as [UInt64])
  func everyPastRowHasItsOldValues(seed: UInt64) throws {
    var random = SeededRandom(seed: seed)
    let file = try FetchFixture(Self.owners + Self.fill())
    let plans = try Self.queries.map { try file.plan($0.entity, $0.query) }
    let all = try Self.queries.map {
      Set(try PastTests.allRows(file, file.plan($0.entity)).keys)
    }
    var history: [(token: Token, rows: [[ObjectID: Row]])] = []
    for _ in 0..<5 {
      history.append((try file.tracked.token, try plans.map { try PastTests.allRows(file, $0) }))
      for _ in 0..<12 { try file.tracked.file.runExternally(Self.randomChange(&random)) }
    }
    let (transaction, gathered) = (try file.transaction, try file.materializedTransaction())
    for (token, then) in history {
      for (number, plan) in plans.enumerated() {
        let ids = all[number]
        let few = Set(ids.sorted().shuffled(using: &random).prefix(5))
        for (transaction, ids) in [
          (transaction, ids), (gathered, ids), (transaction, few), (gathered, few),
        ] {
          let past = try transaction.rows(of: plan, ids: ids, at: .past(token.position))
          #expect(
            past == then[number].filter { ids.contains($0.key) },
            "seed \(seed), from \(token), \(Self.queries[number])")
        }
      }
    }
  }

  private static func randomChange(_ random: inout SeededRandom) -> String {
    let (id, other) = (
      Int.random(in: 1...40, using: &random), Int.random(in: 1...40, using: &random)
    )
    let name = ["a", "b"].randomElement(using: &random)!
    return [
      "UPDATE Owner SET name = '\(name)' WHERE id = \(id)",
      "UPDATE Thing SET owner = \(other), price = \(id % 7) WHERE id % 9 = \(id % 9)",
      "UPDATE Thing SET owner = NULL WHERE id = \(id)",
      "INSERT OR REPLACE INTO Thing VALUES (\(id), 5, \(other))",
      "DELETE FROM Thing WHERE id = \(id)",
      "UPDATE Mark SET size = \(other % 6) WHERE code = 'm\(id)'",
      "DELETE FROM Mark WHERE code = 'm\(id)'",
      "INSERT OR IGNORE INTO Mark VALUES ('m\(id)', 4)",
      "INSERT OR IGNORE INTO Owner_Mark VALUES (\(id), 'm\(other)')",
      "DELETE FROM Owner_Mark WHERE owner % 8 = \(id % 8)",
      "UPDATE OR IGNORE Owner_Mark SET mark = 'm\(other)' WHERE owner = \(id)",
      "UPDATE Word SET text = '\(name)' WHERE id = \(id)",
      "UPDATE Owner_Word SET word = \(other) WHERE owner % 5 = \(id % 5)",
      "INSERT INTO Owner_Word VALUES (\(id), \(other))",
      "DELETE FROM Owner_Word WHERE word = \(id)",
      "DELETE FROM Owner WHERE id = \(id)",
      "INSERT OR IGNORE INTO Owner VALUES (\(id), '\(name)')",
      "UPDATE Visit SET days = 4, y = \(other), x = \(other % 7) WHERE id = \(id)",
      "UPDATE OR IGNORE Place SET y = y + 1 WHERE y = \(id)",
      "DELETE FROM Place WHERE y = \(id)",
    ].randomElement(using: &random)!
  }

  // MARK: Cost

  @Test(arguments: [
    "where=Thing.@count>0", "where=ANY Thing.price>0", "where=Thing.@sum.price>0",
    "where=Mark.@count>0", "where=ANY Mark.size>0", "where=NONE Mark.Owner.name=='x'",
  ])
  func theCostOfLinksGrowsLinearly(query: String) throws {
    for isGathered in [false, true] {
      let small = try Self.work(query, of: 500, isGathered)
      let large = try Self.work(query, of: 2_000, isGathered)
      #expect(large < 6 * small, "\(small) thousand steps, then \(large)")
    }
  }

  /// Returns the cost, in thousands of virtual machine steps, of finding `count` owners as they
  /// were before a third of the things, marks and links changed, and as they are now.
  private static func work(_ query: String, of count: Int, _ isGathered: Bool) throws -> Int {
    let file = try FetchFixture(
      owners + """
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(count))
          INSERT INTO Owner SELECT i, 'b' FROM n;
        INSERT INTO Thing SELECT id, id, id FROM Owner;
        INSERT INTO Mark SELECT 'm' || id, id FROM Owner;
        INSERT INTO Owner_Mark SELECT id, 'm' || id FROM Owner;
        """)
    let plan = try file.plan("Owner", query)
    let position = try file.tracked.token.position
    try file.tracked.file.runExternally(
      """
      UPDATE Thing SET owner = 1 + id % \(count) WHERE id % 3 = 0;
      UPDATE Mark SET size = size + 1 WHERE size % 3 = 0;
      UPDATE Owner_Mark SET mark = 'm' || (1 + owner % \(count)) WHERE owner % 3 = 0;
      """)
    let transaction = try isGathered ? file.materializedTransaction() : file.transaction
    let ids = Set((1...count).map { ObjectID.integer(Int64($0)) })
    // Overlays are materialized before the measurement.
    _ = try transaction.rows(of: plan, ids: [.integer(1)], at: .past(position))
    let steps = MachineSteps(on: transaction.connection)
    #expect(try transaction.rows(of: plan, ids: ids, at: .past(position)).count == count)
    _ = try transaction.rows(of: plan, ids: ids, at: .now)
    return steps.thousands
  }

  /// Twenty thousand marks, of which one owner has one.
  @Test func objectsOfLinksAreLookedUpByIndex() throws {
    let file = try FetchFixture(
      Self.owners + """
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)
          INSERT INTO Mark SELECT 'm' || i, i FROM n;
        INSERT INTO Owner VALUES (1, 'a');
        INSERT INTO Owner_Mark VALUES (1, 'm7');
        """)
    let plan = try file.plan("Owner", "where=Mark.@sum.size==7")
    let position = try file.tracked.token.position
    try file.tracked.file.runExternally("UPDATE Mark SET size = 8 WHERE code = 'm7'")
    let transaction = try file.transaction
    let steps = MachineSteps(on: transaction.connection)
    #expect(try transaction.rows(of: plan, ids: [.integer(1)], at: .past(position)).count == 1)
    #expect(try transaction.rows(of: plan, ids: [.integer(1)], at: .now).isEmpty)
    #expect(steps.thousands < 5, "\(steps.thousands)")
  }
}
