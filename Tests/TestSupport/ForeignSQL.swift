// SQL run on a file as any other program would run it.

import LiveFetchCSQLite

/// The message of SQLite.
public struct SQLFailure: Error {
  public let text: String
  public init(text: String) { self.text = text }
}

/// Runs statements on the file at `path`, which is created if it is missing, by a connection without
/// LiveFetch's settings and functions; waits up to ten seconds for other writers.
///
/// - Returns: the rows of all of them, with `|` between the values.
@discardableResult
public func sqlite(_ path: String, _ statements: String) throws(SQLFailure) -> [String] {
  var database: OpaquePointer?
  defer { sqlite3_close(database) }
  guard sqlite3_open(path, &database) == SQLITE_OK else { throw SQLFailure(text: path) }
  sqlite3_busy_timeout(database, 10_000)
  let rows = Rows()
  var message: UnsafeMutablePointer<CChar>?
  defer { sqlite3_free(message) }
  let code = sqlite3_exec(
    database, statements, collect, Unmanaged.passUnretained(rows).toOpaque(), &message)
  guard code == SQLITE_OK else {
    throw SQLFailure(text: message.map { String(cString: $0) } ?? "\(code)")
  }
  return rows.list
}

private final class Rows {
  var list: [String] = []
}

/// Adds a row to the ``Rows`` that `context` points to.
private func collect(
  _ context: UnsafeMutableRawPointer?, _ count: Int32,
  _ values: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?,
  _ names: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?
) -> Int32 {
  guard let context, let values else { return 0 }
  let row = (0..<Int(count)).map { values[$0].map { String(cString: $0) } ?? "NULL" }
  Unmanaged<Rows>.fromOpaque(context).takeUnretainedValue().list
    .append(row.joined(separator: "|"))
  return 0
}
