import CSQLite
import FetchModel
import Testing

@testable import SQLiteStore

@Suite("Old images gathered once for many questions of one moment")
struct GatheredPastTests {
  private static let shadow = "temp.\"livefetch_shadow_City\""

  private static func gathered(_ moment: ReadMoment) throws -> [String] {
    try moment.connection.all("SELECT id, name FROM \(shadow) ORDER BY livefetch_position") {
      "\($0.integer(0)) \($0.text(1))"
    }
  }

  private static func names(
    _ moment: ReadMoment, _ plan: FetchPlan, _ ids: Set<ObjectID>, at position: Int64
  ) throws -> [ObjectID: String] {
    try moment.rows(of: plan, ids: ids, at: .past(position)).mapValues {
      String(decoding: $0.json, as: UTF8.self)
    }
  }

  @Test func aFewQuestionsLookForThemselvesAndManyGather() throws {
    let file = try FetchFixture(FetchFixture.world)
    let plan = try file.plan("City", "select=name")
    let position = try file.followed.token.position
    try file.followed.file.outsider("UPDATE City SET name = 'x' WHERE id IN (10, 11)")
    let moment = try file.gatheredMoment()
    moment.connection.past.fewestRows = 2
    moment.connection.past.patience = 2
    for _ in 0..<2 {
      _ = try moment.rows(of: plan, ids: [.integer(10)], at: .past(position))
      #expect(throws: StoreError.self) { try Self.gathered(moment) }
    }
    let names = try Self.names(moment, plan, [.integer(10), .integer(20)], at: position)
    #expect(
      names == [
        .integer(10): #"{"id":10,"name":"Shanghai"}"#, .integer(20): #"{"id":20,"name":"Tokyo"}"#,
      ])
    #expect(try Self.gathered(moment) == ["10 Shanghai", "11 Beijing"])
  }

  @Test func littleThatWasTouchedIsNotGathered() throws {
    let file = try FetchFixture(FetchFixture.world)
    let plan = try file.plan("City", "select=name")
    let position = try file.followed.token.position
    try file.followed.file.outsider("UPDATE City SET name = 'x' WHERE id = 10")
    let moment = try file.gatheredMoment()
    moment.connection.past.fewestRows = 2
    for _ in 0..<5 { _ = try moment.rows(of: plan, ids: [.integer(10)], at: .past(position)) }
    #expect(throws: StoreError.self) { try Self.gathered(moment) }
  }

  /// Each key's first row counts, wherever the steps of gathering end.
  @Test func whatWasTouchedInManyStepsIsWhatItWasAtFirst() throws {
    let file = try FetchFixture(FetchFixture.world)
    let plan = try file.plan("City", "select=name")
    let position = try file.followed.token.position
    try file.followed.file.outsider(
      """
      UPDATE City SET name = 'first' WHERE id = 10;
      WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 9000)
        INSERT INTO City SELECT 1000 + i, 'new', i, 1 FROM n;
      UPDATE City SET name = 'last' WHERE id IN (10, 11);
      """)
    let ids: Set<ObjectID> = [.integer(10), .integer(11), .integer(1001), .integer(9999)]
    let names = try Self.names(try file.gatheredMoment(), plan, ids, at: position)
    #expect(
      names == [
        .integer(10): #"{"id":10,"name":"Shanghai"}"#,
        .integer(11): #"{"id":11,"name":"Beijing"}"#,
      ])
  }

  @Test func anotherPositionIsGatheredAnew() throws {
    let file = try FetchFixture(FetchFixture.world)
    let plan = try file.plan("City", "select=name")
    var positions: [Int64] = []
    for name in ["a", "b", "c"] {
      positions.append(try file.followed.token.position)
      try file.followed.file.outsider("UPDATE City SET name = '\(name)' WHERE id = 10")
    }
    let moment = try file.gatheredMoment()
    for (position, name) in zip(positions + positions.reversed(), "Sab" + "baS") {
      let expected = name == "S" ? "Shanghai" : "\(name)"
      let names = try Self.names(moment, plan, [.integer(10)], at: position)
      #expect(names == [.integer(10): "{\"id\":10,\"name\":\"\(expected)\"}"])
    }
  }

  /// A statement that writes would take the whole read transaction with it.
  @Test func aQuestionWhoseTimeIsOverKeepsItsTransactionAndTheNextOneGoesOn() throws {
    let file = try FetchFixture(FetchFixture.world)
    let plan = try file.plan("City", "select=name")
    let position = try file.followed.token.position
    try file.followed.file.outsider("UPDATE City SET name = 'x'")
    let moment = try file.gatheredMoment()
    let connection = moment.connection
    #expect(throws: StoreError.queryTimeout) {
      try connection.withDeadline(after: 0) { () throws(StoreError) in
        try moment.rows(of: plan, ids: [.integer(10)], at: .past(position))
      }
    }
    #expect(!connection.isInAutocommit)
    let names = try Self.names(moment, plan, [.integer(10)], at: position)
    #expect(names == [.integer(10): #"{"id":10,"name":"Shanghai"}"#])
  }

  @Test func theTablesEndWithTheTransactionAndNothingElseCanBeWritten() throws {
    let file = try FetchFixture(FetchFixture.world)
    let plan = try file.plan("City", "select=name")
    let pool = ReaderPool(path: file.followed.file.path, access: .read, capacity: 1)
    let position = try file.followed.token.position
    for round in 0..<3 {
      try file.followed.file.outsider("UPDATE City SET name = 'x\(round)'")
      try pool.read { connection throws(StoreError) in
        connection.past.fewestRows = 0
        connection.past.patience = 0
        #expect(throws: StoreError.self) {
          try connection.first("SELECT 1 FROM \(Self.shadow)") { _ in true }
        }
        let moment = ReadMoment(
          connection: connection,
          composer: FetchComposer(model: file.model, schema: file.followed.history.schema),
          history: file.followed.history, objectStatements: ObjectStatements(),
          token: try file.followed.history.newestToken(on: connection))
        let rows = try moment.rows(of: plan, ids: [.integer(20)], at: .past(position))
        #expect(rows.values.map(\.json) == [Array(#"{"id":20,"name":"Tokyo"}"#.utf8)])
        #expect(throws: StoreError.self) { try connection.execute("DELETE FROM City") }
      }
    }
  }

  /// SQLite takes the index that is there for `NOT IN`, and does not make one of its own.
  @Test func gatheredShadowsAreLookedUpByTheirIndexes() throws {
    let file = try FetchFixture(FetchFixture.world)
    let plan = try file.plan("City", "select=name,country.name")
    let position = try file.followed.token.position
    try file.followed.file.outsider(
      "UPDATE City SET name = 'x'; UPDATE Country SET name = 'y'")
    let moment = try file.gatheredMoment()
    _ = try moment.rows(of: plan, ids: [.integer(10)], at: .past(position))
    let statement = try moment.composer(at: .past(position))
      .rows(of: plan, ids: [.integer(10), .integer(11)], at: .past(position))
    let steps = try moment.connection.allOnce(
      "EXPLAIN QUERY PLAN " + statement.sql, statement.bindings
    ) { $0.text(3) }
    #expect(!steps.contains { $0.contains("MATERIALIZE") || $0.contains("AUTOMATIC") }, "\(steps)")
    #expect(!steps.contains { $0.hasPrefix("SCAN") && $0.contains("shadow") }, "\(steps)")
    #expect(
      steps.contains { $0.contains("USING INDEX sqlite_autoindex_livefetch_shadow_City_1 FOR IN") },
      "\(steps)")
  }
}
