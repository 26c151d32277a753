// A plan whose items are cached → its snapshot. The query returns only ids; the cache provides the
// items.

import FetchModel
import SQLComposer
import SQLResults

extension SQLiteReadTransaction {
  func writeItems(of plan: FetchPlan, with writer: inout SnapshotWriter) throws(StoreError) {
    if let kind = plan.cachedKind(composer.schema), token != .untracked {
      try writeCached(plan, kind, with: &writer)
    } else {
      try write(composer.window(of: plan, extra: plan.isCapped ? 1 : 0), with: &writer)
    }
  }

  func writeCached(
    _ plan: FetchPlan, _ kind: ItemKind, with writer: inout SnapshotWriter
  ) throws(StoreError) {
    try advanceItems()
    let items = connection.items.items(of: kind) { composer.row(of: plan) }
    let statement = composer.window(of: plan, extra: plan.isCapped ? 1 : 0, items: .apart)
    _ = try write(statement, items, with: &writer)
  }

  /// Drops cached items that changed.
  func advanceItems() throws(StoreError) {
    try connection.items.advance(to: token) { entity, since throws(StoreError) in
      try changedIDs(of: entity, since: since)
    }
  }

  /// Writes the items of the statement's rows.
  ///
  /// - Returns: True if SQLite sorted the rows.
  func write(
    _ statement: FetchStatement, _ items: CachedRows, with writer: inout SnapshotWriter
  ) throws(StoreError) -> Bool {
    try connection.withStatement(statement.sql) { prepared throws(StoreError) in
      prepared.bind(statement.bindings)
      let reader = RowReader(
        statement: prepared.pointer, layout: statement.layout, connection: connection)
      while try prepared.step() {
        let id = reader.integerID
        // Reads a missing item before the writer begins the row.
        let read = items.contains(id) ? nil : try item(id, items)
        let continues = writer.add(reader) { json in
          if let read { json.append(contentsOf: read) } else { _ = items.append(id, to: &json) }
        }
        try connection.checkAnswer(writer.size)
        if !continues { break }
      }
      return prepared.takeSortCount() > 0
    }
  }

  /// Reads an item and caches it.
  func item(_ id: Int64, _ items: CachedRows) throws(StoreError) -> [UInt8] {
    var json: [UInt8] = []
    try run(items.row.binding([.integer(id)])) { reader in
      reader.appendItem(to: &json)
      return false
    }
    if json.count <= CachedRows.largestItem { items.insert(json[...], id) }
    return json
  }

  /// Returns the ids changed since `since`; nil if there are too many, or if the history was
  /// pruned.
  private func changedIDs(of entity: Int, since: Token) throws(StoreError) -> [Int64]? {
    guard try validity(of: since) == .known else { return nil }
    let shape = TableInfo(composer.schema.entities[entity])
    let layout = HistoryLayout(of: shape)
    let limit = RowJSONCache.maxChanged
    let ids = try connection.all(
      """
      SELECT \(layout.idExpression(nil)) FROM main.\(layout.quotedName)
      WHERE \(HistoryLayout.position) > ? LIMIT \(limit + 1)
      """, [.integer(since.position.number)]
    ) { $0.integer(0) }
    return ids.count <= limit ? ids : nil
  }
}
