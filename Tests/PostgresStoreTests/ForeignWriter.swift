// Another program that writes the tables: transactions of random statements.

import Foundation
import SQLComposer
import TestSupport

@testable import PostgresStore

/// Runs random transactions on the schema of ``HistoryProofTests``.
struct ForeignWriter: SeededCaseGenerator {
  let connection: PostgresConnection
  var random: SeededRandom
  private let number: Int

  init(_ target: String, seed: UInt64, _ number: Int) throws {
    connection = try PostgresConnection(target)
    try connection.execute("SET lock_timeout = '2s'")
    random = SeededRandom(seed: seed)
    self.number = number
  }

  /// Commits, rolls back or prepares and commits one transaction. Refused statements, deadlocks for
  /// example, roll back.
  mutating func runTransaction() throws(PostgresError) {
    let isolation = pick(["READ COMMITTED", "READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"])
    do throws(PostgresError) {
      try connection.execute("BEGIN ISOLATION LEVEL \(isolation)")
      for _ in 0..<number(1...6) { try runStatement(isolation) }
      try end()
    } catch {
      guard error.sqlState != nil || error == .timedOut else { throw error }
      connection.rollBack()
    }
  }

  private mutating func end() throws(PostgresError) {
    if oneIn(5) { return connection.rollBack() }
    guard oneIn(8) else {
      try connection.execute("COMMIT")
      return
    }
    let name = literal("t\(UUID().uuidString)")
    try connection.execute("PREPARE TRANSACTION \(name)")
    usleep(UInt32(number(0...20_000)))
    try connection.execute(oneIn(3) ? "ROLLBACK PREPARED \(name)" : "COMMIT PREPARED \(name)")
  }

  private mutating func runStatement(_ isolation: String) throws(PostgresError) {
    if oneIn(4) { return try runSavepoint(isolation) }
    if oneIn(12) { usleep(UInt32(number(0...60_000))) }
    if oneIn(15) { return try copy() }
    // A TRUNCATE of another isolation level begins a new epoch; CaptureTests has it.
    if oneIn(60), isolation == "READ COMMITTED" {
      try connection.execute(pick(["TRUNCATE city", "TRUNCATE part1", "TRUNCATE country CASCADE"]))
      return
    }
    try connection.execute(statement())
  }

  private mutating func runSavepoint(_ isolation: String) throws(PostgresError) {
    try connection.execute("SAVEPOINT a")
    do throws(PostgresError) {
      for _ in 0..<number(1...3) { try connection.execute(statement()) }
      try connection.execute(oneIn(2) ? "ROLLBACK TO a" : "RELEASE a")
    } catch {
      guard error.sqlState != nil, !error.isRetryable else { throw error }
      try connection.execute("ROLLBACK TO a")
    }
  }

  private mutating func copy() throws(PostgresError) {
    let first = 1_000 * (number + 1) + number(0...900)
    let lines = (first..<(first + 5)).map { "\($0)\tcopied\t0.5\n" }.joined()
    try connection.execute("DELETE FROM city WHERE id BETWEEN \(first) AND \(first + 4)")
    try connection.copy("COPY city (id, name, size) FROM STDIN", Array(lines.utf8))
  }

  private mutating func statement() -> String {
    let statements: [String] =
      switch number(0...9) {
      case 0...2: countryStatements(number(1...6), number(1...10))
      case 3...7: cityStatements(number(1...40), number(1...10))
      default: partStatements(number(0...2), number(1...10))
      }
    return pick(statements)
  }

  private mutating func countryStatements(_ id: Int, _ value: Int) -> [String] {
    let other = number(1...6)
    return [
      "INSERT INTO country VALUES (\(id), 'c\(value)') ON CONFLICT DO NOTHING",
      """
      INSERT INTO country VALUES (\(id), 'n\(value)')
      ON CONFLICT (id) DO UPDATE SET name = 'u\(value)'
      """,
      "UPDATE country SET name = name || 'x' WHERE id = \(id) AND length(name) < 20",
      "DELETE FROM country WHERE id = \(id)",
      "UPDATE country SET id = \(other) WHERE id = \(id)",
    ]
  }

  private mutating func cityStatements(_ id: Int, _ value: Int) -> [String] {
    let other = number(1...40)
    return [
      "INSERT INTO city (id, name, size) VALUES (\(id), 'n\(value)', 0.5) ON CONFLICT DO NOTHING",
      """
      INSERT INTO city (id, name, country)
      SELECT \(id) + i, 'm', (SELECT min(id) FROM country) FROM generate_series(0, 3) AS i
      ON CONFLICT (id) DO UPDATE SET name = excluded.name
      """,
      "UPDATE city SET name = 'many\(value)' WHERE id BETWEEN \(id) AND \(id) + 5",
      "UPDATE city SET size = size WHERE id BETWEEN \(id) AND \(id) + 5",
      "UPDATE city SET country = (SELECT max(id) FROM country) WHERE id = \(id)",
      "UPDATE city SET id = \(other) WHERE id = \(id)",
      "DELETE FROM city WHERE id BETWEEN \(id) AND \(id) + 2",
      """
      WITH d AS (DELETE FROM city WHERE id = \(id) RETURNING *)
      INSERT INTO city (id, name) SELECT id + 1, 'moved' FROM d
      """,
      """
      MERGE INTO city USING (VALUES (\(id)), (\(other))) AS v (id) ON city.id = v.id
      WHEN MATCHED AND city.version % 3 = 0 THEN DELETE
      WHEN MATCHED THEN UPDATE SET size = \(value)
      WHEN NOT MATCHED THEN INSERT (id) VALUES (v.id)
      """,
    ]
  }

  private mutating func partStatements(_ a: Int, _ b: Int) -> [String] {
    let other = number(0...2)
    return [
      """
      INSERT INTO part VALUES (\(a), \(b), 'p') ON CONFLICT (a, b) DO UPDATE SET name = 'q\(other)'
      """,
      "UPDATE part SET a = \(other) WHERE a = \(a) AND b = \(b)",
      "DELETE FROM part WHERE a = \(a) AND b < \(b) AND b > 5",
    ]
  }
}
