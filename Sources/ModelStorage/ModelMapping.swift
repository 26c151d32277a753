// A `ModelFile` and the catalog of a database → the model that is served and its tables, or the
// problems that were found. Columns are checked only if no table is missing, triggers only without
// other problems.
//
// A table that the model created has the planned names. An existing table may differ in details:
// its key may have any name, the column of a to-one relationship `country` may be called
// `country_id`, and columns that the model does not know are ignored.

import FetchModel
import SQLComposer

/// A nullable column of a required property, whose rows have to have values.
package struct ColumnToFill: Sendable {
  fileprivate let table: String
  fileprivate let name: String
  fileprivate let key: PropertyKey
  /// Selects the rows of the property's entity; nil for every row.
  fileprivate let membership: String?

  /// The query for the number of rows without a value.
  package var countSQL: String {
    "SELECT count(*) FROM \(quoted(table)) WHERE \(quoted(name)) IS NULL"
      + (membership.map { " AND \($0)" } ?? "")
  }

  /// Returns the problem text for `missing` rows without a value.
  package func problem(_ missing: Int64) -> String {
    "\(key.entity).\(key.property) is not optional, and \(missing) rows of `\(table)` have no value in "
      + "`\(name)`"
  }
}

/// A model mapped to the tables of a database.
package struct ModelMapping {
  package let tables: ModelTables
  var file: ModelFile { tables.file }
  let catalog: [TableDescription]
  var problems: [String] = []
  /// The problems of columns that need a value and that the model does not know: nothing can be inserted.
  private var unknownColumns: [String] = []
  /// Nullable columns of required properties.
  private var requiredColumns: [ColumnToFill] = []
  /// The catalog's table of each planned table, by planned name.
  var found: [String: TableDescription] = [:]
  var columnTypes: [String: [String: (AttributeType, DateFormat?)]] = [:]
  /// Foreign keys of to-one relationships, by the property that declares them.
  var foreignKeys: [PropertyKey: ForeignKey] = [:]
  var joins: [String: (index: Int, table: JoinTable)] = [:]
  var joinOrder: [JoinTable] = []
  /// The entities' indexes in the model, by name.
  let entityIndexes: [String: Int]

  let dialect: Dialect
  private let comparesBytes: Bool

  /// - Parameters:
  ///   - dialect: The dialect of the served schema.
  ///   - comparesBytes: False if the database stores text in another encoding than UTF-8.
  package init(
    _ tables: ModelTables, _ catalog: [TableDescription], dialect: Dialect = .sqlite,
    comparesBytes: Bool = true
  ) {
    self.tables = tables
    self.dialect = dialect
    self.comparesBytes = comparesBytes
    self.catalog = catalog
    entityIndexes = Dictionary(
      tables.file.entities.enumerated().map { ($1.name, $0) },
      uniquingKeysWith: { first, _ in first })
    findTables()
    guard problems.isEmpty else { return }
    checkColumns()
    checkConstraints()
    findJoins()
    checkTriggers()
  }

  /// The model and its tables; valid only without problems.
  package var introspection: Introspection {
    let entities = file.entities.indices.map { entity(at: $0) }
    return Introspection(
      model: Model(entities: entities.map(\.entity), file: file),
      schema: Schema(
        entities: entities.map(\.table), joinTables: joinOrder,
        hasDeferredKeys: catalog.mayHaveDeferredKeys,
        comparesBytes: comparesBytes, dialect: dialect))
  }

  /// Returns the problems that were found. A database that was served with this model before is served
  /// although a column that the model does not know needs a value.
  ///
  /// - Parameter stored: The model that the database stores; nil without one.
  package func problems(unlike stored: ModelFile?) -> [String] {
    stored == file ? problems : problems + unknownColumns
  }

  /// Returns the nullable columns of the properties that the model requires, without those that the
  /// model of the database requires too.
  package func columnsToFill(unlike stored: ModelFile?) -> [ColumnToFill] {
    requiredColumns.filter { column in
      let entity = stored?.entity(named: column.key.entity)
      let isOptional =
        entity?.attributes.first { $0.name == column.key.property }?.isOptional
        ?? entity?.relationships.first { $0.name == column.key.property }?.isOptional
      return isOptional != false
    }
  }

  /// True if every table and column has its planned name and each entity's key is an integer `id`.
  /// Types, defaults and indexes are not compared.
  package var hasPlannedNames: Bool {
    tables.tables.allSatisfy { planned in
      guard let existing = catalog.first(where: { folded($0.name) == folded(planned.name) }) else {
        return false
      }
      return planned.isJoin
        ? planned.columns.allSatisfy { existing.column(named: $0.name) != nil }
        : hasPlannedNames(existing, planned)
    }
  }

  // MARK: Tables and columns

  private mutating func findTables() {
    for table in tables.tables where !table.isJoin {
      if let existing = catalog.first(where: { folded($0.name) == folded(table.name) }) {
        found[table.name] = existing
      } else {
        problems.append("\(table.name): there is no table of this name")
      }
    }
  }

  private mutating func checkColumns() {
    for table in tables.tables {
      guard let existing = found[table.name] else { continue }
      if table.column(.discriminator) != nil, existing.column(named: Inheritance.key) == nil {
        problems.append(
          "\(table.name): the table has no column `\(Inheritance.key)` to distinguish its subentities"
        )
      }
      if existing.primaryKey.isEmpty, !existing.isView {
        problems.append("\(table.name): the table has no primary key")
      }
      for column in table.columns { check(column, of: table, existing) }
      checkUnknownColumns(table, existing)
    }
  }

  private mutating func check(
    _ column: PlannedColumn, of table: PlannedTable, _ existing: TableDescription
  ) {
    switch column.role {
    case .key, .discriminator, .end: break
    case .position(let key):
      guard existing.column(named: column.name) == nil else { break }
      problems.append(
        "\(key.entity).\(key.property) is ordered, and `\(table.name)` has no column "
          + "`\(column.name)` for its order")
    case .field(let key, let names, let type):
      if existing.column(named: column.name) != nil {
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
        check(attribute, CheckedColumn(planned: column, key: key, table: table, existing: existing))
      } else if let relationship = file.relationship(key.property, of: key.entity) {
        check(
          relationship, CheckedColumn(planned: column, key: key, table: table, existing: existing))
      }
    }
  }

  /// A column of the model, and the table that has to have it.
  private struct CheckedColumn {
    let planned: PlannedColumn
    let key: PropertyKey
    let table: PlannedTable
    let existing: TableDescription
  }

  private mutating func check(_ attribute: ModelFile.Attribute, _ checked: CheckedColumn) {
    let (key, existing) = (checked.key, checked.existing)
    guard let column = existing.column(named: checked.planned.name) else {
      return problems.append(
        "\(key.entity).\(key.property): `\(existing.name)` has no column `\(checked.planned.name)`")
    }
    if attribute.derivation == nil {
      checkNullability(column, isOptional: attribute.isOptional, key, existing)
    }
    let type = attribute.storedType
    let holds = dialect.hasTypedColumns ? column.isTyped(type) : column.holds(type)
    guard attribute.isOpaque || holds else {
      return problems.append(
        "\(key.entity).\(key.property) is \(attribute.type.rawValue), and the column is declared "
          + (column.declaredType.isEmpty ? "without a type" : column.declaredType))
    }
    columnTypes[checked.table.name, default: [:]][folded(checked.planned.name)] = (
      type, type == .date ? column.formatOfDates : nil
    )
  }

  /// Checks that an optional property has a nullable column. Records nullable columns of required
  /// properties, whose rows must have values.
  private mutating func checkNullability(
    _ column: Column, isOptional: Bool, _ key: PropertyKey, _ existing: TableDescription
  ) {
    if isOptional, column.isNotNull, !column.isGenerated {
      problems.append(
        "\(key.entity).\(key.property) is optional, and the column `\(column.name)` of "
          + "`\(existing.name)` is NOT NULL")
    }
    guard !isOptional, !column.isNotNull else { return }
    // A subentity's column is NULL in the rows of its siblings.
    let isRoot = file.root(of: key.entity) == key.entity
    requiredColumns.append(
      ColumnToFill(
        table: existing.name, name: column.name, key: key,
        membership: isRoot ? nil : tables.membership(of: key.entity)))
  }

  private mutating func check(_ relationship: ModelFile.Relationship, _ checked: CheckedColumn) {
    let (key, existing) = (checked.key, checked.existing)
    guard let column = existingColumn(for: checked.planned, in: existing) else {
      return problems.append(
        "\(key.entity).\(key.property): `\(existing.name)` has no column `\(checked.planned.name)`")
    }
    checkNullability(column, isOptional: relationship.isOptional, key, existing)
    let raw = existing.foreignKeys.first { $0.columns.map(folded) == [folded(column.name)] }
    let root = file.root(of: relationship.destination)
    guard let target = found[root] else { return }
    if let raw, folded(raw.table) != folded(target.name) {
      problems.append(
        "\(key.entity).\(key.property) leads to \(root), and the column refers to `\(raw.table)`")
    }
    checkRule(raw, relationship, key)
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
      position: inverse.flatMap { tables.positions[$0] },
      comparisons: comparisons(existing, column.name, to: target, referenced))
  }

  /// Checks that a foreign key's delete action is the model's.
  private mutating func checkRule(
    _ raw: TableDescription.RawForeignKey?, _ relationship: ModelFile.Relationship,
    _ key: PropertyKey
  ) {
    let rule = file.inverse(of: relationship)?.deleteRule ?? .nullify
    let fits =
      switch (rule, raw?.onDelete) {
      case (.noAction, nil), (.nullify, "SET NULL"?), (.cascade, "CASCADE"?),
        (.deny, "NO ACTION"?), (.deny, "RESTRICT"?):
        true
      // Without an inverse the model does not define what happens to the referring objects.
      case (_, _) where relationship.inverse == nil: true
      default: false
      }
    guard !fits else { return }
    let inverseName = "\(relationship.destination).\(relationship.inverse ?? "")"
    let action = raw.map { "has ON DELETE \($0.onDelete)" } ?? "does not exist"
    problems.append(
      "\(inverseName) has the delete rule \(rule.rawValue), and the foreign key of "
        + "\(key.entity).\(key.property) \(action)")
  }

  /// Requires a unique index for each uniqueness constraint of the model.
  private mutating func checkConstraints() {
    for entity in file.entities {
      guard let existing = found[file.root(of: entity.name)] else { continue }
      for names in entity.uniquenessConstraints {
        let columns = names.compactMap { columnName($0, of: entity.name, in: existing) }
        // The index of a subentity's constraint has the subentity's objects as its condition.
        guard columns.count == names.count,
          !existing.hasUnique(columns, isPartial: entity.parent != nil)
        else { continue }
        problems.append(
          "\(entity.name).\(names.joined(separator: ", ")) has to be unique, and `\(existing.name)` has "
            + "no unique index of \(columns.map { "`\($0)`" }.joined(separator: ", "))")
      }
    }
  }

  private func columnName(
    _ property: String, of entity: String, in existing: TableDescription
  ) -> String? {
    let name = tables.column(property, of: entity)
    let planned = tables.table(of: entity)?.columns.first { $0.name == name }
    return planned.flatMap { existingColumn(for: $0, in: existing)?.name }
  }

  /// Returns the table's column for a planned one. That of a to-one relationship `country` may be
  /// called `country_id`.
  private func existingColumn(
    for planned: PlannedColumn, in existing: TableDescription
  ) -> Column? {
    if let column = existing.column(named: planned.name) { return column }
    guard case .property(let key) = planned.role, tables.links[key] != nil else { return nil }
    return existing.column(named: "\(planned.name)_id")
  }

  /// Requires that a column unknown to the model does not prevent inserts.
  private mutating func checkUnknownColumns(_ table: PlannedTable, _ existing: TableDescription) {
    let known = Set(
      table.columns.filter { $0.role != .key }
        .compactMap { existingColumn(for: $0, in: existing)?.name })
    for column in existing.columns
    where !known.contains(column.name) && !existing.primaryKey.contains(column.name) {
      guard column.isNotNull, column.defaultSQL == nil, !column.isGenerated else { continue }
      unknownColumns.append(
        "`\(existing.name)`: the column `\(column.name)` needs a value, and the model has no such "
          + "property")
    }
  }

  /// Requires the planned names for rules that triggers implement.
  private mutating func checkTriggers() {
    guard problems.isEmpty else { return }
    for statement in ModelTriggers(tables).statements where !ModelTriggers.isRepetition(statement) {
      let cascades = statement.sql.contains(CascadeTriggers.table)
      for table in tables.tables where !table.isJoin {
        guard let existing = found[table.name],
          cascades || statement.sql.contains(" ON \(quoted(table.name))"),
          !hasPlannedNames(existing, table)
        else { continue }
        problems.append(
          "`\(existing.name)`: the rule \(statement.name) needs the key to be called "
            + "`\(ModelTables.keyName)` and the columns of relationships to have the relationships' "
            + "names")
      }
    }
  }
}

// MARK: - Compatibility checks

extension ModelMapping {
  /// True if every column has its planned name and the key is an integer `id`. Types, defaults and
  /// indexes are not compared.
  private func hasPlannedNames(_ existing: TableDescription, _ planned: PlannedTable) -> Bool {
    guard existing.primaryKey.map(folded) == [ModelTables.keyName],
      dialect.hasTypedColumns
        ? existing.column(named: ModelTables.keyName)?.type == .integer : existing.isRowidAlias
    else { return false }
    return planned.columns.allSatisfy { existing.column(named: $0.name) != nil }
  }

  /// Returns how the database compares a foreign key's column with the one that it refers to; nil if
  /// it compares them by their types.
  func comparisons(
    _ table: TableDescription, _ column: String, to target: TableDescription, _ referenced: [String]
  ) -> [ForeignKeyComparison]? {
    dialect.hasTypedColumns ? nil : table.comparisons([column], to: target, referenced)
  }
}

extension TableDescription {
  /// True if a unique index, or the key, covers exactly these columns.
  ///
  /// - Parameter isPartial: True if an index whose condition refers to the column of the
  ///   discriminator, or leaves out NULL, suffices. The condition is not compared further: databases and programs write
  ///   it in different ways.
  fileprivate func hasUnique(_ columns: [String], isPartial: Bool) -> Bool {
    let requested = Set(columns.map(folded))
    return Set(primaryKey.map(folded)) == requested
      || uniqueIndexes.contains { index in
        let parts = index.parts.compactMap { $0.column.map(folded) }
        return parts.count == index.parts.count && Set(parts) == requested
          && (index.condition == nil || isPartial && index.mayDistinguishEntities)
      }
  }
}

extension UniqueIndex {
  /// True if the index has a condition that contains the name of the discriminator's column, or that
  /// leaves out NULL, which is distinct from every value.
  fileprivate var mayDistinguishEntities: Bool {
    guard let condition = condition.map(folded) else { return false }
    return condition.contains(folded(ModelTables.discriminatorName))
      || condition.contains("is not null")
  }
}

extension Column {
  /// True if values of type `requested` are read back from the column as they were written.
  fileprivate func holds(_ requested: AttributeType) -> Bool {
    if type == requested { return true }
    return switch requested {
    case .integer, .boolean: [.integer, .numeric, .blob].contains(affinity) && type != .binary
    case .double: [.real, .numeric].contains(affinity) || type == .decimal
    case .decimal: [.numeric, .real, .integer].contains(affinity)
    case .string, .uri, .uuid, .json: affinity == .text || declaredType.isEmpty
    case .date: [.real, .integer, .numeric, .text].contains(affinity)
    case .binary: affinity == .blob
    }
  }

  /// True if the column, whose values all have its type, holds every value of type `requested`.
  fileprivate func isTyped(_ requested: AttributeType) -> Bool {
    switch requested {
    case type: true
    case .uri: type == .string
    case .decimal: type == .integer
    case .integer, .double, .string, .boolean, .date, .binary, .uuid, .json: false
    }
  }

  fileprivate var formatOfDates: DateFormat {
    if let dateFormat { return dateFormat }
    return affinity == .text ? .iso8601 : .unixSeconds
  }
}
