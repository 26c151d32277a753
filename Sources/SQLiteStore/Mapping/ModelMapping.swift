// ModelFile + the catalogue of a file → the model that is served and how it lies in the tables, or
// everything in which the two differ.
//
// A table that the model made has the planned names. One that was there before may differ in ways
// that do not matter: the key has any name, a to-one relationship `country` may stand in
// `country_id`, and columns that the model does not know are left alone.

import FetchModel

/// A model laid over the tables of a file.
struct ModelMapping {
  let tables: ModelTables
  var file: ModelFile { tables.file }
  private let catalogue: [CatalogueTable]
  private(set) var problems: [String] = []
  /// By the planned table's name: as the catalogue has it.
  private var found: [String: CatalogueTable] = [:]
  private var columnTypes: [String: [String: (AttributeType, DateFormat?)]] = [:]
  /// To-one relationships by what declares them.
  private var foreignKeys: [PropertyKey: ForeignKey] = [:]
  private var joins: [String: (index: Int, table: JoinTable)] = [:]
  private var joinOrder: [JoinTable] = []
  private let indexes: [String: Int]

  private let isUTF8: Bool

  init(_ tables: ModelTables, _ catalogue: [CatalogueTable], isUTF8: Bool) {
    self.tables = tables
    self.isUTF8 = isUTF8
    self.catalogue = catalogue
    indexes = Dictionary(
      tables.file.entities.enumerated().map { ($1.name, $0) },
      uniquingKeysWith: { first, _ in first })
    findTables()
    guard problems.isEmpty else { return }
    findColumns()
    findJoins()
    checkTriggers()
  }

  /// The model and the tables behind it; good only without problems.
  var introspection: Introspection {
    let entities = file.entities.indices.map { entity(at: $0) }
    return Introspection(
      model: Model(entities: entities.map(\.entity), file: file),
      schema: Schema(
        entities: entities.map(\.table), joinTables: joinOrder,
        hasDeferredKeys: catalogue.contains { folded($0.sql).contains("deferred") },
        comparesBytes: isUTF8))
  }

  // MARK: Tables and columns

  private mutating func findTables() {
    for table in tables.tables where !table.isJoin {
      if let there = catalogue.first(where: { folded($0.name) == folded(table.name) }) {
        found[table.name] = there
      } else {
        problems.append("\(table.name): the file has no table of this name")
      }
    }
  }

  private mutating func findColumns() {
    for table in tables.tables {
      guard let there = found[table.name] else { continue }
      if table.column(.discriminator) != nil, there.column(named: Inheritance.key) == nil {
        problems.append(
          "\(table.name): the table has no column `\(Inheritance.key)` to tell its subentities apart"
        )
      }
      if there.primaryKey.isEmpty, !there.isView {
        problems.append("\(table.name): the table has no primary key")
      }
      for column in table.columns { check(column, of: table, there) }
      checkStrangers(table, there)
    }
  }

  private mutating func check(
    _ column: PlannedColumn, of table: PlannedTable, _ there: CatalogueTable
  ) {
    switch column.role {
    case .key, .discriminator, .end: break
    case .position(let key):
      guard there.column(named: column.name) == nil else { break }
      problems.append(
        "\(key.entity).\(key.property) is ordered, and `\(table.name)` has no column "
          + "`\(column.name)` for its order")
    case .field(let key, let names, let type):
      if there.column(named: column.name) != nil {
        columnTypes[table.name, default: [:]][folded(column.name)] = (
          type, type == .date ? .iso8601 : nil
        )
      } else {
        problems.append(
          "\(key.entity).\(key.property): `\(table.name)` has no generated column "
            + "`\(column.name)` for the field \(names.joined(separator: "."))")
      }
    case .property(let key):
      if let attribute = file.entity(named: key.entity)?.attributes.first(where: {
        $0.name == key.property
      }) {
        check(attribute, column, key, table, there)
      } else if let relationship = file.relationship(key.property, of: key.entity) {
        check(relationship, column, key, table, there)
      }
    }
  }

  private mutating func check(
    _ attribute: ModelFile.Attribute, _ planned: PlannedColumn, _ key: PropertyKey,
    _ table: PlannedTable, _ there: CatalogueTable
  ) {
    guard let column = there.column(named: planned.name) else {
      return problems.append(
        "\(key.entity).\(key.property): `\(there.name)` has no column `\(planned.name)`")
    }
    let type = attribute.storedType
    guard attribute.isOpaque || column.holds(type) else {
      return problems.append(
        "\(key.entity).\(key.property) is \(attribute.type.rawValue), and the column is declared "
          + (column.declaredType.isEmpty ? "without a type" : column.declaredType))
    }
    columnTypes[table.name, default: [:]][folded(planned.name)] = (
      type, type == .date ? column.formatOfDates : nil
    )
  }

  private mutating func check(
    _ relationship: ModelFile.Relationship, _ planned: PlannedColumn, _ key: PropertyKey,
    _ table: PlannedTable, _ there: CatalogueTable
  ) {
    let names = [planned.name, "\(planned.name)_id"]
    guard let column = names.lazy.compactMap({ there.column(named: $0) }).first else {
      return problems.append(
        "\(key.entity).\(key.property): `\(there.name)` has no column `\(planned.name)`")
    }
    let raw = there.foreignKeys.first { $0.columns.map(folded) == [folded(column.name)] }
    let root = file.root(of: relationship.destination)
    guard let target = found[root] else { return }
    if let raw, folded(raw.table) != folded(target.name) {
      problems.append(
        "\(key.entity).\(key.property) leads to \(root), and the column refers to `\(raw.table)`")
    }
    checkRule(raw, planned, relationship, key)
    let referenced = raw?.referenced ?? target.primaryKey
    guard referenced.count == 1 else {
      return problems.append(
        "\(key.entity).\(key.property): `\(target.name)` has a key of several columns")
    }
    let inverse = file.inverse(of: relationship).map {
      PropertyKey(entity: relationship.destination, property: $0.name)
    }
    foreignKeys[key] = ForeignKey(
      columns: [column.name], table: target.name, referenced: referenced,
      referencesKey: referenced.map(folded) == target.primaryKey.map(folded),
      position: inverse.flatMap { tables.positions[$0] })
  }

  /// The rule that a foreign key has is the model's.
  private mutating func checkRule(
    _ raw: CatalogueTable.RawForeignKey?, _ planned: PlannedColumn,
    _ relationship: ModelFile.Relationship, _ key: PropertyKey
  ) {
    let rule = file.inverse(of: relationship)?.deleteRule ?? .nullify
    let fits =
      switch (rule, raw?.onDelete) {
      case (.noAction, nil), (.nullify, "SET NULL"?), (.cascade, "CASCADE"?),
        (.deny, "NO ACTION"?), (.deny, "RESTRICT"?):
        true
      // Without an inverse nobody said what becomes of those who refer.
      case (_, _) where relationship.inverse == nil: true
      default: false
      }
    guard !fits else { return }
    let whose = "\(relationship.destination).\(relationship.inverse ?? "")"
    problems.append(
      "\(whose) has the delete rule \(rule.rawValue), and the foreign key of "
        + "\(key.entity).\(key.property) says \(raw?.onDelete ?? "nothing, as there is none")")
  }

  /// A column that the model does not know must not make inserts impossible.
  private mutating func checkStrangers(_ table: PlannedTable, _ there: CatalogueTable) {
    let known = Set(table.columns.flatMap { [folded($0.name), folded($0.name) + "_id"] })
    for column in there.columns
    where !known.contains(folded(column.name)) && !there.primaryKey.contains(column.name) {
      guard column.isNotNull, column.defaultSQL == nil, !column.isGenerated else { continue }
      problems.append(
        "`\(there.name)`: the column `\(column.name)` needs a value, and the model has no such "
          + "property")
    }
  }

  /// Rules that are kept by triggers need the planned names.
  private mutating func checkTriggers() {
    guard problems.isEmpty else { return }
    for statement in ModelTriggers(tables).statements {
      for table in tables.tables where !table.isJoin {
        guard let there = found[table.name], statement.sql.contains(" ON \(quoted(table.name))"),
          !there.isAsPlanned(table)
        else { continue }
        problems.append(
          "`\(there.name)`: the rule \(statement.name) needs the key to be called "
            + "`\(ModelTables.keyName)` and relationships' columns to be called like them")
      }
    }
  }
}

// MARK: - Tables between

extension ModelMapping {
  private mutating func findJoins() {
    for planned in tables.tables where planned.isJoin {
      let ends = planned.columns.filter { $0.role == .end }
      let targets = ends.compactMap { $0.references.map { folded($0.table) } }
      let there =
        catalogue.first { folded($0.name) == folded(planned.name) }
        ?? catalogue.first { table in
          table.foreignKeys.count == 2
            && table.foreignKeys.map { folded($0.table) }.sorted() == targets.sorted()
            && found.values.allSatisfy { $0.name != table.name }
        }
      guard let there, ends.count == 2, there.foreignKeys.count == 2 else {
        problems.append("the file has no table `\(planned.name)` for a to-many relationship")
        continue
      }
      add(planned, ends, there)
    }
  }

  private mutating func add(
    _ planned: PlannedTable, _ ends: [PlannedColumn], _ there: CatalogueTable
  ) {
    guard let first = key(of: ends[0], in: there, besides: nil),
      let second = key(of: ends[1], in: there, besides: first.columns[0])
    else {
      return problems.append("`\(there.name)` does not refer to the tables that it is between")
    }
    for column in planned.columns {
      if case .position(let key) = column.role, there.column(named: column.name) == nil {
        problems.append(
          "\(key.entity).\(key.property) is ordered, and `\(there.name)` has no column "
            + "`\(column.name)` for its order")
      }
    }
    let join = JoinTable(
      name: there.name, key: KeyFinder(table: there).joinKey, columns: there.columns,
      first: first, second: second, firstEntity: rootIndex(ends[0]),
      secondEntity: rootIndex(ends[1]), uniqueIndexes: there.uniqueIndexes)
    joins[planned.name] = (joinOrder.count, join)
    joinOrder.append(join)
  }

  private func rootIndex(_ end: PlannedColumn) -> Int {
    end.references.flatMap { indexes[$0.table] } ?? 0
  }

  /// The foreign key that an end of a link has: by its column's name, or by where it leads.
  private func key(
    of end: PlannedColumn, in there: CatalogueTable, besides taken: String?
  ) -> ForeignKey? {
    let candidates = there.foreignKeys.filter {
      $0.columns.count == 1 && $0.columns[0] != taken
        && folded($0.table) == folded(end.references?.table ?? "")
    }
    let raw = candidates.first { folded($0.columns[0]) == folded(end.name) } ?? candidates.first
    guard let raw, let target = found[end.references?.table ?? ""] else { return nil }
    let referenced = raw.referenced ?? target.primaryKey
    guard referenced.count == 1, let column = there.column(named: raw.columns[0]) else {
      return nil
    }
    return ForeignKey(
      columns: [column.name], table: target.name, referenced: referenced,
      referencesKey: referenced.map(folded) == target.primaryKey.map(folded))
  }
}

// MARK: - Entities

extension ModelMapping {
  private func entity(at index: Int) -> (entity: Entity, table: EntityTable) {
    let own = file.entities[index]
    let root = file.root(of: own.name)
    guard let there = found[root], let planned = tables.table(of: own.name) else {
      return (
        Entity(name: own.name, attributes: [], relationships: [], idType: .integer),
        EntityTable(
          name: own.name, isView: false, key: Key(kind: .rowidAlias, parts: []), columns: [],
          attributeColumns: [], relationships: [], uniqueIndexes: [], isObservable: false)
      )
    }
    let columns = there.columns.map { typed($0, of: root) }
    let attributes = attributes(of: own.name, planned, there)
    let relationships = relationships(of: own.name)
    let key = KeyFinder(table: there).key
    let hasKey = !there.primaryKey.isEmpty
    return (
      Entity(
        name: own.name, attributes: attributes.map(\.attribute),
        relationships: relationships.map(\.relationship), idType: key.idType,
        aliases: aliases(relationships.map(\.relationship), key, there), isObservable: hasKey,
        isWritable: hasKey, inheritance: inheritance(of: own, attributes.map(\.attribute))),
      EntityTable(
        name: there.name, isView: there.isView, key: key, columns: columns,
        attributeColumns: attributes.map(\.column), relationships: relationships.map(\.storage),
        uniqueIndexes: there.uniqueIndexes, isObservable: hasKey)
    )
  }

  private func typed(_ column: Column, of root: String) -> Column {
    guard let (type, format) = columnTypes[root]?[folded(column.name)] else { return column }
    return Column(
      name: column.name, declaredType: column.declaredType, affinity: column.affinity,
      collation: column.collation, isNotNull: column.isNotNull, defaultSQL: column.defaultSQL,
      isGenerated: column.isGenerated, type: type, dateFormat: format)
  }

  private func inheritance(
    of entity: ModelFile.Entity, _ attributes: [Attribute]
  ) -> Inheritance {
    let below = file.subentities(of: entity.name)
    guard !below.isEmpty || entity.parent != nil else {
      return Inheritance(isAbstract: entity.isAbstract)
    }
    return Inheritance(
      parent: entity.parent.flatMap { indexes[$0] }, root: indexes[file.root(of: entity.name)],
      subentities: below.compactMap { indexes[$0.name] }, isAbstract: entity.isAbstract,
      discriminator: attributes.firstIndex { $0.name == Inheritance.key })
  }

  /// The raw names that predicates may use, where nothing else has them.
  private func aliases(
    _ relationships: [Relationship], _ key: Key, _ there: CatalogueTable
  ) -> [String: Property] {
    var aliases: [String: Property] = [:]
    if key.columns.count == 1, key.columns[0] != "id" { aliases[key.columns[0]] = .id }
    for (index, relationship) in relationships.enumerated() where !relationship.isToMany {
      let name = "\(relationship.name)_id"
      if there.column(named: name) != nil { aliases[name] = .relationship(index) }
    }
    return aliases
  }

  private func attributes(
    of entity: String, _ planned: PlannedTable, _ there: CatalogueTable
  ) -> [(attribute: Attribute, column: Int)] {
    let lineage = Set(file.lineage(of: entity).map(\.name))
    var result: [(attribute: Attribute, column: Int)] = []
    for column in planned.columns {
      guard let place = there.columns.firstIndex(where: { folded($0.name) == folded(column.name) })
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
        result.append((attribute(declared, there.columns[place], of: planned.name), place))
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
        guard let storage = storage(of: key), let destination = indexes[declared.destination]
        else { return nil }
        let inverse = declared.inverse.flatMap { name in
          relationshipNames(of: declared.destination).firstIndex(of: name)
        }
        let relationship = Relationship(
          name: declared.name, destination: destination, isToMany: declared.isToMany,
          isOptional: declared.isOptional, inverse: inverse, isOrdered: declared.isOrdered,
          declaration: declared)
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
  /// The same columns, whose rows stand in the order of `position`.
  fileprivate func ordered(by position: String?) -> ForeignKey {
    ForeignKey(
      columns: columns, table: table, referenced: referenced, referencesKey: referencesKey,
      position: position)
  }
}

// MARK: - What fits

extension CatalogueTable {
  /// Whether its key and links have the names that a model would have given them.
  fileprivate func isAsPlanned(_ planned: PlannedTable) -> Bool {
    guard isRowidAlias, primaryKey.map(folded) == [ModelTables.keyName] else { return false }
    return planned.columns.allSatisfy { column(named: $0.name) != nil }
  }
}

extension Column {
  /// Whether values of `type` come out of the column as they went in.
  fileprivate func holds(_ wanted: AttributeType) -> Bool {
    if type == wanted { return true }
    return switch wanted {
    case .integer, .boolean: [.integer, .numeric, .blob].contains(affinity) && type != .binary
    case .double: [.real, .numeric].contains(affinity) || type == .decimal
    case .decimal: [.numeric, .real, .integer].contains(affinity)
    case .string, .uri, .uuid, .json: affinity == .text || declaredType.isEmpty
    case .date: [.real, .integer, .numeric, .text].contains(affinity)
    case .binary: affinity == .blob
    }
  }

  fileprivate var formatOfDates: DateFormat {
    if let dateFormat { return dateFormat }
    return affinity == .text ? .iso8601 : .unixSeconds
  }
}
