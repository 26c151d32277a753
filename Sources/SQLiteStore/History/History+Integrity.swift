// A file with a history that other programs may have changed → true if its history has no gap.

import FetchModel
import SQLComposer

extension History {
  /// True if every row change since the epoch began was recorded: the schema is the one that the
  /// epoch began with, and each trigger and history table is as LiveFetch created it.
  ///
  /// - Parameter isFormer: True if the triggers are those of an earlier release.
  func isIntact(
    isFormer: Bool = false, on connection: Connection
  ) throws(StoreError) -> Bool {
    guard try hasSameSchema(on: connection),
      try hasExpectedStatements(isFormer: isFormer, on: connection),
      try !hasNewerTriggers(on: connection)
    else { return false }
    return try hasSameSchemaVersion(on: connection)
  }

  /// True if the schema is the one that the epoch began with. False after a migration.
  func hasSameSchema(on connection: Connection) throws(StoreError) -> Bool {
    let signature = try connection.first(
      "SELECT value FROM main.livefetch_store WHERE key = 'schema'"
    ) { $0.text(0) }
    return signature == SchemaSignature(model, schema).text
  }

  /// True if each trigger and history table exists with the SQL with which LiveFetch creates it, and
  /// no other does.
  private func hasExpectedStatements(
    isFormer: Bool, on connection: Connection
  ) throws(StoreError) -> Bool {
    let found = try connection.all(
      """
      SELECT name, sql FROM main.sqlite_schema
      WHERE (type = 'trigger' AND name LIKE 'livefetch\\_%' ESCAPE '\\')
      OR (type = 'table' AND name LIKE 'livefetch\\_history\\_%' ESCAPE '\\')
      """
    ) { ($0.text(0), $0.text(1)) }
    let expected = tables.flatMap { HistoryTriggers(table: $0, isFormer: isFormer).statements }
    return Dictionary(found, uniquingKeysWith: { first, _ in first })
      == Dictionary(
        expected.map { ($0.name, $0.sql) }, uniquingKeysWith: { first, _ in first })
  }

  /// True if a tracked table has a user's trigger that is newer than the history's. SQLite fires
  /// newer triggers first, so such a trigger may change a row again before the first change is
  /// recorded. A trigger's rowid in `sqlite_schema` is higher than those of older ones.
  private func hasNewerTriggers(on connection: Connection) throws(StoreError) -> Bool {
    try connection.first(
      """
      SELECT 1 FROM main.sqlite_schema AS own JOIN main.sqlite_schema AS other
      ON other.type = 'trigger' AND lower(other.tbl_name) = lower(own.tbl_name) AND other.rowid > own.rowid
      WHERE own.type = 'trigger' AND own.name LIKE 'livefetch\\_insert\\_%' ESCAPE '\\'
      AND other.name NOT LIKE 'livefetch\\_%' ESCAPE '\\'
      """
    ) { _ in true } ?? false
  }

  /// False if VACUUM may have renumbered tracked rows that only their rowid identifies. VACUUM
  /// increments the schema version, so with such tables every change of the version counts as a gap.
  private func hasSameSchemaVersion(on connection: Connection) throws(StoreError) -> Bool {
    guard tables.contains(where: \.isIdentifiedByRowid) else { return true }
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
  /// True if rows are identified by their rowid alone.
  fileprivate var isIdentifiedByRowid: Bool {
    if case .rowid = tableInfo.key.kind { true } else { false }
  }
}
