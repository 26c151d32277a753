// A store while a part of the database does not answer or may not be used.

import CPostgres
import FetchModel
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import PostgresStore

@Suite("PostgreSQL: parts that do not answer", .mayBlock)
struct DegradedServerTests {
  private static let tables = """
    CREATE TABLE city (id int PRIMARY KEY, name text, size float8, price numeric);
    INSERT INTO city VALUES (1, 'Ä', 1e308, 1e400), (2, 'b', 1.5e308, 2);
    CREATE TABLE note (id int PRIMARY KEY); INSERT INTO note VALUES (1);
    """

  @Test("a table that is locked delays no other one, and is read when the lock is gone")
  func lockedTable() throws {
    var options = PostgresStoreOptions()
    options.queryTimeout = 60
    try PostgresStoreTests.withStore(Self.tables, options) { (store, connection) throws in
      let plan = try ParityFixture.plan(store, "note", "")
      try connection.execute("BEGIN; LOCK TABLE city IN ACCESS EXCLUSIVE MODE")
      let note = try store.read { transaction throws(StoreError) in
        try transaction.total(of: plan.definition)
      }
      #expect(note == 1)
      try connection.execute("COMMIT")
      #expect(try ParityFixture.snapshot(store, "city", "as=count").contains(#""total":2"#))
    }
  }

  @Test("after a query that takes too long its transaction reads the same state")
  func queryAfterTimeout() throws {
    try PostgresStoreTests.withStore(Self.tables) { (store, connection) throws in
      let lock = "BEGIN; LOCK TABLE city IN ACCESS EXCLUSIVE MODE"
      try connection.execute(lock)
      let city = try ParityFixture.plan(store, "city", "")
      let note = try ParityFixture.plan(store, "note", "")
      let totals = try store.transaction { transaction throws(StoreError) in
        var totals = [try transaction.total(of: note.definition)]
        for _ in 0..<2 {
          let error = #expect(throws: StoreError.self) {
            try transaction.withTimeLimit(.milliseconds(50)) { () throws(StoreError) in
              _ = try transaction.total(of: city.definition)
            }
          }
          #expect(error == .queryTimeout)
          _ = try? connection.execute(
            "INSERT INTO note SELECT max(id) + 1 FROM note; COMMIT; \(lock)")
          totals.append(try transaction.total(of: note.definition))
        }
        return totals
      }
      #expect(totals == [1, 1, 1])
      try connection.execute("COMMIT")
      #expect(try ParityFixture.snapshot(store, "note", "as=count").contains(#""total":3"#))
    }
  }

  @Test("a server that cannot notice commits is not healthy until it can")
  func unnoticedCommits() throws {
    var options = PostgresStoreOptions()
    options.maxMonitorAge = .milliseconds(500)
    try PostgresStoreTests.withStore(Self.tables, options) { (store, connection) throws in
      let faults = Mutex<[StoreFault]?>(nil)
      func reports(_ expected: [StoreFault]) -> Bool {
        eventually(within: .seconds(60)) {
          store.checkHealth { found in faults.withLock { $0 = found } }
          return faults.withLock(\.self) == expected
        }
      }
      #expect(reports([]))
      try connection.execute("ALTER SEQUENCE livefetch.history_seq RENAME TO hidden")
      #expect(reports([DatabaseWatch.unnoticedCommits]))
      try connection.execute("ALTER SEQUENCE livefetch.hidden RENAME TO history_seq")
      #expect(reports([]))
    }
  }

  @Test("a snapshot from before a TRUNCATE is not read after it")
  func truncatedTable() throws {
    try withDatabase(Self.tables) { connection, target in
      let tables = try CatalogReader(connection: connection).read().lockable
      _ = try PostgresHistory.install(on: connection)
      let writer = try PostgresConnection(target)
      try writer.execute("BEGIN; LOCK TABLE city IN ACCESS EXCLUSIVE MODE; TRUNCATE city")
      let error = #expect(throws: PostgresError.self) {
        try HistoryTransaction.read(tables, on: connection) { transaction throws(PostgresError) in
          try transaction.locks.lock(for: #"SELECT FROM "public"."note""#)
          try writer.execute("COMMIT")
          // Queries of the present name tables without their schema.
          try transaction.locks.lock(for: #"SELECT FROM "city" AS "t0""#)
        }
      }
      #expect(error?.sqlState == "40001")
    }
  }

  @Test("names that differ only in case are those of different tables and columns")
  func namesByCase() throws {
    let tables = """
      CREATE TABLE item("ID" text, id int PRIMARY KEY, v int);
      INSERT INTO item VALUES ('x', 1, 1), ('x', 2, 2);
      CREATE TABLE "City"(id int PRIMARY KEY, n text);
      CREATE TABLE city(id int PRIMARY KEY, m text);
      CREATE TABLE person(id int PRIMARY KEY, city_id int REFERENCES city(id));
      """
    try PostgresStoreTests.withStore(tables, PostgresStoreOptions()) { (store, _) throws in
      let items = try ParityFixture.snapshot(store, "item", "as=ids&sort=id")
      #expect(items.contains(#""items":[1,2]"#))
      let person = try #require(store.model.entities.first { $0.name == "person" })
      let names = person.relationships.map { store.model.entities[$0.destination].name }
      #expect(names == ["city"])
    }
  }

  @Test("a statement with too many parameters is refused, and the connection stays usable")
  func manyParameters() throws {
    try withDatabase("") { connection, _ in
      #expect(
        throws: StoreError.unsupported("A fetch with more than 65,535 constants over PostgreSQL")
      ) {
        try withStoreErrors { () throws(PostgresError) in
          _ = try connection.query("SELECT 1", Array(repeating: .integer(1), count: 65_536))
        }
      }
      let answer = try connection.query("SELECT 7").integer(0, 0)
      #expect(answer == 7)
    }
  }

  @Test("a long statement does not stay prepared in the server")
  func longStatement() throws {
    try withDatabase("") { connection, _ in
      let list = (1...3_000).map(String.init).joined(separator: ",")
      #expect(try connection.query("SELECT 7 IN (\(list))").bool(0, 0))
      let absent = try connection.query("SELECT $1::int IN (\(list))", [.integer(0)])
      #expect(try !absent.bool(0, 0))
      let kept = try connection.query(
        "SELECT count(*) FROM pg_prepared_statements WHERE length(statement) > 8192")
      #expect(try kept.integer(0, 0) == 0)
    }
  }

  @Test("searches of a read-only store name the functions that the database does not have")
  func missingFunctions() throws {
    var options = PostgresStoreOptions()
    options.isReadOnly = true
    try PostgresStoreTests.withStore(Self.tables, options) { (store, _) throws in
      let error = #expect(throws: StoreError.self) {
        try ParityFixture.snapshot(store, "city", "where=name%20CONTAINS%5Bcd%5D%20'a'")
      }
      guard case .unsupported(let text) = error else {
        Issue.record("\(String(describing: error))")
        return
      }
      #expect(text.contains("schema `livefetch`"))
    }
  }

  @Test("a role that only reads uses the functions that another one has created")
  func readersFunctions() throws {
    try withDatabase(Self.tables + "GRANT SELECT ON city TO PUBLIC;") { connection, target in
      try PostgresStore(target).close()
      let role = "reader_" + UUID().uuidString.prefix(8).lowercased()
      try connection.execute("CREATE ROLE \(role) LOGIN")
      let store = try PostgresStore(target.replacing("user=tester", with: "user=\(role)"))
      defer { store.close() }
      #expect(store.properties.isReadOnly)
      let found = try ParityFixture.snapshot(
        store, "city", "as=ids&where=name%20CONTAINS%5Bcd%5D%20'a'")
      #expect(found.contains(#""items":[1]"#))
    }
  }

  @Test("calculations beyond the range of doubles have the results of a file")
  func ranges() throws {
    try PostgresStoreTests.withStore(Self.tables) { (_, connection) throws in
      func number(_ sql: String) throws -> String {
        try connection.query("SELECT (\(sql))::text").text(0, 0)
      }
      #expect(try number("SELECT livefetch.livefetch_average(size) FROM city") == "Infinity")
      #expect(try number("SELECT livefetch.livefetch_average(price) FROM city") == "Infinity")
      #expect(try number("livefetch.livefetch_double(-1e400)") == "-Infinity")
      #expect(try number("livefetch.livefetch_double(1e-400)") == "0")
      #expect(try number("livefetch.livefetch_double(0.1)") == "0.1")
      #expect(try number("livefetch.livefetch_and(1e30, -1)") == "9223372036854775807")
      #expect(try number("livefetch.livefetch_or(-1e30, 0)") == "-9223372036854775808")
      #expect(try number("livefetch.livefetch_not(1e30)") == "-9223372036854775808")
      #expect(try number("livefetch.livefetch_remainder(-7, 4)") == "-3")
      #expect(throws: StoreError.self) {
        try withStoreErrors { () throws(PostgresError) in
          _ = try connection.query("SELECT 1e400::numeric::float8")
        }
      }
      #expect(
        StoreError(.server(ServerError(sqlState: "22003", message: "out of range")))
          == .unsupported("A calculation beyond the range of PostgreSQL's types"))
    }
  }

  @Test("a failed transaction is not taken for a committed one")
  func failedCommit() throws {
    try withDatabase(Self.tables) { connection, _ in
      let error = #expect(throws: PostgresError.self) {
        try connection.withTransaction { () throws(PostgresError) in
          _ = try? connection.execute("SELECT 1 / 0")
        }
      }
      #expect(error?.sqlState == "25P02")
    }
  }

  @Test("settings for lost peers are set unless the address has its own")
  func keepalives() throws {
    try withDatabase { connection, target in
      func setting(_ name: String, _ connection: PostgresConnection) -> String? {
        let first = PQconninfo(connection.handle)
        defer { PQconninfoFree(first) }
        var option = first
        while let current = option, let keyword = current.pointee.keyword {
          if String(cString: keyword) == name {
            return current.pointee.val.map { String(cString: $0) }
          }
          option = current + 1
        }
        return nil
      }
      #expect(setting("tcp_user_timeout", connection) == "20000")
      #expect(setting("connect_timeout", connection) == "10")
      let own = try PostgresConnection(
        target + " tcp_user_timeout=7000 connect_timeout=3", within: .seconds(5))
      #expect(setting("tcp_user_timeout", own) == "7000")
      #expect(setting("connect_timeout", own) == "3")
      #expect(setting("keepalives_idle", own) == "10")
      let hurried = try PostgresConnection(target, within: .seconds(5))
      #expect(setting("connect_timeout", hurried) == "5")
      for connection in [own, hurried] { connection.close() }
    }
  }

  @Test("an expired response is replaced by its key's next one, and pruning deletes the others")
  func expiredResponses() throws {
    try withDatabase(Self.tables) { connection, _ in
      _ = try PostgresHistory.install(on: connection)
      for key in ["a", "b"] {
        try PostgresIdempotencyTable.insert(
          IdempotencyRecord(key: key, at: 1, fingerprint: "f", bytes: [1]), on: connection)
      }
      let once = IdempotentSave(key: "a", fingerprint: "g") { _, _ throws(StoreError) in [] }
      #expect(try PostgresIdempotencyTable.store([2], once, on: connection))
      #expect(try !PostgresIdempotencyTable.store([3], once, on: connection))
      #expect(try PostgresIdempotencyTable.prune(limit: 10, on: connection) == 1)
      let left = try PostgresIdempotencyTable.all(on: connection)
      #expect(left.map(\.key) == ["a"] && left.map(\.bytes) == [[2]])
    }
  }

  // MARK: Saves

  /// Starts the save of a body; its result is in `results` when it is done.
  private func start(
    _ body: String, _ store: PostgresStore, key: String? = nil, _ results: Results
  ) throws {
    let request = try SaveResolver(model: store.model).resolve(JSON(parsing: Array(body.utf8)))
    guard let key else {
      return store.save(request) { result in results.add(result.map(\.token)) }
    }
    let once = IdempotentSave(key: key, fingerprint: "f") { result, _ throws(StoreError) in
      Array(result.token.description.utf8)
    }
    store.save(request, once: once) { result in
      results.add(result.map { Token(String(decoding: $0.bytes, as: UTF8.self)) ?? .untracked })
    }
  }

  private final class Results: Sendable {
    private let results = Mutex<[Result<Token, SaveError>]>([])
    func add(_ result: Result<Token, SaveError>) { results.withLock { $0.append(result) } }
    func next() throws -> Token {
      let isThere = eventually(within: .seconds(60)) { results.withLock { !$0.isEmpty } }
      #expect(isThere)
      let first = results.withLock(\.first)
      return try #require(first).get()
    }
  }

  @Test("a save with a key is made while thousands of other transactions begin, with a short token")
  func busyServer() throws {
    let script =
      Self.tables + """
        CREATE FUNCTION hold() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
          PERFORM pg_advisory_xact_lock_shared(42); RETURN NEW; END $$;
        CREATE TRIGGER hold BEFORE INSERT ON note FOR EACH ROW EXECUTE FUNCTION hold();
        """
    try PostgresStoreTests.withStore(script) { (store, connection) throws in
      try connection.execute("SELECT pg_advisory_lock(42)")
      let results = Results()
      try start(#"{"changes":[{"insert":"note","values":{"id":2}}]}"#, store, key: "k", results)
      let isHeld = eventually(within: .seconds(60)) {
        (try? connection.query(
          "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
        ).integer(0, 0)) == 1
      }
      #expect(isHeld)
      for _ in 0..<1_500 { try connection.query("SELECT pg_current_xact_id()") }
      try connection.execute("SELECT pg_advisory_unlock(42)")
      let token = try results.next()
      #expect(token.description.utf8.count < 600)
      let isKnown = try store.read { transaction throws(StoreError) in
        let validity = try transaction.validity(of: token)
        let isEmpty = try transaction.changes(after: token.position).isEmpty
        return validity == .known && isEmpty
      }
      #expect(isKnown)
    }
  }

  @Test("a save that was committed succeeds though no token can be read after it")
  func tokenless() throws {
    let script =
      Self.tables + """
        CREATE FUNCTION hide() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
          ALTER TABLE livefetch.store RENAME TO hidden; RETURN NEW; END $$;
        CREATE TRIGGER hide BEFORE INSERT ON note FOR EACH ROW EXECUTE FUNCTION hide();
        """
    try PostgresStoreTests.withStore(script) { (store, connection) throws in
      let before = store.newestToken
      let results = Results()
      try start(#"{"changes":[{"insert":"note","values":{"id":2}}]}"#, store, results)
      let token = try results.next()
      #expect(token.epoch == before.epoch && token.position <= before.position)
      #expect(try connection.query("SELECT count(*) FROM note").integer(0, 0) == 2)
    }
  }

  @Test("reads wait for a connection if the role may open no further one, and the store is healthy")
  func connectionLimit() throws {
    try withDatabase { connection, target in
      let role = "few_" + UUID().uuidString.prefix(8).lowercased()
      let database = try connection.query("SELECT current_database()").text(0, 0)
      try connection.execute(
        """
        CREATE ROLE \(role) LOGIN CONNECTION LIMIT 4;
        GRANT CREATE ON DATABASE \(database) TO \(role); GRANT CREATE ON SCHEMA public TO \(role);
        SET ROLE \(role); CREATE TABLE mine (id int PRIMARY KEY); RESET ROLE
        """)
      var options = PostgresStoreOptions()
      options.connections = 8
      let store = try PostgresStore(
        target.replacing("user=tester", with: "user=\(role)"), options: options)
      defer { store.close() }
      let plan = try ParityFixture.plan(store, "mine", "as=count")
      let failures = Mutex<[StoreError]>([])
      let done = DispatchSemaphore(value: 0)
      for _ in 0..<12 {
        Thread.detachNewThread {
          do throws(StoreError) {
            _ = try store.snapshot(of: plan, queryClass: .full)
          } catch {
            failures.withLock { $0.append(error) }
          }
          done.signal()
        }
      }
      for _ in 0..<12 { done.wait() }
      #expect(failures.withLock(\.self) == [])
      let faults = Mutex<[StoreFault]?>(nil)
      let isHealthy = eventually(within: .seconds(60)) {
        store.checkHealth { found in faults.withLock { $0 = found } }
        return faults.withLock(\.self) == []
      }
      #expect(isHealthy)
    }
  }
}
