// The changes of one table after a position: the ids, the differing properties, and the objects whose
// to-many relationships changed.

import FetchModel
import SQLComposer

/// Reads the changes of one table: the ids, and for each link the object that it referred to before
/// and the one that it refers to now.
///
///     WITH "livefetch_shadow_City" AS (…)
///     SELECT h."id", h."country", m."country", h.livefetch_existed AND m."id" IS NOT NULL,
///       (h."name" IS NOT m."name" COLLATE BINARY) << 0 | …
///     FROM "livefetch_shadow_City" AS h LEFT JOIN main."City" AS m ON m."id" = h."id"
package struct ChangeQuery: Sendable {
  private let table: TrackedTable
  private let comparison: RowComparison
  private let overlays: [HistoryLayout]
  private let select: String

  package init(table: TrackedTable, schema: Schema, model: Model) {
    self.table = table
    comparison = RowComparison(table, schema: schema, model: model)
    let text = ChangeQueryText(table: table, schema: schema, comparison: comparison)
    overlays = text.overlays
    select = text.select
  }

  /// The statement whose rows ``add(_:to:)`` takes.
  package func statement(after position: HistoryPosition) -> FetchStatement {
    var fragment = SQLFragment("WITH ")
    for (number, overlay) in overlays.enumerated() {
      if number > 0 { fragment.append(", ") }
      fragment.append(overlay.overlayExpression(at: position))
    }
    fragment.append(select)
    return FetchStatement(fragment)
  }

  /// Adds the change that a row describes.
  package func add(_ row: some ResultRow, to changes: inout ChangeSet) {
    if let id = row.id(at: 0) {
      for entity in table.entities {
        changes.objects[entity, default: []].insert(id)
        addChange(of: id, entity, row, to: &changes)
      }
    }
    guard hasMoved(row) else { return }
    for (index, link) in table.links.enumerated() {
      let column = Int32(1 + Self.width * index)
      let before = row.id(at: column)
      let now = row.id(at: column + 1)
      guard table.entity == nil || before != now || hasChangedPlace(row, link: index) else {
        continue
      }
      for owner in [before, now] {
        guard let owner else { continue }
        changes.members[link.relationship, default: []].insert(owner)
      }
    }
  }

  /// Records the differing properties of a row that existed before and still exists.
  private func addChange(
    of id: ObjectID, _ entity: Int, _ row: some ResultRow, to changes: inout ChangeSet
  ) {
    guard let mask = comparison.mask(row, of: entity) else { return }
    changes.changes[entity, default: [:]][id, default: []].formUnion(mask)
  }

  /// A row of a join table changes both objects as soon as one of the links differs.
  private func hasMoved(_ row: some ResultRow) -> Bool {
    table.links.indices.contains { index in
      let column = Int32(1 + Self.width * index)
      return row.id(at: column) != row.id(at: column + 1) || hasChangedPlace(row, link: index)
    }
  }

  /// True if the position among the members of an ordered relationship differs.
  private func hasChangedPlace(_ row: some ResultRow, link index: Int) -> Bool {
    guard table.links[index].key.position != nil else { return false }
    let column = Int32(1 + Self.width * index)
    return row.exactValue(column + 2) != row.exactValue(column + 3)
  }

  /// The columns of a link: its owner before and now, its position before and now.
  private static let width = 4
}

private struct ChangeQueryText {
  let table: TrackedTable
  let schema: Schema
  let comparison: RowComparison

  /// The statement without its overlays.
  var select: String {
    var columns = [table.layout.idExpression("h")]
    for link in table.links {
      // The history also holds the key of a row that did not exist before; that row had no owner.
      columns.append("CASE WHEN h.\(HistoryLayout.existed) THEN \(owner(link, alias: "h")) END")
      columns.append(owner(link, alias: "m"))
      columns += ["h", "m"].map { alias in
        link.key.position.map { qualified($0, alias) } ?? "NULL"
      }
    }
    columns += comparison.columns
    var joinCondition = table.layout.keyColumns
      .map { "\(qualified($0.table, "m")) = \(qualified($0.history, "h"))" }
    let key = table.tableInfo.key
    // Equal keys of such types may have different ids: 5.0 and 5.00.
    if key.dialect.hasTypedColumns, !key.isPlain {
      joinCondition.append("\(key.idExpression("m")) = \(table.layout.idExpression("h"))")
    }
    let layout = table.layout
    return """
       SELECT \(columns.joined(separator: ", ")) FROM \(layout.overlayName) AS h LEFT JOIN \
      \(schema.dialect.qualifier)\(quoted(layout.table)) AS m \
      ON \(joinCondition.joined(separator: " AND "))
      """
  }

  /// Every overlay that the statement reads.
  var overlays: [HistoryLayout] { [table.layout] + owners }

  /// The other tables in which previous owners are looked up, for links to columns other than the
  /// key's.
  private var owners: [HistoryLayout] {
    var layouts: [HistoryLayout] = []
    for link in table.links where !link.key.referencesKey {
      let target = schema.entities[link.relationship.entity]
      let layout = HistoryLayout(of: TableInfo(target))
      guard target.isObservable, layout.table != table.layout.table,
        !layouts.contains(where: { $0.table == layout.table })
      else { continue }
      layouts.append(layout)
    }
    return layouts
  }

  /// Returns SQL for the id of the object that a row's link refers to.
  private func owner(_ link: MemberLink, alias: String) -> String {
    let columns = link.key.columns.map { qualified($0, alias) }
    let target = schema.entities[link.relationship.entity]
    guard !link.key.referencesKey else { return target.key.idExpression(ofParts: columns) }
    let joinCondition = link.key.parentCondition("p", childValues: columns)
    let now =
      "(SELECT \(target.key.idExpression("p")) FROM \(schema.dialect.qualifier)\(target.quotedName) AS p WHERE \(joinCondition))"
    guard alias == "h", target.isObservable else { return now }
    let layout = HistoryLayout(of: TableInfo(target))
    return """
      coalesce((SELECT \(layout.idExpression("p")) FROM \(layout.overlayName) AS p \
      WHERE p.\(HistoryLayout.existed) AND \(joinCondition)), \(now))
      """
  }
}
