// The folds of saves → their records, in which each object has its own entity.
//
// A changed link names the entity that declares the relationship; the object may be one of a subentity.
// The table of the objects has their entities. An object's entity is permanent, so that any state of its row
// serves: the present one, or the last one of a deleted object.

import FetchModel
import SQLComposer

extension ResultTransaction {
  /// Returns the record of each save. `folds` has all changes of these saves.
  package func records(
    of saves: [SaveRange], _ folds: [SaveFold]
  ) throws(StoreError) -> [SaveRecord] {
    let model = composer.model
    var owners: [Int: Set<ObjectID>] = [:]
    for (entity, ids) in folds.lazy.flatMap(\.owners) {
      owners[model.root(of: entity), default: []].formUnion(ids)
    }
    var entities: [Int: [ObjectID: Int]] = [:]
    for (root, ids) in owners where !model.entities[root].inheritance.subentities.isEmpty {
      entities[root] = try self.entities(of: ids, root, folds, last: saves.last?.token)
    }
    return zip(saves, folds).map { $1.record(of: $0, in: model, entities) }
  }

  /// Returns the entities of objects whose table is that of the entity `root`.
  private func entities(
    of ids: Set<ObjectID>, _ root: Int, _ folds: [SaveFold], last: Token?
  ) throws(StoreError) -> [ObjectID: Int] {
    let model = composer.model
    let table = composer.schema.entities[root]
    guard let discriminator = model.entities[root].inheritance.discriminator else { return [:] }
    let column = quoted(table.column(ofAttribute: discriminator).name)
    let sharing = [root] + model.entities[root].inheritance.subentities
    let byName = Dictionary(
      sharing.map { (model.entities[$0].name, $0) }, uniquingKeysWith: { first, _ in first })
    var found: [ObjectID: Int] = [:]
    func read(_ statement: SQLFragment) throws(StoreError) {
      try run(FetchStatement(statement)) { row in
        if let id = row.id(at: 0), ids.contains(id), case .text(let name) = row.storedValue(1) {
          found[id] = found[id] ?? byName[name]
        }
        return true
      }
    }
    let restriction = IDRestriction(key: table.key, ids: ids)
    try read(
      SQLFragment(
        "SELECT \(table.key.idExpression(nil)), \(column) FROM "
          + "\(composer.schema.dialect.qualifier)\(table.quotedName) "
          + "WHERE \(restriction.condition(nil))", bindings: restriction.bindings))
    for (entity, deleted) in folds.lazy.flatMap(\.deleted) where model.root(of: entity) == root {
      for id in deleted where found[id] == nil { found[id] = entity }
    }
    // Objects that were deleted after the last of the saves.
    guard let last, ids.contains(where: { found[$0] == nil }) else { return found }
    let layout = HistoryLayout(of: TableInfo(table))
    var past = SQLFragment("WITH ")
    past.append(layout.overlayExpression(at: last.position))
    past.append(
      " SELECT \(layout.idExpression("h")), \(column) FROM \(layout.overlayName) AS h "
        + "WHERE h.\(HistoryLayout.existed)")
    try read(past)
    return found
  }
}
