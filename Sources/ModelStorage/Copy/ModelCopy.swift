// The objects of another store, as JSON → rows of the model's empty tables, with the same ids.
//
// Triggers would change what is copied, and references would dictate an order. So the tables have
// neither until every row exists.

import FetchModel
import SQLComposer

/// The statements of a copy.
package protocol CopyConnection {
  func run(_ sql: String) throws(StoreError)
  /// Runs a statement that writes `values` into columns.
  func insert(_ sql: String, _ values: [SQLValue]) throws(StoreError)
}

/// Writes objects into the tables of a model.
package struct ModelCopy {
  private let tables: ModelTables
  private let connection: any CopyConnection
  private var file: ModelFile { tables.file }
  private var dialect: ModelDialect { tables.dialect }

  private static let maxValues = 10_000

  package init(_ tables: ModelTables, on connection: any CopyConnection) {
    self.tables = tables
    self.connection = connection
  }

  /// Creates the tables.
  package func begin() throws(StoreError) {
    try tables.checkNames()
    for table in tables.tables {
      try connection.run(table.creation(hasReferences: dialect.hasForwardReferences))
    }
  }

  /// Adds references and indexes. Reserves the ids up to `highestIDs`, by root entity, and up to those of
  /// the objects.
  package func finish(highestIDs: [String: Int64]) throws(StoreError) {
    if !dialect.hasForwardReferences {
      for reference in tables.tables.flatMap(\.references) { try connection.run(reference.sql) }
    }
    for index in tables.indexes { try connection.run(index.sql) }
    for root in tables.tables.compactMap(\.root) {
      for sql in dialect.reserveIDs(root, highestIDs[root] ?? 0) { try connection.run(sql) }
    }
  }

  // MARK: Objects

  package func write(_ items: [JSON], of entity: String) throws(StoreError) {
    guard let table = tables.table(of: entity), !items.isEmpty else { return }
    let columns = columns(of: entity, table)
    let rows = try items.map { item throws(StoreError) in try row(item, columns, of: entity) }
    try insert(rows, into: table.name, columns.map(\.name))
    for relationship in file.relationships(of: entity) where relationship.isToMany {
      try writeMembers(relationship, of: entity, items)
    }
  }

  /// A column, and the property that it stores; nil for the entity's name.
  private struct CopiedColumn {
    let name: String
    let property: String?
    /// nil for an id.
    let attribute: ModelFile.Attribute?
  }

  private func columns(of entity: String, _ table: PlannedTable) -> [CopiedColumn] {
    var columns = [CopiedColumn(name: ModelTables.keyName, property: "id", attribute: nil)]
    if let discriminator = table.column(.discriminator) {
      columns.append(CopiedColumn(name: discriminator.name, property: nil, attribute: nil))
    }
    for attribute in file.attributes(of: entity) where !attribute.isTransient {
      guard let column = tables.column(attribute.name, of: entity) else { continue }
      columns.append(
        CopiedColumn(name: column, property: attribute.name, attribute: attribute))
    }
    for relationship in file.relationships(of: entity) where !relationship.isToMany {
      guard let column = tables.column(relationship.name, of: entity) else { continue }
      columns.append(CopiedColumn(name: column, property: relationship.name, attribute: nil))
    }
    return columns
  }

  private func row(
    _ item: JSON, _ columns: [CopiedColumn], of entity: String
  ) throws(StoreError) -> [SQLValue] {
    try columns.map { column throws(StoreError) in
      guard let property = column.property else { return .text(entity) }
      let json = item[property] ?? .null
      if json == .null { return .null }
      guard let attribute = column.attribute else { return try id(json) }
      guard let value = Value(json, as: attribute.storedType),
        let stored = dialect.stored(value, attribute)
      else {
        let id = item["id"]?.integer ?? 0
        throw .unusable("\(entity).\(property) of object \(id) has a value that is not of its type")
      }
      return stored
    }
  }

  private func id(_ json: JSON?) throws(StoreError) -> SQLValue {
    guard let id = json?.integer else { throw .unusable("an object has no id that is an integer") }
    return .integer(id)
  }

  private func insert(
    _ rows: [[SQLValue]], into table: String, _ columns: [String], more: String = ""
  ) throws(StoreError) {
    let size = max(1, Self.maxValues / columns.count)
    let names = columns.map(quoted).joined(separator: ", ")
    let place = "(\(columns.map { _ in "?" }.joined(separator: ", ")))"
    for start in stride(from: 0, to: rows.count, by: size) {
      let batch = rows[start..<min(start + size, rows.count)]
      let places = batch.map { _ in place }.joined(separator: ", ")
      try connection.insert(
        "INSERT INTO \(quoted(table)) (\(names)) VALUES \(places)\(more)", batch.flatMap { $0 })
    }
  }

  // MARK: Members

  private func writeMembers(
    _ relationship: ModelFile.Relationship, of entity: String, _ owners: [JSON]
  ) throws(StoreError) {
    guard let key = file.key(of: relationship.name, in: entity) else { return }
    let position = tables.positions[key]
    switch tables.links[key] {
    case .members(let inverse)?:
      guard let position, let table = tables.table(of: inverse.entity) else { return }
      try writePositions(position, in: table.name, relationship, owners)
    case .join(let table, let source, let destination)?:
      let isForward = tables.tables.first { $0.name == table }?.columns.first?.name == source
      let link = LinkColumns(
        table: table, source: source, destination: destination, position: position)
      if isForward {
        try insertLinks(link, relationship, owners)
      } else if position != nil {
        try insertPositionedLinks(link, relationship, owners)
      }
    case .column?, nil: return
    }
  }

  /// The columns of a join table, seen from one of its relationships.
  private struct LinkColumns {
    let table: String
    let source: String
    let destination: String
    let position: String?
  }

  /// Writes the positions of members that refer to their owner with a column of their own.
  private func writePositions(
    _ position: String, in table: String, _ relationship: ModelFile.Relationship, _ owners: [JSON]
  ) throws(StoreError) {
    for owner in owners {
      for (place, member) in try members(relationship, of: owner).enumerated() {
        try update(table, position, to: place, where: [(ModelTables.keyName, member)])
      }
    }
  }

  /// Inserts the links of each owner, with their positions if the relationship is ordered.
  private func insertLinks(
    _ link: LinkColumns, _ relationship: ModelFile.Relationship, _ owners: [JSON]
  ) throws(StoreError) {
    let columns = [link.source, link.destination] + (link.position.map { [$0] } ?? [])
    for owner in owners {
      let id = try id(owner["id"])
      let rows = try members(relationship, of: owner).enumerated().map { place, member in
        [id, member] + (link.position == nil ? [] : [Self.position(place)])
      }
      try insert(rows, into: link.table, columns, more: " ON CONFLICT DO NOTHING")
    }
  }

  /// Writes the positions of an ordered relationship whose inverse inserts the links too, before or
  /// after this.
  private func insertPositionedLinks(
    _ link: LinkColumns, _ relationship: ModelFile.Relationship, _ owners: [JSON]
  ) throws(StoreError) {
    guard let position = link.position else { return }
    for owner in owners {
      let id = try id(owner["id"])
      for (place, member) in try members(relationship, of: owner).enumerated() {
        try insert(
          [[id, member]], into: link.table, [link.source, link.destination],
          more: " ON CONFLICT DO NOTHING")
        try update(
          link.table, position, to: place,
          where: [(link.source, id), (link.destination, member)])
      }
    }
  }

  private func members(
    _ relationship: ModelFile.Relationship, of owner: JSON
  ) throws(StoreError) -> [SQLValue] {
    guard case .array(let ids)? = owner[relationship.name] else { return [] }
    return try ids.map { json throws(StoreError) in try id(json) }
  }

  private static func position(_ place: Int) -> SQLValue {
    .integer(Int64(place + 1) * Int64(ModelTriggers.positionStep))
  }

  private func update(
    _ table: String, _ column: String, to place: Int, where key: [(column: String, id: SQLValue)]
  ) throws(StoreError) {
    let condition = key.map { "\(quoted($0.column)) = ?" }.joined(separator: " AND ")
    try connection.insert(
      "UPDATE \(quoted(table)) SET \(quoted(column)) = ? WHERE \(condition)",
      [Self.position(place)] + key.map(\.id))
  }
}
