// A position → the tables whose rows have changed since, each with the query of its changes.

import FetchModel
import SQLComposer
import SQLResults

/// The queries of the changes of every tracked table.
struct ChangeQueries: Sendable {
  private let queries: [(history: String, query: ChangeQuery)]

  init(model: Model, schema: Schema, captured: [CapturedTable]) {
    let histories = Dictionary(
      captured.map { ($0.name, $0.historyName) }, uniquingKeysWith: { first, _ in first })
    queries = schema.trackedTables(model).compactMap { table in
      histories[table.layout.table].map {
        ($0, ChangeQuery(table: table, schema: schema, model: model))
      }
    }
  }

  /// Returns the queries of the tables with changes after `position`. One statement; O(tables).
  func changed(
    after position: HistoryPosition, in transaction: PostgresReadTransaction
  ) throws(StoreError) -> [ChangeQuery] {
    guard !queries.isEmpty else { return [] }
    let inProgress = position.inProgress.map { String($0) }.joined(separator: ",")
    let tests = queries.map { table in
      """
      EXISTS (SELECT FROM \(table.history), p WHERE livefetch_xid >= p.e) \
      OR EXISTS (SELECT FROM \(table.history), p WHERE livefetch_xid = ANY (p.i))
      """
    }
    let sql = SQLFragment(
      """
      WITH p AS (SELECT ?::xid8 AS e, ?::xid8[] AS i) \
      SELECT place FROM unnest(ARRAY[\(tests.joined(separator: ", "))]) \
      WITH ORDINALITY AS t (changed, place) WHERE changed
      """, bindings: [.text(String(position.number)), .text("{\(inProgress)}")])
    var changed: [ChangeQuery] = []
    try transaction.run(FetchStatement(sql)) { row in
      let place = Int(row.integer(0)) - 1
      if queries.indices.contains(place) { changed.append(queries[place].query) }
      return true
    }
    return changed
  }
}
