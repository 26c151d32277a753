// Former rows in temporary tables, which many queries at one position share.

import FetchModel
import Synchronization
import TestSupport
import Testing

@testable import SQLiteStore

@Suite("Materialized history: one overlay serves many queries at one position", .mayBlock)
struct MaterializedHistoryTests {
  private static let shadow = "temp.\"livefetch_shadow_City\""

  private static func gathered(_ transaction: SQLiteReadTransaction) throws -> [String] {
    try transaction.connection.all("SELECT id, name FROM \(shadow) ORDER BY livefetch_position") {
      "\($0.integer(0)) \($0.text(1))"
    }
  }

  private static func names(
    _ transaction: SQLiteReadTransaction, _ plan: FetchPlan, _ ids: Set<ObjectID>,
    at position: HistoryPosition
  ) throws -> [ObjectID: String] {
    try transaction.rows(of: plan, ids: ids, at: .past(position)).mapValues {
      String(decoding: $0.json, as: UTF8.self)
    }
  }

  /// Returns a file of cities after `change`, a plan of their names, and the position before.
  private static func cities(
    _ change: String
  ) throws -> (file: FetchFixture, plan: FetchPlan, position: HistoryPosition) {
    let file = try FetchFixture(FetchFixture.fixture)
    let position = try file.tracked.token.position
    try file.tracked.file.runExternally(change)
    return (file, try file.plan("City", "select=name"), position)
  }

  @Test func fewQueriesUseTheirOwnOverlayAndManyMaterializeIt() throws {
    let (file, plan, position) = try Self.cities("UPDATE City SET name = 'x' WHERE id IN (10, 11)")
    let transaction = try file.materializedTransaction()
    transaction.connection.past.minimumRows = 2
    transaction.connection.past.queriesBefore = 2
    for _ in 0..<2 {
      _ = try transaction.rows(of: plan, ids: [.integer(10)], at: .past(position))
      #expect(throws: StoreError.self) { try Self.gathered(transaction) }
    }
    let names = try Self.names(transaction, plan, [.integer(10), .integer(20)], at: position)
    #expect(
      names == [
        .integer(10): #"{"id":10,"name":"Shanghai"}"#, .integer(20): #"{"id":20,"name":"Tokyo"}"#,
      ])
    #expect(try Self.gathered(transaction) == ["10 Shanghai", "11 Beijing"])
  }

  @Test func anOverlayOfFewRowsIsNotMaterialized() throws {
    let (file, plan, position) = try Self.cities("UPDATE City SET name = 'x' WHERE id = 10")
    let transaction = try file.materializedTransaction()
    transaction.connection.past.minimumRows = 2
    for _ in 0..<5 { _ = try transaction.rows(of: plan, ids: [.integer(10)], at: .past(position)) }
    #expect(throws: StoreError.self) { try Self.gathered(transaction) }
  }

  /// The first history row of each key counts, at whatever position a step of filling ends.
  @Test func anOverlayFilledInManyStepsHoldsTheFirstValues() throws {
    let (file, plan, position) = try Self.cities(
      """
      UPDATE City SET name = 'first' WHERE id = 10;
      WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 9000)
        INSERT INTO City SELECT 1000 + i, 'new', i, 1 FROM n;
      UPDATE City SET name = 'last' WHERE id IN (10, 11);
      """)
    let ids: Set<ObjectID> = [.integer(10), .integer(11), .integer(1001), .integer(9999)]
    let names = try Self.names(try file.materializedTransaction(), plan, ids, at: position)
    #expect(
      names == [
        .integer(10): #"{"id":10,"name":"Shanghai"}"#,
        .integer(11): #"{"id":11,"name":"Beijing"}"#,
      ])
  }

  @Test func anotherPositionIsMaterializedAgain() throws {
    let file = try FetchFixture(FetchFixture.fixture)
    let plan = try file.plan("City", "select=name")
    var positions: [HistoryPosition] = []
    for name in ["a", "b", "c"] {
      positions.append(try file.tracked.token.position)
      try file.tracked.file.runExternally("UPDATE City SET name = '\(name)' WHERE id = 10")
    }
    let transaction = try file.materializedTransaction()
    for (position, name) in zip(positions + positions.reversed(), "Sab" + "baS") {
      let expected = name == "S" ? "Shanghai" : "\(name)"
      let names = try Self.names(transaction, plan, [.integer(10)], at: position)
      #expect(names == [.integer(10): "{\"id\":10,\"name\":\"\(expected)\"}"])
    }
  }

  /// Interrupting a statement that writes would end the whole read transaction.
  @Test func aCancelledQueryKeepsItsTransactionAndTheNextOneContinues() throws {
    let file = try FetchFixture(FetchFixture.fixture)
    let plan = try file.plan("City", "select=name")
    let position = try file.tracked.token.position
    try file.tracked.file.runExternally(
      """
      UPDATE City SET name = 'x' WHERE id = 10;
      WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 9000)
        INSERT INTO City SELECT 1000 + i, 'new', i, 1 FROM n;
      """)
    let transaction = try file.materializedTransaction()
    let connection = transaction.connection
    let looks = Atomic(0)
    // The first check precedes all steps, the second follows the first step.
    let isCancelled = { @Sendable in looks.add(1, ordering: .relaxed).newValue > 1 }
    #expect(throws: StoreError.queryTimeout) {
      try connection.withCancellation(isCancelled) { () throws(StoreError) in
        try transaction.rows(of: plan, ids: [.integer(10)], at: .past(position))
      }
    }
    #expect(!connection.isInAutocommit)
    #expect(try Self.gathered(transaction).count == 2_000)
    let names = try Self.names(transaction, plan, [.integer(10)], at: position)
    #expect(names == [.integer(10): #"{"id":10,"name":"Shanghai"}"#])
    #expect(try Self.gathered(transaction).count == 9_001)
  }

  @Test func withoutSpaceEachQueryFindsTheFormerRowsOrFails() throws {
    let (file, plan, position) = try Self.cities(
      """
      UPDATE City SET name = 'x' WHERE id = 10;
      WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 500)
        INSERT INTO City SELECT 1000 + i, hex(zeroblob(500)), i, 1 FROM n;
      """)
    let pool = ReaderPool(path: file.tracked.file.path, access: .read, capacity: 1)
    let outcomes = try pool.read { connection throws(StoreError) in
      connection.past.minimumRows = 0
      connection.past.queriesBefore = 0
      try connection.execute(
        """
        PRAGMA query_only = OFF; CREATE TEMP TABLE room(x);
        PRAGMA temp.max_page_count = 20; PRAGMA query_only = ON
        """)
      let transaction = try file.readTransaction(of: connection)
      return (0..<3).map { _ in
        Result { try transaction.rows(of: plan, ids: [.integer(10)], at: .past(position)) }
      }
    }
    // Either the transaction ended with the failure, or it continues and the query of the past
    // succeeds.
    for outcome in outcomes {
      switch outcome {
      case .success(let rows):
        #expect(rows.values.map(\.json) == [Array(#"{"id":10,"name":"Shanghai"}"#.utf8)])
      case .failure(let error):
        #expect(error as? StoreError == .busy || "\(error)".contains("full"))
      }
    }
  }

  /// SQLite ends a transaction after some errors. Later queries would see another state.
  @Test func aReadTransactionThatSQLiteEndedAnswersNoQueries() throws {
    let file = try FetchFixture(FetchFixture.fixture)
    let plan = try file.plan("City", "select=name")
    let pool = ReaderPool(path: file.tracked.file.path, access: .read, capacity: 1)
    try pool.read { connection throws(StoreError) in
      let transaction = try file.readTransaction(of: connection)
      _ = try transaction.rows(of: plan, ids: [.integer(10)], at: .now)
      try connection.execute("ROLLBACK")
      #expect(throws: StoreError.busy) {
        try transaction.rows(of: plan, ids: [.integer(10)], at: .now)
      }
    }
    try pool.read { connection throws(StoreError) in
      let transaction = try file.readTransaction(of: connection)
      #expect(try transaction.rows(of: plan, ids: [.integer(10)], at: .now).count == 1)
    }
  }

  @Test func pastValuesAreReadFromMaterializedOverlays() throws {
    let file = try FetchFixture(FetchFixture.fixture)
    let position = try file.tracked.token.position
    try file.tracked.file.runExternally(
      "UPDATE City SET country = 3; UPDATE Country SET name = 'y' WHERE id = 1")
    let transaction = try file.materializedTransaction()
    let city = try #require(file.model.entities.firstIndex { $0.name == "City" })
    let paths = try ["name", "country.name"].map { try file.model.path($0, from: city) }
    let values = try #require(
      try transaction.values(of: paths, ids: [.integer(10), .integer(20)], at: .past(position)))
    #expect(
      values == [
        .integer(10): [.text("Shanghai"), .text("China")],
        .integer(20): [.text("Tokyo"), .text("Japan")],
      ])
  }

  /// Index names composed from names of tables and columns could be equal.
  @Test func tablesWhoseNamesContainEachOtherAreMaterialized() throws {
    let file = try FetchFixture(
      """
      CREATE TABLE Owner(id INTEGER PRIMARY KEY, b INTEGER, UNIQUE(id, b));
      CREATE TABLE a(id INTEGER PRIMARY KEY, b INTEGER, c INTEGER,
        FOREIGN KEY (b, c) REFERENCES Owner(id, b));
      CREATE TABLE "a.b"(id INTEGER PRIMARY KEY, c INTEGER REFERENCES Owner);
      INSERT INTO Owner VALUES (1, 1);
      INSERT INTO a VALUES (1, 1, 1);
      INSERT INTO "a.b" VALUES (1, 1);
      """)
    let position = try file.tracked.token.position
    try file.tracked.file.runExternally("UPDATE a SET c = NULL; UPDATE \"a.b\" SET c = NULL")
    let transaction = try file.materializedTransaction()
    for entity in file.model.entities.map(\.name) where entity != "Owner" {
      let rows = try transaction.rows(
        of: try file.plan(entity, "select=c"), ids: [.integer(1)], at: .past(position))
      #expect(rows.values.map { String(decoding: $0.json, as: UTF8.self) } == [#"{"id":1,"c":1}"#])
    }
  }

  @Test func theTablesAreDroppedWithTheTransactionAndNothingElseCanBeWritten() throws {
    let file = try FetchFixture(FetchFixture.fixture)
    let plan = try file.plan("City", "select=name")
    let pool = ReaderPool(path: file.tracked.file.path, access: .read, capacity: 1)
    let position = try file.tracked.token.position
    for round in 0..<3 {
      try file.tracked.file.runExternally("UPDATE City SET name = 'x\(round)'")
      try pool.read { connection throws(StoreError) in
        connection.past.minimumRows = 0
        connection.past.queriesBefore = 0
        #expect(throws: StoreError.self) {
          try connection.first("SELECT 1 FROM \(Self.shadow)") { _ in true }
        }
        let transaction = try file.readTransaction(of: connection)
        let rows = try transaction.rows(of: plan, ids: [.integer(20)], at: .past(position))
        #expect(rows.values.map(\.json) == [Array(#"{"id":20,"name":"Tokyo"}"#.utf8)])
        #expect(throws: StoreError.self) { try connection.execute("DELETE FROM City") }
      }
    }
  }

  /// SQLite uses an existing index for `NOT IN`, but does not build an automatic one.
  @Test func materializedOverlaysAreSearchedByTheirIndexes() throws {
    let file = try FetchFixture(FetchFixture.fixture)
    let plan = try file.plan("City", "select=name,country.name")
    let position = try file.tracked.token.position
    try file.tracked.file.runExternally(
      "UPDATE City SET name = 'x'; UPDATE Country SET name = 'y'")
    let transaction = try file.materializedTransaction()
    _ = try transaction.rows(of: plan, ids: [.integer(10)], at: .past(position))
    let statement = try transaction.rowStatement(
      of: plan, ids: [.integer(10), .integer(11)], at: .past(position))
    let steps = try transaction.connection.allUncached(
      "EXPLAIN QUERY PLAN " + statement.sql, statement.bindings
    ) { $0.text(3) }
    #expect(!steps.contains { $0.contains("MATERIALIZE") || $0.contains("AUTOMATIC") }, "\(steps)")
    #expect(!steps.contains { $0.hasPrefix("SCAN") && $0.contains("shadow") }, "\(steps)")
    #expect(
      steps.contains { $0.contains("USING INDEX sqlite_autoindex_livefetch_shadow_City_1 FOR IN") },
      "\(steps)")
  }
}
