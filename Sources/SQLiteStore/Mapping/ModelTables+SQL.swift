// Planned tables → the statements that create them, with the indexes that the model declares and
// those that relationships need.

import FetchModel
import SQLComposer

/// A statement and the name of the object that it creates.
struct NamedStatement: Hashable {
  let name: String
  let sql: String
}

extension PlannedTable {
  /// Returns the CREATE TABLE statement, under the table's own name or another.
  func creation(as name: String? = nil) -> String {
    var parts = columns.map(\.declaration)
    if isJoin {
      let ends = columns.filter { $0.role == .end }.map { quoted($0.name) }
      parts.append("PRIMARY KEY(\(ends.joined(separator: ", ")))")
    }
    return "CREATE TABLE \(quoted(name ?? self.name))(\(parts.joined(separator: ", ")))"
  }

  /// The columns that store values; excludes generated ones.
  var storedColumns: [PlannedColumn] { columns.filter { $0.generatedSQL == nil } }
}

extension PlannedColumn {
  /// The column's declaration for CREATE TABLE and ADD COLUMN.
  var declaration: String {
    var text = "\(quoted(name)) \(declaredType)"
    // An id is never assigned twice.
    if role == .key { return text + " PRIMARY KEY AUTOINCREMENT" }
    if isNotNull { text += " NOT NULL" }
    if let defaultSQL { text += " DEFAULT \(defaultSQL)" }
    if let references {
      let key = ModelTables.keyName
      text += " REFERENCES \(quoted(references.table))(\(quoted(key))) \(references.rule)"
    }
    if let generatedSQL { text += " GENERATED ALWAYS AS (\(generatedSQL)) VIRTUAL" }
    return text
  }
}

extension ModelTables {
  /// The statements for every table and index of the model.
  var creation: [NamedStatement] {
    tables.map { NamedStatement(name: $0.name, sql: $0.creation()) } + indexes
  }

  /// The indexes. Their names begin with those of their tables.
  var indexes: [NamedStatement] { linkIndexes + fetchIndexes + constraints }

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
  func column(_ property: String, of entity: String) -> String? {
    file.lineage(of: entity).lazy
      .compactMap { columnNames[PropertyKey(entity: $0.name, property: property)] }.first
  }

  /// Returns the condition that selects an entity's rows in its table.
  func membership(of entity: String) -> String {
    let names = ([entity] + file.subentities(of: entity).map(\.name)).map(literal)
    return "\(quoted(Self.discriminatorName)) IN (\(names.joined(separator: ", ")))"
  }
}
