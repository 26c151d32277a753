// Detects whether an open file's tables and files are still those that were opened. The writer's
// thread checks that between saves.

import FetchModel
import SQLComposer

/// The identity of a file when it was opened.
struct FileIdentityMonitor: Sendable {
  /// The files that SQLite has open.
  let files: ServedFiles
  private let entities: [Entity]
  private let schema: Schema
  private var catalog: [String]

  /// - Parameter connection: must have read the file, so that its log exists.
  init(path: String, on connection: Connection) throws(StoreError) {
    let introspection = try Introspection(of: connection)
    files = ServedFiles(path: path)
    entities = introspection.model.entities
    schema = introspection.schema
    catalog = try Self.catalog(on: connection)
  }

  /// The statements that created the tables, triggers and views, without LiveFetch's own.
  private static func catalog(on connection: Connection) throws(StoreError) -> [String] {
    try connection.all(
      """
      SELECT type || ' ' || name || ' ' || coalesce(sql, '') FROM main.sqlite_schema
      WHERE name NOT LIKE 'livefetch\\_%' ESCAPE '\\'
      AND tbl_name NOT LIKE 'livefetch\\_%' ESCAPE '\\' ORDER BY rowid
      """
    ) { $0.text(0) }
  }

  /// True if the model or its tables are not those that were opened.
  mutating func hasOtherTables(on connection: Connection) throws(StoreError) -> Bool {
    let catalog = try Self.catalog(on: connection)
    guard catalog != self.catalog else { return false }
    guard let found = try introspection(on: connection), found.model.entities == entities,
      found.schema == schema
    else { return true }
    self.catalog = catalog
    return false
  }

  /// Returns nil if the tables no longer match the file's model.
  private func introspection(
    on connection: Connection
  ) throws(StoreError) -> Introspection? {
    do throws(StoreError) {
      return try Introspection(of: connection)
    } catch .unusable {
      return nil
    }
  }
}
