// One table's history rows → the changes that each save made to its objects.
//
// A history row holds a row's old values. The new values are those of the next history row with the
// same key, or of the table if there is none. So the reader walks the saves from the last to the
// first, and keeps each key's state after the save.

import FetchModel
import SQLComposer

/// Folds the history rows of one tracked table into saves.
struct ChangeReader {
  /// The values of a row; nil if there was no row.
  private typealias State = [SQLValue]?

  private struct Entry {
    let save: Int
    let id: ObjectID
    let before: State
  }

  let table: TrackedTable
  let saves: [SaveRange]
  /// The first save begins after this position.
  let first: Int64

  func fold(
    into folds: inout [SaveFold], history: History, on connection: Connection
  ) throws(StoreError) {
    let entries = try entries(on: connection)
    var states = try statesAfterwards(Set(entries.map(\.id)), on: connection)
    var steps: [(entry: Entry, after: State)] = []
    for group in bySave(entries).reversed() {
      for entry in group.reversed() {
        steps.append((entry, states[entry.id] ?? nil))
      }
      for entry in group { states[entry.id] = .some(entry.before) }
    }
    for step in steps.reversed() {
      try add(step.entry, after: step.after, to: &folds, history, connection)
    }
  }

  /// Returns the first entry of each key in each save: the state before the save.
  private func bySave(_ entries: [Entry]) -> [[Entry]] {
    var groups: [[Entry]] = []
    var seen: Set<ObjectID> = []
    for entry in entries {
      if groups.last?.first?.save != entry.save {
        groups.append([])
        seen = []
      }
      if seen.insert(entry.id).inserted { groups[groups.count - 1].append(entry) }
    }
    return groups
  }

  // MARK: Reading

  private var columns: String {
    table.shape.columnNames.map(quoted).joined(separator: ", ")
  }

  private func entries(on connection: Connection) throws(StoreError) -> [Entry] {
    guard let last = saves.last else { return [] }
    let sql = """
      SELECT \(HistoryLayout.position), \(table.layout.idExpression(nil)), \
      \(HistoryLayout.existed), \(columns) FROM main.\(table.layout.quotedName) \
      WHERE \(HistoryLayout.position) > ? AND \(HistoryLayout.position) <= ? \
      ORDER BY \(HistoryLayout.position)
      """
    var save = 0
    var entries: [Entry] = []
    var size = 0
    try connection.withStatement(sql) { row throws(StoreError) in
      row.bind([.integer(first), .integer(last.token.position.number)])
      while try row.step() {
        while save < saves.count - 1, row.integer(0) > saves[save].token.position.number {
          save += 1
        }
        guard let id = row.id(1) else { continue }
        size += row.byteCount(3..<row.columnCount)
        try connection.checkAnswer(size)
        let before = row.integer(2) != 0 ? row.values(3..<row.columnCount) : nil
        entries.append(Entry(save: save, id: id, before: before))
      }
    }
    return entries
  }

  /// Returns the state of each of `ids` after the last save.
  private func statesAfterwards(
    _ ids: Set<ObjectID>, on connection: Connection
  ) throws(StoreError) -> [ObjectID: State] {
    guard let last = saves.last else { return [:] }
    var states: [ObjectID: State] = [:]
    let overlay = table.layout.overlayExpression(at: last.token.position)
    let sql = """
      WITH \(overlay.text) SELECT \(table.layout.idExpression("h")), \
      \(HistoryLayout.existed), \(columns) FROM \(table.layout.overlayName) AS h
      """
    try connection.withStatement(sql) { row throws(StoreError) in
      row.bind(overlay.bindings)
      while try row.step() {
        guard let id = row.id(0), ids.contains(id) else { continue }
        states[id] = .some(row.integer(1) != 0 ? row.values(2..<row.columnCount) : nil)
      }
    }
    for id in ids where states[id] == nil { states[id] = .some(try current(id, on: connection)) }
    return states
  }

  private func current(_ id: ObjectID, on connection: Connection) throws(StoreError) -> State {
    let key = table.shape.key
    guard let bindings = key.bindings(of: id) else { return nil }
    let sql = """
      SELECT \(columns) FROM main.\(quoted(table.layout.table)) WHERE \(key.lookupCondition(nil))
      """
    return try connection.first(sql, bindings) { $0.values(0..<$0.columnCount) }
  }

  // MARK: Folding

  private func add(
    _ entry: Entry, after: State, to folds: inout [SaveFold], _ history: History,
    _ connection: Connection
  ) throws(StoreError) {
    guard let root = table.entity else {
      guard entry.before != after else { return }
      for state in [entry.before, after] {
        try addOwners(of: state, to: &folds[entry.save], history, connection)
      }
      return
    }
    let row = after ?? entry.before
    let entity = row.flatMap { table.kinds?.entity(of: $0) } ?? root
    switch (entry.before, after) {
    case (nil, nil): break
    case (nil, .some): folds[entry.save].insert(entry.id, entity)
    case (.some, nil): folds[entry.save].delete(entry.id, entity)
    case (let before?, let after?):
      let properties = history.changedProperties(of: entity, before, after)
      if !properties.isEmpty { folds[entry.save].update(entry.id, entity, properties) }
      try addReordered(before, after, to: &folds[entry.save], history, connection)
    }
  }

  /// A member with another position is a change of its owner.
  private func addReordered(
    _ before: [SQLValue], _ after: [SQLValue], to fold: inout SaveFold, _ history: History,
    _ connection: Connection
  ) throws(StoreError) {
    let moved = table.links.filter { link in
      guard let name = link.key.position,
        let column = table.shape.columns.firstIndex(where: { $0.name == name })
      else { return false }
      return before[column] != after[column]
    }
    try addOwners(moved, of: after, to: &fold, history, connection)
  }

  /// A row of a join table is a change of both objects.
  private func addOwners(
    of state: State, to fold: inout SaveFold, _ history: History, _ connection: Connection
  ) throws(StoreError) {
    try addOwners(table.links, of: state, to: &fold, history, connection)
  }

  private func addOwners(
    _ links: [MemberLink], of state: State, to fold: inout SaveFold, _ history: History,
    _ connection: Connection
  ) throws(StoreError) {
    guard let state else { return }
    // Inherited relationships are listed under the entity that declares them.
    var seen: Set<ForeignKey> = []
    for link in links where seen.insert(link.key).inserted {
      let values = link.key.columns.map { column in
        table.shape.columns.firstIndex { $0.name == column }.map { state[$0] } ?? .null
      }
      let target = history.schema.entities[link.place.entity]
      guard let id = try target.id(referencedBy: values, link.key, on: connection) else { continue }
      let entity = history.model.entities[link.place.entity]
      fold.update(
        id, link.place.entity, [entity.relationships[link.place.relationship].name])
    }
  }
}

extension EntityTable {
  /// Returns the object of this table that `values` of a foreign key's columns refer to.
  fileprivate func id(
    referencedBy values: [SQLValue], _ foreignKey: ForeignKey, on connection: Connection
  ) throws(StoreError) -> ObjectID? {
    if foreignKey.referencesKey { return key.id(of: values) }
    let joinCondition = foreignKey.referenced.map { "\(quoted($0)) = ?" }.joined(separator: " AND ")
    let sql = "SELECT \(key.idExpression(nil)) FROM main.\(quotedName) WHERE \(joinCondition)"
    return try connection.first(sql, values) { $0.id(0) } ?? nil
  }
}

extension History {
  /// Returns the names of the properties whose columns differ between two rows, in entity order.
  fileprivate func changedProperties(
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
