// A `ModelFile` → the tables that its objects require.
//
//     an entity without a parent    a table; its subentities' objects share it, and the column "entity"
//                                   distinguishes them
//     an attribute                  a column, NULL in the rows of entities that do not have it
//     a to-one relationship         a column with the other object's id
//     a to-many one with a to-one inverse    the inverse's column, and a position if it is ordered
//     any other to-many one         a join table, shared by both directions
//     a field of a transformable attribute    a generated column: "skill.justicePower"

import FetchModel
import SQLComposer

/// A property, identified by the entity that declares it.
package struct PropertyKey: Hashable, Sendable {
  package let entity: String
  package let property: String

  package init(entity: String, property: String) {
    self.entity = entity
    self.property = property
  }
}

extension ModelFile {
  /// The key of a relationship that `entity` declares or inherits.
  func key(of relationship: String, in entity: String) -> PropertyKey? {
    declaringEntity(of: relationship, in: entity)
      .map { PropertyKey(entity: $0, property: relationship) }
  }
}

/// A column of a planned table.
package struct PlannedColumn: Hashable, Sendable {
  package struct Reference: Hashable, Sendable {
    package let table: String
    /// `ON DELETE …`, and the time of the check.
    package let rule: String
  }

  package enum Role: Hashable, Sendable {
    case key, discriminator
    case property(PropertyKey)
    /// A field of a transformable attribute; not stored.
    case field(PropertyKey, names: [String], AttributeType)
    /// The position of a member in an ordered relationship.
    case position(PropertyKey)
    /// One end of a row of a join table.
    case end
  }

  package let name: String
  package let declaredType: String
  package let role: Role
  package var isNotNull = false
  package var defaultSQL: String?
  package var references: Reference?
  /// The text after GENERATED ALWAYS AS; nil for other columns.
  package var generation: String?
}

/// A table that a model requires.
package struct PlannedTable: Hashable, Sendable {
  package let name: String
  package var columns: [PlannedColumn]
  /// True for a join table.
  package var isJoin = false
  /// The root entity of the objects that the table holds; nil for a join table.
  package var root: String?

  package func column(_ role: PlannedColumn.Role) -> PlannedColumn? {
    columns.first { $0.role == role }
  }
}

/// The place in which a relationship is stored.
package enum PlannedLink: Hashable, Sendable {
  /// To-one: a column of the entity's own table.
  case column(String)
  /// To-many: the column of this relationship, its inverse.
  case members(PropertyKey)
  /// To-many: a join table by name, with the columns that refer to each side.
  case join(table: String, source: String, destination: String)
}

/// The tables of a model.
package struct ModelTables: Sendable {
  package let file: ModelFile
  package let dialect: ModelDialect
  package private(set) var tables: [PlannedTable] = []
  package private(set) var columnNames: [PropertyKey: String] = [:]
  package private(set) var links: [PropertyKey: PlannedLink] = [:]
  /// The position column of each ordered relationship. It is in the table of the column that refers
  /// to the owner.
  package private(set) var positions: [PropertyKey: String] = [:]
  /// The fields that have no column, because the database has none for their type.
  package private(set) var fieldsWithoutColumn: [String] = []

  package init(_ file: ModelFile, _ dialect: ModelDialect) {
    self.file = file
    self.dialect = dialect
    for entity in file.entities where file.root(of: entity.name) == entity.name {
      addTable(entity)
    }
    addJoins()
  }

  package func table(of entity: String) -> PlannedTable? {
    let root = file.root(of: entity)
    return tables.first { $0.root == root }
  }

  package static let keyName = "id"
  package static let discriminatorName = Inheritance.key
}

// MARK: - Tables of entities

extension ModelTables {
  private mutating func addTable(_ root: ModelFile.Entity) {
    let family = [root] + file.subentities(of: root.name)
    var draft = TableDraft(name: root.name)
    draft.add(PlannedColumn(name: Self.keyName, declaredType: dialect.key, role: .key))
    if family.count > 1 {
      var column = PlannedColumn(
        name: Self.discriminatorName, declaredType: dialect.text, role: .discriminator)
      column.isNotNull = true
      draft.add(column)
    }
    for entity in family {
      for attribute in entity.attributes where !attribute.isTransient {
        addColumn(of: attribute, entity, isRoot: entity.name == root.name, to: &draft)
      }
      for relationship in entity.relationships {
        addColumn(of: relationship, entity, isRoot: entity.name == root.name, to: &draft)
      }
    }
    for entity in family {
      for attribute in entity.attributes { addFields(of: attribute, entity, to: &draft) }
    }
    var table = PlannedTable(name: root.name, columns: draft.columns)
    table.root = root.name
    tables.append(table)
  }

  private mutating func addColumn(
    of attribute: ModelFile.Attribute, _ entity: ModelFile.Entity, isRoot: Bool,
    to draft: inout TableDraft
  ) {
    let key = PropertyKey(entity: entity.name, property: attribute.name)
    var column = PlannedColumn(
      name: draft.free(attribute.name, of: entity.name),
      declaredType: dialect.type(attribute), role: .property(key))
    column.isNotNull = isRoot && !attribute.isOptional && attribute.derivation == nil
    column.defaultSQL = isRoot && !attribute.isOpaque ? dialect.defaultLiteral(attribute) : nil
    switch attribute.derivation {
    case .count, .sum: column.defaultSQL = "0"
    case .text, .path, .now, nil: break
    }
    columnNames[key] = column.name
    draft.add(column)
  }

  private mutating func addColumn(
    of relationship: ModelFile.Relationship, _ entity: ModelFile.Entity, isRoot: Bool,
    to draft: inout TableDraft
  ) {
    let key = PropertyKey(entity: entity.name, property: relationship.name)
    guard !relationship.isToMany else {
      guard let inverse = file.inverse(of: relationship), !inverse.isToMany else { return }
      links[key] = .members(
        PropertyKey(entity: relationship.destination, property: inverse.name))
      return
    }
    var column = PlannedColumn(
      name: draft.free(relationship.name, of: entity.name), declaredType: dialect.integer,
      role: .property(key))
    column.isNotNull = isRoot && !relationship.isOptional
    column.references = reference(to: relationship.destination, heldBy: relationship)
    columnNames[key] = column.name
    links[key] = .column(column.name)
    draft.add(column)
    guard let inverse = file.inverse(of: relationship), inverse.isOrdered else { return }
    let ordered = PropertyKey(entity: relationship.destination, property: inverse.name)
    let position = draft.free("\(column.name)_position", of: entity.name)
    positions[ordered] = position
    draft.add(
      PlannedColumn(name: position, declaredType: dialect.integer, role: .position(ordered)))
  }

  /// Returns the reference to `entity`. The delete rule of the inverse relationship determines the
  /// effect of a deletion on the columns that refer to the object.
  private func reference(
    to entity: String, heldBy relationship: ModelFile.Relationship
  ) -> PlannedColumn.Reference? {
    let root = file.root(of: entity)
    switch file.inverse(of: relationship)?.deleteRule ?? .nullify {
    case .nullify: return .init(table: root, rule: "ON DELETE SET NULL")
    case .cascade: return .init(table: root, rule: "ON DELETE CASCADE")
    case .deny: return .init(table: root, rule: "DEFERRABLE INITIALLY DEFERRED")
    case .noAction: return nil
    }
  }

  private mutating func addFields(
    of attribute: ModelFile.Attribute, _ entity: ModelFile.Entity, to draft: inout TableDraft
  ) {
    guard attribute.type == .transformable, let base = attribute.className,
      (attribute.transformer ?? "JSON") == "JSON"
    else { return }
    let key = PropertyKey(entity: entity.name, property: attribute.name)
    guard let source = columnNames[key] else { return }
    for field in ClassHierarchy(file.classes).reachableFields(of: base) {
      guard let generated = dialect.field(source, field.names, field.type) else {
        fieldsWithoutColumn.append(
          "\(entity.name).\(attribute.name).\(field.names.joined(separator: "."))")
        continue
      }
      var column = PlannedColumn(
        name: draft.free(([source] + field.names).joined(separator: "."), of: entity.name),
        declaredType: generated.type, role: .field(key, names: field.names, field.type))
      column.generation = generated.generation
      draft.add(column)
    }
  }
}

/// Columns under construction. Each name is used once, regardless of case.
private struct TableDraft {
  let name: String
  private(set) var columns: [PlannedColumn] = []
  private var taken: Set<String> = []

  init(name: String) { self.name = name }

  /// Returns `preferred`, prefixed with the entity's name if another entity's property has that name.
  func free(_ preferred: String, of entity: String) -> String {
    guard taken.contains(folded(preferred)) else { return preferred }
    var name = "\(entity)_\(preferred)"
    while taken.contains(folded(name)) { name += "_" }
    return name
  }

  mutating func add(_ column: PlannedColumn) {
    taken.insert(folded(column.name))
    columns.append(column)
  }
}

// MARK: - Join tables

extension ModelTables {
  private mutating func addJoins() {
    for entity in file.entities {
      for relationship in entity.relationships where relationship.isToMany {
        let key = PropertyKey(entity: entity.name, property: relationship.name)
        if links[key] == nil { addJoin(relationship, key) }
      }
    }
  }

  private mutating func addJoin(_ relationship: ModelFile.Relationship, _ key: PropertyKey) {
    let name = freeTableName("\(key.entity)_\(key.property)")
    let source = key.entity
    let isSame = folded(relationship.destination) == folded(source)
    let destination = isSame ? relationship.name : relationship.destination
    let inverse = relationship.inverse.map {
      PropertyKey(entity: relationship.destination, property: $0)
    }
    links[key] = .join(table: name, source: source, destination: destination)
    if let inverse, inverse != key {
      links[inverse] = .join(table: name, source: destination, destination: source)
    }
    let backRule = file.inverse(of: relationship)?.deleteRule ?? .nullify
    var columns = [
      end(source, of: key.entity, relationship.deleteRule),
      end(destination, of: relationship.destination, backRule),
    ]
    let sides =
      [(key, relationship)]
      + (inverse.flatMap { inverse in
        file.inverse(of: relationship).map { [(inverse, $0)] }
      } ?? [])
    for (key, side) in sides where side.isOrdered && positions[key] == nil {
      positions[key] = "\(side.name)_position"
      columns.append(
        PlannedColumn(
          name: "\(side.name)_position", declaredType: dialect.integer, role: .position(key)))
    }
    var table = PlannedTable(name: name, columns: columns)
    table.isJoin = true
    tables.append(table)
  }

  /// Returns the column that refers to objects of `entity`, whose relationship has the delete rule
  /// `rule`.
  private func end(
    _ name: String, of entity: String, _ rule: ModelFile.DeleteRule
  ) -> PlannedColumn {
    var column = PlannedColumn(name: name, declaredType: dialect.integer, role: .end)
    column.isNotNull = true
    column.references = .init(
      table: file.root(of: entity),
      rule: rule == .deny ? "DEFERRABLE INITIALLY DEFERRED" : "ON DELETE CASCADE")
    return column
  }

  private func freeTableName(_ preferred: String) -> String {
    var name = preferred
    let names = Set(file.entities.map { folded($0.name) } + tables.map { folded($0.name) })
    while names.contains(folded(name)) { name += "_" }
    return name
  }
}

extension ModelFile {
  /// Returns the inverse relationship; nil without one.
  package func inverse(of relationship: Relationship) -> Relationship? {
    relationship.inverse.flatMap { self.relationship($0, of: relationship.destination) }
  }
}
