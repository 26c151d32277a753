// A file → its format, its entities and the extent of its history, without changing or locking it.

import FetchModel
import LiveFetchCSQLite
import SQLComposer

/// The properties of a file.
public struct StoreStatus: Sendable {
  /// The extent of the history.
  public struct HistoryExtent: Sendable {
    /// The newest token.
    public let token: Token
    /// The number of changed rows.
    public let rows: Int
    /// The number of saves in the history.
    public let saves: Int
    /// The time of the oldest save in the history, in seconds since 1970.
    public let oldest: Double?
    /// The time of the newest save, in seconds since 1970.
    public let newest: Double?
    /// About how many bytes they take, as the server limits and measures them; nil for tables that have
    /// changed since.
    public let bytes: Int64?
  }

  /// The version of the SQLite library.
  public let sqliteVersion: String
  /// The journal mode in SQLite's words, such as `wal`.
  public let journalMode: String
  /// The size of the file in bytes.
  public let bytes: Int
  /// Names and numbers of objects, with those of subentities, in the model's order; views have no number.
  public let entities: [(name: String, rows: Int?)]
  /// The history; nil if the file is not tracked.
  public let history: HistoryExtent?
}

extension SQLiteStore {
  /// Returns the model of the file at `path`, which may be served meanwhile.
  public static func model(path: String) throws(StoreError) -> Model {
    let (connection, _) = try OpenFile.openForReading(path)
    defer { connection.close() }
    return try Introspection(of: connection).model
  }

  /// Reads the status of the file at `path`. O(rows), because they are counted.
  public static func status(path: String) throws(StoreError) -> StoreStatus {
    let (connection, _) = try OpenFile.openForReading(path)
    defer { connection.close() }
    try connection.run("BEGIN")
    defer { try? connection.run("ROLLBACK") }
    let introspection = try Introspection(of: connection)
    let history = History(model: introspection.model, schema: introspection.schema)
    let entities = try introspection.model.entities.indices.map { entity throws(StoreError) in
      (
        introspection.model.entities[entity].name,
        try rows(of: entity, introspection, on: connection)
      )
    }
    let pages = try connection.first("PRAGMA main.page_count") { Int($0.integer(0)) } ?? 0
    let size = try connection.first("PRAGMA main.page_size") { Int($0.integer(0)) } ?? 0
    return StoreStatus(
      sqliteVersion: String(cString: sqlite3_libversion()),
      journalMode: try connection.first("PRAGMA main.journal_mode") { $0.text(0) } ?? "",
      bytes: pages * size, entities: entities, history: try extent(of: history, on: connection))
  }

  /// Counts an entity's objects, with those of its subentities; nil for a view.
  private static func rows(
    of entity: Int, _ introspection: Introspection, on connection: Connection
  ) throws(StoreError) -> Int? {
    let model = introspection.model
    let table = introspection.schema.entities[entity]
    guard !table.isView else { return nil }
    var sql = "SELECT count(*) FROM main.\(table.quotedName)"
    if let names = model.storedNames(of: entity),
      let discriminator = model.entities[entity].inheritance.discriminator
    {
      let column = table.columns[table.attributeColumns[discriminator]].name
      sql += " WHERE \(quoted(column)) IN (\(names.map(literal).joined(separator: ", ")))"
    }
    return try connection.first(sql) { Int($0.integer(0)) }
  }

  private static func extent(
    of history: History, on connection: Connection
  ) throws(StoreError) -> StoreStatus.HistoryExtent? {
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
    return StoreStatus.HistoryExtent(
      token: token,
      // The oldest position has no row of the history.
      rows: try connection.first("SELECT max(count(*) - 1, 0) FROM main.livefetch_position") {
        Int($0.integer(0))
      } ?? 0,
      saves: saves?.count ?? 0, oldest: saves?.oldest ?? nil, newest: saves?.newest ?? nil,
      bytes: try? history.bytes(on: connection))
  }
}
