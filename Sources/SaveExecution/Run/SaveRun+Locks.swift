// The rows that a save writes, locked before its first change in one order for all saves: by table, then
// by id. Two saves that locked their rows in different orders could wait for each other, which a database
// ends only after a while. A row that begins to match a condition in the meantime is locked later.

import FetchModel
import SQLComposer

/// Rows of one table.
private struct LockedRows {
  let table: SaveTable
  var ids: Set<ObjectID> = []
  var lock = RowLock.update
}

extension SaveRun {
  /// Locks the rows that a save of several changes names. A single change locks its row by writing it.
  func lockRows() throws(StoreError) {
    guard connection.locksRows, request.changes.count > 1 else { return }
    var tables = namedRows()
    try addMatchingRows(to: &tables)
    guard tables.values.reduce(0, { $0 + $1.ids.count }) > 1 else { return }
    for (_, rows) in tables.sorted(by: { $0.key < $1.key }) {
      guard let values = rows.table.lockValues(rows.ids) else { continue }
      try connection.lock(
        SQLFragment(statements.lock(rows.lock, in: rows.table), bindings: values))
    }
  }

  /// The rows that the changes write, by the names of their tables: their objects, the members of
  /// relationships that the members' rows store, and the objects that triggers update.
  private func namedRows() -> [String: LockedRows] {
    var tables: [String: LockedRows] = [:]
    func add(_ id: ObjectID, of entity: Int, _ lock: RowLock = .update) {
      let table = table(entity)
      tables[table.table.name, default: LockedRows(table: table)].ids.insert(id)
      if lock == .delete { tables[table.table.name]?.lock = lock }
    }
    for change in request.changes {
      if let id = change.namedID {
        if case .delete = change.operation {
          add(id, of: change.entity, .delete)
        } else {
          add(id, of: change.entity)
        }
      }
      let table = table(change.entity)
      for value in change.values {
        switch value.content {
        case .toMany(let place, let edit):
          guard case .inverse = table.table.relationships[place] else { continue }
          let destination = table.entity.relationships[place].destination
          for case .id(let id) in edit.references { add(id, of: destination) }
        case .toOne(let place, .id(let id)?):
          let relationship = table.entity.relationships[place]
          if updatesDestination(relationship) { add(id, of: relationship.destination) }
        case .toOne, .attribute: continue
        }
      }
    }
    return tables
  }

  /// The most rows of one condition that are locked before the first change.
  private static let maxMatchingRows = 10_000

  /// Adds the rows that match the conditions of changes.
  private func addMatchingRows(to tables: inout [String: LockedRows]) throws(StoreError) {
    for (index, entity, predicate, action) in conditions {
      let table = table(entity)
      let ids = try connection.ids(
        matches(predicate, table, at: index).ids(upTo: Self.maxMatchingRows + 1))
      guard !ids.isEmpty, ids.count <= Self.maxMatchingRows else { continue }
      var rows = tables[table.table.name] ?? LockedRows(table: table)
      rows.ids.formUnion(ids)
      if action == .delete { rows.lock = .delete }
      tables[table.table.name] = rows
    }
  }

  /// True if triggers of the model update the objects to which a to-one relationship refers: the
  /// inverse is a to-one relationship, or they have attributes that are derived from their members.
  private func updatesDestination(_ relationship: Relationship) -> Bool {
    guard executor.model.file != nil, let inverse = relationship.inverse else { return false }
    let destination = executor.model.entities[relationship.destination]
    return !destination.relationships[inverse].isToMany
      || destination.attributes.contains { attribute in
        switch attribute.declaration?.derivation {
        case .count, .sum: true
        case .text, .path, .now, nil: false
        }
      }
  }
}
