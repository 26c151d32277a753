// The positions that the history contains, and pruning.

import Testing

@testable import PostgresStore

extension CaptureTests {
  @Test("the history contains positions from its horizon to the present, and none that it has lost")
  func validity() throws {
    try withDatabase(Self.city) { connection, target in
      _ = try install(connection)
      let open = try PostgresConnection(target)
      try open.execute("BEGIN; INSERT INTO city VALUES (1, 'a', 1)")
      try connection.execute("INSERT INTO city VALUES (2, 'b', 2)")
      let first = try position(connection)
      try open.execute("COMMIT")
      let second = try position(connection)
      func isKnown(_ position: PostgresPosition, _ horizon: PostgresPosition) throws -> Bool {
        try connection.query(
          "UPDATE livefetch.store SET horizon = $1::pg_snapshot",
          [.text(horizon.snapshot.postgresText)])
        return try HistoryTransaction.read([], on: connection) {
          (transaction) throws(PostgresError) in transaction.contains(position)
        }
      }
      #expect(try isKnown(first, first))
      #expect(try !isKnown(first, second))
      let end = second.snapshot.end + 1_000_000
      let future = PostgresPosition(
        epoch: first.epoch, snapshot: PostgresSnapshot(end: end, inProgress: []))
      #expect(try !isKnown(future, first))
      #expect(try !isKnown(PostgresPosition(epoch: "x", snapshot: first.snapshot), first))
    }
  }

  @Test("pruning removes what no valid position needs, beside another server that prunes")
  func pruning() throws {
    try withDatabase(Self.city) { connection, target in
      let table = try install(connection)
      let open = try PostgresConnection(target)
      try open.execute("BEGIN; INSERT INTO city VALUES (0, 'open', 0)")
      try connection.execute("INSERT INTO city SELECT i, 'a', 1 FROM generate_series(1, 50) AS i")
      try history.mark(on: connection)
      try history.mark(on: connection)
      #expect(try connection.query("SELECT count(*) FROM livefetch.mark").integer(0, 0) == 1)
      let kept = try position(connection)
      try open.execute("COMMIT")
      try connection.execute("UPDATE city SET name = 'b'")
      try history.advanceHorizon(keeping: .seconds(3600), on: connection)
      #expect(try history.prune(table, limit: 1_000, on: connection) == 0)
      try history.advanceHorizon(keeping: .zero, on: connection)
      let other = try PostgresConnection(target)
      try other.execute("BEGIN")
      #expect(try history.prune(table, limit: 20, on: other) == 20)
      // Skips the rows that the other one deletes.
      #expect(try history.prune(table, limit: 1_000, on: connection) == 30)
      try other.execute("COMMIT")
      #expect(try history.prune(table, limit: 1_000, on: connection) == 0)
      let old = try oldRows(of: table, since: kept, on: connection)
      #expect(old[[0]] == Optional<[PostgresValue]>.none)
      #expect(old[[50]] == [50, "a", 1.0])
      #expect(old.count == 51)
    }
  }

  @Test("pruning continues with the other tables after one that it cannot prune")
  func pruningDespiteError() throws {
    try withDatabase("\(Self.city); CREATE TABLE town (id int PRIMARY KEY)") { connection, target in
      let tables = try history.install(on: connection).tracked
      #expect(tables.map(\.name) == ["city", "town"])
      try connection.execute("INSERT INTO town VALUES (1), (2)")
      try connection.execute("DROP TABLE \(tables[0].historyName) CASCADE")
      let pruner = try HistoryPruner(tables, keeping: .zero) {
        () throws(PostgresError) in try PostgresConnection(target)
      }
      defer { pruner.close() }
      try pruner.prune()
      let left = try connection.query("SELECT count(*) FROM \(tables[1].historyName)")
      #expect(try left.integer(0, 0) == 0)
    }
  }
}
