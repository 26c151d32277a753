// The tables of a store and the old version's → the columns, indexes and other objects that are lost with
// a table because the model does not know them.

import FetchModel
import SQLComposer

extension MigrationPlanner {
  /// The old tables that are dropped.
  var replaced: [PlannedTable] { old.tables.filter { !kept.contains($0.name) } }

  /// Refuses to rebuild a table that only maps to the model: the statements need its names.
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
      let isThere = existing.columns.contains { isSame($0.name, name) }
      guard name == planned.column(.key)?.name else { return !isThere }
      return existing.primaryKey.count != 1 || !isSame(existing.primaryKey[0], name)
    }
  }

  /// Finds everything that is lost with the old tables although no model has it.
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
