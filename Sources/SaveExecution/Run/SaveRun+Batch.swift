// Updates and deletes of every object that matches a predicate, in one statement.
//
//     UPDATE main."City" SET "population" = ? WHERE "id" IN
//       (SELECT "t0"."id" FROM "City" AS "t0" LEFT JOIN … WHERE "t1"."code" = ?)
//
// Where other transactions write at the same time, the subquery locks the rows in the order of their
// ids. A change whose result depends on the order of the objects is made object by object.

import FetchModel
import SQLComposer

extension SaveRun {
  mutating func updateAll(
    _ change: Change, at index: Int, where predicate: ResolvedPredicate
  ) throws(StoreError) {
    let table = table(change.entity)
    guard try canBegin(change, at: index, table) else { return }
    if request.access != nil {
      return try updatePermitted(change, at: index)
    }
    let matches = try matches(predicate, table, at: index)
    guard try isWithinLimit(matches) else { return }
    let dependsOnOrder = dependsOnOrder(change)
    let needsIDs = change.editsMembers || dependsOnOrder || mayReplacePostponed(change)
    let ids = needsIDs ? try self.ids(matches) : []
    if row.isEmpty {
      result.updated += try count(matches, upTo: nil)
    } else if dependsOnOrder {
      guard try update(Set(ids), table, change, at: index) else { return }
      result.updated += ids.count
    } else {
      let sql = "UPDATE \(table.source) SET \(table.assignments(row.columns)) WHERE "
      guard try attempt(sql, row.values, matches, at: index) else { return }
      result.updated += connection.changedRows
    }
    progress[index] = .done
    for id in ids {
      noteLinks(of: change, at: index, id: id)
      try editMembers(of: change, at: index, id: id)
    }
  }

  mutating func deleteAll(
    _ change: Change, at index: Int, where predicate: ResolvedPredicate
  ) throws(StoreError) {
    let table = table(change.entity)
    if let ids = refusedObjects.removeValue(forKey: index) {
      return try deleteEach(ids, of: table, at: index)
    }
    let matches: Matches
    if request.access == nil {
      matches = try self.matches(predicate, table, at: index)
    } else {
      guard let ids = try permittedIDs(.delete, table.index, at: index) else { return }
      matches = Matches(ids, of: table)
    }
    guard try isWithinLimit(matches) else { return }
    try checkPermissionsBeforeDelete()
    let sql = "DELETE FROM \(table.source) WHERE "
    // A role may delete rows that it may not lock, so that the lock selects none of them.
    if connection.locksRows { try connection.lock(matches.locking(.delete)) }
    if let constraint = try attempt(sql, [], where: matches.membership(nil)) {
      guard constraint.maySucceedLater, !isRolledBack else {
        return try report(constraint, deleting: matches, at: index)
      }
      return try deleteEach(ids(matches).reversed(), of: table, at: index)
    }
    result.deleted += connection.changedRows
    progress[index] = .done
  }

  /// The most refusals of single objects after which a batch is refused.
  private static let maxRefusals = 5_000

  /// Deletes the objects of a batch one after another, because some may need others of them. Those
  /// that are refused are tried again after the last change.
  private mutating func deleteEach(
    _ ids: [ObjectID], of table: SaveTable, at index: Int
  ) throws(StoreError) {
    try checkPermissionsBeforeDelete()
    let sql = statements.delete(from: table)
    var (left, refusal): ([ObjectID], Constraint?) = (ids, nil)
    var (count, refusals) = (0, 0)
    repeat {
      count = left.count
      refusal = nil
      var refused: [ObjectID] = []
      for id in left {
        guard let key = table.key.bindings(of: id) else { continue }
        guard let constraint = try attempt(sql, [], then: key) else {
          result.deleted += connection.changedRows
          continue
        }
        guard constraint.maySucceedLater, !isRolledBack else {
          return try report(constraint, deleting: Matches([id], of: table), at: index)
        }
        refused.append(id)
        refusal = constraint
        refusals += 1
        // Without a limit, objects in an unfavourable order take the square of their number.
        guard refusals < Self.maxRefusals else {
          return try report(constraint, deleting: Matches(Set(refused), of: table), at: index)
        }
      }
      // The other direction next, so that a chain needs two passes at most.
      left = refused.reversed()
    } while !left.isEmpty && left.count < count
    guard let refusal else {
      progress[index] = .done
      return
    }
    guard isLastTry || request.changes.count == 1 else {
      refusedObjects[index] = left
      return postponeDelete(of: left, table.index, at: index)
    }
    try report(refusal, deleting: Matches(Set(left), of: table), at: index)
  }

  /// With more objects that changes may have affected, a condition is evaluated for all objects.
  private static let maxAffected = 1_000

  /// Returns the objects that match now. If a reader has found them before, the condition is evaluated
  /// only for the objects that changes since then may affect, unless they are many or unknown.
  ///
  /// - Throws: ``StoreError/overloaded`` in this case if the condition takes long, before the save has
  ///   changed anything itself.
  func matches(
    _ predicate: ResolvedPredicate, _ table: SaveTable, at index: Int
  ) throws(StoreError) -> Matches {
    let plan = request.batchPlan(predicate, of: table.index, in: executor.model)
    let composer = FetchComposer(model: executor.model, schema: executor.schema)
    guard let ids = request.found?.ids[index], let affected = try affectedIDs(of: plan, composer)
    else {
      if let found = request.found, found.ids[index] != nil, found.expensive.contains(index),
        self.affected == 0
      {
        throw .overloaded
      }
      return Matches(
        predicate, of: table, model: executor.model, schema: executor.schema,
        rules: plan.definition.access)
    }
    guard !affected.isEmpty else { return Matches(ids, of: table) }
    let matching = try connection.ids(of: composer.rows(of: plan, ids: affected, at: .now))
    return Matches(ids.subtracting(affected).union(matching), of: table)
  }

  /// Returns the objects of a batch that changes since the search may affect; nil if they are many or
  /// unknown.
  private func affectedIDs(
    of plan: FetchPlan, _ composer: FetchComposer
  ) throws(StoreError) -> Set<ObjectID>? {
    guard let found = request.found, let changes = try connection.changes(since: found.token)
    else { return nil }
    let affected = try composer.affectedIDs(of: plan, by: changes, limit: Self.maxAffected) {
      statement throws(StoreError) in try connection.ids(of: statement)
    }
    return affected.count > Self.maxAffected ? nil : affected
  }
}

// MARK: - Access rules

extension SaveRun {
  /// The changes with a condition.
  var conditions: [(index: Int, entity: Int, predicate: ResolvedPredicate, action: AccessAction)] {
    request.changes.enumerated().compactMap { index, change in
      guard change.faults == nil else { return nil }
      return switch change.operation {
      case .updateAll(let condition): (index, change.entity, condition, .update)
      case .deleteAll(let condition): (index, change.entity, condition, .delete)
      default: nil
      }
    }
  }

  /// Finds the objects of the changes with a condition, before the first change: an earlier change of the
  /// save could make objects readable for a later condition.
  func foundByConditions(_ access: CallerAccess) throws(StoreError) -> [Int: SavePermissions.Batch]
  {
    var batches: [Int: SavePermissions.Batch] = [:]
    for (index, entity, predicate, action) in conditions {
      let found = Set(try ids(matches(predicate, table(entity), at: index)))
      let permitted = try idsFulfilling(access.rule(action, entity), among: found, of: entity)
      batches[index] = .init(found: found, permitted: permitted)
    }
    return batches
  }

  /// Returns the objects of a batch that the caller may change; nil if the batch is refused because of
  /// another one.
  private mutating func permittedIDs(
    _ action: AccessAction, _ entity: Int, at index: Int
  ) throws(StoreError) -> Set<ObjectID>? {
    guard let batch = permissions?.batches[index] else { return nil }
    guard batch.permitted.count == batch.found.count || request.isLenient else {
      reportForbidden(action.rawValue, entity, at: index)
      return nil
    }
    // An earlier change may have deleted some of them.
    guard index > 0 else { return batch.permitted }
    return Set(try ids(Matches(batch.permitted, of: table(entity))))
  }

  /// Updates the matching objects that the caller may update, before and after.
  private mutating func updatePermitted(_ change: Change, at index: Int) throws(StoreError) {
    let table = table(change.entity)
    guard !change.editsMembers, !setsPartners(change) else {
      return report(
        .notWritable, nil,
        "under access rules a batch cannot set to-many and one-to-one relationships", at: index)
    }
    guard var ids = try permittedIDs(.update, table.index, at: index),
      try isWithinLimit(Matches(ids, of: table))
    else { return }
    if request.isLenient, !row.isEmpty {
      ids = try idsPermittedAfterwards(ids, table, change, at: index)
    }
    guard progress[index] != .failed, try update(ids, table, change, at: index) else { return }
    result.updated += ids.count
    progress[index] = .done
    for id in ids {
      noteLinks(of: change, at: index, id: id)
      permissions?.record(.updated, .init(entity: table.index, id: id), by: index)
    }
  }

  /// Returns those of `ids` that the rules still let the caller update once they are updated. Leaves
  /// the objects as they were.
  private mutating func idsPermittedAfterwards(
    _ ids: Set<ObjectID>, _ table: SaveTable, _ change: Change, at index: Int
  ) throws(StoreError) -> Set<ObjectID> {
    try connection.run("SAVEPOINT livefetch_batch")
    var permitted: Set<ObjectID> = []
    if try update(ids, table, change, at: index), let access = request.access {
      permitted = try idsFulfilling(
        access.rule(.update, table.index), among: ids, of: table.index)
    }
    guard !isRolledBack else { return permitted }
    try connection.run("ROLLBACK TO livefetch_batch")
    try connection.run("RELEASE livefetch_batch")
    return permitted
  }

  /// Writes `row` into objects. Returns false if a constraint refuses it.
  private mutating func update(
    _ ids: Set<ObjectID>, _ table: SaveTable, _ change: Change, at index: Int
  ) throws(StoreError) -> Bool {
    guard !row.isEmpty else { return true }
    let sql = "UPDATE \(table.source) SET \(table.assignments(row.columns)) WHERE "
    guard dependsOnOrder(change) else {
      return try attempt(sql, row.values, Matches(ids, of: table), at: index)
    }
    for id in ids.sorted() {
      guard try attempt(sql, row.values, Matches([id], of: table), at: index) else { return false }
    }
    return true
  }

  /// True if a batch has to be made object by object, because triggers of the model change other
  /// objects or assign positions for each of them, and the database may update rows in any order.
  private func dependsOnOrder(_ change: Change) -> Bool {
    guard connection.locksRows else { return false }
    if setsPartners(change) { return true }
    let relationships = executor.model.entities[change.entity].relationships
    return change.values.contains { value in
      guard case .toOne(let place, _) = value.content, let inverse = relationships[place].inverse
      else { return false }
      let owner = table(relationships[place].destination).table
      return owner.relationships[inverse].ownerKey?.position != nil
    }
  }
}

// MARK: - Parts of a batch

extension SaveRun {
  /// Fills `row`; returns false if the change waits for an insert or failed.
  private mutating func canBegin(
    _ change: Change, at index: Int, _ table: SaveTable
  ) throws(StoreError) -> Bool {
    guard case .complete = try fill(change.values, of: index, table, for: .update) else {
      progress[index] = .failed
      return false
    }
    if let column = table.keyColumns.first(where: { row[$0] != nil }) {
      let name = table.propertyNames[column]
      report(.notWritable, name, "an object's id is permanent", at: index)
      return false
    }
    var insert = later.first?.insert
    for case .toMany(_, let edit) in change.values.lazy.map(\.content) {
      for reference in edit.references where insert == nil {
        if case .pending(let needed) = find(reference, for: index) { insert = needed }
      }
    }
    guard let insert else { return progress[index] == .open }
    wait(index, for: insert, property: nil)
    return false
  }

  /// True if the save may change the objects of `matches` as well.
  private mutating func isWithinLimit(_ matches: Matches) throws(StoreError) -> Bool {
    guard let limit = request.maxAffected, limit < Int.max else { return true }
    let left = max(0, limit - affected)
    guard try count(matches, upTo: left + 1) > left else { return true }
    exceedsLimit = true
    return false
  }

  private func count(_ matches: Matches, upTo limit: Int?) throws(StoreError) -> Int {
    Int(try connection.integer(matches.count(upTo: limit)))
  }

  /// Returns the matching objects in the order of their ids, so that a batch has the same result whatever
  /// index finds them.
  private func ids(_ matches: Matches) throws(StoreError) -> [ObjectID] {
    try connection.ids(matches.ids()).sorted()
  }

  private mutating func attempt(
    _ sql: String, _ values: [SQLValue], _ matches: Matches, at index: Int
  ) throws(StoreError) -> Bool {
    let rows = matches.membership(connection.locksRows ? .update : nil)
    guard let constraint = try attempt(sql, values, where: rows) else { return true }
    try report(constraint, writing: matches.table, at: index, id: nil)
    return false
  }

  private mutating func report(
    _ constraint: Constraint, deleting matches: Matches, at index: Int
  ) throws(StoreError) {
    if let name = constraint.deniedRelationship {
      return report(
        .stillReferenced, name,
        "some of them cannot be deleted while they have objects in `\(name)`",
        at: index)
    }
    guard constraint.kind == .foreignKey || constraint.kind == .notNull else {
      let problem = problem(constraint, on: matches.table)
      return report(problem.code, problem.property, problem.detail, at: index)
    }
    let name = connection.isTransactionOver ? nil : try referring(to: matches)
    let whose = name.map { " in `\($0)`" } ?? ""
    report(.stillReferenced, name, "other objects\(whose) refer to some of them", at: index)
  }

  /// Returns the to-many relationship whose members prevent the delete of matching objects.
  private func referring(to matches: Matches) throws(StoreError) -> String? {
    let table = matches.table
    for (relationship, storage) in zip(table.entity.relationships, table.table.relationships) {
      guard let key = storage.ownerKey else { continue }
      let holder = holder(of: storage, destination: relationship.destination)
      guard try connection.refuses(.delete, key, of: holder) else { continue }
      let owners = matches.columns(key.referenced)
      let columns = key.comparables(key.columns.map(quoted)).joined(separator: ", ")
      let row = key.columns.count == 1 ? columns : "(\(columns))"
      let sql = "SELECT 1 FROM \(source(holder)) WHERE \(row) IN (\(owners.text)) LIMIT 1"
      if try connection.hasRow(SQLFragment(sql, bindings: owners.bindings)) {
        return relationship.name
      }
    }
    return nil
  }
}

extension Change {
  fileprivate var editsMembers: Bool {
    values.contains { if case .toMany = $0.content { true } else { false } }
  }
}
