// A database of its own for each test.

import Foundation
import TestSupport

@testable import PostgresStore

/// Runs `body` with a connection to a new database.
@discardableResult
func withDatabase<Result>(
  _ script: String = "", _ body: (PostgresConnection, String) throws -> Result
) throws -> Result {
  let target = try PostgresServer.shared().newDatabase()
  let connection = try PostgresConnection(target)
  defer { connection.close() }
  if !script.isEmpty { try connection.execute(script) }
  return try body(connection, target)
}
