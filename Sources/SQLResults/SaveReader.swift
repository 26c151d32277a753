// One table's history rows → the changes that each save made to its objects.
//
// A history row holds a row's old values. The new values are those of the next history row with the
// same key, or of the table if there is none. So the reader walks the saves from the last to the
// first, and keeps each key's state after the save.

import FetchModel
import SQLComposer

/// A save: its token, and its time in seconds since 1970.
package struct SaveRange {
  package let token: Token
  package let at: Double

  package init(token: Token, at: Double) {
    self.token = token
    self.at = at
  }
}

/// Folds the history rows of one tracked table into saves.
package struct SaveReader<Transaction: ResultTransaction> {
  /// The values of a row; nil if there was no row.
  private typealias State = [SQLValue]?

  private struct Entry {
    let save: Int
    let id: ObjectID
    let before: State
  }

  private let table: TrackedTable
  private let saves: [SaveRange]
  private let transaction: Transaction

  private var schema: Schema { transaction.composer.schema }
  private var model: Model { transaction.composer.model }

  /// - Parameter saves: the saves to read, oldest first.
  package init(_ table: TrackedTable, _ saves: [SaveRange], in transaction: Transaction) {
    self.table = table
    self.saves = saves
    self.transaction = transaction
  }

  /// Adds the table's changes to `folds`, which has an element for each save.
  ///
  /// - Parameters:
  ///   - statement: returns the number of a save, an id, whether the row existed, and the columns of
  ///     ``columns``: for each row of the history in these saves, in any order of the saves, and
  ///     within a save the oldest row of a key first.
  ///   - save: returns the index of a save by its number; nil for one that is not among them.
  package func fold(
    _ statement: SQLFragment, into folds: inout [SaveFold], save: (Int64) -> Int?
  ) throws(StoreError) {
    var size = 0
    let entries = try entries(statement, &size, save)
    var states = try statesAfterwards(Set(entries.map(\.id)), &size)
    var steps: [(entry: Entry, after: State)] = []
    for group in bySave(entries).reversed() {
      try transaction.checkResponse(0)
      for entry in group.reversed() {
        steps.append((entry, states[entry.id] ?? nil))
      }
      for entry in group { states[entry.id] = .some(entry.before) }
    }
    for (number, step) in steps.reversed().enumerated() {
      if number % 1_024 == 0 { try transaction.checkResponse(0) }
      try add(step.entry, after: step.after, to: &folds)
    }
  }

  /// Returns the first entry of each key in each save: the state before the save.
  private func bySave(_ entries: [Entry]) -> [[Entry]] {
    var groups = [[Entry]](repeating: [], count: saves.count)
    var seen = [Set<ObjectID>](repeating: [], count: saves.count)
    for entry in entries where seen[entry.save].insert(entry.id).inserted {
      groups[entry.save].append(entry)
    }
    return groups
  }

  // MARK: Reading

  /// The columns of the table and of its history.
  package static func columns(of table: TrackedTable) -> String {
    table.tableInfo.columnNames.map(quoted).joined(separator: ", ")
  }

  private func entries(
    _ statement: SQLFragment, _ size: inout Int, _ save: (Int64) -> Int?
  ) throws(StoreError) -> [Entry] {
    var entries: [Entry] = []
    try transaction.run(FetchStatement(statement)) { row throws(StoreError) in
      guard let save = save(row.integer(0)), let id = row.id(at: 1) else { return true }
      size += row.byteCount
      try transaction.checkResponse(size)
      let before = row.integer(2) != 0 ? values(of: row, from: 3) : nil
      entries.append(Entry(save: save, id: id, before: before))
      return true
    }
    return entries
  }

  private func values(of row: Transaction.ReadRow, from first: Int32) -> [SQLValue] {
    (first..<row.columnCount).map { row.storedValue($0) }
  }

  /// Returns the state of each of `ids` after the last save.
  private func statesAfterwards(
    _ ids: Set<ObjectID>, _ size: inout Int
  ) throws(StoreError) -> [ObjectID: State] {
    guard let last = saves.last, !ids.isEmpty else { return [:] }
    var states: [ObjectID: State] = [:]
    let columns = Self.columns(of: table)
    var past = SQLFragment("WITH ")
    past.append(table.layout.overlayExpression(at: last.token.position))
    past.append(
      " SELECT \(table.layout.idExpression("h")), "
        + "\(schema.dialect.integer("h.\(HistoryLayout.existed)")), \(columns) "
        + "FROM \(table.layout.overlayName) AS h")
    try transaction.run(FetchStatement(past)) { row throws(StoreError) in
      guard let id = row.id(at: 0), ids.contains(id) else { return true }
      size += row.byteCount
      try transaction.checkResponse(size)
      states[id] = .some(row.integer(1) != 0 ? values(of: row, from: 2) : nil)
      return true
    }
    let others = ids.filter { states[$0] == nil }
    for id in others { states[id] = .some(nil) }
    guard !others.isEmpty else { return states }
    let key = table.tableInfo.key
    let restriction = IDRestriction(key: key, ids: others)
    let present = SQLFragment(
      "SELECT \(key.idExpression(nil)), \(columns) FROM "
        + "\(schema.dialect.qualifier)\(quoted(table.layout.table)) "
        + "WHERE \(restriction.condition(nil))",
      bindings: restriction.bindings)
    try transaction.run(FetchStatement(present)) { row throws(StoreError) in
      size += row.byteCount
      try transaction.checkResponse(size)
      if let id = row.id(at: 0) { states[id] = .some(values(of: row, from: 1)) }
      return true
    }
    return states
  }

  // MARK: Folding

  private func add(
    _ entry: Entry, after: State, to folds: inout [SaveFold]
  ) throws(StoreError) {
    guard let root = table.entity else {
      guard entry.before != after else { return }
      for state in [entry.before, after] {
        try addOwners(table.links, of: state, to: &folds[entry.save])
      }
      return
    }
    let row = after ?? entry.before
    let entity = row.flatMap { table.discriminator?.entity(of: $0) } ?? root
    switch (entry.before, after) {
    case (nil, nil): break
    case (nil, .some): folds[entry.save].insert(entry.id, of: entity)
    case (.some, nil): folds[entry.save].delete(entry.id, of: entity)
    case (let before?, let after?):
      let properties = changedProperties(of: entity, before, after)
      if !properties.isEmpty {
        folds[entry.save].update(entry.id, of: entity, properties: properties)
      }
      try addReordered(before, after, to: &folds[entry.save])
    }
  }

  /// A member with another position is a change of its owner.
  private func addReordered(
    _ before: [SQLValue], _ after: [SQLValue], to fold: inout SaveFold
  ) throws(StoreError) {
    let moved = table.links.filter { link in
      guard let name = link.key.position,
        let column = table.tableInfo.columns.firstIndex(where: { $0.name == name })
      else { return false }
      return before[column] != after[column]
    }
    try addOwners(moved, of: after, to: &fold)
  }

  /// Adds the objects that a row's links refer to: a row of a join table is a change of both.
  private func addOwners(
    _ links: [MemberLink], of state: State, to fold: inout SaveFold
  ) throws(StoreError) {
    guard let state else { return }
    // Inherited relationships are listed under the entity that declares them.
    var seen: Set<ForeignKey> = []
    for link in links where seen.insert(link.key).inserted {
      let values = link.key.columns.map { column in
        table.tableInfo.columns.firstIndex { $0.name == column }.map { state[$0] } ?? .null
      }
      let target = schema.entities[link.relationship.entity]
      guard let id = try id(in: target, referencedBy: values, link.key) else { continue }
      let entity = model.entities[link.relationship.entity]
      fold.update(
        owner: id, of: link.relationship.entity,
        relationship: entity.relationships[link.relationship.relationship].name)
    }
  }

  /// Returns the object of `target` that the values of a foreign key's columns refer to.
  private func id(
    in target: EntityTable, referencedBy values: [SQLValue], _ foreignKey: ForeignKey
  ) throws(StoreError) -> ObjectID? {
    if foreignKey.referencesKey { return target.key.id(of: values) }
    let isTyped = schema.dialect.hasTypedColumns
    let condition = zip(foreignKey.referenced, values).map { name, value in
      if isTyped, case .text = value { return "\(quoted(name))::text = ?" }
      return "\(quoted(name)) = ?"
    }
    var id: ObjectID?
    let statement = SQLFragment(
      "SELECT \(target.key.idExpression(nil)) FROM \(schema.dialect.qualifier)\(target.quotedName) "
        + "WHERE \(condition.joined(separator: " AND "))", bindings: values)
    try transaction.run(FetchStatement(statement)) { row in
      id = row.id(at: 0)
      return false
    }
    return id
  }

  /// Returns the names of the properties whose columns differ between two rows, in entity order.
  private func changedProperties(
    of entity: Int, _ before: [SQLValue], _ after: [SQLValue]
  ) -> [String] {
    let table = schema.entities[entity]
    let changed = Set(
      zip(table.columns, zip(before, after)).filter { $1.0 != $1.1 }.map { $0.0.name })
    guard !changed.isEmpty else { return [] }
    return model.entities[entity].propertyOrder.compactMap { property in
      switch property {
      case .id: return nil
      case .attribute(let index):
        let attribute = model.entities[entity].attributes[index]
        guard !attribute.isHidden else { return nil }
        return changed.contains(table.column(ofAttribute: index).name) ? attribute.name : nil
      case .relationship(let index):
        guard case .foreignKey(let key) = table.relationships[index],
          key.columns.contains(where: changed.contains)
        else { return nil }
        return model.entities[entity].relationships[index].name
      }
    }
  }
}
