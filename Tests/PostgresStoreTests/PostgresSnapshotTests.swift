// Snapshots as text and their order.

import Foundation
import TestSupport
import Testing

@testable import PostgresStore

@Suite(.mayBlock)
struct PostgresSnapshotTests {
  @Test(
    "PostgreSQL's text is parsed, and two texts of one set are equal",
    arguments: [
      ("10:20:10,14,15", 20, [10, 14, 15]), ("10:10:", 10, []), ("10:13:10,11,12", 10, []),
      ("740:740:", 740, []), ("18446744073709551615:18446744073709551615:", UInt64.max, []),
    ] as [(String, UInt64, [UInt64])])
  func parsing(_ text: String, _ end: UInt64, _ inProgress: [UInt64]) throws {
    let snapshot = try #require(PostgresSnapshot(postgresText: text))
    #expect(snapshot.end == end)
    #expect(snapshot.inProgress == inProgress)
    #expect(PostgresSnapshot(postgresText: snapshot.postgresText) == snapshot)
  }

  @Test(
    "a malformed snapshot of the server is refused",
    arguments: [
      "", "1:2", "2:1:", "0:1:", "1:5:5", "3:5:2", "1:9:4,4", "1:9:5,4", "1:9:x", "1:9:2:3",
      "1:99999999999999999999:", "-1:5:",
      "1:5000:" + (1...1_001).map(String.init).joined(separator: ","),
    ])
  func hostileSnapshots(_ text: String) {
    #expect(PostgresSnapshot(postgresText: text) == nil)
  }

  @Test("generated snapshots read back, and their order is inclusion of the sets")
  func generated() throws {
    var random = SeededRandom()
    for _ in 0..<500 {
      let (left, right) = (Self.snapshot(&random), Self.snapshot(&random))
      let all = Set(1...40 as ClosedRange<UInt64>)
      let (leftSet, rightSet) = (all.filter(left.contains), all.filter(right.contains))
      let seed = "seed \(random.seed): \(left.postgresText) \(right.postgresText)"
      #expect(PostgresSnapshot(postgresText: left.postgresText) == left, "\(seed)")
      #expect(left.isSubset(of: right) == leftSet.isSubset(of: rightSet), "\(seed)")
      #expect((left == right) == (leftSet == rightSet), "\(seed)")
      if leftSet.isStrictSubset(of: rightSet) { #expect(left < right, "\(seed)") }
    }
  }

  private static func snapshot(_ random: inout SeededRandom) -> PostgresSnapshot {
    let end = random.number(2...12)
    let inProgress = (1..<end).filter { _ in random.oneIn(3) }
    return PostgresSnapshot(end: UInt64(end), inProgress: inProgress.map { UInt64($0) })
  }

  @Test("a server's snapshot shows committed transactions, and not those in progress")
  func live() throws {
    try withDatabase("CREATE TABLE t (a int)") { connection, target in
      let open = try PostgresConnection(target)
      try open.execute("BEGIN; INSERT INTO t VALUES (1)")
      let id = try open.query("SELECT pg_current_xact_id()").integer(0, 0)
      // Makes the open transaction older than the newest one.
      try connection.execute("INSERT INTO t VALUES (2)")
      let before = try snapshot(connection)
      #expect(!before.contains(UInt64(id)))
      try open.execute("COMMIT")
      let after = try snapshot(connection)
      #expect(after.contains(UInt64(id)))
      #expect(before.isSubset(of: after))
      #expect(!after.isSubset(of: before))
    }
  }

  private func snapshot(_ connection: PostgresConnection) throws -> PostgresSnapshot {
    let text = try connection.query("SELECT pg_current_snapshot()::text").text(0, 0)
    return try #require(PostgresSnapshot(postgresText: text))
  }
}
