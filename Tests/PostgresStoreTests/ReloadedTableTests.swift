// Saves while another program empties a table and fills it again in one transaction.

import Dispatch
import Foundation
import TestSupport
import Testing

@testable import PostgresStore

@Suite("PostgreSQL: saves during the reload of a table", .mayBlock)
struct ReloadedTableTests {
  private static let waits = """
    SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted
      AND database = (SELECT oid FROM pg_database WHERE datname = current_database()))
    """

  /// The outcome of a save that waits for a transaction with the statements `reload`.
  private func outcome(
    _ body: String, during reload: String, rules: String? = nil
  ) throws -> [String] {
    let fixture = try SaveFixture()
    defer { fixture.close() }
    let other = try PostgresConnection(fixture.target)
    let observer = try PostgresConnection(fixture.target)
    defer {
      other.close()
      observer.close()
    }
    try other.execute("BEGIN; \(reload)")
    let committed = DispatchSemaphore(value: 0)
    Thread.detachNewThread {
      _ = try? eventually(within: .seconds(60)) { try observer.query(Self.waits).bool(0, 0) }
      _ = try? other.execute("COMMIT")
      committed.signal()
    }
    let outcome = try fixture.save(body, to: fixture.postgres, rules: rules)
    committed.wait()
    return outcome.map(SaveFixture.short)
  }

  @Test(
    "a save that waits for a TRUNCATE and an INSERT changes the new rows",
    arguments: [
      (
        #"{"changes":[{"update":"Log","id":1,"values":{"number":3}}]}"#,
        ["+0 ~1 -0", "0 Log 1 updated"]
      ),
      (
        #"{"changes":[{"update":"Log","where":"number > 0","values":{"number":3}}]}"#,
        ["+0 ~2 -0"]
      ),
      (#"{"changes":[{"delete":"Log","id":2}]}"#, ["+0 ~0 -1", "0 Log 2 deleted"]),
    ])
  func newRows(body: String, expected: [String]) throws {
    let reload = #"TRUNCATE "Log"; INSERT INTO "Log"(id, number) VALUES (1, 7), (2, 8)"#
    #expect(try outcome(body, during: reload) == expected)
  }

  @Test("an access rule reads the new rows of a table that is emptied and filled again")
  func rules() throws {
    let rules = """
      {"access":{"default":true},"entities":{"City":{"access":{"read":true,"insert":true,
        "delete":true,"update":"NOT (ANY Tag.id == 'big')"}}}}
      """
    let reload = #"TRUNCATE "City_Tag"; INSERT INTO "City_Tag" VALUES (10, 'big'), (11, 'old')"#
    func save(_ city: Int) throws -> [String] {
      try outcome(
        #"{"changes":[{"update":"City","id":\#(city),"values":{"population":4}}]}"#,
        during: reload, rules: rules)
    }
    #expect(try save(10) == ["403 0 - forbidden"])
    #expect(try save(11) == ["+0 ~1 -0", "0 City 11 updated"])
  }
}
