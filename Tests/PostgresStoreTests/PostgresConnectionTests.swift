// Statements with parameters → typed values; deadlines, cancellation and errors.

import Foundation
import TestSupport
import Testing

@testable import PostgresStore

@Suite(.mayBlock)
struct PostgresConnectionTests {
  @Test("values of every type are decoded exactly")
  func values() throws {
    try withDatabase { connection, _ in
      let row = try connection.query(
        """
        SELECT true, 7::int2, -8::int4, 9223372036854775807, 1.5::float4, 0.1::float8,
          12345678901234567890.123400, -0.00012::numeric, 10000::numeric, 'NaN'::numeric,
          'Ärger', '\\x00ff'::bytea, '0A2fffff-0000-4000-8000-00000000abcd'::uuid,
          '{"a": 1}'::json, '[1]'::jsonb, date '2024-02-29', date '0001-01-01 BC',
          timestamptz '2024-02-29 12:00:00.000001+02', timestamp '1969-12-31 23:59:59',
          timestamptz 'infinity', null, '5'::xid8, 'x'::char(3), date '-infinity'
        """)
      #expect(
        try row.values(0) == [
          true, 7, -8, 9_223_372_036_854_775_807, 1.5, 0.1,
          .numeric("12345678901234567890.123400"), .numeric("-0.00012"), .numeric("10000"),
          .numeric("NaN"), "Ärger", .bytes([0, 255]),
          .uuid("0a2fffff-0000-4000-8000-00000000abcd"), .json(#"{"a": 1}"#), .json("[1]"),
          .date(19782), .date(-719_528), .timestamp(762_516_000_000_001),
          .timestamp(-946_684_801_000_000), .timestamp(.max), nil, .xid(5), "x  ", .date(.min),
        ])
    }
  }

  @Test("statements are not compiled: that takes longer than most of them")
  func compilation() throws {
    try withDatabase { connection, _ in
      let setting = try connection.query("SHOW jit").text(0, 0)
      #expect(setting == "off")
    }
  }

  @Test("parameters arrive as they were sent")
  func parameters() throws {
    try withDatabase { connection, _ in
      let values: [PostgresValue] = [
        true, 42, .double(.infinity), .numeric("0.10"), "q'\\\u{1F600}", .bytes([]),
        .bytes([0, 1]),
        .uuid("00000000-0000-0000-0000-000000000001"), .json("{}"), .date(0), .timestamp(1),
        .timestamp(.min), nil, .xid(.max), "",
      ]
      let result = try connection.query(
        """
        SELECT $1::bool, $2::bigint, $3::float8, $4::numeric, $5::text, $6::bytea, $7::bytea,
          $8::uuid, $9::json, $10::date, $11::timestamptz, $12::timestamptz, $13::text, $14::xid8,
          $15::text
        """, values)
      #expect(try result.values(0) == values)
    }
  }

  @Test("numerics of random digits and scales have the server's own text")
  func numerics() throws {
    var random = SeededRandom()
    try withDatabase { connection, _ in
      for _ in 0..<300 {
        let digits = (0...random.number(0...30)).map { _ in "\(random.number(0...9))" }.joined()
        let exponent = random.number(-25...25)
        let result = try connection.query(
          "SELECT n, n::text FROM (SELECT $1::numeric AS n) AS x", [.text("-\(digits)e\(exponent)")]
        )
        #expect(
          try result.value(0, 0) == .numeric(result.text(0, 1)), "seed \(random.seed): \(digits)")
      }
    }
  }

  @Test("an error has its SQLSTATE and constraint, and leaves the connection usable")
  func errors() throws {
    try withDatabase("CREATE TABLE t (id int CONSTRAINT t_pk PRIMARY KEY)") { connection, _ in
      try connection.query("INSERT INTO t VALUES ($1)", [1])
      let error = #expect(throws: PostgresError.self) {
        try connection.query("INSERT INTO t VALUES ($1)", [1])
      }
      guard case .server(let refusal) = error else {
        Issue.record("\(String(describing: error))")
        return
      }
      #expect(refusal.sqlState == "23505")
      #expect(refusal.constraint == "t_pk")
      #expect(refusal.table == "t")
      #expect(connection.isIdle)
      #expect(throws: PostgresError.self) { try connection.query("SELECT no_such_column") }
      #expect(try connection.query("SELECT count(*) FROM t").integer(0, 0) == 1)
    }
  }

  @Test("a statement that exceeds the deadline is stopped on the server")
  func deadline() throws {
    try withDatabase { connection, target in
      #expect(throws: PostgresError.timedOut) {
        try connection.withDeadline(.milliseconds(50)) { () throws(PostgresError) in
          try connection.query("SELECT pg_sleep(600)")
        }
      }
      #expect(try connection.query("SELECT 1").integer(0, 0) == 1)
      let other = try PostgresConnection(target)
      let running = try other.query(
        "SELECT count(*) FROM pg_stat_activity WHERE query LIKE '%pg_sleep(600)%' "
          + "AND state = 'active' AND pid <> pg_backend_pid() AND datname = current_database()")
      #expect(try running.integer(0, 0) == 0)
    }
  }

  @Test("the server's own statement_timeout is a passed deadline too")
  func statementTimeout() throws {
    try withDatabase("SET statement_timeout = 20") { connection, _ in
      #expect(throws: PostgresError.timedOut) { try connection.query("SELECT pg_sleep(600)") }
    }
  }

  @Test("a query whose caller has disconnected is cancelled")
  func cancellation() throws {
    try withDatabase { connection, _ in
      let end = ContinuousClock.now + .milliseconds(50)
      connection.isCancelled = { ContinuousClock.now > end }
      #expect(throws: PostgresError.cancelled) { try connection.query("SELECT pg_sleep(600)") }
      #expect(connection.isIdle)
    }
  }

  @Test("a prepared statement survives a change of its table")
  func staleStatement() throws {
    try withDatabase("CREATE TABLE t (a int); INSERT INTO t VALUES (1)") { connection, _ in
      #expect(try connection.query("SELECT * FROM t").rows() == [[1]])
      try connection.execute("ALTER TABLE t ADD b text DEFAULT 'x'")
      #expect(try connection.query("SELECT * FROM t").rows() == [[1, "x"]])
      try connection.execute("DEALLOCATE ALL")
      #expect(try connection.query("SELECT * FROM t").rows() == [[1, "x"]])
    }
  }

  @Test("more statements than the cache holds can be prepared")
  func evictedStatements() throws {
    try withDatabase { connection, _ in
      connection.statements = PreparedStatements(capacity: 2)
      for round in 0..<3 {
        for number in 0..<4 {
          #expect(
            try connection.query("SELECT \(number)").integer(0, 0) == Int64(number), "\(round)")
        }
      }
      let prepared = try connection.query("SELECT count(*) FROM pg_prepared_statements")
      #expect(try prepared.integer(0, 0) == 2)
    }
  }

  @Test("a transaction whose body throws is rolled back")
  func rollback() throws {
    try withDatabase("CREATE TABLE t (a int)") { connection, _ in
      #expect(throws: PostgresError.cancelled) {
        try connection.withTransaction { () throws(PostgresError) in
          try connection.query("INSERT INTO t VALUES (1)")
          throw PostgresError.cancelled
        }
      }
      #expect(connection.isIdle)
      let rows = try connection.query("SELECT count(*) FROM t").rows()
      #expect(rows == [[0]])
    }
  }

  @Test("a COPY from the client is refused, and leaves the connection usable")
  func copy() throws {
    try withDatabase("CREATE TABLE t (a int, b text)") { connection, _ in
      #expect(throws: PostgresError.self) { try connection.execute("COPY t FROM STDIN") }
      #expect(connection.isIdle)
    }
  }

  @Test("an unreachable server is an error with its address")
  func unreachable() {
    let error = #expect(throws: PostgresError.self) {
      try PostgresConnection("host=/nonexistent dbname=x")
    }
    guard case .disconnected(let text) = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(text.contains("/nonexistent"))
  }

  @Test("a backend that is terminated is a lost connection")
  func terminated() throws {
    try withDatabase { connection, target in
      let pid = try connection.query("SELECT pg_backend_pid()").integer(0, 0)
      let other = try PostgresConnection(target)
      try other.query("SELECT pg_terminate_backend($1::int)", [.integer(pid)])
      #expect(eventually(within: .seconds(60)) { !connection.isQuiet })
      #expect(throws: PostgresError.self) { try connection.query("SELECT 1") }
    }
  }

  @Test("a read transaction leaves its connection outside of a transaction, and usable at once")
  func readTransaction() throws {
    try withDatabase { connection, _ in
      try connection.execute("CREATE TABLE item(id int); INSERT INTO item VALUES (7)")
      for _ in 0..<3 {
        let ids = try connection.withReadTransaction(
          HistoryTransaction.begin, script: "LOCK TABLE item IN ACCESS SHARE MODE",
          query: "SELECT id FROM item"
        ) { (first) throws(PostgresError) in
          [try first.integer(0, 0), try connection.query("SELECT id + 1 FROM item").integer(0, 0)]
        }
        #expect(ids == [7, 8])
        #expect(connection.isIdle)
        #expect(!connection.isInTransaction)
      }
      #expect(eventually(within: .seconds(60)) { connection.isQuiet && !connection.isCommitting })
      #expect(try connection.query("UPDATE item SET id = 9").affectedRows == 1)
    }
  }

  @Test("a read transaction whose connection is lost after its last statement has its result")
  func lostAtTheEnd() throws {
    try withDatabase { connection, _ in
      let result = try connection.withReadTransaction(
        HistoryTransaction.begin, script: "", query: "SELECT 7"
      ) { (first) throws(PostgresError) -> Int64 in
        _ = try? connection.query("SELECT pg_terminate_backend(pg_backend_pid())")
        return try first.integer(0, 0)
      }
      #expect(result == 7)
    }
  }

  @Test("a read transaction whose prepared statement is out of date fails once")
  func staleReadTransaction() throws {
    try withDatabase { connection, _ in
      try connection.execute("CREATE TABLE item(id int); INSERT INTO item VALUES (7)")
      func read() throws(PostgresError) -> Int64 {
        try connection.withReadTransaction(
          HistoryTransaction.begin, script: "", query: "SELECT * FROM item"
        ) {
          (first) throws(PostgresError) in try first.integer(0, 0)
        }
      }
      #expect(try read() == 7)
      try connection.execute("ALTER TABLE item ADD COLUMN name text")
      let error = #expect(throws: PostgresError.self) { try read() }
      #expect(error?.isStaleStatement == true)
      #expect(try read() == 7)
    }
  }

  @Test("a backend that is terminated after a read transaction is a lost connection")
  func terminatedAfterRead() throws {
    try withDatabase { connection, target in
      let pid = try connection.withReadTransaction(
        HistoryTransaction.begin, script: "", query: "SELECT pg_backend_pid()"
      ) { (first) throws(PostgresError) in try first.integer(0, 0) }
      let other = try PostgresConnection(target)
      try other.query("SELECT pg_terminate_backend($1::int)", [.integer(pid)])
      #expect(eventually(within: .seconds(60)) { !connection.isQuiet })
      #expect(throws: PostgresError.self) { try connection.query("SELECT 1") }
    }
  }
}
