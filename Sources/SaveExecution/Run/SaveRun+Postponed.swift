// Links and members that wait for the insert of their object. A later change of the same save replaces
// them if it sets the same relationship, as it would if the object existed already.

import FetchModel
import SQLComposer

extension SaveRun {
  private func link(_ relationship: String, of entity: Int, _ id: ObjectID) -> Link {
    Link(entity: root(of: entity), id: id, relationship: relationship)
  }

  /// Postpones a value of an object until `insert` has its id.
  mutating func postpone(
    _ value: PropertyValue, of change: Int, until insert: Int, _ table: SaveTable, id: ObjectID
  ) {
    waiting[insert, default: []].append(.value(change: change, value))
    let link = link(table.entity.name(of: value.property), of: table.index, id)
    lastSet[link] = lastSet[link] ?? change
  }

  /// Notes that a change has set a relationship of an object.
  mutating func noteLink(_ relationship: String, of entity: Int, _ id: ObjectID, by change: Int) {
    guard !lastSet.isEmpty else { return }
    let link = link(relationship, of: entity, id)
    if let last = lastSet[link] { lastSet[link] = max(last, change) }
  }

  /// Notes the to-one relationships that a change has set, and the inverses of one-to-one
  /// relationships.
  mutating func noteLinks(of change: Change, at index: Int, id: ObjectID) {
    guard !lastSet.isEmpty else { return }
    let entities = executor.model.entities
    for case .toOne(let place, let reference) in change.values.map(\.content) {
      let relationship = entities[change.entity].relationships[place]
      noteLink(relationship.name, of: change.entity, id, by: index)
      guard let reference, case .id(let other) = find(reference, for: index),
        let back = relationship.inverse
      else { continue }
      let inverse = entities[relationship.destination].relationships[back]
      guard !inverse.isToMany else { continue }
      noteLink(inverse.name, of: relationship.destination, other, by: index)
    }
  }

  /// Drops what was postponed for a deleted object whose id an insert uses again.
  mutating func notePostponed(ofDeleted id: ObjectID, _ table: SaveTable, by change: Int) {
    guard !lastSet.isEmpty else { return }
    for relationship in table.entity.relationships {
      noteLink(relationship.name, of: table.index, id, by: change)
    }
  }

  /// True if a batch may set a link that was postponed.
  func mayReplacePostponed(_ change: Change) -> Bool {
    !lastSet.isEmpty
      && change.values.contains { if case .toOne = $0.content { true } else { false } }
  }

  /// Sets a link, or edits members, after the insert that it waited for.
  mutating func setLater(_ value: PropertyValue, of index: Int) throws(StoreError) {
    let change = request.changes[index]
    guard progress[index] == .done, let id = owner(of: index) else { return }
    let table = table(change.entity)
    let link = link(table.entity.name(of: value.property), of: table.index, id)
    guard lastSet[link] ?? index <= index, let key = table.key.bindings(of: id) else { return }
    current = index
    switch value.content {
    case .attribute: break
    case .toMany(let relationship, let edit):
      // A later change may have deleted the object.
      guard try exists(key, in: table) else { return }
      if case .all(let requested) = edit {
        try orderLater(requested, of: relationship, change: index, table, id: id)
      } else {
        try editMembers(edit, of: relationship, change: index, table, id: id)
      }
    case .toOne: try setLater(value, of: index, table, id: id, key: key)
    }
  }

  private mutating func setLater(
    _ link: PropertyValue, of index: Int, _ table: SaveTable, id: ObjectID, key: [SQLValue]
  ) throws(StoreError) {
    guard case .complete = try fill([link], of: index, table, for: .update), !row.isEmpty else {
      return
    }
    guard keepKey(table, key, at: index), try mayLink(table, at: index, id: id) else { return }
    let sql = statements.update(table, row.columns)
    permissions?.recordChange(of: .init(entity: table.index, id: id))
    // A later change or a trigger may have deleted the object.
    _ = try write(sql, table, at: index, id: id, key: key, mayBeMissing: true)
  }
}
