// A model and its tables → a short text that stays equal as long as recorded history keeps its
// meaning. The file stores the text; if it differs on opening, a new epoch begins.

import Bytes
import FetchModel
import SQLComposer

/// A hash of every entity, attribute and relationship, and of the table and columns that store
/// each.
struct SchemaSignature {
  /// The hash in text form. It does not depend on the order in which tables were created. O(size of
  /// the model).
  let text: String

  init(_ model: Model, _ schema: Schema) {
    var lines: [[String]] = []
    for (entity, table) in zip(model.entities, schema.entities) {
      guard !table.isView else {
        // It has no history, and its rows decide its types and its key.
        lines.append(["view", entity.name, table.name] + table.columns.map(\.name))
        continue
      }
      lines += Self.lines(of: TableInfo(table))
      lines += Self.attributes(of: entity, table)
      lines += Self.relationships(of: entity, table, model, schema)
    }
    for table in schema.joinTables { lines += Self.lines(of: TableInfo(table)) }
    lines += model.file?.fetchDefaults ?? []
    var hash = FNV1a64()
    for line in lines.map({ $0.joined(separator: "\u{1F}") }).sorted() {
      hash.combine(line.utf8)
      hash.combine(0xFF)
    }
    text = hash.text
  }

  private static func lines(of table: TableInfo) -> [[String]] {
    let columns = table.columns.map {
      // UUIDs are shown in the form of the column's first value.
      ["column", table.name, $0.name, $0.type.rawValue, $0.dateFormat?.rawValue ?? ""]
        + ($0.type == .uuid ? ["\($0.encoding?.code ?? 0)"] : [])
    }
    let key = zip(table.key.columns, table.key.parts).map {
      ["key", table.name, $0, "\($1.form)"]
    }
    return columns + key
  }

  private static func attributes(of entity: Entity, _ table: EntityTable) -> [[String]] {
    let own = ["entity", entity.name, table.name, entity.idType.rawValue]
    return [own]
      + entity.attributes.enumerated().map { index, attribute in
        [
          "attribute", entity.name, attribute.name, attribute.type.rawValue,
          table.column(ofAttribute: index).name, attribute.isHidden ? "hidden" : "shown",
        ]
      }
  }

  private static func relationships(
    of entity: Entity, _ table: EntityTable, _ model: Model, _ schema: Schema
  ) -> [[String]] {
    zip(entity.relationships, table.relationships).map { relationship, storage in
      let destination = model.entities[relationship.destination].name
      let own = ["relationship", entity.name, relationship.name, destination]
      return switch storage {
      case .foreignKey(let key): own + ["to-one"] + fields(of: key)
      case .inverse(let key): own + ["to-many"] + fields(of: key)
      case .joinTable(let join, let source, let target):
        own + [schema.joinTables[join].name] + fields(of: source) + fields(of: target)
      }
    }
  }

  private static func fields(of key: ForeignKey) -> [String] {
    key.columns + [key.table] + key.referenced
      + [key.position ?? "", key.referencesKey ? "key" : "unique"]
  }
}
