// A snapshot of rows that were written before: their ids from the query, their items from memory.

import FetchModel

extension ReadMoment {
  func writeKept(
    _ plan: FetchPlan, _ kind: ItemKind, with writer: inout SnapshotWriter
  ) throws(StoreError) {
    try advanceItems()
    let items = connection.items.items(of: kind) { composer.row(of: plan) }
    let statement = composer.window(of: plan, extra: plan.isCapped ? 1 : 0, items: .apart)
    _ = try write(statement, items, with: &writer)
  }

  /// Drops kept items that are no longer true.
  func advanceItems() throws(StoreError) {
    try connection.items.advance(to: token) { entity, since throws(StoreError) in
      try touchedIDs(of: entity, since: since)
    }
  }

  /// Writes the items of the statement's rows.
  ///
  /// - Returns: whether SQLite sorted the rows.
  func write(
    _ statement: FetchStatement, _ items: KeptItems, with writer: inout SnapshotWriter
  ) throws(StoreError) -> Bool {
    try connection.withStatement(statement.sql) { prepared throws(StoreError) in
      prepared.bind(statement.bindings)
      let reader = RowReader(
        statement: prepared.pointer, layout: statement.layout, connection: connection)
      while try prepared.step() {
        let id = reader.integerID
        // Where an item has to be read, that is done before the writer begins with it.
        let read = items.contains(id) ? nil : try item(id, items)
        let goesOn = writer.add(reader) { json in
          if let read { json.append(contentsOf: read) } else { _ = items.append(id, to: &json) }
        }
        try connection.checkAnswer(writer.size)
        if !goesOn { break }
      }
      return prepared.takeSortCount() > 0
    }
  }

  /// Reads an item, and keeps it where it is not large.
  func item(_ id: Int64, _ items: KeptItems) throws(StoreError) -> [UInt8] {
    var json: [UInt8] = []
    try run(items.row.binding([.integer(id)])) { reader in
      reader.appendItem(to: &json)
      return false
    }
    if json.count <= KeptItems.largestItem { items.keep(json[...], id) }
    return json
  }

  /// The ids touched since a moment; nil where there are too many, or history was cut since.
  private func touchedIDs(of entity: Int, since: Token) throws(StoreError) -> [Int64]? {
    guard try standing(of: since) == .known else { return nil }
    let shape = TableShape(composer.schema.entities[entity])
    let layout = HistoryLayout(of: shape)
    let limit = ItemCache.maxTouched
    let ids = try connection.all(
      """
      SELECT \(layout.idExpression(nil)) FROM main.\(layout.quotedName)
      WHERE \(HistoryLayout.position) > ? LIMIT \(limit + 1)
      """, [.integer(since.position)]
    ) { $0.integer(0) }
    return ids.count <= limit ? ids : nil
  }
}

extension FetchComposer {
  /// The whole row of one object, by its id.
  func row(of plan: FetchPlan) -> FetchStatement {
    var whole = plan
    whole.definition = ResultDefinition(
      entity: plan.definition.entity, predicate: .everything)
    return rows(of: whole, ids: [.integer(0)], at: .now)
  }
}
