// Concurrent writers of every kind; readers that compute old states from old snapshots and compare
// them with what they read then.

import FetchModel
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import PostgresStore

@Suite(.mayBlock)
struct HistoryProofTests {
  private static let schema = """
    CREATE TABLE country (id int PRIMARY KEY, name text NOT NULL, total int NOT NULL DEFAULT 0);
    CREATE TABLE city (
      id int PRIMARY KEY, name text, size float8, version int NOT NULL DEFAULT 0,
      country int REFERENCES country ON DELETE CASCADE ON UPDATE CASCADE);
    CREATE TABLE part (a int, b int, name text, PRIMARY KEY (a, b)) PARTITION BY LIST (a);
    CREATE TABLE part0 PARTITION OF part FOR VALUES IN (0);
    CREATE TABLE part1 PARTITION OF part FOR VALUES IN (1, 2);
    CREATE FUNCTION count_cities() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      UPDATE country SET total = total + 1 WHERE id = coalesce(NEW.country, OLD.country);
      RETURN NULL; END $$;
    CREATE TRIGGER count_cities AFTER INSERT OR DELETE OR UPDATE OF country ON city
      FOR EACH ROW EXECUTE FUNCTION count_cities();
    CREATE FUNCTION next_version() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      IF pg_trigger_depth() < 3 THEN
        UPDATE city SET version = version + 1 WHERE id IN (NEW.id, NEW.id + 1);
      END IF; RETURN NULL; END $$;
    -- Before the triggers of the history.
    CREATE TRIGGER " next_version" AFTER INSERT OR UPDATE OF name ON city
      FOR EACH ROW EXECUTE FUNCTION next_version();
    """

  private static let tables = ["city", "country", "part"]

  @Test("states computed from old snapshots equal the states that were read then")
  func oldStates() throws {
    let random = SeededRandom()
    let target = try PostgresServer.shared().newDatabase()
    let connection = try PostgresConnection(target)
    try connection.execute(Self.schema)
    let tracked = try PostgresHistory.install(on: connection).tracked
    let epoch = try position(connection).epoch
    let isOver = Atomic(false)
    let writers = DispatchGroup()
    let failures = Mutex<[String]>([])
    let commits = Atomic(0)
    for number in 0..<8 {
      writers.enter()
      Thread {
        defer { writers.leave() }
        do {
          var writer = try ForeignWriter(target, seed: random.seed &+ UInt64(number), number)
          while !isOver.load(ordering: .relaxed) {
            try writer.runTransaction()
            commits.wrappingAdd(1, ordering: .relaxed)
          }
        } catch {
          failures.withLock { $0.append("\(error)") }
        }
      }.start()
    }
    var reader = StateReader(connection: connection, tables: tracked, random: random)
    for _ in 0..<300 {
      do {
        try reader.step()
      } catch let error as PostgresError where error.isRetryable {
        // A TRUNCATE waits for a table that the reader has locked, and the reader for its tables.
        continue
      }
    }
    isOver.store(true, ordering: .relaxed)
    writers.wait()
    try reader.step()
    #expect(failures.withLock(\.self) == [], "seed \(random.seed)")
    #expect(reader.mismatches == [], "seed \(random.seed)")
    #expect(reader.comparisons > 1_000)
    #expect(reader.changedRows > 1_000)
    #expect(try position(connection).epoch == epoch)
    print(
      "old states: \(reader.comparisons) comparisons, \(reader.changedRows) changed rows, "
        + "\(commits.load(ordering: .relaxed)) transactions, longest token \(reader.longestToken) "
        + "bytes, seed \(random.seed)")
  }

  /// Reads the tables, remembers what it read, and computes earlier states again.
  private struct StateReader {
    typealias State = [String: [[PostgresValue]: [PostgresValue]]]

    let connection: PostgresConnection
    let tables: [PostgresTrackedTable]
    var random: SeededRandom
    var known: [(snapshot: PostgresSnapshot, state: State)] = []
    var mismatches: [String] = []
    var comparisons = 0
    var changedRows = 0
    var longestToken = 0

    /// A snapshot that is older than a table's file is taken again.
    mutating func step() throws {
      do {
        try takeStep()
      } catch let error as PostgresError where error.sqlState == "40001" {}
    }

    private mutating func takeStep() throws {
      let picks = known.isEmpty ? [] : (0..<4).map { _ in random.pick(Array(known.indices)) }
      var olds: [(Int, String, [[PostgresValue]: [PostgresValue]?])] = []
      let locked = tables.map { LockedTable(oid: $0.oid, name: $0.name) }
      let (snapshot, now) = try HistoryTransaction.read(locked, on: connection) {
        (transaction) throws(PostgresError) in
        var state: State = [:]
        for table in tables {
          try transaction.locks.lock(for: table.quotedName)
          state[table.quotedName] = try read(table)
        }
        for index in picks {
          for table in tables {
            let since = HistoryPosition(known[index].snapshot)
            let rows = try oldRows(of: table, since: since, on: connection)
            olds.append((index, table.quotedName, rows))
          }
        }
        return (transaction.position.snapshot, state)
      }
      for (index, table, rows) in olds {
        var state = now[table] ?? [:]
        for (key, old) in rows { state[key] = old }
        comparisons += 1
        changedRows += rows.count
        guard state != known[index].state[table] else { continue }
        let before = known[index].state[table] ?? [:]
        let keys = Set(state.keys).union(before.keys).filter { state[$0] != before[$0] }
        let rows = keys.map { "\(before[$0] ?? []) computed \(state[$0] ?? [])" }
        mismatches.append("\(table) at \(known[index].snapshot.postgresText): \(rows)")
      }
      if let last = known.last, !last.snapshot.isSubset(of: snapshot) {
        mismatches.append("\(last.snapshot.postgresText) is not part of \(snapshot.postgresText)")
      }
      longestToken = max(longestToken, HistoryPosition(snapshot).description.utf8.count)
      known.append((snapshot, now))
      if known.count > 40 { known.removeFirst() }
    }

    private func read(
      _ table: PostgresTrackedTable
    ) throws(PostgresError) -> [[PostgresValue]: [PostgresValue]] {
      let rows = try connection.query("SELECT \(table.columnList) FROM \(table.quotedName)").rows()
      let places = table.key.compactMap { name in table.columns.firstIndex { $0.name == name } }
      var state: [[PostgresValue]: [PostgresValue]] = [:]
      for row in rows { state[places.map { row[$0] }] = row }
      return state
    }
  }
}
