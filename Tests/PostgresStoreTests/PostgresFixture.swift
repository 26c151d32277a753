// A database of its own for each test, and what its history contains.

import CPostgres
import FetchModel
import Foundation
import SQLComposer
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

extension PostgresConnection {
  /// Copies rows into a table: `sql` is a `COPY … FROM STDIN`, `data` its input.
  func copy(_ sql: String, _ data: [UInt8]) throws(PostgresError) {
    try finishCommit()
    guard PQsendQuery(handle, sql) == 1 else { throw sendFailure }
    guard let start = try nextResult() else { throw .malformed("the server sent no result") }
    guard PQresultStatus(start.pointer) == PGRES_COPY_IN else {
      try finishResults()
      throw .server(ServerError(start.pointer))
    }
    var sent = 0
    while sent < data.count {
      let end = min(sent + 64 << 10, data.count)
      let code = data[sent..<end].withUnsafeBytes { bytes in
        PQputCopyData(handle, bytes.bindMemory(to: CChar.self).baseAddress, Int32(bytes.count))
      }
      if code < 0 { throw sendFailure }
      if code == 0 { try waitForSocket(writing: true) } else { sent = end }
    }
    while true {
      let code = PQputCopyEnd(handle, nil)
      if code < 0 { throw sendFailure }
      if code > 0 { break }
      try waitForSocket(writing: true)
    }
    _ = try results()
  }
}

/// The position of a new read transaction.
func position(_ connection: PostgresConnection) throws -> PostgresPosition {
  try HistoryTransaction.read([], on: connection) { (transaction) throws(PostgresError) in
    transaction.position
  }
}

/// The rows changed since a position, by their keys, with their values then; nil for a row that did not
/// exist.
func oldRows(
  of table: PostgresTrackedTable, since position: PostgresPosition,
  on connection: PostgresConnection
) throws -> [[PostgresValue]: [PostgresValue]?] {
  let locked = LockedTable(oid: table.oid, name: table.name)
  return try HistoryTransaction.read([locked], on: connection) { (_) throws(PostgresError) in
    try oldRows(of: table, since: HistoryPosition(position.snapshot), on: connection)
  }
}

/// The same in an open transaction.
func oldRows(
  of table: PostgresTrackedTable, since position: HistoryPosition, on connection: PostgresConnection
) throws(PostgresError) -> [[PostgresValue]: [PostgresValue]?] {
  var fragment = table.overlay("old", at: position)
  fragment.text = "WITH \(fragment.text) SELECT * FROM old"
  let statement = PostgresStatement(fragment)
  let rows = try connection.query(statement.sql, statement.parameters).rows()
  let places = table.key.compactMap { name in table.columns.firstIndex { $0.name == name } }
  let pairs = rows.map { row in
    let values = Array(row.dropFirst())
    return (places.map { values[$0] }, row[0] == true ? values : nil)
  }
  return Dictionary(uniqueKeysWithValues: pairs)
}
