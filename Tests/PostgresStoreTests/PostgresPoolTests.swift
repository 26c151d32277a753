// A pool runs the work of many threads on few connections.

import Dispatch
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import PostgresStore

@Suite(.mayBlock)
struct PostgresPoolTests {
  private static func target() throws -> String {
    try PostgresServer.shared().target("postgres")
  }

  @Test("work of many callers runs on at most as many connections as there are")
  func bounded() async throws {
    let pool = PostgresPool(try Self.target(), connections: 3)
    defer { pool.close() }
    let pids = try await withThrowingTaskGroup(of: Int64.self) { group in
      for _ in 0..<40 {
        group.addTask {
          try pool.withConnection { (connection) throws(PostgresError) in
            try connection.query("SELECT pg_backend_pid(), pg_sleep(0.01)").integer(0, 0)
          }
        }
      }
      return try await group.reduce(into: Set<Int64>()) { $0.insert($1) }
    }
    #expect((1...3).contains(pids.count))
  }

  @Test("work that waits for too long is refused, and does not run")
  func expiredWait() throws {
    let pool = PostgresPool(try Self.target(), connections: 1)
    defer { pool.close() }
    _ = try pool.withConnection { (_) throws(PostgresError) in
      #expect(throws: PostgresError.noFreeConnection) {
        try pool.withConnection(until: .now + .milliseconds(20)) { (_) throws(PostgresError) in
          Issue.record("the work ran without a connection")
        }
      }
    }
  }

  @Test("work of many callers runs on the connections that the server allows")
  func refusedConnections() throws {
    let administrator = try PostgresConnection(try Self.target())
    defer { administrator.close() }
    let role = "few_" + UUID().uuidString.prefix(8).lowercased()
    try administrator.execute("CREATE ROLE \(role) LOGIN CONNECTION LIMIT 2")
    let target = try Self.target().replacing("user=tester", with: "user=\(role)")
    let pool = PostgresPool(target, connections: 8, waitLimit: .seconds(60))
    defer { pool.close() }
    let pids = Mutex<[Int64?]>([])
    let done = DispatchSemaphore(value: 0)
    try pool.withConnection { (_) throws(PostgresError) in
      try pool.withConnection { (_) throws(PostgresError) in }
      for _ in 0..<8 {
        Thread.detachNewThread {
          let pid = try? pool.withConnection { (connection) throws(PostgresError) in
            try connection.query("SELECT pg_backend_pid(), pg_sleep(0.02)").integer(0, 0)
          }
          pids.withLock { $0.append(pid) }
          done.signal()
        }
      }
      // All go on with the second connection: the first is in use.
      for _ in 0..<8 { done.wait() }
    }
    let found = pids.withLock(\.self)
    #expect(found.count { $0 != nil } == 8)
    #expect(Set(found).count == 1)
  }

  @Test("callers that connect at the same time learn that the server does not answer")
  func silentServer() throws {
    let (listener, port) = try LoopbackSocket.reservePort()
    defer { close(listener) }
    try #require(listen(listener, 16) == 0)
    let pool = PostgresPool("host=127.0.0.1 port=\(port)", waitLimit: .milliseconds(100))
    defer { pool.close() }
    let errors = Mutex<[PostgresError?]>([])
    let done = DispatchSemaphore(value: 0)
    for _ in 0..<3 {
      Thread.detachNewThread {
        let error = #expect(throws: PostgresError.self) {
          try pool.withConnection { (_) throws(PostgresError) in }
        }
        errors.withLock { $0.append(error) }
        done.signal()
      }
    }
    for _ in 0..<3 { done.wait() }
    #expect(errors.withLock { $0.count { $0?.isDisconnected == true } } == 3)
  }

  @Test("a connection that the server has closed is replaced")
  func replacedConnection() throws {
    let pool = PostgresPool(try Self.target(), connections: 1)
    defer { pool.close() }
    let pid = try pool.withConnection { (connection) throws(PostgresError) in
      try connection.query("SELECT pg_backend_pid()").integer(0, 0)
    }
    let administrator = try PostgresConnection(try Self.target())
    try administrator.query("SELECT pg_terminate_backend($1::int)", [.integer(pid)])
    let isGone = try eventually(within: .seconds(60)) {
      let sessions = try administrator.query(
        "SELECT count(*) FROM pg_stat_activity WHERE pid = $1::int", [.integer(pid)])
      return try sessions.integer(0, 0) == 0
    }
    #expect(isGone)
    let second = try pool.withConnection { (connection) throws(PostgresError) in
      try connection.query("SELECT pg_backend_pid()").integer(0, 0)
    }
    #expect(second != pid)
  }

  @Test("a transaction that work leaves open is rolled back before the next work")
  func openTransaction() throws {
    let pool = PostgresPool(try Self.target(), connections: 1)
    defer { pool.close() }
    try pool.withConnection { (connection) throws(PostgresError) in
      _ = try connection.execute("BEGIN; CREATE TABLE left_open (a int)")
    }
    let isAbsent = try pool.withConnection { (connection) throws(PostgresError) in
      try connection.query("SELECT to_regclass('left_open') IS NULL").bool(0, 0)
    }
    #expect(isAbsent)
  }

  @Test("a closed pool refuses work")
  func closed() throws {
    let pool = PostgresPool(try Self.target())
    pool.close()
    #expect(throws: PostgresError.closed) {
      try pool.withConnection { (_) throws(PostgresError) in }
    }
  }
}
