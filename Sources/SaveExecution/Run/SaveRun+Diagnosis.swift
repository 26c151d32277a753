// Problems of a change beyond the first one: of a row that was refused, and of a change with
// invalid values, whose valid values are still checked against the store.

import FetchModel
import SQLComposer

extension SaveRun {
  /// Reports every constraint of its table that `row` violates; returns false if it finds none.
  ///
  /// - Parameters:
  ///   - key: The key of the updated row; nil for an insert.
  ///   - refused: Columns whose values were refused, and are not in `row`.
  @discardableResult
  mutating func reportEverything(
    _ table: SaveTable, at index: Int, key: [SQLValue]?, from base: CandidateRow.Base,
    refused: Set<Int> = []
  ) throws(StoreError) -> Bool {
    let change = request.changes[index]
    if case .updateAll = change.operation { return false }
    let properties = (change.faults ?? []).union(change.values.map(\.property))
    let unknown = table.columns(of: properties).filter { row[$0] == nil }.union(refused)
    let candidate = CandidateRow(table: table, given: row, key: key, base: base, unknown: unknown)
    let found = try candidate.problems(on: connection)
    for problem in found { report(problem.code, problem.property, problem.detail, at: index) }
    return !found.isEmpty
  }

  /// Checks the valid parts of an invalid change against the store.
  mutating func diagnose(_ change: Change, at index: Int) throws(StoreError) {
    let table = table(change.entity)
    var key: [SQLValue]?
    switch change.operation {
    case .insert: break
    case .update(.id(let id)), .replace(let id):
      key = table.key.bindings(of: id)
      guard let key, mayRead(id, of: change.entity), try exists(key, in: table) else { return }
    case .update, .delete, .updateAll, .deleteAll, .nothing: return
    }
    let purpose: Purpose = key == nil ? .insert : .update
    if case .pending = try fill(change.values, of: index, table, for: purpose) { return }
    if case .insert = change.operation { addKey(of: change, table) }
    // The database names the type of a value only when it is written.
    let types = Constraint(kind: .type, message: "", subject: "")
    let refused = reportRefusedValues(types, of: table, at: index)
    try reportEverything(
      table, at: index, key: key, from: change.isReplacement ? .defaults : .stored,
      refused: refused)
  }

  /// Sets the entity column of an inserted row, and the id that the client chose.
  private mutating func addKey(of change: Change, _ table: SaveTable) {
    if let column = table.discriminatorColumn {
      row.append(.text(table.entity.name), to: column)
    }
    guard let id = change.id, let values = table.key.bindings(of: id) else { return }
    for (column, value) in zip(table.keyColumns, values) { _ = row.set(column, to: value) }
  }
}

extension Change {
  var isReplacement: Bool {
    if case .replace = operation { true } else { false }
  }
}

extension SaveTable {
  /// Returns the columns that store these properties.
  fileprivate func columns(of properties: Set<Property>) -> Set<Int> {
    Set(
      properties.flatMap { property -> [Int] in
        switch property {
        case .id: keyColumns
        case .attribute(let index): [attributeColumns[index]]
        case .relationship(let index): links[index]?.columns ?? []
        }
      })
  }
}

// MARK: - The entity that a client named

extension SaveRun {
  /// Reports an object that exists but belongs to another entity than its change names.
  mutating func reportOtherEntity(at change: Int) -> Bool {
    let model = executor.model
    let entity = request.changes[change].entity
    guard let root = model.entities[entity].inheritance.root, let id = owner(of: change),
      mayRead(id, of: entity), let key = table(root).key.bindings(of: id),
      let name = try? storedEntity(key, in: table(root))
    else { return false }
    report(
      .notWritable, Inheritance.key, "what entity an object is of is permanent: it is a \(name)",
      at: change)
    return true
  }

  /// True if the change names no entity, or exactly the object's entity.
  mutating func isOfNamedEntity(
    _ change: Change, at index: Int, id: ObjectID, _ table: SaveTable, key: [SQLValue]
  ) throws(StoreError) -> Bool {
    guard change.namesEntity, mayRead(id, of: change.entity) else { return true }
    guard let name = try storedEntity(key, in: self.table(rootOf: table)) else { return true }
    if name == table.entity.name { return true }
    return !reportOtherEntity(at: index)
  }

  /// The table of the rows of all entities that share it.
  func table(rootOf table: SaveTable) -> SaveTable { self.table(root(of: table.index)) }

  /// The entity whose table contains the objects of an entity; itself without inheritance.
  func root(of entity: Int) -> Int { executor.model.entities[entity].inheritance.root ?? entity }

  private func storedEntity(
    _ key: [SQLValue], in table: SaveTable
  ) throws(StoreError) -> String? {
    guard let column = table.discriminatorColumn else { return nil }
    let row = try connection.row(statements.columns([column], of: table), key)
    return row.map { if case .text(let name)? = $0.first { name } else { "" } }
  }
}
