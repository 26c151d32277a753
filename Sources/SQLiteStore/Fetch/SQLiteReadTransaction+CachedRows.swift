// A plan whose items are cached → its snapshot. The query returns only ids; the cache provides the
// items. Items that are not cached are read by one more statement.

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
    let items = connection.items.items(of: kind) { composer.rows(of: plan) }
    let statement = composer.window(of: plan, extra: plan.isCapped ? 1 : 0, items: .separate)
    _ = try write(statement, items, with: &writer)
  }

  /// Writes the rows of a statement that reads whole items.
  func write(
    _ statement: FetchStatement, with writer: inout SnapshotWriter
  ) throws(StoreError) {
    try run(statement) { row throws(StoreError) in
      try writer.write(row, checking: checkResponse)
    }
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
    var missing: [Int64] = []
    let wereSorted = try connection.withStatement(statement.sql) { prepared throws(StoreError) in
      prepared.bind(statement.bindings)
      let reader = RowReader(
        statement: prepared.pointer, layout: statement.layout, connection: connection)
      while try prepared.step() {
        let id = reader.integerID
        let continues = writer.add(reader) { json in
          if items.append(id, to: &json) { return }
          missing.append(id)
          json.append(SnapshotWriter.openItem)
        }
        try connection.checkResponse(writer.size)
        if !continues { break }
      }
      return prepared.takeSortCount() > 0
    }
    if !missing.isEmpty { try fill(&writer, with: missing, items) }
    return wereSorted
  }

  /// Reads the items of `ids` and writes them into the places that were left open.
  private func fill(
    _ writer: inout SnapshotWriter, with ids: [Int64], _ items: CachedRows
  ) throws(StoreError) {
    let large = try read(ids, items)
    writer.fillOpenItems { index, json in
      if !items.append(ids[index], to: &json), let item = large[ids[index]] { json += item }
    }
    try connection.checkResponse(writer.size)
  }

  /// Reads the items of `ids` by one statement and caches them.
  ///
  /// - Returns: The items that are too large for the cache, by their ids.
  func read(_ ids: [Int64], _ items: CachedRows) throws(StoreError) -> [Int64: [UInt8]] {
    let list = "[" + ids.map(String.init).joined(separator: ",") + "]"
    var large: [Int64: [UInt8]] = [:]
    var size = 0
    try connection.run(items.rows.binding([.text(list)])) { reader throws(StoreError) in
      var json: [UInt8] = []
      reader.appendItem(to: &json)
      size += json.count
      try connection.checkResponse(size)
      if json.count <= CachedRows.largestItem {
        items.insert(json[...], reader.integerID)
      } else {
        large[reader.integerID] = json
      }
      return true
    }
    return large
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
