// A bound plan → the bytes of its snapshot, from statements composed before.

import FetchModel

extension SQLiteReadTransaction {
  func snapshot(of filled: BoundPlan) throws(StoreError) -> EncodedSnapshot {
    let plan = filled.form.plan
    guard plan.shape != .count, plan.tabulation == nil, !plan.withTotal, plan.expansion.isEmpty,
      plan.window.limit != 0
    else { return try snapshot(of: filled.plan) }
    let form = connection.forms.composed(filled.form, uniform: composer.uniform) {
      PreparedPlan(filled.form, composer: composer, keepsItems: token != .unfollowed)
    }
    var writer = SnapshotWriter(plan: plan, model: composer.model)
    if let kind = form.kind {
      try writeKept(form, try currentItems(of: form, kind), filled.values, with: &writer)
    } else {
      try write(form.window.filled(with: filled.values), with: &writer)
    }
    return EncodedSnapshot(
      json: writer.finish(token: token, total: nil, included: nil), token: token)
  }

  private func currentItems(
    of form: PreparedPlan, _ kind: ItemKind
  ) throws(StoreError) -> CachedRows {
    try advanceItems()
    if let items = form.items, items.isKept { return items }
    let items = connection.items.items(of: kind) { composer.row(of: form.plan) }
    form.items = items
    return items
  }

  /// Where SQLite would sort, an index may provide the order except for the ids of equal values.
  /// Sorting these ids here is much cheaper.
  private func writeKept(
    _ form: PreparedPlan, _ items: CachedRows, _ values: [Value],
    with writer: inout SnapshotWriter
  ) throws(StoreError) {
    if form.sortsRows, let brief = form.brief?.filled(with: values) {
      let rows = try briefRows(brief, limit: form.plan.window.limit ?? 0)
      if rows.wereSorted { form.brief = nil }
      if rows.isExact, try keep(rows.ids, items) {
        return try write(rows, items, with: &writer)
      }
    }
    let sorts = try write(form.window.filled(with: values), items, with: &writer)
    form.sortsRows = sorts
  }

  private func briefRows(
    _ statement: FetchStatement, limit: Int
  ) throws(StoreError) -> TieOrderedRows {
    try connection.withStatement(statement.sql) { prepared throws(StoreError) in
      prepared.bind(statement.bindings)
      let reader = RowReader(
        statement: prepared.pointer, layout: statement.layout, connection: connection)
      var rows = TieOrderedRows(limit: limit)
      while try prepared.step() { rows.add(reader) }
      rows.finish(wereSorted: prepared.takeSortCount() > 0)
      return rows
    }
  }

  /// Reads the items that are not kept yet; false where one is too large to be kept.
  private func keep(_ ids: [Int64], _ items: CachedRows) throws(StoreError) -> Bool {
    for id in ids where !items.contains(id) {
      _ = try item(id, items)
      guard items.contains(id) else { return false }
    }
    return true
  }

  private func write(
    _ rows: TieOrderedRows, _ items: CachedRows, with writer: inout SnapshotWriter
  ) throws(StoreError) {
    for id in rows.ids {
      writer.add { _ = items.append(id, to: &$0) }
      try connection.checkAnswer(writer.size)
    }
    if let last = rows.last { writer.end(at: last) }
  }
}
