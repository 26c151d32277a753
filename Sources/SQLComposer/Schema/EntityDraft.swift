// An entity under construction. It assigns each property name once.

import FetchModel

/// An entity under construction.
struct EntityDraft {
  private struct Related {
    let name: String
    let destination: Int
    let isToMany: Bool
    let isOptional: Bool
    let storage: RelationshipStorage
    let unrecordedTable: String?
  }

  private let catalog: TableDescription
  /// True if a transaction holds its table or a join table of one of its relationships.
  var isLocked: Bool
  private let key: Key
  private let ownName: String
  private var attributes: [Attribute] = []
  private var attributeColumns: [Int] = []
  private var relationships: [Related] = []
  private var order: [(place: Int, property: Property)] = []
  private var aliases: [String: Property] = [:]
  private var taken: Set<String> = ["id"]

  init(_ catalog: TableDescription, key: Key) {
    self.catalog = catalog
    self.key = key
    isLocked = catalog.isLocked
    ownName = catalog.name
  }

  var tableName: String { ownName }

  func name(of relationship: Int) -> String { relationships[relationship].name }

  /// Returns the index of the to-one relationship that `foreignKey` became.
  func relationship(for foreignKey: ForeignKey) -> Int? {
    relationships.firstIndex { $0.storage == .foreignKey(foreignKey) }
  }

  /// Adds attributes and to-one relationships. Plain columns take their names first.
  mutating func addColumns(_ links: [CatalogLinks.Link]) {
    let single = Dictionary(
      links.filter { $0.key.columns.count == 1 }.map { ($0.key.columns[0], $0) },
      uniquingKeysWith: { first, _ in first })
    let shared = Set(links.filter { $0.key.columns.count > 1 }.flatMap(\.key.columns))
    for (place, column) in catalog.columns.enumerated() where single[column.name] == nil {
      addColumn(column, at: place, isShared: shared.contains(column.name))
    }
    addToOnes(links.sorted { hasOwnName($0) && !hasOwnName($1) })
    order.sort { $0.place < $1.place }
  }

  /// - Parameter isShared: True if a relationship can also set the column.
  private mutating func addColumn(_ column: Column, at place: Int, isShared: Bool) {
    guard !isKey(column) else {
      // The model names the key of a view even if it is `id`: other views have none.
      if column.name != "id" || catalog.isView { aliases[column.name] = .id }
      return
    }
    let name = claim(column.name)
    attributes.append(
      Attribute(
        name: name, type: column.type, isOptional: !column.isNotNull,
        hasDefault: column.defaultSQL != nil || isShared || isKeyPart(column),
        dateFormat: column.dateFormat,
        isWritable: !column.isGenerated && !catalog.isView,
        isUntyped: column.isUntyped && !column.isGenerated && !catalog.isView
          && !isKeyPart(column)))
    attributeColumns.append(place)
    order.append((place, .attribute(attributes.count - 1)))
  }

  /// True if a column is the id, and therefore no attribute. Parts of a composite key are
  /// attributes.
  private func isKey(_ column: Column) -> Bool {
    switch key.kind {
    case .rowidAlias, .column: key.columns == [column.name]
    case .composite, .rowid, .hash: false
    }
  }

  /// True if a column is part of a composite key. An insert may give its value within the id.
  private func isKeyPart(_ column: Column) -> Bool {
    key.kind == .composite && key.columns.contains(column.name)
  }

  // MARK: Relationships

  private func hasOwnName(_ link: CatalogLinks.Link) -> Bool {
    link.key.columns.count == 1 && Self.stripped(link.key.columns[0]) == nil
  }

  /// Returns `country` for `country_id` and `countryId`, `Country` for `CountryID`; nil for other
  /// names, `grid` and `GRID` among them.
  private static func stripped(_ column: String) -> String? {
    if folded(column).hasSuffix("_id"), column.utf8.count > 3 { return String(column.dropLast(3)) }
    let name = column.dropLast(2)
    guard column.hasSuffix("Id") || column.hasSuffix("ID"), let last = name.last,
      last.isLowercase || last.isNumber
    else { return nil }
    return String(name)
  }

  private mutating func addToOnes(_ links: [CatalogLinks.Link]) {
    for link in links {
      let columns = link.key.columns.compactMap { catalog.column(named: $0) }
      guard let first = columns.first,
        let place = catalog.columns.firstIndex(where: { $0.name == first.name })
      else { continue }
      let preferred = columns.count > 1 ? link.key.table : Self.stripped(first.name) ?? first.name
      let index = add(
        preferred, to: link.to, .foreignKey(link.key), isToMany: false,
        isOptional: columns.count > 1
          || columns.contains { isKeyPart($0) || !$0.isNotNull && !isKeyColumn($0) },
        place: place)
      if columns.count == 1 { addAlias(first, for: index) }
    }
  }

  private func isKeyColumn(_ column: Column) -> Bool {
    key.kind == .rowidAlias && key.columns == [column.name]
  }

  private mutating func addAlias(_ column: Column, for relationship: Int) {
    guard column.name != relationships[relationship].name, column.name != "id" else { return }
    aliases[column.name] = isKey(column) ? .id : .relationship(relationship)
  }

  /// Adds a relationship under `name`, or under the first unused name derived from it. Returns its
  /// index.
  mutating func add(
    _ name: String, to destination: Int, _ storage: RelationshipStorage, isToMany: Bool = true,
    isOptional: Bool = true, place: Int = .max, unrecordedTable: String? = nil
  ) -> Int {
    relationships.append(
      Related(
        name: claim(name), destination: destination, isToMany: isToMany, isOptional: isOptional,
        storage: storage, unrecordedTable: unrecordedTable))
    order.append((place, .relationship(relationships.count - 1)))
    return relationships.count - 1
  }

  private mutating func claim(_ name: String) -> String {
    var name = name
    while !taken.insert(name).inserted { name += "_" }
    return name
  }
}

// MARK: - The finished entity

extension EntityDraft {
  private var hasKey: Bool { !catalog.primaryKey.isEmpty }

  /// Returns the entity. Its position among the drafts is its index in the model.
  func entity(_ inverses: InversePairs, _ joinTables: [JoinTable], index: Int) -> Entity {
    Entity(
      name: ownName, attributes: attributes,
      relationships: relationships.enumerated().map { place, related in
        var relationship = Relationship(
          name: related.name, destination: related.destination, isToMany: related.isToMany,
          isOptional: related.isOptional,
          inverse: inverses.inverse(entity: index, relationship: place),
          isStoredAsID: related.storage.isStoredAsID, unrecordedTable: related.unrecordedTable)
        relationship.storage = related.storage.text(joinTables)
        return relationship
      },
      propertyOrder: order.map(\.property), idType: key.idType,
      aliases: aliases.filter { $0.key == "id" || !taken.contains($0.key) },
      isObservable: hasKey && catalog.isObservable, isLocked: isLocked,
      isWritable: hasKey, unique: table.uniqueAttributes, keyProperties: table.keyProperties,
      needsKey: hasKey && key.kind == .column
        && catalog.column(named: key.columns[0])?.defaultSQL == nil,
      isIdentifiedByHash: key.kind == .hash,
      isRestrictable: catalog.isObservable || key.dialect.hasTypedColumns,
      mayHaveTextIDs: key.kind == .column && key.parts[0].form == .integer
        && !key.dialect.hasTypedColumns,
      uuidStyle: key.dialect.hasTypedColumns ? .lower : .upper)
  }

  var table: EntityTable {
    EntityTable(
      name: ownName, isView: catalog.isView, key: key, columns: catalog.columns,
      attributeColumns: attributeColumns, relationships: relationships.map(\.storage),
      uniqueIndexes: catalog.uniqueIndexes, isObservable: hasKey && catalog.isObservable)
  }
}
