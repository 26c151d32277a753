// A followed table → what the answers to fetches of it hang on, in a form that two models can be
// compared by: names and columns, no indexes.

import Bytes
import FetchModel

/// What has to be the same for a table's history to go on.
struct TableSignature {
  /// A hash of how its rows are read and of what its objects show by themselves.
  let shape: String
  /// The same of what is no column's alone.
  let whole: String
  /// The same of each column.
  let columns: [String: String]
  /// The columns that objects show, and those of the key.
  private let shown: Set<String>
  /// How each to-many relationship of its objects is kept, by entity and name.
  let relationships: [String: String]

  init(_ table: FollowedTable, _ schema: Schema, _ model: Model) {
    var shape = ShapeHash()
    for statement in HistoryTriggers(table: table).statements { shape.combine(statement.sql) }
    for column in table.shape.columns {
      shape.combine("\(column.type.rawValue) \(column.dateFormat?.rawValue ?? "")")
    }
    for part in table.shape.key.parts { shape.combine("\(part.form)") }
    if table.entity == nil {
      for link in table.links { shape.combine(Self.text(link.key)) }
    }
    var relationships: [String: String] = [:]
    for entity in table.entities {
      shape.combine(model.entities[entity].name)
      Self.addProperties(of: entity, schema, model, to: &shape, &relationships)
    }
    self.shape = shape.text
    self.relationships = relationships
    whole = Self.whole(table, schema, model)
    var parts = ColumnParts(table.shape)
    for entity in table.entities { parts.add(entity, schema, model) }
    columns = parts.columns.mapValues(\.text)
    shown = parts.shown
  }

  /// Whether objects show it, as something.
  func isShown(_ column: Column) -> Bool { shown.contains(column.name) }

  private static func whole(_ table: FollowedTable, _ schema: Schema, _ model: Model) -> String {
    var hash = ShapeHash()
    for part in table.shape.key.parts { hash.combine("\(part.form)") }
    for column in table.shape.columns where table.shape.key.columns.contains(column.name) {
      hash.combine("\(column.name) \(column.type.rawValue) \(column.dateFormat?.rawValue ?? "")")
    }
    if table.entity == nil { for link in table.links { hash.combine(text(link.key)) } }
    for entity in table.entities { hash.combine(model.entities[entity].name) }
    return hash.text
  }

  /// To-many relationships stand apart: one that comes changes nothing for those who do not ask it.
  private static func addProperties(
    of index: Int, _ schema: Schema, _ model: Model, to shape: inout ShapeHash,
    _ relationships: inout [String: String]
  ) {
    let (entity, table) = (model.entities[index], schema.entities[index])
    for (place, attribute) in entity.attributes.enumerated() {
      shape.combine("\(attribute.name) \(attribute.type.rawValue)")
      shape.combine(table.column(ofAttribute: place).name)
      shape.combine(attribute.isHidden ? "hidden" : "shown")
    }
    for (relationship, storage) in zip(entity.relationships, table.relationships) {
      let destination = model.entities[relationship.destination]
      let end = [destination.name, destination.idType.rawValue]
      if case .foreignKey(let key) = storage {
        for part in [relationship.name, text(key)] + end { shape.combine(part) }
      } else {
        let name = [entity.name, relationship.name].joined(separator: "\u{1F}")
        relationships[name] = (end + [text(storage, schema)]).joined(separator: "\u{1E}")
      }
    }
  }

  private static func text(_ storage: RelationshipStorage, _ schema: Schema) -> String {
    switch storage {
    case .foreignKey(let key), .inverse(let key): text(key)
    case .joinTable(let join, let source, let destination):
      [schema.joinTables[join].name, text(source), text(destination)].joined(separator: "\u{1D}")
    }
  }

  fileprivate static func text(_ key: ForeignKey) -> String {
    let names = key.columns + [key.table] + key.referenced + [key.position ?? ""]
    return names.joined(separator: "\u{1F}") + (key.referencesKey ? "=" : "~")
  }
}

/// What each column is, and what of objects it holds.
private struct ColumnParts {
  private(set) var columns: [String: ShapeHash] = [:]
  private(set) var shown: Set<String>

  init(_ shape: TableShape) {
    shown = Set(shape.key.columns)
    for column in shape.columns {
      add("\(column.type.rawValue) \(column.dateFormat?.rawValue ?? "")", to: column.name)
    }
  }

  mutating func add(_ index: Int, _ schema: Schema, _ model: Model) {
    let (entity, table) = (model.entities[index], schema.entities[index])
    for (place, attribute) in entity.attributes.enumerated() {
      let column = table.column(ofAttribute: place).name
      add("\(entity.name) \(attribute.name) \(attribute.type.rawValue)", to: column)
      add(attribute.isHidden ? "hidden" : "shown", to: column)
      if !attribute.isHidden { shown.insert(column) }
    }
    for (relationship, storage) in zip(entity.relationships, table.relationships) {
      guard case .foreignKey(let key) = storage else { continue }
      let end = model.entities[relationship.destination]
      for column in key.columns {
        add("\(entity.name) \(relationship.name) \(TableSignature.text(key))", to: column)
        add("\(end.name) \(end.idType.rawValue)", to: column)
        shown.insert(column)
      }
    }
  }

  private mutating func add(_ text: String, to column: String) {
    columns[column, default: ShapeHash()].combine(text)
  }
}

/// Over texts; each ends with a byte that no text has.
private struct ShapeHash {
  private var hash = WideFNV1a()

  mutating func combine(_ text: String) {
    hash.combine(text.utf8)
    hash.combine(0xFF)
  }

  var text: String { hash.text }
}
