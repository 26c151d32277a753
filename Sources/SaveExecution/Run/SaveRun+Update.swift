// Updates, replacements and deletes of one object.

import FetchModel
import SQLComposer

extension SaveRun {
  mutating func update(_ change: Change, at index: Int, id: ObjectID) throws(StoreError) {
    var change = change
    guard let (table, key) = try prepare(&change, at: index, id: id) else { return }
    if row.isEmpty {
      guard try exists(key, in: table) else { return reportMissing(at: index) }
    } else {
      let sql = statements.update(table, row.columns)
      guard try write(sql, table, at: index, id: id, key: key) == .done else { return }
    }
    finish(index, entity: change.entity, id, as: .updated)
    postponeLinks(of: change, at: index, id: id)
    try editMembers(of: change, at: index, id: id)
  }

  /// Returns the key of the row and fills `row` with the values to write. Returns nil if the change
  /// waits or failed.
  private mutating func prepare(
    _ change: inout Change, at index: Int, id: ObjectID
  ) throws(StoreError) -> (table: SaveTable, key: [SQLValue])? {
    let table = table(change.entity)
    guard let key = table.key.bindings(of: id) else {
      reportMissing(at: index)
      return nil
    }
    guard try check(&change, at: index, id: id, key: key) == .holds,
      try isOfNamedEntity(change, at: index, id: id, table, key: key),
      try fillUpdate(change, at: index, id: id, table, key: key)
    else { return nil }
    return (table, key)
  }

  /// Fills `row` with the values of an update; returns false if the change waits or failed.
  private mutating func fillUpdate(
    _ change: Change, at index: Int, id: ObjectID, _ table: SaveTable, key: [SQLValue]
  ) throws(StoreError) -> Bool {
    guard case .complete = try fill(change.values, of: index, table, for: .update) else {
      progress[index] = .failed
      guard mayRead(id, of: change.entity) else { return false }
      try reportEverything(table, at: index, key: key, from: .stored)
      return false
    }
    guard keepKey(table, key, at: index) else { return false }
    // An object that the caller may not read is replaced as one that does not exist.
    guard mayRead(id, of: change.entity) else { return true }
    return try mayLink(table, at: index, id: id, isReplacement: change.isReplacement)
  }

  /// Removes the key's columns from `row`; returns false if one of them would change.
  mutating func keepKey(_ table: SaveTable, _ key: [SQLValue], at index: Int) -> Bool {
    for (column, value) in zip(table.keyColumns, key) {
      guard let given = row[column] else { continue }
      guard given == value else {
        report(
          .notWritable, table.propertyNames[column], "an object's id is permanent", at: index)
        return false
      }
      row.remove(column)
    }
    return true
  }

  func exists(_ key: [SQLValue], in table: SaveTable) throws(StoreError) -> Bool {
    try connection.hasRow(statements.exists(in: table), key)
  }

  enum Writing { case done, failed, missing }

  /// Runs an UPDATE of one row with the values of `row`.
  mutating func write(
    _ sql: String, _ table: SaveTable, at index: Int, id: ObjectID, key: [SQLValue],
    mayBeMissing: Bool = false
  ) throws(StoreError) -> Writing {
    if let constraint = try attempt(sql, row.values, then: key) {
      try report(
        constraint, writing: table, at: index, id: id, from: mayBeMissing ? .defaults : .stored)
      return .failed
    }
    guard connection.changedRows == 0 else { return .done }
    if try exists(key, in: table) {
      report(.refused, nil, "the table refused the change", at: index)
      return .failed
    }
    if !mayBeMissing { reportMissing(at: index) }
    return .missing
  }

  mutating func replace(_ change: Change, at index: Int, id: ObjectID) throws(StoreError) {
    var change = change
    guard let (table, key) = try prepare(&change, at: index, id: id) else { return }
    let isThere: Bool
    if !mayRead(id, of: change.entity) {
      guard try !exists(key, in: self.table(rootOf: table)) else {
        return try refuseReplacement(change, at: index, id: id)
      }
      isThere = false
    } else if let sql = statements.replace(
      table, row.columns, keeping: protectedColumns(of: table))
    {
      let writing = try write(sql, table, at: index, id: id, key: key, mayBeMissing: true)
      guard writing != .failed else { return }
      isThere = writing == .done
    } else {
      isThere = try exists(key, in: table)
    }
    if !isThere {
      guard let stored = try insertRow(change, at: index, id: id) else { return }
      // The store writes this id as another text, under which alone the object would be found.
      guard stored == id else { return reportNoObject(at: index) }
      notePostponed(ofDeleted: id, table, by: index)
    }
    finish(index, entity: change.entity, id, as: isThere ? .updated : .inserted)
    postponeLinks(of: change, at: index, id: id)
    try editMembers(of: change, at: index, id: id)
  }

  mutating func delete(_ change: Change, at index: Int, id: ObjectID) throws(StoreError) {
    var change = change
    let table = table(change.entity)
    guard let key = table.key.bindings(of: id) else { return reportMissing(at: index) }
    guard try check(&change, at: index, id: id, key: key) == .holds,
      try mayDeleteInserted(id, of: change.entity, at: index)
    else { return }
    try deleteRow(of: table, at: index, id: id)
  }

  /// Deletes an object whose preconditions hold.
  mutating func deleteRow(
    of table: SaveTable, at index: Int, id: ObjectID
  ) throws(StoreError) {
    guard let key = table.key.bindings(of: id) else { return reportMissing(at: index) }
    try checkPermissionsBeforeDelete()
    if let constraint = try attempt(statements.delete(from: table), [], then: key) {
      // A later change may move or delete the object that refers to this one.
      if constraint.maySucceedLater, !isLastTry, !isRolledBack {
        return postponeDelete(of: [id], table.index, at: index)
      }
      return try report(constraint, deleting: table, at: index, id: id)
    }
    guard connection.changedRows == 0 else {
      return finish(index, entity: table.index, id, as: .deleted)
    }
    guard try exists(key, in: table) else {
      // A later delete of the save may have cascaded to it.
      return isRetry
        ? finish(index, entity: table.index, id, as: .deleted) : reportMissing(at: index)
    }
    report(.refused, nil, "the table refused the delete", at: index)
  }
}
