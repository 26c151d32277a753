// A store on a hot standby, before and after its promotion.

import FetchModel
import Synchronization
import TestSupport
import Testing

@testable import PostgresStore

@Suite("PostgreSQL: a standby", .mayBlock)
struct StandbyTests {
  private static let tables = """
    CREATE TABLE city (id int PRIMARY KEY, name text);
    INSERT INTO city VALUES (1, 'Älm'), (2, 'Bonn');
    """

  @Test("a standby is read-only, says so, follows its primary, and is opened again when promoted")
  func standby() throws {
    let server = try PostgresServer()
    defer { server.stop() }
    let target = try server.newDatabase()
    let connection = try PostgresConnection(target)
    defer { connection.close() }
    try connection.execute(Self.tables)
    let primary = try PostgresStore(target)
    defer { primary.close() }
    let standby = try PostgresServer(standbyOf: server)
    defer { standby.stop() }
    let name = try connection.query("SELECT current_database()").text(0, 0)
    let store = try PostgresStore(standby.target(name))
    defer { store.close() }

    #expect(store.readOnlyReason == "the server is a standby")
    #expect(store.properties.isReadOnly)
    #expect(store.newlyTracked == [])
    #expect(store.model.entities.map(\.name) == ["city"])
    let body = #"{"changes":[{"delete":"city","id":1}]}"#
    let request = try SaveResolver(model: primary.model).resolve(JSON(parsing: Array(body.utf8)))
    let error = Mutex<SaveError?>(nil)
    store.save(request) { result in
      error.withLock { if case .failure(let failure) = result { $0 = failure } }
    }
    guard case .store(.readOnly)? = error.withLock(\.self) else {
      Issue.record("a save has another result")
      return
    }

    // The functions of the primary's schema `livefetch` are there too.
    let search = "as=ids&where=name%20BEGINSWITH%5Bcd%5D%20'a'"
    #expect(try ParityFixture.snapshot(store, "city", search).contains(#""items":[1]"#))
    try connection.execute("INSERT INTO city VALUES (3, 'Ahlen')")
    #expect(
      eventually(within: .seconds(60)) {
        (try? ParityFixture.snapshot(store, "city", search))?.contains(#""items":[1,3]"#) == true
      })

    let before = try primary.read { transaction throws(StoreError) in transaction.token }
    let isOutdated = Mutex(false)
    store.onOutdated { _ in isOutdated.withLock { $0 = true } }
    server.stop()
    try standby.run("SELECT pg_promote()", on: name)
    #expect(eventually(within: .seconds(60)) { isOutdated.withLock(\.self) })
    let promoted = try PostgresStore(standby.target(name))
    defer { promoted.close() }
    #expect(promoted.readOnlyReason == nil)
    let validity = try promoted.read { transaction throws(StoreError) in
      try transaction.validity(of: before)
    }
    #expect(validity == .expired)
  }
}
