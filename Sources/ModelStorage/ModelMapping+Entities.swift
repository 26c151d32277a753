// A model mapped to tables → the entities that are served, with their columns and keys.

import FetchModel
import SQLComposer

extension ModelMapping {
  func entity(at index: Int) -> (entity: Entity, table: EntityTable) {
    let own = file.entities[index]
    let root = file.root(of: own.name)
    guard let existing = found[root], let planned = tables.table(of: own.name) else {
      return (
        Entity(name: own.name, attributes: [], relationships: [], idType: .integer),
        EntityTable(
          name: own.name, isView: false, key: Key(kind: .rowidAlias, parts: []), columns: [],
          attributeColumns: [], relationships: [], uniqueIndexes: [], isObservable: false)
      )
    }
    let columns = existing.columns.map { typed($0, of: root) }
    let attributes = attributes(of: own.name, planned, existing)
    let relationships = relationships(of: own.name)
    let key = KeyFinder(table: existing, dialect: dialect).key
    let hasKey = !existing.primaryKey.isEmpty
    let isObservable = hasKey && existing.isObservable
    let table = EntityTable(
      name: existing.name, isView: existing.isView, key: key, columns: columns,
      attributeColumns: attributes.map(\.column), relationships: relationships.map(\.storage),
      uniqueIndexes: existing.uniqueIndexes, isObservable: isObservable)
    return (
      Entity(
        name: own.name, attributes: attributes.map(\.attribute),
        relationships: relationships.map(\.relationship), idType: key.idType,
        aliases: aliases(relationships.map(\.relationship), key, existing),
        isObservable: isObservable,
        isWritable: hasKey, inheritance: inheritance(of: own, attributes.map(\.attribute)),
        unique: table.uniqueAttributes, keyProperties: table.keyProperties,
        isRestrictable: existing.isObservable || dialect.hasTypedColumns),
      table
    )
  }

  private func typed(_ column: Column, of root: String) -> Column {
    guard let (type, format) = columnTypes[root]?[folded(column.name)] else { return column }
    return Column(
      name: column.name, declaredType: column.declaredType, affinity: column.affinity,
      collation: column.collation, isNotNull: column.isNotNull, defaultSQL: column.defaultSQL,
      isGenerated: column.isGenerated, type: type, dateFormat: format,
      encoding: encoding(of: column, as: type), output: column.output, input: column.input)
  }

  /// UUIDs are stored in upper or lower case. Values of other types compare as stored.
  private func encoding(of column: Column, as type: AttributeType) -> ColumnEncoding? {
    guard type == .uuid else { return nil }
    return column.type == .uuid ? column.encoding : .uuid(.lower)
  }

  private func inheritance(
    of entity: ModelFile.Entity, _ attributes: [Attribute]
  ) -> Inheritance {
    let below = file.subentities(of: entity.name)
    guard !below.isEmpty || entity.parent != nil else {
      return Inheritance(isAbstract: entity.isAbstract)
    }
    return Inheritance(
      parent: entity.parent.flatMap { entityIndexes[$0] },
      root: entityIndexes[file.root(of: entity.name)],
      subentities: below.compactMap { entityIndexes[$0.name] }, isAbstract: entity.isAbstract,
      discriminator: attributes.firstIndex { $0.name == Inheritance.key })
  }

  /// Returns the table's own names that predicates may use, unless another property has the name.
  private func aliases(
    _ relationships: [Relationship], _ key: Key, _ existing: TableDescription
  ) -> [String: Property] {
    var aliases: [String: Property] = [:]
    if key.columns.count == 1, key.columns[0] != "id" { aliases[key.columns[0]] = .id }
    for (index, relationship) in relationships.enumerated() where !relationship.isToMany {
      let name = "\(relationship.name)_id"
      if existing.column(named: name) != nil { aliases[name] = .relationship(index) }
    }
    return aliases
  }

  private func attributes(
    of entity: String, _ planned: PlannedTable, _ existing: TableDescription
  ) -> [(attribute: Attribute, column: Int)] {
    let lineage = Set(file.lineage(of: entity).map(\.name))
    var result: [(attribute: Attribute, column: Int)] = []
    for column in planned.columns {
      guard
        let place = existing.columns.firstIndex(where: { folded($0.name) == folded(column.name) })
      else { continue }
      switch column.role {
      case .discriminator:
        let attribute = Attribute(
          name: Inheritance.key, type: .string, isOptional: false, hasDefault: true,
          isWritable: false, isHidden: true)
        result.append((attribute, place))
      case .property(let key) where lineage.contains(key.entity):
        let declared = file.entity(named: key.entity)?.attributes
          .first { $0.name == key.property }
        guard let declared else { continue }
        result.append((attribute(declared, existing.columns[place], of: planned.name), place))
      case .field(let key, let names, let type) where lineage.contains(key.entity):
        let attribute = Attribute(
          name: ([key.property] + names).joined(separator: "."), type: type, hasDefault: true,
          dateFormat: type == .date ? .iso8601 : nil, isWritable: false, isHidden: true)
        result.append((attribute, place))
      case .key, .property, .field, .position, .end: continue
      }
    }
    return result
  }

  private func attribute(
    _ declared: ModelFile.Attribute, _ column: Column, of root: String
  ) -> Attribute {
    Attribute(
      name: declared.name, type: declared.storedType, isOptional: declared.isOptional,
      hasDefault: declared.defaultValue != nil || column.defaultSQL != nil,
      dateFormat: columnTypes[root]?[folded(column.name)]?.1,
      isWritable: declared.derivation == nil && !column.isGenerated, declaration: declared)
  }

  private func relationships(
    of entity: String
  ) -> [(relationship: Relationship, storage: RelationshipStorage)] {
    file.lineage(of: entity).reversed().flatMap { declarer in
      declarer.relationships.compactMap { declared in
        let key = PropertyKey(entity: declarer.name, property: declared.name)
        guard let storage = storage(of: key), let destination = entityIndexes[declared.destination]
        else { return nil }
        let inverse = declared.inverse.flatMap { name in
          relationshipNames(of: declared.destination).firstIndex(of: name)
        }
        let relationship = Relationship(
          name: declared.name, destination: destination, isToMany: declared.isToMany,
          isOptional: declared.isOptional, inverse: inverse, isOrdered: declared.isOrdered,
          isStoredAsID: storage.isStoredAsID, declaration: declared)
        return (relationship, storage)
      }
    }
  }

  private func relationshipNames(of entity: String) -> [String] {
    file.relationships(of: entity).map(\.name)
  }

  private func storage(of key: PropertyKey) -> RelationshipStorage? {
    switch tables.links[key] {
    case .column?: foreignKeys[key].map { .foreignKey($0) }
    case .members(let inverse)?: foreignKeys[inverse].map { .inverse($0) }
    case .join(let table, let source, _)?:
      joins[table].map { join in
        let isForward = tables.tables.first { $0.name == table }?.columns[0].name == source
        let (from, to) =
          isForward ? (join.table.first, join.table.second) : (join.table.second, join.table.first)
        return .joinTable(
          table: join.index, source: from.ordered(by: tables.positions[key]), destination: to)
      }
    case nil: nil
    }
  }
}

extension ForeignKey {
  /// Returns a foreign key with the same columns whose rows are ordered by `position`.
  fileprivate func ordered(by position: String?) -> ForeignKey {
    ForeignKey(
      columns: columns, table: table, referenced: referenced, referencesKey: referencesKey,
      position: position, comparisons: comparisons)
  }
}
