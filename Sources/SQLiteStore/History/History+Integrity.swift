// A followed file that other programs may have changed → whether its history has no hole.

import FetchModel

extension History {
  /// Whether every row change since the epoch began was recorded: the schema is the one that the
  /// epoch began with, and each trigger and history table is as it was made.
  func isIntact(on connection: Connection) throws(StoreError) -> Bool {
    let signature = try connection.first(
      "SELECT value FROM main.livefetch_store WHERE key = 'schema'"
    ) { $0.text(0) }
    guard signature == SchemaSignature(model, schema).text,
      try hasItsOwnStatements(on: connection),
      try !hasYoungerTriggers(on: connection)
    else { return false }
    return try hasKeptSchemaVersion(on: connection)
  }

  private func hasItsOwnStatements(on connection: Connection) throws(StoreError) -> Bool {
    let found = try connection.all(
      """
      SELECT name, sql FROM main.sqlite_schema WHERE type = 'trigger' AND
      name LIKE 'livefetch\\_%' ESCAPE '\\' OR
      type = 'table' AND name LIKE 'livefetch\\_history\\_%' ESCAPE '\\'
      """
    ) { ($0.text(0), $0.text(1)) }
    let expected = tables.flatMap { HistoryTriggers(table: $0).statements }
    return Dictionary(found, uniquingKeysWith: { first, _ in first })
      == Dictionary(
        expected.map { ($0.name, $0.sql) }, uniquingKeysWith: { first, _ in first })
  }

  /// Whether a followed table has a trigger of the user's that SQLite fires before the history's.
  private func hasYoungerTriggers(on connection: Connection) throws(StoreError) -> Bool {
    try connection.first(
      """
      SELECT 1 FROM main.sqlite_schema AS own JOIN main.sqlite_schema AS other
      ON other.type = 'trigger' AND other.tbl_name = own.tbl_name AND other.rowid > own.rowid
      WHERE own.type = 'trigger' AND own.name LIKE 'livefetch\\_insert\\_%' ESCAPE '\\'
      AND other.name NOT LIKE 'livefetch\\_%' ESCAPE '\\'
      """
    ) { _ in true } ?? false
  }

  /// VACUUM may renumber rows that have no key, and moves the schema's version. Where such rows are
  /// followed, every move of it counts as a hole.
  private func hasKeptSchemaVersion(on connection: Connection) throws(StoreError) -> Bool {
    guard tables.contains(where: \.isNumbered) else { return true }
    let known = try connection.first(
      "SELECT value FROM main.livefetch_store WHERE key = 'schema_version'"
    ) { $0.integer(0) }
    return try known == Self.schemaVersion(on: connection)
  }

  static func schemaVersion(on connection: Connection) throws(StoreError) -> Int64? {
    try connection.first("PRAGMA main.schema_version") { $0.integer(0) }
  }
}

extension TrackedTable {
  /// Whether the row's number tells its rows apart.
  fileprivate var isNumbered: Bool {
    if case .rowid = shape.key.kind { true } else { false }
  }
}
