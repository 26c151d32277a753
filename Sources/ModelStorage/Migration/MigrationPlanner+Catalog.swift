// The tables of a store and those of the old model → the columns, indexes and other objects outside the
// model, which are lost when their table is dropped.

import FetchModel
import SQLComposer

extension MigrationPlanner {
  /// The old tables that are dropped.
  var replaced: [PlannedTable] { old.tables.filter { !kept.contains($0.name) } }

  /// Refuses to rebuild a table that has other names than LiveFetch gives to the model's tables and
  /// columns: the statements of a migration use those.
  mutating func checkNames() {
    for planned in replaced {
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

  private func missingNames(
    of planned: PlannedTable, in existing: TableDescription
  ) -> [String] {
    planned.storedColumns.map(\.name).filter { name in
      guard name == planned.column(.key)?.name else {
        return !existing.columns.contains { isSame($0.name, name) }
      }
      return existing.primaryKey.count != 1 || !isSame(existing.primaryKey[0], name)
    }
  }

  /// Finds everything outside the model that is lost with the old tables.
  mutating func findUnknownObjects() throws(StoreError) {
    for planned in replaced {
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
