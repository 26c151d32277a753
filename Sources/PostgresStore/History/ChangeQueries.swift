// A position → the tables whose rows have changed since, each with the queries of its changes.

import FetchModel
import SQLComposer
import SQLResults

/// A tracked table: its history table, and the query of its changes.
struct ChangedTable: Sendable {
  let history: PostgresTrackedTable
  let tracked: TrackedTable
  let query: ChangeQuery
}

/// Every tracked table.
struct ChangeQueries: Sendable {
  private let tables: [ChangedTable]

  init(model: Model, schema: Schema, tracked: [PostgresTrackedTable]) {
    let histories = Dictionary(
      tracked.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
    tables = schema.trackedTables(model).compactMap { table in
      histories[table.layout.table].map {
        ChangedTable(
          history: $0, tracked: table,
          query: ChangeQuery(table: table, schema: schema, model: model))
      }
    }
  }

  /// Returns the tables with changes after `position`. One statement; O(tables).
  func changed(
    after position: HistoryPosition, in transaction: PostgresReadTransaction
  ) throws(StoreError) -> [ChangedTable] {
    guard !tables.isEmpty else { return [] }
    let tests = tables.map { table in
      """
      EXISTS (SELECT FROM \(table.history.historyName), p WHERE livefetch_xid >= p.e) \
      OR EXISTS (SELECT FROM \(table.history.historyName), p WHERE livefetch_xid = ANY (p.i))
      """
    }
    let sql = SQLFragment(
      """
      WITH p AS (\(Self.parameters)) \
      SELECT place FROM unnest(ARRAY[\(tests.joined(separator: ", "))]) \
      WITH ORDINALITY AS t (changed, place) WHERE changed
      """, bindings: Self.bindings(position))
    var changed: [ChangedTable] = []
    try transaction.run(FetchStatement(sql)) { row in
      let place = Int(row.integer(0)) - 1
      if tables.indices.contains(place) { changed.append(tables[place]) }
      return true
    }
    return changed
  }

  /// SQL for a position: its end `e`, and the list `i` of its transactions in progress.
  static let parameters = "SELECT ?::xid8 AS e, ?::xid8[] AS i"

  /// The bindings of ``parameters``.
  static func bindings(_ position: HistoryPosition) -> [SQLValue] {
    let inProgress = position.inProgress.map { String($0) }.joined(separator: ",")
    return [.text(String(position.number)), .text("{\(inProgress)}")]
  }
}
