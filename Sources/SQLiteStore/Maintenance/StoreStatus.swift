// A file → what it is and what its history holds, without changing or locking it.

import CSQLite
import FetchModel

/// What a file is.
public struct StoreStatus: Sendable {
  /// What the history holds.
  public struct Followed: Sendable {
    public let token: Token
    /// Touched rows.
    public let positions: Int
    public let saves: Int
    /// When the oldest save that is kept was made, in seconds since 1970.
    public let oldest: Double?
    public let newest: Double?
    /// nil where SQLite cannot tell.
    public let bytes: Int?
  }

  public let sqliteVersion: String
  public let journalMode: String
  public let bytes: Int
  /// Names and numbers of rows, in the model's order; views have none.
  public let entities: [(name: String, rows: Int?)]
  /// nil where the file is not followed.
  public let history: Followed?
}

extension SQLiteStore {
  /// Looks at the file at `path`. O(n) in the rows, which are counted.
  public static func status(path: String) throws(StoreError) -> StoreStatus {
    let (connection, _) = try OpenFile.openForReading(path)
    defer { connection.close() }
    try connection.run("BEGIN")
    defer { try? connection.run("ROLLBACK") }
    let schema = try Introspection(of: connection).schema
    var entities: [(name: String, rows: Int?)] = []
    for table in schema.entities {
      let rows =
        table.isView
        ? nil
        : try connection.first("SELECT count(*) FROM main.\(table.quotedName)") {
          Int($0.integer(0))
        }
      entities.append((table.name, rows))
    }
    let pages = try connection.first("PRAGMA main.page_count") { Int($0.integer(0)) } ?? 0
    let size = try connection.first("PRAGMA main.page_size") { Int($0.integer(0)) } ?? 0
    return StoreStatus(
      sqliteVersion: String(cString: sqlite3_libversion()),
      journalMode: try connection.first("PRAGMA main.journal_mode") { $0.text(0) } ?? "",
      bytes: pages * size, entities: entities, history: try followed(on: connection))
  }

  private static func followed(
    on connection: Connection
  ) throws(StoreError) -> StoreStatus.Followed? {
    guard try History.isPresent(on: connection) else { return nil }
    try History.checkFormat(on: connection)
    let token = try newestToken(on: connection)
    let saves = try connection.first(
      "SELECT count(*), min(at), max(at) FROM main.livefetch_save"
    ) {
      (
        count: Int($0.integer(0)), oldest: $0.isNull(1) ? nil : $0.double(1),
        newest: $0.isNull(2) ? nil : $0.double(2)
      )
    }
    return StoreStatus.Followed(
      token: token,
      positions: try connection.first("SELECT count(*) FROM main.livefetch_position") {
        Int($0.integer(0))
      } ?? 0,
      saves: saves?.count ?? 0, oldest: saves?.oldest ?? nil, newest: saves?.newest ?? nil,
      bytes: historyBytes(on: connection))
  }

  /// By `dbstat`, which not every SQLite has.
  private static func historyBytes(on connection: Connection) -> Int? {
    let sql = """
      SELECT sum(pgsize) FROM dbstat WHERE aggregate = TRUE AND name LIKE 'livefetch\\_%' ESCAPE '\\'
      """
    return (try? connection.first(sql) { Int($0.integer(0)) }) ?? nil
  }
}
