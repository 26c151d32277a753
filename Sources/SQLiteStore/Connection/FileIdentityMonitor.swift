// Detects whether the tables and files of an open store are still those that were opened. The writer's
// thread checks them between saves.

import FetchModel
import SQLComposer

/// The tables and files of a store when it was opened.
struct FileIdentityMonitor: Sendable {
  /// The files that SQLite has open.
  let files: ServedFiles
  private let entities: [Entity]
  private let schema: Schema
  private var catalog: [String]

  /// - Parameter connection: has read the file, so that its log exists.
  init(path: String, on connection: Connection) throws(StoreError) {
    let introspection = try Introspection(of: connection)
    files = ServedFiles(path: path)
    entities = introspection.model.entities
    schema = introspection.schema
    catalog = try Self.catalog(on: connection)
  }

  /// The statements that created the tables, indexes, triggers and views, without LiveFetch's own.
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
    guard let found = try introspection(on: connection), isSame(found) else { return true }
    self.catalog = catalog
    return false
  }

  /// True for the opened tables and views. The rows of a view decide its types and its key, so these may
  /// differ.
  private func isSame(_ found: Introspection) -> Bool {
    guard found.schema.entities.count == schema.entities.count,
      found.schema.joinTables == schema.joinTables,
      found.schema.hasDeferredKeys == schema.hasDeferredKeys
    else { return false }
    return schema.entities.indices.allSatisfy { index in
      let (old, new) = (schema.entities[index], found.schema.entities[index])
      guard old.isView, new.isView else {
        return old == new && entities[index] == found.model.entities[index]
      }
      return old.name == new.name && old.columns.map(\.name) == new.columns.map(\.name)
    }
  }

  /// Returns nil if the tables no longer match the file's model.
  private func introspection(
    on connection: Connection
  ) throws(StoreError) -> Introspection? {
    do throws(StoreError) {
      return try Introspection(of: connection)
    } catch {
      switch error {
      case .unusable, .failed: return nil
      default: throw error
      }
    }
  }
}
