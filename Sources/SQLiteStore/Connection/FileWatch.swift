// An open file → whether its tables and its files are still those that were opened. The writer's
// thread checks that between saves.

import FetchModel

/// What a file was when it was opened.
struct FileWatch: Sendable {
  /// The files that SQLite has open.
  let files: ServedFiles
  private let entities: [Entity]
  private let schema: Schema
  private var catalogue: [String]
  /// The statements that made tables and views, by name.
  private let statements: [String: String]

  /// - Parameter connection: has read the file, so that its log is there.
  init(path: String, on connection: Connection) throws(StoreError) {
    let introspection = try Introspection(of: connection)
    files = ServedFiles(path: path)
    entities = introspection.model.entities
    schema = introspection.schema
    catalogue = try Self.catalogue(on: connection)
    statements = try Self.statements(on: connection)
  }

  /// The statements that made what is in the file, but for this house's own.
  private static func catalogue(on connection: Connection) throws(StoreError) -> [String] {
    try connection.all(
      """
      SELECT type || ' ' || name || ' ' || coalesce(sql, '') FROM main.sqlite_schema
      WHERE name NOT LIKE 'livefetch\\_%' ESCAPE '\\'
      AND tbl_name NOT LIKE 'livefetch\\_%' ESCAPE '\\' ORDER BY rowid
      """
    ) { $0.text(0) }
  }

  private static func statements(
    on connection: Connection
  ) throws(StoreError) -> [String: String] {
    let rows = try connection.all(
      "SELECT name, coalesce(sql, '') FROM main.sqlite_schema WHERE type IN ('table', 'view')"
    ) { ($0.text(0), $0.text(1)) }
    return Dictionary(rows, uniquingKeysWith: { first, _ in first })
  }

  /// The entities whose tables are gone, then those whose tables are not what they were; nil where
  /// the model is the same. Empty where others were added, or where one of the history's own tables
  /// is gone.
  mutating func changedEntities(on connection: Connection) throws(StoreError) -> [Int]? {
    guard try History.isWhole(on: connection) else { return [] }
    let catalogue = try Self.catalogue(on: connection)
    guard catalogue != self.catalogue else { return nil }
    let found = try introspection(on: connection)
    if let found, found.model.entities == entities, found.schema == schema {
      self.catalogue = catalogue
      return nil
    }
    let now = try Self.statements(on: connection)
    let tables = schema.entities.map(\.name)
    let gone = tables.indices.filter { now[tables[$0]] == nil }
    let altered = tables.indices.filter {
      now[tables[$0]] != nil && now[tables[$0]] != statements[tables[$0]]
    }
    return gone + altered
  }

  /// nil where the tables are not those of the file's model any more.
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
