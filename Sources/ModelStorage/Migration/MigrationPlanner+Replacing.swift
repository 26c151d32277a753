// Replaces tables: each rebuilt table takes the name of the table that filled it. Indexes and
// derived values follow.

import FetchModel
import SQLComposer

extension MigrationPlanner {
  mutating func replaceTables() {
    let dropped = droppedTables.map(\.name)
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

  /// Computes every derived attribute, if the migration changes anything. Triggers maintain them from
  /// then on. A derived text follows its source into the new table, and is only computed if its
  /// derivation or its source is another one.
  mutating func recompute() {
    let derived = new.file.derivedAttributes
    let changed = Set(
      derived.filter { isChanged($0.derivation, of: $0.attribute) }.map(\.attribute))
    for (attribute, _) in derived where changed.contains(attribute) {
      append(step: "compute \(attribute.entity).\(attribute.name)")
    }
    guard !statements.isEmpty || !changed.isEmpty else { return }
    let statements = ModelTriggers(new).recomputation { attribute, derivation in
      if case .text = derivation { changed.contains(attribute) } else { true }
    }
    for statement in statements { add(statement) }
  }

  private func isChanged(
    _ derivation: Derivation, of attribute: ModelFile.DeclaredAttribute
  ) -> Bool {
    func counterpart(_ name: String) -> (new: ModelFile.Attribute, old: ModelFile.Attribute)? {
      new.file.attributes(of: attribute.entity).first { $0.name == name }
        .flatMap { new in match.oldAttribute(new, of: attribute.entity).map { (new, $0) } }
    }
    guard counterpart(attribute.name)?.old.derivation == derivation else { return true }
    guard case .text(_, let source) = derivation else { return false }
    // Objects without a value get the default of a source that is required now.
    guard let (new, old) = counterpart(source) else { return true }
    return old.name != source || old.isOptional && !new.isOptional
  }
}
