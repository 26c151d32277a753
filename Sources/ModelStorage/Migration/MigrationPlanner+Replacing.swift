// Replaces tables: each rebuilt table takes the name of the table that filled it. Indexes and
// derived values follow.

import FetchModel
import SQLComposer

extension MigrationPlanner {
  mutating func replaceTables() {
    let dropped = replaced.map(\.name)
    let highest = rebuilt.flatMap { name -> [String] in
      let sources = old.tables.filter { table in
        table.root.map { match.newEntity(of: $0).map(new.file.root(of:)) == name } ?? false
      }
      guard !sources.isEmpty else { return [] }
      return new.dialect.keepIDs(draft(name), sources.map(\.name))
    }
    for sql in highest { add(NamedStatement(name: "ids", sql: sql)) }
    for name in dropped {
      add(NamedStatement(name: "replace \(name)", sql: new.dialect.removal(name)))
    }
    for name in dropped where !rebuilt.contains(name) {
      append(step: "remove the table \(name)")
    }
    for name in rebuilt {
      add(
        NamedStatement(
          name: "replace \(name)",
          sql: "ALTER TABLE \(quoted(draft(name))) RENAME TO \(quoted(name))"))
    }
  }

  mutating func rebuild(_ table: String) { rebuilt.append(table) }

  /// Adds the references that the new tables, and the removal of the old ones, left out.
  mutating func addReferences() {
    guard !new.dialect.hasForwardReferences else { return }
    let replaced = Set(rebuilt)
    for table in new.tables {
      for column in table.columns {
        guard let reference = table.reference(of: column),
          replaced.contains(table.name) || replaced.contains(column.references?.table ?? "")
        else { continue }
        add(reference)
      }
    }
  }

  mutating func changeIndexes() {
    // Dropping a table has already dropped its indexes.
    let keptNames = kept
    let isKept = { (statement: NamedStatement) in
      keptNames.contains { statement.sql.contains(" ON \(quoted($0))(") }
    }
    let before = old.indexes.filter(isKept)
    for index in before where !new.indexes.contains(index) {
      add("remove the index \(index.name)", ["DROP INDEX IF EXISTS \(quoted(index.name))"])
    }
    for index in new.indexes where !before.contains(index) {
      if isKept(index) { append(step: "create the index \(index.name)") }
      add(index)
    }
  }

  /// Computes derived attributes. Triggers maintain them from then on.
  mutating func recompute() {
    let triggers = ModelTriggers(new)
    for entity in new.file.entities {
      for attribute in entity.attributes {
        guard let derivation = attribute.derivation, !attribute.isTransient,
          match.oldAttribute(attribute, of: entity.name)?.derivation != derivation
        else { continue }
        let key = PropertyKey(entity: entity.name, property: attribute.name)
        let sql =
          DerivedTriggers(triggers: triggers, key: key).recomputation(derivation)
          ?? textRecomputation(key, derivation)
        if let sql { add("compute \(entity.name).\(attribute.name)", [sql]) }
      }
    }
  }

  private func textRecomputation(_ key: PropertyKey, _ derivation: Derivation) -> String? {
    guard case .text(let function, let source) = derivation,
      let column = new.columnNames[key], let read = new.column(source, of: key.entity)
    else { return nil }
    return """
      UPDATE \(quoted(new.file.root(of: key.entity))) SET \(quoted(column)) = \
      \(new.dialect.functions)livefetch_\(function.rawValue)(\(quoted(read))) WHERE \(quoted(read)) IS NOT NULL
      """
  }
}
