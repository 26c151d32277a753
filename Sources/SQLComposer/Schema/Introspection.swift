// An open file → its model, and the tables and columns that hold it.
//
// Tables and views become entities, columns attributes, foreign keys relationships with inverses,
// and primary keys ids. A table with exactly two foreign keys and at most a key of its own becomes
// a to-many relationship on each side.

import FetchModel

/// A file's model and the tables behind it.
package struct Introspection: Sendable {
  package let model: Model
  package let schema: Schema

  package init(model: Model, schema: Schema) {
    self.model = model
    self.schema = schema
  }

  package init(tables: [TableDescription], isUTF8: Bool = true, dialect: Dialect = .sqlite) {
    let links = CatalogLinks(tables, dialect)
    var drafts = links.entities.map { EntityDraft(tables[$0], key: links.key(of: $0)) }
    for index in drafts.indices { drafts[index].addColumns(links.keys(from: index)) }
    var inverses = links.addInverses(to: &drafts)
    let joinTables = links.addJoinTables(to: &drafts, &inverses)
    model = Model(
      entities: drafts.enumerated().map { $1.entity(inverses, joinTables, index: $0) })
    schema = Schema(
      entities: drafts.map(\.table), joinTables: joinTables,
      hasDeferredKeys: tables.mayHaveDeferredKeys,
      comparesBytes: isUTF8, dialect: dialect)
  }
}

/// The foreign keys of a catalog, checked and completed.
struct CatalogLinks {
  /// A foreign key between two entities, given by their indexes.
  struct Link {
    let from: Int
    let to: Int
    let key: ForeignKey
  }

  /// The tables that are entities, by their indexes in the catalog.
  let entities: [Int]
  private let tables: [TableDescription]
  private let links: [[ForeignKey]]
  private let entityByName: [String: Int]
  private let joins: [Int]
  private let dialect: Dialect

  init(_ tables: [TableDescription], _ dialect: Dialect) {
    self.dialect = dialect
    let byName = Dictionary(
      tables.enumerated().map { (dialect.comparable($1.name), $0) },
      uniquingKeysWith: { first, _ in first })
    let links = tables.map { Self.validKeys(of: $0, tables, byName, dialect) }
    let referenced = Set(links.joined().map { dialect.comparable($0.table) })
    self.tables = tables
    self.links = links
    joins = tables.indices.filter {
      !referenced.contains(dialect.comparable(tables[$0].name))
        && Self.isJoin(tables[$0], links[$0], dialect)
    }
    let joined = Set(joins)
    entities = tables.indices.filter { !joined.contains($0) }
    entityByName = Dictionary(
      entities.enumerated().map { (dialect.comparable(tables[$1].name), $0) },
      uniquingKeysWith: { first, _ in first })
  }

  /// Returns the foreign keys of a table that refer to existing columns; one for each set of
  /// columns.
  private static func validKeys(
    of table: TableDescription, _ tables: [TableDescription], _ byName: [String: Int],
    _ dialect: Dialect
  ) -> [ForeignKey] {
    var keys: [ForeignKey] = []
    for raw in table.foreignKeys {
      guard let index = byName[dialect.comparable(raw.table)], !tables[index].isView,
        let key = Self.key(raw, of: table, to: tables[index], dialect),
        !keys.contains(where: { Set($0.columns) == Set(key.columns) })
      else { continue }
      keys.append(key)
    }
    return keys
  }

  private static func key(
    _ raw: TableDescription.RawForeignKey, of table: TableDescription, to target: TableDescription,
    _ dialect: Dialect
  ) -> ForeignKey? {
    let columns = raw.columns.compactMap { table.column(named: $0)?.name }
    let referenced = (raw.referenced ?? target.primaryKey)
      .compactMap { target.column(named: $0)?.name }
    guard !columns.isEmpty, columns.count == raw.columns.count,
      referenced.count == columns.count
    else { return nil }
    func comparisons(_ columns: [String], to referenced: [String]) -> [ForeignKeyComparison]? {
      guard dialect.hasTypedColumns else {
        return table.comparisons(columns, to: target, referenced)
      }
      return raw.isExact ? nil : columns.map { _ in .inexact }
    }
    guard Set(referenced) == Set(target.primaryKey) else {
      return ForeignKey(
        columns: columns, table: target.name, referenced: referenced, referencesKey: false,
        comparisons: comparisons(columns, to: referenced))
    }
    let ordered = target.primaryKey.compactMap { part in
      referenced.firstIndex(of: part).map { columns[$0] }
    }
    return ForeignKey(
      columns: ordered, table: target.name, referenced: target.primaryKey, referencesKey: true,
      comparisons: comparisons(ordered, to: target.primaryKey))
  }

  /// True for a table with two foreign keys and at most a key that the store assigns. In SQLite a table
  /// that cannot be followed is an entity, so that fetches which reach it are refused `since`.
  private static func isJoin(
    _ table: TableDescription, _ keys: [ForeignKey], _ dialect: Dialect
  ) -> Bool {
    guard keys.count == 2, table.foreignKeys.count == 2, !table.isView,
      table.isObservable || dialect.hasTypedColumns
    else { return false }
    let linking = Set(keys[0].columns + keys[1].columns)
    guard linking.count == keys[0].columns.count + keys[1].columns.count else { return false }
    let others = table.columns.filter { !linking.contains($0.name) }
    return others.allSatisfy { column in
      table.primaryKey.contains(column.name)
        && (table.isRowidAlias || column.defaultSQL != nil)
    }
  }
}

// MARK: - Entities

extension CatalogLinks {
  func key(of table: Int) -> Key { KeyFinder(table: tables[table], dialect: dialect).key }

  /// Returns the foreign keys of an entity, with the entities that they refer to.
  func keys(from entity: Int) -> [Link] {
    links[entities[entity]].compactMap { key in
      entityByName[dialect.comparable(key.table)].map { Link(from: entity, to: $0, key: key) }
    }
  }

  /// Adds a to-many relationship for each foreign key. Returns the pairs of inverses.
  func addInverses(to drafts: inout [EntityDraft]) -> InversePairs {
    var pairs = InversePairs()
    for entity in entities.indices {
      let keys = keys(from: entity)
      for link in keys {
        guard let toOne = drafts[entity].relationship(for: link.key) else { continue }
        let isOnly = keys.count { $0.to == link.to } == 1
        let name =
          drafts[entity].tableName + (isOnly ? "" : "_by_\(drafts[entity].name(of: toOne))")
        let toMany = drafts[link.to].add(
          name, to: entity, .inverse(link.key), isToMany: true, isOptional: true)
        pairs.add((entity, toOne), (link.to, toMany))
      }
    }
    return pairs
  }

  /// Adds a to-many relationship on each side of every join table.
  func addJoinTables(
    to drafts: inout [EntityDraft], _ inverses: inout InversePairs
  ) -> [JoinTable] {
    var result: [JoinTable] = []
    for index in joins {
      let (first, second) = (links[index][0], links[index][1])
      guard let from = entityByName[dialect.comparable(first.table)],
        let to = entityByName[dialect.comparable(second.table)]
      else { continue }
      let table = tables[index]
      let unrecorded = table.isObservable ? nil : table.name
      let forward = drafts[from].add(
        drafts[to].tableName, to: to,
        .joinTable(table: result.count, source: first, destination: second),
        unrecordedTable: unrecorded)
      let back = drafts[to].add(
        drafts[from].tableName, to: from,
        .joinTable(table: result.count, source: second, destination: first),
        unrecordedTable: unrecorded)
      inverses.add((from, forward), (to, back))
      if table.isLocked {
        drafts[from].isLocked = true
        drafts[to].isLocked = true
      }
      result.append(
        JoinTable(
          name: table.name, key: KeyFinder(table: table, dialect: dialect).joinKey,
          columns: table.columns,
          first: first, second: second, firstEntity: from, secondEntity: to,
          uniqueIndexes: table.uniqueIndexes))
    }
    return result
  }
}

/// The inverse of each relationship, by entity and index.
struct InversePairs {
  private var inverseOf: [Int: [Int: Int]] = [:]

  mutating func add(_ first: (Int, Int), _ second: (Int, Int)) {
    inverseOf[first.0, default: [:]][first.1] = second.1
    inverseOf[second.0, default: [:]][second.1] = first.1
  }

  func inverse(entity: Int, relationship: Int) -> Int? { inverseOf[entity]?[relationship] }
}
