// The objects that a restricted save names → those that its caller may read, update and delete.
//
// Promises: the rules are evaluated before the first change of the save. An object that the caller
// may not read has no permission at all.

import FetchModel

/// The key of the statement that tests a rule for one object. The object's id and the caller's values are
/// bound.
struct RuleStatement: Hashable {
  /// The rules with parameters.
  let rules: CallerAccess
  let action: AccessAction
  let entity: Int
}

/// The permissions before the save, for every object that the save names.
struct SavePermissions {
  /// An object, by the entity under which the save names it.
  struct Object: Hashable {
    let entity: Int
    let id: ObjectID
  }

  /// A to-one relationship of a change.
  struct Link: Hashable {
    let change: Int
    let relationship: Int
  }

  /// The objects of a change with a condition.
  struct Batch {
    /// The readable objects that the condition selects.
    let found: Set<ObjectID>
    /// Those that the rule of the change's action allows for.
    let permitted: Set<ObjectID>
  }

  let access: CallerAccess
  /// The objects of the changes with conditions, by the index of the change.
  var batches: [Int: Batch] = [:]
  /// The stored values of the properties in `base`, as the caller reads them, by the index of the change.
  var bases: [Int: Row] = [:]
  var readable: Set<Object> = []
  var updatable: Set<Object> = []
  var deletable: Set<Object> = []
  /// To-one relationships that keep the object that they have.
  var unchangedLinks: Set<Link> = []
  /// The objects that the save inserted and updated, with the index of the first change.
  private(set) var inserted: [Object: Int] = [:]
  private(set) var updated: [Object: Int] = [:]
  /// The objects that the save has written since its last delete.
  private(set) var unchecked: Set<Object> = []
  /// The objects that their rule refused before a delete, and that were not written since.
  private(set) var refused: Set<Object> = []
  /// Refused objects that a delete has deleted, and whose ids the save has used again.
  private(set) var lost: Set<Object> = []

  init(access: CallerAccess) { self.access = access }

  /// Notes that a change has written an object.
  mutating func record(_ kind: SaveResult.Object.Kind, _ object: Object, by change: Int) {
    switch kind {
    case .inserted:
      // Its id was free: a delete has deleted the refused one.
      if refused.contains(object) { lost.insert(object) }
      inserted[object] = change
    case .updated where inserted[object] == nil: updated[object] = updated[object] ?? change
    case .updated: break
    case .deleted: return
    }
    recordChange(of: object)
  }

  /// Notes that an object has changed since it was checked.
  mutating func recordChange(of object: Object) {
    unchecked.insert(object)
    refused.remove(object)
  }

  /// Notes which of the unchecked objects their rules refuse.
  mutating func finishCheck(refused objects: Set<Object>) {
    unchecked = []
    refused.formUnion(objects)
  }
}

/// The ids that a save names, by entity.
struct NamedObjects {
  private(set) var all: [Int: Set<ObjectID>] = [:]
  private(set) var updated: [Int: Set<ObjectID>] = [:]
  private(set) var deleted: [Int: Set<ObjectID>] = [:]

  init(_ request: SaveRequest, _ model: Model) {
    for change in request.changes { add(change, model.entities[change.entity]) }
  }

  private mutating func add(_ change: Change, _ entity: Entity) {
    if let id = change.namedID {
      if case .delete = change.operation {
        all[change.entity, default: []].insert(id)
        deleted[change.entity, default: []].insert(id)
      } else {
        addUpdated([id], of: change.entity)
      }
    }
    for value in change.values {
      switch value.content {
      case .attribute, .toOne(_, nil), .toOne(_, .inserted?): break
      case .toOne(let relationship, .id(let id)?):
        all[entity.relationships[relationship].destination, default: []].insert(id)
      case .toMany(let relationship, let edit):
        let destination = entity.relationships[relationship].destination
        addUpdated(edit.references.compactMap(\.id), of: destination)
      }
    }
  }

  /// Adds objects that a change of a to-many relationship updates.
  mutating func addUpdated(_ ids: some Sequence<ObjectID>, of entity: Int) {
    all[entity, default: []].formUnion(ids)
    updated[entity, default: []].formUnion(ids)
  }
}

extension Change {
  /// The object that the change names by its id; nil for an insert, a batch, and an object that the
  /// save inserts.
  var namedID: ObjectID? {
    switch operation {
    case .update(.id(let id)), .delete(.id(let id)), .replace(let id): id
    case .update, .delete, .insert, .updateAll, .deleteAll, .nothing: nil
    }
  }
}

extension ObjectReference {
  fileprivate var id: ObjectID? {
    if case .id(let id) = self { id } else { nil }
  }
}
