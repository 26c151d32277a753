// Writes the snapshot of a plan whose items are cached. The query returns only ids, and the cache
// provides the items. A second statement reads the items that are not cached.

import FetchModel
import SQLComposer
import SQLResults

extension SQLiteReadTransaction {
  /// Writes the items of a plan, from the cache if they may be cached.
  func writeItems(of plan: FetchPlan, with writer: inout SnapshotWriter) throws(StoreError) {
    if let kind = plan.cachedKind(composer.schema), token != .untracked {
      try writeCachedItems(of: plan, kind: kind, with: &writer)
    } else {
      try write(composer.window(of: plan, extra: plan.isCapped ? 1 : 0), with: &writer)
    }
  }

  private func writeCachedItems(
    of plan: FetchPlan, kind: ItemKind, with writer: inout SnapshotWriter
  ) throws(StoreError) {
    try removeChangedItems()
    let cached = connection.items.items(of: kind) { composer.rowStatement(of: plan) }
    let statement = composer.window(of: plan, extra: plan.isCapped ? 1 : 0, items: .separate)
    _ = try write(statement, itemsFrom: cached, with: &writer)
  }

  /// Removes the items that changed since the cache was last used. O(changed rows).
  func removeChangedItems() throws(StoreError) {
    try connection.items.advance(to: token) { entity, since throws(StoreError) in
      try changedIDs(of: entity, since: since)
    }
  }

  /// Writes the items of the statement's rows, and caches those that were missing.
  ///
  /// - Returns: True if SQLite sorted the rows.
  func write(
    _ statement: FetchStatement, itemsFrom cached: CachedRows, with writer: inout SnapshotWriter
  ) throws(StoreError) -> Bool {
    var missing: [Int64] = []
    let wereSorted = try connection.withStatement(statement.sql) { prepared throws(StoreError) in
      try prepared.bind(statement.bindings)
      let reader = RowReader(
        statement: prepared.pointer, layout: statement.layout, connection: connection)
      while try prepared.step() {
        let id = reader.integerID
        let needsMore = writer.add(reader) { json in
          if cached.append(id, to: &json) { return }
          missing.append(id)
          json.append(SnapshotWriter.itemPlaceholder)
        }
        try connection.checkResponse(writer.size)
        if !needsMore { break }
      }
      return prepared.takeSortCount() > 0
    }
    if !missing.isEmpty { try replacePlaceholders(with: missing, in: &writer, caching: cached) }
    return wereSorted
  }

  /// Reads the items of `ids` and writes them in place of the placeholders.
  private func replacePlaceholders(
    with ids: [Int64], in writer: inout SnapshotWriter, caching cached: CachedRows
  ) throws(StoreError) {
    let large = try readItems(ids, into: cached)
    writer.replacePlaceholders { index, json in
      if !cached.append(ids[index], to: &json), let item = large[ids[index]] { json += item }
    }
    try connection.checkResponse(writer.size)
  }

  /// Reads the items of `ids` by one statement and caches them.
  ///
  /// - Returns: The items that are too large for the cache, by their ids.
  func readItems(_ ids: [Int64], into cached: CachedRows) throws(StoreError) -> [Int64: [UInt8]] {
    let list = "[" + ids.map(String.init).joined(separator: ",") + "]"
    var large: [Int64: [UInt8]] = [:]
    var size = 0
    try connection.run(cached.statement.binding([.text(list)])) { reader throws(StoreError) in
      var json: [UInt8] = []
      reader.appendItem(to: &json)
      size += json.count
      try connection.checkResponse(size)
      if json.count <= CachedRows.largestItem {
        cached.insert(json[...], reader.integerID)
      } else {
        large[reader.integerID] = json
      }
      return true
    }
    return large
  }

  /// Returns the ids of the rows that changed after `since`; nil if there are too many, or if the
  /// history was pruned.
  private func changedIDs(of entity: Int, since: Token) throws(StoreError) -> [Int64]? {
    guard try validity(of: since) == .known else { return nil }
    let layout = HistoryLayout(of: TableInfo(composer.schema.entities[entity]))
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
