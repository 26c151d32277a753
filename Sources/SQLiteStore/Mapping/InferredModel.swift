// A file without a model → the model that its tables imply, which can be served with the same file,
// and a report of everything in the tables that a model cannot express.

import FetchModel
import SQLComposer

/// The model that the tables of a file imply.
public struct InferredModel: Sendable {
  /// The inferred model.
  public let model: ModelFile
  /// Everything that was left out, each with its location.
  public let remarks: [ModelFileProblem]
}

extension SQLiteStore {
  /// Infers a model from the tables of the file at `path`.
  ///
  /// - Throws: ``StoreError/unusable(_:)`` if no table can be an entity of a model.
  public static func inferredModel(path: String) throws(StoreError) -> InferredModel {
    let (connection, _) = try OpenFile.openForReading(path)
    defer { connection.close() }
    let catalog = try SchemaReader(connection: connection).tables()
    var inference = ModelInference(catalog)
    inference.run()
    do {
      return InferredModel(model: try ModelFile(inference.model.json), remarks: inference.remarks)
    } catch {
      throw .unusable(error.description)
    }
  }
}

private struct ModelInference {
  private let catalog: [TableDescription]
  private let introspection: Introspection
  private(set) var model = ModelFile()
  private(set) var remarks: [ModelFileProblem] = []

  init(_ catalog: [TableDescription]) {
    self.catalog = catalog
    introspection = Introspection(tables: catalog)
  }

  private mutating func leaveOut(_ place: String, _ reason: String) {
    remarks.append(ModelFileProblem(place, "\(reason): left out"))
  }

  mutating func run() {
    let entities = introspection.model.entities
    let kept = entities.indices.filter { isEntity($0) }
    for index in kept { model.entities.append(entity(at: index)) }
    for (place, index) in kept.enumerated() {
      for number in entities[index].relationships.indices {
        guard let relationship = relationship(number, of: index, kept: Set(kept)) else { continue }
        add(relationship, toEntity: place)
      }
    }
    dropUnmatched()
  }

  // MARK: Entities

  private mutating func isEntity(_ index: Int) -> Bool {
    let entity = introspection.model.entities[index]
    let table = introspection.schema.entities[index]
    if table.isView {
      leaveOut(entity.name, "a view")
    } else if !entity.isWritable {
      leaveOut(entity.name, "a table without a primary key")
    } else if table.key.columns.count != 1 {
      leaveOut(entity.name, "a key of several columns")
    } else if !ModelFile.canName(entity: entity.name) {
      leaveOut(entity.name, "the name is not one that an entity can have")
    } else {
      return true
    }
    return false
  }

  private mutating func entity(at index: Int) -> ModelFile.Entity {
    let found = introspection.model.entities[index]
    let table = introspection.schema.entities[index]
    var entity = ModelFile.Entity(name: found.name)
    for (attribute, column) in zip(found.attributes, table.attributeColumns) {
      if let attribute = self.attribute(attribute, table.columns[column], of: found.name) {
        entity.attributes.append(attribute)
      }
    }
    entity.uniquenessConstraints = constraints(of: found, table)
    return entity
  }

  private mutating func attribute(
    _ found: Attribute, _ column: Column, of entity: String
  ) -> ModelFile.Attribute? {
    let place = "\(entity).\(column.name)"
    guard found.name == column.name, ModelFile.canName(property: found.name) else {
      leaveOut(place, "the name is not one that a property can have")
      return nil
    }
    guard !column.isGenerated else {
      leaveOut(place, "a generated column")
      return nil
    }
    var attribute = ModelFile.Attribute(name: found.name, type: .init(found.type))
    attribute.isOptional = found.isOptional
    attribute.defaultValue = column.defaultJSON(as: found.type)
    if column.defaultSQL != nil, attribute.defaultValue == nil {
      remarks.append(ModelFileProblem(place, "the default stays the table's own"))
    }
    return attribute
  }

  /// Returns the properties of each unique index.
  private func constraints(of entity: Entity, _ table: EntityTable) -> [[String]] {
    table.uniqueIndexes.compactMap { index in
      guard index.condition == nil else { return nil }
      let names = index.parts.compactMap { part in
        part.column.flatMap { propertyName($0, of: entity, table) }
      }
      return names.count == index.parts.count ? names : nil
    }
  }

  private func propertyName(
    _ column: String, of entity: Entity, _ table: EntityTable
  ) -> String? {
    for (relationship, storage) in zip(entity.relationships, table.relationships) {
      if case .foreignKey(let key) = storage, key.columns == [column] { return relationship.name }
    }
    let place = table.columns.firstIndex { $0.name == column }
    let index = table.attributeColumns.firstIndex { $0 == place }
    return index.map { entity.attributes[$0].name }
  }

  // MARK: Relationships

  private mutating func relationship(
    _ place: Int, of index: Int, kept: Set<Int>
  ) -> ModelFile.Relationship? {
    let entities = introspection.model.entities
    let found = entities[index].relationships[place]
    let storage = introspection.schema.entities[index].relationships[place]
    let name = "\(entities[index].name).\(found.name)"
    guard kept.contains(found.destination) else { return nil }
    guard ModelFile.canName(property: found.name) else {
      leaveOut(name, "the name is not one that a property can have")
      return nil
    }
    if case .foreignKey(let key) = storage, key.columns.count != 1 {
      leaveOut(name, "a foreign key of several columns")
      return nil
    }
    var relationship = ModelFile.Relationship(
      name: found.name, destination: entities[found.destination].name)
    relationship.isToMany = found.isToMany
    relationship.isOptional = found.isOptional
    relationship.inverse = found.inverse.map {
      entities[found.destination].relationships[$0].name
    }
    switch storage {
    case .foreignKey: break
    case .inverse(let key):
      relationship.deleteRule = rule(of: key, in: entities[found.destination].name, name)
    case .joinTable(let join, let source, _):
      // Deleting an object deletes its links, or the links prevent the delete.
      let table = introspection.schema.joinTables[join].name
      relationship.deleteRule = rule(of: source, in: table, name) == .deny ? .deny : .nullify
    }
    return relationship
  }

  /// Returns the effect of the owner's deletion on the rows whose foreign key is `key`.
  private mutating func rule(
    of key: ForeignKey, in table: String, _ place: String
  ) -> ModelFile.DeleteRule {
    let raw = catalog.first { $0.name == table }?.foreignKeys
      .first { $0.columns.map(folded) == key.columns.map(folded) }
    switch raw?.onDelete {
    case "CASCADE"?: return .cascade
    case "SET NULL"?: return .nullify
    case "SET DEFAULT"?:
      remarks.append(ModelFileProblem(place, "SET DEFAULT is not a delete rule of models"))
      return .deny
    default: return .deny
    }
  }

  /// Adds a relationship unless its name and that of an earlier property differ only in case.
  private mutating func add(_ relationship: ModelFile.Relationship, toEntity place: Int) {
    let entity = model.entities[place]
    let names = entity.attributes.map(\.name) + entity.relationships.map(\.name)
    if names.contains(where: { folded($0) == folded(relationship.name) }) {
      leaveOut("\(entity.name).\(relationship.name)", "another property has this name")
    } else {
      model.entities[place].relationships.append(relationship)
    }
  }

  /// Removes to-many inverses whose other side was left out. A to-one relationship needs no inverse.
  private mutating func dropUnmatched() {
    let whole = model
    for index in model.entities.indices {
      model.entities[index].relationships = model.entities[index].relationships.compactMap {
        guard let inverse = $0.inverse, whole.relationship(inverse, of: $0.destination) == nil
        else { return $0 }
        var relationship = $0
        relationship.inverse = nil
        return relationship.isToMany ? nil : relationship
      }
    }
  }
}

extension Column {
  /// Returns a default that is a plain number or text; nil for others.
  fileprivate func defaultJSON(as type: AttributeType) -> JSON? {
    guard let sql = defaultSQL, type != .json, type != .binary else { return nil }
    let json: JSON?
    if sql.hasPrefix("'"), sql.hasSuffix("'"), sql.utf8.count > 1 {
      let text = String(sql.dropFirst().dropLast())
      // A quote alone ends the text: an expression follows.
      let isExpression = text.replacing("''", with: "").contains("'")
      json = isExpression ? nil : JSON.string(text.replacing("''", with: "'"))
    } else if type == .boolean {
      json = ["1": true, "0": false, "true": true, "false": false][folded(sql)].map { .boolean($0) }
    } else {
      // SQLite takes double quotes as single ones, JSON does not.
      json = sql.hasPrefix("\"") ? nil : try? JSON(parsing: Array(sql.utf8))
    }
    return json.flatMap { Value($0, as: type) == nil ? nil : $0 }
  }
}
