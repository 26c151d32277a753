// Work of many callers on few connections.

import Foundation
import LiveFetchThreads
import Synchronization
import TestSupport
import Testing

@testable import PostgresStore

@Suite(.mayBlock)
struct PostgresPoolTests {
  private static func target() throws -> String {
    try PostgresServer.shared().target("postgres")
  }

  @Test("work of many tasks runs on at most as many connections as there are")
  func bounded() async throws {
    let pool = PostgresPool(try Self.target(), connections: 3)
    defer { pool.close() }
    let pids = try await withThrowingTaskGroup(of: Int64.self) { group in
      for _ in 0..<40 {
        group.addTask {
          try await pool.perform { (connection) throws(PostgresError) in
            try connection.query("SELECT pg_backend_pid(), pg_sleep(0.01)").integer(0, 0)
          }
        }
      }
      return try await group.reduce(into: Set<Int64>()) { $0.insert($1) }
    }
    #expect((1...3).contains(pids.count))
  }

  @Test("work that waits for too long is refused, and does not run")
  func expiredWait() async throws {
    let pool = PostgresPool(try Self.target(), connections: 1)
    defer { pool.close() }
    let isReleased = Atomic(false)
    let hasStarted = Atomic(false)
    async let first: Void = pool.perform { (_) throws(PostgresError) in
      hasStarted.store(true, ordering: .releasing)
      while !isReleased.load(ordering: .acquiring) { usleep(1_000) }
    }
    while !hasStarted.load(ordering: .acquiring) { try await Task.sleep(for: .milliseconds(1)) }
    await #expect(throws: PostgresError.busy) {
      try await pool.perform(limit: .milliseconds(20)) { (_) throws(PostgresError) in
        Issue.record("it ran")
      }
    }
    isReleased.store(true, ordering: .releasing)
    try await first
  }

  @Test("work beyond the queue's length is refused at once")
  func fullQueue() async throws {
    let pool = PostgresPool(try Self.target(), connections: 1, queue: 1)
    defer { pool.close() }
    try await pool.perform { (_) throws(PostgresError) in
      // On the pool's only thread.
      let refused = MonotonicSemaphore()
      Task { try await pool.perform { (_) throws(PostgresError) in } }
      while pool.waiting == 0 { usleep(1_000) }
      Task {
        await #expect(throws: PostgresError.busy) {
          try await pool.perform { (_) throws(PostgresError) in }
        }
        refused.signal()
      }
      refused.wait()
    }
  }

  @Test("cancelling a task cancels its query")
  func cancelledTask() async throws {
    let pool = PostgresPool(try Self.target(), connections: 1)
    defer { pool.close() }
    let hasStarted = Atomic(false)
    let task = Task {
      try await pool.perform { (connection) throws(PostgresError) in
        hasStarted.store(true, ordering: .releasing)
        _ = try connection.query("SELECT pg_sleep(600)")
      }
    }
    while !hasStarted.load(ordering: .acquiring) { try await Task.sleep(for: .milliseconds(1)) }
    task.cancel()
    await #expect(throws: PostgresError.cancelled) { try await task.value }
    let sum = try await pool.perform { (connection) throws(PostgresError) in
      try connection.query("SELECT 1 + 1").integer(0, 0)
    }
    #expect(sum == 2)
  }

  @Test("a connection that the server has closed is replaced")
  func replacedConnection() async throws {
    let pool = PostgresPool(try Self.target(), connections: 1)
    defer { pool.close() }
    let pid = try await pool.perform { (connection) throws(PostgresError) in
      try connection.query("SELECT pg_backend_pid()").integer(0, 0)
    }
    let other = try PostgresConnection(try Self.target())
    try other.query("SELECT pg_terminate_backend($1::int)", [.integer(pid)])
    let isGone = try eventually(within: .seconds(60)) {
      let sessions = try other.query(
        "SELECT count(*) FROM pg_stat_activity WHERE pid = $1::int", [.integer(pid)])
      return try sessions.integer(0, 0) == 0
    }
    #expect(isGone)
    let second = try await pool.perform { (connection) throws(PostgresError) in
      try connection.query("SELECT pg_backend_pid()").integer(0, 0)
    }
    #expect(second != pid)
  }

  @Test("work that leaves a transaction open does not pass it on")
  func openTransaction() async throws {
    let pool = PostgresPool(try Self.target(), connections: 1)
    defer { pool.close() }
    try await pool.perform { (connection) throws(PostgresError) in
      _ = try connection.execute("BEGIN; CREATE TABLE left_open (a int)")
    }
    let found = try await pool.perform { (connection) throws(PostgresError) in
      try connection.query("SELECT to_regclass('left_open') IS NULL").bool(0, 0)
    }
    #expect(found)
  }

  @Test("a closed pool refuses work")
  func closed() async throws {
    let pool = PostgresPool(try Self.target())
    pool.close()
    await #expect(throws: PostgresError.closed) {
      try await pool.perform { (_) throws(PostgresError) in }
    }
  }
}
