// Constraints that refused a change → problems. For foreign keys, the relationship is found.

import FetchModel
import SQLComposer

extension SaveRun {
  /// Reports the constraint that refused the row in `row`.
  ///
  /// - Parameter id: The updated object; nil for an insert.
  /// - Parameter base: The source of the columns that `row` does not set.
  mutating func report(
    _ constraint: Constraint, writing table: SaveTable, at change: Int, id: ObjectID?,
    from base: CandidateRow.Base = .stored
  ) throws(StoreError) {
    guard constraint.kind == .foreignKey, !connection.isTransactionOver else {
      let key = id.flatMap { table.key.bindings(of: $0) }
      let whole = row
      defer { row = whole }
      let refused = reportRefusedValues(constraint, of: table, at: change)
      let isFound = try reportEverything(
        table, at: change, key: key, from: base, refused: refused)
      if isFound || !refused.isEmpty {
        _ = try reportDangling(table, at: change, id: id)
        return
      }
      let problem = problem(constraint, on: table)
      return report(problem.code, problem.property, problem.detail, at: change)
    }
    if try reportDangling(table, at: change, id: id) { return }
    if let id, let name = try referring(to: table, id: id, on: .update, columns: row.columns) {
      return report(
        .stillReferenced, name, "other objects refer to what would change", at: change)
    }
    report(
      .noSuchObject, nil, "a relationship refers to an object that does not exist", at: change)
  }

  /// Reports the values that their columns do not take. A database refuses them before it comes to the other
  /// constraints, so they are removed from `row`. Returns their columns.
  mutating func reportRefusedValues(
    _ constraint: Constraint, of table: SaveTable, at change: Int
  ) -> Set<Int> {
    guard constraint.kind == .type || constraint.kind == .notNull else { return [] }
    let columns = connection.columns(of: constraint, in: table, row: row) ?? []
    for column in columns {
      let problem = ConstraintProblem(constraint, columns: [column], on: table)
      report(problem.code, problem.property, problem.detail, at: change)
      row.remove(column)
    }
    return Set(columns)
  }

  func problem(_ constraint: Constraint, on table: SaveTable) -> ConstraintProblem {
    ConstraintProblem(
      constraint, columns: connection.columns(of: constraint, in: table, row: row), on: table)
  }

  mutating func report(
    _ constraint: Constraint, deleting table: SaveTable, at change: Int, id: ObjectID
  ) throws(StoreError) {
    switch constraint.kind {
    case .foreignKey, .notNull:
      let name =
        connection.isTransactionOver ? nil : try referring(to: table, id: id, on: .delete)
      let whose = name.map { " in `\($0)`" } ?? ""
      report(.stillReferenced, name, "other objects\(whose) refer to it", at: change)
    case .trigger where constraint.isDenial:
      let name = constraint.deniedRelationship ?? ""
      report(
        .stillReferenced, name, "it cannot be deleted while it has objects in `\(name)`",
        at: change)
    case .unique, .check, .trigger, .type, .depth, .other:
      let problem = problem(constraint, on: table)
      report(problem.code, problem.property, problem.detail, at: change)
    }
  }
}

// MARK: - Violated foreign keys

extension SaveRun {
  /// Reports each foreign key among the columns of `row` that refers to no row; returns false
  /// without one.
  mutating func reportDangling(
    _ table: SaveTable, at change: Int, id: ObjectID?
  ) throws(StoreError) -> Bool {
    var isFound = false
    for (relationship, link) in zip(table.entity.relationships, table.links) {
      guard let link, link.columns.contains(where: { row[$0] != nil }),
        let values = try linkValues(link, table, id: id),
        try !isTarget(values, of: link, table)
      else { continue }
      reportNoSuchObject(relationship.name, self.table(link.destination), at: change)
      isFound = true
    }
    return isFound
  }

  /// Returns the values of a link's columns after the change; nil if one is NULL or unknown.
  private func linkValues(
    _ link: SaveTable.Link, _ table: SaveTable, id: ObjectID?
  ) throws(StoreError) -> [SQLValue]? {
    var stored: [SQLValue]?
    if let key = id.flatMap({ table.key.bindings(of: $0) }) {
      stored = try storedValues(of: link, table, key)
    }
    var values: [SQLValue] = []
    for (place, column) in link.columns.enumerated() {
      guard let value = row[column] ?? stored?[place], value != .null else { return nil }
      values.append(value)
    }
    return values
  }

  private func storedValues(
    of link: SaveTable.Link, _ table: SaveTable, _ key: [SQLValue]
  ) throws(StoreError) -> [SQLValue]? {
    try connection.row(statements.columns(link.columns, of: table), key)
  }

  /// True if an object, or the row in `row` itself, has the values that a link refers to.
  private func isTarget(
    _ values: [SQLValue], of link: SaveTable.Link, _ table: SaveTable
  ) throws(StoreError) -> Bool {
    let isOwn =
      link.destination == table.index
      && zip(link.key.referenced, values).allSatisfy { name, value in
        table.column(named: name).flatMap { row[$0] } == value
      }
    if isOwn { return true }
    return try exists(values, in: link.key.referenced, of: link.key.table)
  }

  func exists(
    _ values: [SQLValue], in columns: [String], of table: String
  ) throws(StoreError) -> Bool {
    let comparisons = columns.map { "\(quoted($0)) = ?" }.joined(separator: " AND ")
    return try connection.hasRow(
      "SELECT 1 FROM \(source(table)) WHERE \(comparisons) LIMIT 1", values)
  }

  /// True if a row of `holder` refers to `values`.
  private func isReferred(
    _ values: [SQLValue], by key: ForeignKey, of holder: String
  ) throws(StoreError) -> Bool {
    try connection.hasRow(
      "SELECT 1 FROM \(source(holder)) WHERE \(key.refersToBound()) LIMIT 1", values)
  }

  /// Returns the to-many relationship whose members directly prevent the change of an object; nil
  /// without one.
  ///
  /// - Parameter columns: The written columns; nil for all.
  private func referring(
    to table: SaveTable, id: ObjectID, on rule: ReferencedChange, columns: [Int]? = nil
  ) throws(StoreError) -> String? {
    for (relationship, storage) in zip(table.entity.relationships, table.table.relationships) {
      guard let key = storage.ownerKey,
        columns?.contains(where: { key.referenced.contains(table.columns[$0].name) }) != false,
        let values = try values(of: key, to: table, id: id)
      else { continue }
      let holder = holder(of: storage, destination: relationship.destination)
      if try connection.refuses(rule, key, of: holder), try isReferred(values, by: key, of: holder)
      {
        return relationship.name
      }
    }
    return nil
  }

  /// Returns the table whose columns refer to the owner of a to-many relationship.
  func holder(of storage: RelationshipStorage, destination: Int) -> String {
    switch storage {
    case .joinTable(let join, _, _): executor.schema.joinTables[join].name
    case .inverse, .foreignKey: table(destination).table.name
    }
  }

  /// The name of a table in a statement.
  func source(_ table: String) -> String { executor.schema.dialect.qualifier + quoted(table) }
}

// MARK: - Foreign keys checked at the commit

extension SaveRun {
  /// True if a change that failed could have repaired the references.
  var failedChangesMayRepairReferences: Bool {
    zip(request.changes, progress).contains { change, progress in
      guard progress == .failed else { return false }
      if case .insert = change.operation { return false }
      return true
    }
  }

  /// Reports which changes violated a deferred foreign key.
  mutating func reportDeferredViolations() throws(StoreError) {
    let before = problems.count
    for (index, change) in request.changes.enumerated() {
      let table = table(change.entity)
      guard let id = owner(of: index), let key = table.key.bindings(of: id) else { continue }
      if case .delete = change.operation {
        guard let name = try referring(toKey: key, of: table) else { continue }
        report(.stillReferenced, name, "other objects in `\(name)` refer to it", at: index)
      } else {
        try reportDanglingStored(change, table, key, at: index)
        try reportDanglingMembers(change, table, at: index)
      }
    }
    guard problems.count == before else { return }
    if let index = request.changes.firstIndex(where: \.isDeletion) {
      return report(
        .stillReferenced, nil, "other objects refer to what would be deleted with it", at: index)
    }
    report(
      .noSuchObject, nil, "a relationship refers to an object that does not exist",
      at: max(0, request.changes.count - 1))
  }

  private mutating func reportDanglingStored(
    _ change: Change, _ table: SaveTable, _ key: [SQLValue], at index: Int
  ) throws(StoreError) {
    for (place, relationship) in table.entity.relationships.enumerated() {
      guard let link = table.links[place], change.mayWrite(place, link, table),
        let stored = try storedValues(of: link, table, key),
        !stored.contains(.null),
        try !exists(stored, in: link.key.referenced, of: link.key.table)
      else { continue }
      reportNoSuchObject(relationship.name, self.table(link.destination), at: index)
    }
  }

  private mutating func reportDanglingMembers(
    _ change: Change, _ table: SaveTable, at index: Int
  ) throws(StoreError) {
    for value in change.values {
      guard case .toMany(let place, let edit) = value.content else { continue }
      let relationship = table.entity.relationships[place]
      let member = self.table(relationship.destination)
      for reference in edit.references {
        guard case .id(let id) = reference, let key = member.key.bindings(of: id),
          try !exists(key, in: member)
        else { continue }
        reportNoSuchObject(relationship.name, member, at: index)
        break
      }
    }
  }

  /// Returns the to-many relationship that still has members of a deleted object.
  private func referring(
    toKey values: [SQLValue], of table: SaveTable
  ) throws(StoreError) -> String? {
    for (relationship, storage) in zip(table.entity.relationships, table.table.relationships) {
      guard let key = storage.ownerKey, key.referenced == table.key.columns else { continue }
      let holder = holder(of: storage, destination: relationship.destination)
      if try isReferred(values, by: key, of: holder) { return relationship.name }
    }
    return nil
  }
}

extension Change {
  var isDeletion: Bool {
    switch operation {
    case .delete, .deleteAll: true
    case .insert, .update, .replace, .updateAll, .nothing: false
    }
  }

  /// False for an update that writes no column of a to-one relationship, which an attribute may share.
  fileprivate func mayWrite(
    _ relationship: Int, _ link: SaveTable.Link, _ table: SaveTable
  ) -> Bool {
    guard case .update = operation else { return true }
    return values.contains { value in
      switch value.content {
      case .attribute(let index, _):
        link.columns.contains(table.table.attributeColumns[index])
      case .toOne(let place, _): place == relationship
      case .toMany: false
      }
    }
  }
}
