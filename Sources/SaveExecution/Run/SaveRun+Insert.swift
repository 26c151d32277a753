// Inserts: the row, its id, and then its to-many relationships.

import FetchModel
import SQLComposer

extension SaveRun {
  mutating func insert(_ change: Change, at index: Int) throws(StoreError) {
    guard let id = try insertRow(change, at: index, id: change.id) else { return }
    insertedIDs[index] = id
    notePostponed(ofDeleted: id, table(change.entity), by: index)
    finish(index, entity: change.entity, id, as: .inserted)
    postponeLinks(of: change, at: index, id: id)
    try editMembers(of: change, at: index, id: id)
  }

  /// Inserts a change's row. Returns nil if the change waits or failed.
  ///
  /// - Parameter id: The client's choice; nil lets the store assign one.
  mutating func insertRow(
    _ change: Change, at index: Int, id: ObjectID?
  ) throws(StoreError) -> ObjectID? {
    let table = table(change.entity)
    guard try fillInsert(change, at: index, id: id, table) else { return nil }
    return try insertRow(into: table, at: index)
  }

  /// Fills `row` with the values of an insert; returns false if the change waits or failed.
  private mutating func fillInsert(
    _ change: Change, at index: Int, id: ObjectID?, _ table: SaveTable
  ) throws(StoreError) -> Bool {
    if table.entity.inheritance.isAbstract {
      report(.abstractEntity, nil, ChangeProblem.detailOfAbstract(table.entity), at: index)
      return false
    }
    switch try fill(change.values + change.protectedDefaults, of: index, table, for: .insert) {
    case .complete: break
    case .failed:
      progress[index] = .failed
      try reportEverything(table, at: index, key: nil, from: .defaults)
      return false
    case .pending(let insert, let property):
      wait(index, for: insert, property: property)
      return false
    }
    // `id: nil`, because the id of an object that the caller may not read must get the same response
    // as an unused one.
    guard setKey(table, id, at: index), try mayLink(table, at: index, id: nil) else {
      return false
    }
    if let column = table.discriminatorColumn {
      row.append(.text(table.entity.name), to: column)
    }
    return true
  }

  /// Refuses to replace an object that the caller may not read. Reports the problems of an insert of
  /// this id as if it were unused, otherwise `no-such-object`. Writes nothing.
  mutating func refuseReplacement(
    _ change: Change, at index: Int, id: ObjectID
  ) throws(StoreError) {
    let table = table(change.entity)
    guard try fillInsert(change, at: index, id: id, table) else { return }
    // The id is taken, which the caller may not know.
    for column in table.keyColumns { row.remove(column) }
    guard try !reportEverything(table, at: index, key: nil, from: .defaults) else { return }
    if request.maxAffected == 0 { exceedsLimit = true }
    checkMembers(of: change, at: index)
    if progress[index] != .failed { reportMissing(at: index) }
  }

  private mutating func insertRow(
    into table: SaveTable, at index: Int
  ) throws(StoreError) -> ObjectID? {
    let known = connection.storesGivenIDs ? knownID(table) : nil
    let isRowID = table.key.kind == .rowidAlias
    let sql = statements.insert(
      into: table, row.columns, returnsID: known == nil && !isRowID)
    if let constraint = try attempt(sql, row.values) {
      try report(constraint, writing: table, at: index, id: nil)
      return nil
    }
    guard connection.changedRows > 0 else {
      report(
        .refused, nil, "the database inserted no row (a trigger or ON CONFLICT IGNORE)", at: index)
      return nil
    }
    if let id = known ?? connection.insertedID(in: table) { return id }
    report(.missing, "id", "the database returned no id", at: index)
    return nil
  }

  /// Adds the key's columns that the client chose to `row`, and checks that each key column has a
  /// value or a default.
  private mutating func setKey(_ table: SaveTable, _ id: ObjectID?, at index: Int) -> Bool {
    if let id {
      guard let values = table.key.bindings(of: id), values.count == table.keyColumns.count else {
        report(.wrongType, "id", "this cannot be the id of a \(table.entity.name)", at: index)
        return false
      }
      for (column, value) in zip(table.keyColumns, values) {
        guard row.set(column, to: value) else {
          report(.checkFailed, "id", "`id` and another property contradict each other", at: index)
          return false
        }
      }
      return true
    }
    guard table.key.kind != .rowidAlias else { return true }
    return hasKey(table, at: index)
  }

  private mutating func hasKey(_ table: SaveTable, at index: Int) -> Bool {
    var isComplete = true
    for column in table.keyColumns {
      let name = table.propertyNames[column]
      let own = name == "id" ? table.entity.keyName : nil
      let shown = "`\(name)`" + (own.map { " (`\($0)` in the table)" } ?? "")
      switch row[column] {
      case .null?:
        report(.notOptional, name, "\(shown) is part of the id and may not be nil", at: index)
      case nil where table.columns[column].defaultSQL == nil:
        report(
          .missing, name, "\(shown) is required: the store does not generate this id", at: index)
      default: continue
      }
      isComplete = false
    }
    return isComplete
  }

  /// Returns the id that `row` will have; nil if the store will assign it.
  private func knownID(_ table: SaveTable) -> ObjectID? {
    if table.key.kind == .rowidAlias {
      guard case .integer(let id)? = table.keyColumns.first.flatMap({ row[$0] }) else {
        return nil
      }
      return .integer(id)
    }
    var values: [SQLValue] = []
    for (column, part) in zip(table.keyColumns, table.key.parts) {
      switch (row[column], part.form, table.columns[column].affinity) {
      case (.integer(let value)?, .integer, .integer), (.integer(let value)?, .integer, .numeric),
        (.integer(let value)?, .untypedInteger, .blob):
        values.append(.integer(value))
      case (.text(let value)?, .text, .text), (.text(let value)?, .text, .blob),
        (.text(let value)?, .untypedText, .blob):
        values.append(.text(value))
      default: return nil
      }
    }
    return table.key.id(of: values)
  }
}
