// Errors of a server → errors of a store, in any language of the server's messages.

import FetchModel
import TestSupport
import Testing

@testable import PostgresStore

@Suite("PostgreSQL: errors of the server", .mayBlock)
struct PostgresErrorTests {
  private static func error(
    _ sqlState: String, _ message: String, _ function: String? = nil
  ) -> PostgresError {
    .server(ServerError(sqlState: sqlState, message: message, function: function))
  }

  @Test("messages in another language have the same meaning")
  func languages() {
    let stale = Self.error(
      "0A000", "gecachter Plan darf den Ergebnistyp nicht ändern", "RevalidateCachedQuery")
    #expect(stale.isStaleStatement)
    #expect(StoreError(stale) == .schemaChanged(entity: ""))
    let schema = StoreError(
      Self.error("3F000", "Schema »livefetch« existiert nicht", "get_namespace_oid"))
    #expect(
      schema
        == .unsupported(
          "A predicate or an aggregate of LiveFetch's own, in a database in which no server without "
            + "`--read-only` has created the schema `livefetch`,"))
    #expect(
      StoreError(Self.error("3F000", "Schema »other« existiert nicht", "get_namespace_oid"))
        == .schemaChanged(entity: ""))
    #expect(
      StoreError(
        Self.error(
          "42883", "Funktion livefetch.livefetch_soundex(text) existiert nicht",
          "ParseFuncOrColumn"))
        == .unsupported("`soundex` over PostgreSQL"))
    #expect(
      StoreError(
        Self.error("42883", "Operator existiert nicht: json = text", "op_error"))
        == .unsupported("A calculation with a value of this type over PostgreSQL"))
    let standby = StoreError(
      Self.error("55000", "Wiederherstellung läuft", "pg_current_wal_insert_lsn"))
    guard case .storageFailed = standby else {
      Issue.record("\(standby)")
      return
    }
    let view = StoreError(
      Self.error("55000", "materialisierte Sicht wurde nicht befüllt", "ExecOpenScanRelation"))
    guard case .failed = view else {
      Issue.record("\(view)")
      return
    }
  }

  @Test(
    "a column that was renamed is a change of the schema, also if a function has its name",
    arguments: ["rank", "mode", "lag", "score"])
  func renamedColumn(name: String) throws {
    let tables = """
      CREATE TABLE item(id int PRIMARY KEY, \(name) int); INSERT INTO item VALUES (1, 2);
      """
    try PostgresStoreTests.withStore(tables, PostgresStoreOptions()) { (store, connection) throws in
      try connection.execute("ALTER TABLE item RENAME \(name) TO other")
      for query in ["select=\(name)", "where=\(name)%3E1", "sort=\(name)"] {
        #expect(throws: StoreError.schemaChanged(entity: "")) {
          try ParityFixture.snapshot(store, "item", query)
        }
      }
    }
  }

  @Test("an error that a client can cause is no change of the schema")
  func clientsErrors() {
    let other = Self.error("42804", "CASE types boolean and integer cannot be matched")
    #expect(StoreError(composed: other) == .schemaChanged(entity: ""))
    let key = Self.error("42804", "column is of type interval but expression is of type bytea")
    #expect(
      StoreError(composed: key)
        == .unsupported("A relationship to a key of this type over PostgreSQL"))
    #expect(
      StoreError(composed: Self.error("42883", "operator does not exist: json = text", "op_error"))
        == .unsupported("A calculation with a value of this type over PostgreSQL"))
  }

  @Test("an error names the function of the server that reports it")
  func functions() throws {
    try withDatabase { connection, _ in
      let error = #expect(throws: PostgresError.self) { try connection.query("SELECT 1 / 0") }
      guard case .server(let refusal) = error else {
        Issue.record("\(String(describing: error))")
        return
      }
      #expect(refusal.function == "int4div")
    }
  }
}
