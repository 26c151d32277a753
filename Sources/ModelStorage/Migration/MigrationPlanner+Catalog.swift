// The tables of a store and those of the old model → the refusal to rebuild tables with other names, and the
// columns, indexes and other objects outside the model, which are lost when their table is dropped.

import FetchModel
import SQLComposer

extension MigrationPlanner {
  /// The old tables that the migration drops, because no new table has the same columns.
  var droppedTables: [PlannedTable] { old.tables.filter { !kept.contains($0.name) } }

  /// Refuses a migration that drops a table whose name, columns or key have other names than LiveFetch gives
  /// them: the statements of a migration use the names of LiveFetch.
  mutating func checkNames() {
    for planned in droppedTables {
      guard let existing = existing(planned) else {
        refuse("`\(planned.name)` cannot be rebuilt: there is no table of this name")
        continue
      }
      let missing = missingNames(of: planned, in: existing)
      guard !missing.isEmpty else { continue }
      refuse(
        "`\(existing.name)` cannot be rebuilt: it has other names for "
          + missing.map { "`\($0)`" }.joined(separator: ", "))
    }
  }

  /// Returns the planned names of columns that the table does not have, and the one of the key if that is not
  /// its only primary key column.
  private func missingNames(
    of planned: PlannedTable, in existing: TableDescription
  ) -> [String] {
    planned.storedColumns.map(\.name).filter { name in
      if name == planned.column(.key)?.name {
        return existing.primaryKey.count != 1 || !isSame(existing.primaryKey[0], name)
      }
      return !existing.columns.contains { isSame($0.name, name) }
    }
  }

  /// Adds a loss for every column and other object outside the model that is lost with a dropped table. Reads
  /// the number of values of each such column: O(rows).
  mutating func findUnknownObjects() throws(StoreError) {
    for planned in droppedTables {
      guard let existing = existing(planned) else { continue }
      let unknown = existing.columns.filter { column in
        !planned.columns.contains { isSame($0.name, column.name) }
      }
      for column in unknown {
        let values = try count(
          "SELECT count(\(quoted(column.name))) FROM \(quoted(existing.name))")
        append(
          loss: "the column \(existing.name).\(column.name), which is not in the stored model "
            + "(\(values))")
      }
      for object in dependents[existing.name] ?? [] { append(loss: "the \(object)") }
    }
  }

  private func existing(_ planned: PlannedTable) -> TableDescription? {
    catalog.first { !$0.isView && isSame($0.name, planned.name) }
  }

  private func isSame(_ name: String, _ other: String) -> Bool {
    old.dialect.foldsNames ? folded(name) == folded(other) : name == other
  }
}
