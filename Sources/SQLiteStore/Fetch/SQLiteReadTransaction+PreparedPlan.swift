// A bound plan → the bytes of its snapshot, from statements that were composed for an earlier
// fetch.

import FetchModel
import SQLComposer
import SQLResults

extension SQLiteReadTransaction {
  func snapshot(of bound: BoundPlan) throws(StoreError) -> EncodedSnapshot {
    let plan = bound.parameterized.template
    guard plan.shape != .count, plan.groupedQuery == nil, !plan.withTotal, plan.expansion.isEmpty,
      plan.window.limit != 0
    else { return try snapshot(of: bound.plan) }
    let prepared = connection.preparedPlans.plan(
      bound.parameterized, homogeneousColumns: composer.homogeneousColumns
    ) {
      PreparedPlan(bound.parameterized, composer: composer, cachesItems: token != .untracked)
    }
    var writer = SnapshotWriter(plan: plan, model: composer.model)
    if let kind = prepared.kind {
      try write(
        prepared, itemsFrom: try currentItems(of: prepared, kind: kind), values: bound.values,
        with: &writer)
    } else {
      try write(prepared.window.bound(to: bound.values), with: &writer)
    }
    return writer.finish(token: token, total: nil, included: nil)
  }

  private func currentItems(
    of prepared: PreparedPlan, kind: ItemKind
  ) throws(StoreError) -> CachedRows {
    try removeChangedItems()
    if let items = prepared.items, items.isValid { return items }
    let items = connection.items.items(of: kind) { composer.rowStatement(of: prepared.plan) }
    prepared.items = items
    return items
  }

  /// Writes a snapshot whose items are cached. If SQLite would sort the rows, an index may still
  /// provide the order except for the ids of equal values; sorting those ids here is much cheaper.
  private func write(
    _ prepared: PreparedPlan, itemsFrom cached: CachedRows, values: PlanValues,
    with writer: inout SnapshotWriter
  ) throws(StoreError) {
    if prepared.sortsRows, let tieOrdered = prepared.tieOrdered?.bound(to: values) {
      let rows = try tieOrderedRows(tieOrdered, limit: prepared.plan.window.limit ?? 0)
      if rows.wereSorted { prepared.tieOrdered = nil }
      if rows.isExact, try cacheItems(rows.ids, in: cached) {
        return try write(rows, itemsFrom: cached, with: &writer)
      }
    }
    prepared.sortsRows = try write(
      prepared.window.bound(to: values), itemsFrom: cached, with: &writer)
  }

  private func tieOrderedRows(
    _ statement: FetchStatement, limit: Int
  ) throws(StoreError) -> TieOrderedRows {
    try connection.withStatement(statement.sql) { prepared throws(StoreError) in
      try prepared.bind(statement.bindings)
      let reader = RowReader(
        statement: prepared.pointer, layout: statement.layout, connection: connection)
      var rows = TieOrderedRows(limit: limit)
      while try prepared.step() { rows.add(reader) }
      rows.finish(wereSorted: prepared.takeSortCount() > 0)
      return rows
    }
  }

  /// Caches the items that are not cached yet. Returns false if one is too large.
  private func cacheItems(_ ids: [Int64], in cached: CachedRows) throws(StoreError) -> Bool {
    let missing = ids.filter { !cached.contains($0) }
    if missing.isEmpty { return true }
    return try readItems(missing, into: cached).isEmpty
  }

  private func write(
    _ rows: TieOrderedRows, itemsFrom cached: CachedRows, with writer: inout SnapshotWriter
  ) throws(StoreError) {
    for id in rows.ids {
      writer.add { _ = cached.append(id, to: &$0) }
      try connection.checkResponse(writer.size)
    }
    if let last = rows.last { writer.end(at: last) }
  }
}
