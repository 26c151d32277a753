// Planned tables → the statements that create them, with the indexes that the model declares and
// those that relationships need.

import FetchModel
import SQLComposer

/// A statement and the name of the object that it creates.
package struct NamedStatement: Hashable, Sendable {
  package let name: String
  package let sql: String

  package init(name: String, sql: String) {
    self.name = name
    self.sql = sql
  }
}

extension PlannedTable {
  /// Returns the CREATE TABLE statement, under the table's own name or another.
  ///
  /// - Parameter hasReferences: False to leave out the references to other tables.
  package func creation(as name: String? = nil, hasReferences: Bool = true) -> String {
    var parts = columns.map { $0.declaration(hasReference: hasReferences) }
    if isJoin {
      let ends = columns.filter { $0.role == .end }.map { quoted($0.name) }
      parts.append("PRIMARY KEY(\(ends.joined(separator: ", ")))")
    }
    return "CREATE TABLE \(quoted(name ?? self.name))(\(parts.joined(separator: ", ")))"
  }

  /// The statements that add the references to other tables.
  package var references: [NamedStatement] {
    columns.compactMap { reference(of: $0) }
  }

  func reference(of column: PlannedColumn) -> NamedStatement? {
    column.references.map {
      NamedStatement(
        name: "\(name).\(column.name)",
        sql: "ALTER TABLE \(quoted(name)) ADD FOREIGN KEY (\(quoted(column.name))) \($0.clause)")
    }
  }

  /// The columns that store values; excludes generated ones.
  package var storedColumns: [PlannedColumn] { columns.filter { $0.generation == nil } }
}

extension PlannedColumn {
  /// The column's declaration for CREATE TABLE and ADD COLUMN.
  func declaration(hasReference: Bool) -> String {
    var text = "\(quoted(name)) \(declaredType)"
    if isNotNull { text += " NOT NULL" }
    if let defaultSQL { text += " DEFAULT \(defaultSQL)" }
    if hasReference, let references { text += " \(references.clause)" }
    if let generation { text += " GENERATED ALWAYS AS \(generation)" }
    return text
  }
}

extension PlannedColumn.Reference {
  /// The REFERENCES clause.
  fileprivate var clause: String {
    "REFERENCES \(quoted(table))(\(quoted(ModelTables.keyName))) \(rule)"
  }
}

extension ModelTables {
  /// The statements for every table and index of the model.
  package var creation: [NamedStatement] {
    let isWhole = dialect.hasForwardReferences
    return tables.map {
      NamedStatement(name: $0.name, sql: $0.creation(hasReferences: isWhole))
    } + (isWhole ? [] : tables.flatMap(\.references)) + indexes
  }

  /// The indexes. Their names begin with those of their tables.
  package var indexes: [NamedStatement] { linkIndexes + fetchIndexes + constraints }

  /// One index for each column that refers to objects: inverses and delete rules search it.
  private var linkIndexes: [NamedStatement] {
    tables.flatMap { table in
      table.isJoin ? joinIndexes(table) : columnIndexes(table)
    }
  }

  private func columnIndexes(_ table: PlannedTable) -> [NamedStatement] {
    links.sorted { ($0.key.entity, $0.key.property) < ($1.key.entity, $1.key.property) }
      .compactMap { key, link in
        guard case .column(let name) = link, file.root(of: key.entity) == table.root else {
          return nil
        }
        let inverse = file.relationship(key.property, of: key.entity).flatMap { relationship in
          relationship.inverse.map {
            PropertyKey(entity: relationship.destination, property: $0)
          }
        }
        let columns = [name] + (inverse.flatMap { positions[$0] }.map { [$0] } ?? [])
        return index("\(table.name)_\(name)_link", on: table.name, columns.map(quoted))
      }
  }

  private func joinIndexes(_ table: PlannedTable) -> [NamedStatement] {
    let ends = table.columns.filter { $0.role == .end }.map(\.name)
    guard ends.count == 2 else { return [] }
    return [
      index("\(table.name)_back", on: table.name, [quoted(ends[1]), quoted(ends[0])])
    ]
  }

  private func index(
    _ name: String, on table: String, _ terms: [String], isUnique: Bool = false,
    where condition: String? = nil
  ) -> NamedStatement {
    let unique = isUnique ? "UNIQUE " : ""
    let restriction = condition.map { " WHERE \($0)" } ?? ""
    let name = dialect.name(name)
    return NamedStatement(
      name: name,
      sql: """
        CREATE \(unique)INDEX \(quoted(name)) ON \(quoted(table))\
        (\(terms.joined(separator: ", ")))\(restriction)
        """)
  }

  private var fetchIndexes: [NamedStatement] {
    file.entities.flatMap { entity in
      entity.fetchIndexes.map { fetchIndex in
        let table = file.root(of: entity.name)
        let terms = fetchIndex.elements.compactMap { element in
          column(element.property, of: entity.name)
            .map { quoted($0) + (element.isDescending ? " DESC" : "") }
        }
        return index("\(entity.name)_\(fetchIndex.name)_index", on: table, terms)
      }
    }
  }

  private var constraints: [NamedStatement] {
    file.entities.flatMap { entity in
      entity.uniquenessConstraints.map { names in
        let root = file.root(of: entity.name)
        let columns = names.compactMap { column($0, of: entity.name) }
        return index(
          "\(entity.name)_\(names.joined(separator: "_"))_unique", on: root, columns.map(quoted),
          isUnique: true, where: entity.name == root ? nil : membership(of: entity.name))
      }
    }
  }

  /// Returns the column of an entity's property, inherited or its own.
  package func column(_ property: String, of entity: String) -> String? {
    file.lineage(of: entity).lazy
      .compactMap { columnNames[PropertyKey(entity: $0.name, property: property)] }.first
  }

  /// Returns the condition that selects an entity's rows in its table.
  package func membership(of entity: String) -> String {
    let names = ([entity] + file.subentities(of: entity).map(\.name)).map(literal)
    return "\(quoted(Self.discriminatorName)) IN (\(names.joined(separator: ", ")))"
  }
}

// MARK: - Names

extension ModelTables {
  /// Describes each name that a new database would have twice. `_` joins the names of entities and
  /// properties, which may contain it.
  package var repeatedNames: [String] {
    var problems = repeated(tables.map(\.name) + indexes.map(\.name)).map {
      "two tables or indexes would have the name `\($0)`"
    }
    for table in tables {
      problems += repeated(table.columns.map(\.name)).map {
        "two columns of the table `\(table.name)` would have the name `\($0)`"
      }
    }
    return problems + repeatedTriggers(among: ModelTriggers(self).statements)
  }

  /// Describes each name that two of these triggers have.
  package func repeatedTriggers(among triggers: [NamedStatement]) -> [String] {
    repeated(triggers.map(\.name)).map { "two triggers would have the name `\($0)`" }
  }

  /// Call this before the tables are created.
  ///
  /// - Throws: ``StoreError/unusable(_:)`` with every name that a new database would have twice.
  package func checkNames() throws(StoreError) {
    let problems = repeatedNames
    guard problems.isEmpty else {
      throw .unusable(
        "names of the model are joined to the same name (rename an entity, a property or an index):\n"
          + problems.joined(separator: "\n"))
    }
  }

  private func repeated(_ names: [String]) -> [String] {
    var seen: Set<String> = []
    return names.filter { !seen.insert(dialect.foldsNames ? folded($0) : $0).inserted }
  }
}
