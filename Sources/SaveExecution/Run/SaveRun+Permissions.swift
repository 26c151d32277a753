// A save and its caller's access rules → the changes that the rules allow, or a refusal.
//
// `update` and `delete` are evaluated before the save, `insert` and `update` after its last change. An
// object outside `read` counts as missing. Objects that the model's delete rules change are not
// checked.

import FetchModel
import SQLComposer

// MARK: - Before the changes

extension SaveRun {
  /// Evaluates the rules for the objects that the save names.
  mutating func readPermissions() throws(StoreError) {
    guard let access = request.access else { return }
    refuseReadOnlyAttributes(access)
    var named = NamedObjects(request, executor.model)
    for index in request.changes.indices {
      for objects in try replacedMembers(of: index) + partners(of: index) {
        named.addUpdated(objects.ids, of: objects.entity)
      }
    }
    var permissions = SavePermissions(access: access)
    let readable = try objectsPermitted(named.all, .read, access)
    permissions.readable = readable
    permissions.updatable = try objectsPermitted(named.updated, .update, access, among: readable)
    permissions.deletable = try objectsPermitted(named.deleted, .delete, access, among: readable)
    permissions.unchangedLinks = try unchangedLinks(readable)
    permissions.batches = try foundByConditions(access)
    permissions.bases = try storedBases(readable)
    self.permissions = permissions
  }

  private mutating func refuseReadOnlyAttributes(_ access: CallerAccess) {
    for (index, change) in request.changes.enumerated() {
      for case .attribute(let attribute, _) in change.values.map(\.content)
      where access.readOnly[change.entity].contains(attribute) {
        let name = executor.model.entities[change.entity].attributes[attribute].name
        reportForbidden("write `\(name)` of", change.entity, property: name, at: index)
      }
    }
  }

  private func objectsPermitted(
    _ named: [Int: Set<ObjectID>], _ action: AccessAction, _ access: CallerAccess
  ) throws(StoreError) -> Set<SavePermissions.Object> {
    var objects: Set<SavePermissions.Object> = []
    for (entity, ids) in named {
      for id in try idsPermitted(action, among: ids, of: entity, access) {
        objects.insert(.init(entity: entity, id: id))
      }
    }
    return objects
  }

  /// Returns the readable objects of `named` that an action is allowed for. A rule that is the one
  /// for `read`, or that always holds, is not evaluated.
  private func objectsPermitted(
    _ named: [Int: Set<ObjectID>], _ action: AccessAction, _ access: CallerAccess,
    among readable: Set<SavePermissions.Object>
  ) throws(StoreError) -> Set<SavePermissions.Object> {
    var allowed: Set<SavePermissions.Object> = []
    var others: [Int: Set<ObjectID>] = [:]
    for (entity, ids) in named {
      let rule = access.rule(action, entity)
      if rule.condition == .constant(true) || rule == access.rule(.read, entity) {
        allowed.formUnion(ids.map { .init(entity: entity, id: $0) })
      } else {
        others[entity] = ids
      }
    }
    return try allowed.union(objectsPermitted(others, action, access)).intersection(readable)
  }

  /// True if there is an object with this key whose id is another text, such as `1.5` for `1.50`.
  func isNonCanonicalID(_ id: ObjectID, of entity: Int) throws(StoreError) -> Bool {
    let key = table(entity).key
    guard key.hasSeveralTexts else { return key.isNonCanonical(id) }
    let found = try idsFulfilling(.everything, among: [id], of: entity)
    return !found.isEmpty && !found.contains(id)
  }

  /// Returns those of `ids` that exist and that a caller's rule allows an action for. Callers share the
  /// statement for one id.
  private func idsPermitted(
    _ action: AccessAction, among ids: Set<ObjectID>, of entity: Int, _ access: CallerAccess
  ) throws(StoreError) -> Set<ObjectID> {
    let rule = access.rule(action, entity)
    guard rule.condition != .constant(false), ids.count == 1, let id = ids.first,
      table(entity).key.bindings(of: id) != nil, let shared = access.parameterized
    else { return try idsFulfilling(rule, among: ids, of: entity) }
    let key = RuleStatement(rules: shared.template, action: action, entity: entity)
    let statement = executor.ruleStatements.value(of: key) {
      self.statement(for: shared.template.rule(action, entity), among: ids, of: entity)
    }
    return try connection.ids(
      of: statement.bound(to: shared.planValues).binding(id, of: table(entity).key))
  }

  /// Returns those of `ids` that exist and fulfil a rule.
  func idsFulfilling(
    _ rule: ResolvedPredicate, among ids: Set<ObjectID>, of entity: Int
  ) throws(StoreError) -> Set<ObjectID> {
    guard !ids.isEmpty, rule.condition != .constant(false) else { return [] }
    return try connection.ids(of: statement(for: rule, among: ids, of: entity))
  }

  private func statement(
    for rule: ResolvedPredicate, among ids: Set<ObjectID>, of entity: Int
  ) -> FetchStatement {
    let model = executor.model
    let definition = ResultDefinition(
      entity: entity, predicate: rule.and(model.membership(of: entity)))
    return FetchComposer(model: model, schema: executor.schema)
      .rows(of: FetchPlan(definition: definition), ids: ids, at: .now)
  }

  /// Returns the to-one relationships to unreadable objects that a change leaves as they are: clients
  /// resend values that they have read.
  private func unchangedLinks(
    _ readable: Set<SavePermissions.Object>
  ) throws(StoreError) -> Set<SavePermissions.Link> {
    var unchanged: Set<SavePermissions.Link> = []
    for (index, change) in request.changes.enumerated() {
      guard let owner = owner(of: index),
        readable.contains(.init(entity: change.entity, id: owner))
      else { continue }
      let table = table(change.entity)
      for case .toOne(let relationship, .id(let id)?) in change.values.map(\.content) {
        let destination = table.entity.relationships[relationship].destination
        guard !readable.contains(.init(entity: destination, id: id)),
          let link = table.links[relationship], let key = table.key.bindings(of: owner),
          let values = try values(of: link.key, to: self.table(destination), id: id)
        else { continue }
        let stored = try connection.row(statements.columns(link.columns, of: table), key)
        if stored == values { unchanged.insert(.init(change: index, relationship: relationship)) }
      }
    }
    return unchanged
  }
}

// MARK: - A change

extension SaveRun {
  /// Returns true if the caller may change the object with `id`, or insert it by PUT. Reports a problem if not.
  mutating func mayChange(_ change: Change, at index: Int, id: ObjectID) -> Bool {
    guard let permissions else { return true }
    let object = SavePermissions.Object(entity: change.entity, id: id)
    if isInserted(id, of: change.entity) { return true }
    guard permissions.readable.contains(object) else {
      if case .replace = change.operation, mayInsert(change.entity) { return true }
      // The problems of an invalid change are reported as they are for an object that does not exist.
      if change.faults == nil { reportMissing(at: index) } else { progress[index] = .failed }
      return false
    }
    if case .delete = change.operation {
      if permissions.deletable.contains(object) { return true }
      reportForbidden("delete", change.entity, at: index)
    } else {
      if permissions.updatable.contains(object) { return true }
      reportForbidden("update", change.entity, at: index)
    }
    return false
  }

  /// Returns true unless the save has inserted an object that the caller may not delete as it is now:
  /// `delete` could not be evaluated before the save. Reports a problem if not.
  mutating func mayDeleteInserted(
    _ id: ObjectID, of entity: Int, at index: Int
  ) throws(StoreError) -> Bool {
    guard let permissions, let object = insertedObject(id, of: entity),
      try !refused([object], .delete, permissions.access).isEmpty
    else { return true }
    reportForbidden("delete", entity, at: index)
    return false
  }

  /// True unless no object of the entity may be inserted, whatever its values.
  func mayInsert(_ entity: Int) -> Bool {
    permissions.map { $0.access.rule(.insert, entity).condition != .constant(false) } ?? true
  }

  /// True if the save has inserted an object of an entity or of its subentities.
  private func isInserted(_ id: ObjectID, of entity: Int) -> Bool {
    insertedObject(id, of: entity) != nil
  }

  private func insertedObject(_ id: ObjectID, of entity: Int) -> SavePermissions.Object? {
    guard let inserted = permissions?.inserted, !inserted.isEmpty else { return nil }
    let entities = [entity] + executor.model.entities[entity].inheritance.subentities
    return entities.lazy.map { SavePermissions.Object(entity: $0, id: id) }.first {
      inserted[$0] != nil
    }
  }

  /// True if the caller may know that an object exists.
  func mayRead(_ id: ObjectID, of entity: Int) -> Bool {
    guard let permissions else { return true }
    let object = SavePermissions.Object(entity: entity, id: id)
    return permissions.readable.contains(object) || isInserted(id, of: entity)
  }

  /// True if a change may refer to an object: the caller may read it, and no earlier change deletes it.
  func mayRefer(to id: ObjectID, of entity: Int) -> Bool {
    mayRead(id, of: entity) && !isToBeDeleted(id, of: entity)
  }

  /// The same for a to-one relationship, which may keep an object that the caller may not read.
  func mayRefer(to id: ObjectID, of entity: Int, by relationship: Int, at change: Int) -> Bool {
    mayRefer(to: id, of: entity)
      || permissions?.unchangedLinks.contains(.init(change: change, relationship: relationship))
        == true
  }

  /// Returns true if a change of another object may add or remove this member of a to-many
  /// relationship, or link or unlink this partner in a one-to-one relationship. That is an update of
  /// this object too. Reports a problem if not.
  mutating func mayUpdate(member id: ObjectID, of entity: Int, at change: Int) -> Bool {
    // A copy of the permissions would make each change copy their sets.
    guard permissions != nil else { return true }
    if let inserted = insertedObject(id, of: entity) {
      permissions?.recordChange(of: inserted)
      return true
    }
    let object = SavePermissions.Object(entity: entity, id: id)
    guard permissions?.updatable.contains(object) == true else {
      reportForbidden("update", entity, at: change)
      return false
    }
    permissions?.record(.updated, object, by: change)
    return true
  }

  mutating func reportForbidden(
    _ verb: String, _ entity: Int, property: String? = nil, at change: Int
  ) {
    progress[change] = .failed
    let name = executor.model.entities[entity].name
    var problem = ChangeProblem(
      change: change, property: property, code: .forbidden,
      detail: "the access rules do not allow the caller to \(verb) this \(name)")
    problem.entity = name
    add(problem)
  }
}

// MARK: - Columns

extension SaveRun {
  /// The columns of attributes that the caller does not see or may not write, and of those that are
  /// derived from them. A replacement keeps their values.
  func protectedColumns(of table: SaveTable) -> Set<Int> {
    guard let access = request.access else { return [] }
    let attributes = access.hidden[table.index].union(access.readOnly[table.index])
    let names = attributes.map { table.entity.attributes[$0].name }
    let derived = table.entity.attributes.indices.filter { index in
      guard case .text(_, let source)? = table.entity.attributes[index].declaration?.derivation
      else { return false }
      return names.contains(source)
    }
    return Set(attributes.union(derived).map { table.attributeColumns[$0] })
  }
}

// MARK: - Problems

extension SaveRun {
  /// Returns a problem without names of attributes that are hidden from the caller. A problem does not
  /// list the attributes that its detail names, so the text is searched for names in back quotes.
  func shown(_ problem: ChangeProblem) -> ChangeProblem {
    // The name of an unknown property is in the request, and a hidden one is unknown to the caller.
    guard let access = request.access, problem.code != .unknownProperty,
      request.changes.indices.contains(problem.change)
    else { return problem }
    let change = request.changes[problem.change]
    let entity = executor.model.entities[change.entity]
    let related = entity.relationships.first { $0.name == problem.property }?.destination
    let isHidden = [change.entity, related].compactMap { $0 }.contains { entity in
      access.hidden[entity].contains { attribute in
        let name = executor.model.entities[entity].attributes[attribute].name
        return problem.property == name || problem.detail.contains("`\(name)`")
      }
    }
    guard isHidden else { return problem }
    return ChangeProblem(
      change: problem.change, code: problem.code, detail: ChangeProblem.detailOfHidden)
  }
}

// MARK: - Before a delete

extension SaveRun {
  /// Evaluates the rules for the objects written since the last delete: delete rules may let the next
  /// one delete them too. A save that deletes may do no more than its parts in saves of their own.
  mutating func checkPermissionsBeforeDelete() throws(StoreError) {
    guard let permissions, !permissions.unchecked.isEmpty, !isRolledBack else { return }
    let unchecked = permissions.unchecked
    let inserted = unchecked.filter { permissions.inserted[$0] != nil }
    let found = try refused(inserted, .insert, permissions.access)
      .union(refused(unchecked.subtracting(inserted), .update, permissions.access))
    self.permissions?.finishCheck(refused: found)
  }

  /// Reports the objects that deletes have deleted in a state that the rules do not allow.
  private mutating func reportLost(_ permissions: SavePermissions) throws(StoreError) {
    var lost = permissions.lost
    for (entity, group) in Dictionary(grouping: permissions.refused, by: \.entity) {
      let left = try idsFulfilling(.everything, among: Set(group.map(\.id)), of: entity)
      lost.formUnion(group.filter { !left.contains($0.id) })
    }
    for object in lost.sorted(by: { ($0.entity, $0.id) < ($1.entity, $1.id) }) {
      let insert = permissions.inserted[object]
      guard let change = insert ?? permissions.updated[object] else { continue }
      reportForbidden(insert == nil ? "update" : "insert", object.entity, at: change)
    }
  }

  /// Returns those of `objects` that exist and do not fulfil a rule.
  private func refused(
    _ objects: Set<SavePermissions.Object>, _ action: AccessAction, _ access: CallerAccess
  ) throws(StoreError) -> Set<SavePermissions.Object> {
    var refused: Set<SavePermissions.Object> = []
    for (entity, group) in Dictionary(grouping: objects, by: \.entity) {
      let rule = access.rule(action, entity)
      guard rule.condition != .constant(true) else { continue }
      let ids = Set(group.map(\.id))
      let permitted = try idsPermitted(action, among: ids, of: entity, access)
      guard permitted.count < ids.count else { continue }
      // Some may have been deleted since.
      let found = try idsFulfilling(.everything, among: ids.subtracting(permitted), of: entity)
      refused.formUnion(group.filter { found.contains($0.id) })
    }
    return refused
  }
}

// MARK: - After the changes

extension SaveRun {
  /// Reports the objects that the save left in a state that the rules do not allow.
  mutating func checkPermissionsAfterwards() throws(StoreError) {
    guard let permissions, problems.allSatisfy({ $0.code == .forbidden }), !isRolledBack else {
      return
    }
    try check(permissions.inserted, .insert, permissions.access)
    try check(permissions.updated, .update, permissions.access)
    try reportLost(permissions)
  }

  private mutating func check(
    _ objects: [SavePermissions.Object: Int], _ action: AccessAction, _ access: CallerAccess
  ) throws(StoreError) {
    let refused = try refused(Set(objects.keys), action, access)
    let found = refused.compactMap { object in objects[object].map { (object, $0) } }
      .sorted { ($0.1, $0.0.entity, $0.0.id) < ($1.1, $1.0.entity, $1.0.id) }
    for (object, change) in found {
      if action == .insert, case .replace = request.changes[change].operation {
        // The same response as for an object that exists and that the caller may not read.
        reportNoObject(at: change)
      } else {
        reportForbidden(action.rawValue, object.entity, at: change)
      }
    }
  }
}
