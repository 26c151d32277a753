// Relationships with a join table → the table of the file that holds them.

import FetchModel
import SQLComposer

extension ModelMapping {
  mutating func findJoins() {
    for planned in tables.tables where planned.isJoin {
      let ends = planned.columns.filter { $0.role == .end }
      let targets = ends.compactMap { $0.references.map { folded($0.table) } }
      let existing =
        catalog.first { folded($0.name) == folded(planned.name) }
        ?? catalog.first { table in
          table.foreignKeys.count == 2
            && table.foreignKeys.map { folded($0.table) }.sorted() == targets.sorted()
            && found.values.allSatisfy { $0.name != table.name }
            && joinOrder.allSatisfy { $0.name != table.name }
        }
      guard let existing, ends.count == 2, existing.foreignKeys.count == 2 else {
        problems.append("there is no table `\(planned.name)` for a to-many relationship")
        continue
      }
      add(planned, ends, existing)
    }
  }

  private mutating func add(
    _ planned: PlannedTable, _ ends: [PlannedColumn], _ existing: TableDescription
  ) {
    guard let first = key(of: ends[0], in: existing, besides: nil),
      let second = key(of: ends[1], in: existing, besides: first.columns[0])
    else {
      return problems.append("`\(existing.name)` does not refer to the tables that it is between")
    }
    for column in planned.columns {
      if case .position(let key) = column.role, existing.column(named: column.name) == nil {
        problems.append(
          "\(key.entity).\(key.property) is ordered, and `\(existing.name)` has no column "
            + "`\(column.name)` for its order")
      }
    }
    check(ends[0], first, planned, existing)
    check(ends[1], second, planned, existing)
    let join = JoinTable(
      name: existing.name, key: KeyFinder(table: existing, dialect: dialect).joinKey,
      columns: existing.columns,
      first: first, second: second, firstEntity: rootIndex(ends[0]),
      secondEntity: rootIndex(ends[1]), uniqueIndexes: existing.uniqueIndexes)
    joins[planned.name] = (joinOrder.count, join)
    joinOrder.append(join)
  }

  /// Checks that deleting an object deletes its links, or that links prevent the delete, as the
  /// relationship's delete rule requires.
  private mutating func check(
    _ end: PlannedColumn, _ key: ForeignKey, _ planned: PlannedTable, _ existing: TableDescription
  ) {
    let owner = tables.links.first { _, link in
      if case .join(planned.name, end.name, _) = link { true } else { false }
    }?.key
    guard let owner, let relationship = file.relationship(owner.property, of: owner.entity),
      let raw = existing.foreignKeys.first(where: {
        $0.columns.map(folded) == key.columns.map(folded)
      }
      )
    else { return }
    let isKept = relationship.deleteRule == .deny
    let fits = isKept ? ["NO ACTION", "RESTRICT"] : ["CASCADE"]
    guard relationship.deleteRule != .noAction, !fits.contains(raw.onDelete) else { return }
    problems.append(
      "\(owner.entity).\(owner.property) has the delete rule \(relationship.deleteRule.rawValue), and "
        + "the foreign key `\(key.columns[0])` of `\(existing.name)` has ON DELETE \(raw.onDelete)")
  }

  private func rootIndex(_ end: PlannedColumn) -> Int {
    end.references.flatMap { entityIndexes[$0.table] } ?? 0
  }

  /// Returns the foreign key of one end of a link, found by its column's name or by the table that
  /// it refers to.
  private func key(
    of end: PlannedColumn, in existing: TableDescription, besides taken: String?
  ) -> ForeignKey? {
    let candidates = existing.foreignKeys.filter {
      $0.columns.count == 1 && $0.columns[0] != taken
        && folded($0.table) == folded(end.references?.table ?? "")
    }
    let raw = candidates.first { folded($0.columns[0]) == folded(end.name) } ?? candidates.first
    guard let raw, let target = found[end.references?.table ?? ""] else { return nil }
    let referenced = raw.referenced ?? target.primaryKey
    guard referenced.count == 1, let column = existing.column(named: raw.columns[0]) else {
      return nil
    }
    return ForeignKey(
      columns: [column.name], table: target.name, referenced: referenced,
      referencesKey: referenced.map(folded) == target.primaryKey.map(folded),
      comparisons: comparisons(existing, column.name, to: target, referenced))
  }
}
