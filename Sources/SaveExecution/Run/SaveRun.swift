// A save in progress: its completed changes, its problems, and the changes that wait for an id.
//
// A change that needs the id of a later insert waits for it: the whole change if it cannot begin
// without the id, otherwise only the link or the member, which is set once the id is known, unless a
// later change has replaced it. Changes that still wait at the end wait in a cycle.

import FetchModel
import SQLComposer

struct SaveRun {
  enum Progress: UInt8 { case open, done, failed }

  /// Work that continues once an insert has its id.
  enum Postponed {
    case change(Int, property: String?)
    /// A to-one value, or members to add or remove, of a change that is otherwise complete. A whole
    /// list only orders the members that are there by then.
    case value(change: Int, PropertyValue)
  }

  /// A relationship of an object.
  struct Link: Hashable {
    /// The root entity.
    let entity: Int
    let id: ObjectID
    let relationship: String
  }

  let executor: SaveExecutor
  let connection: any SaveConnection
  let request: SaveRequest
  var result: SaveResult
  /// The ids of inserts, by change.
  var insertedIDs: [ObjectID?]
  var progress: [Progress]
  /// The postponed work, by the insert that it waits for.
  var waiting: [Int: [Postponed]] = [:]
  /// The last change that set each relationship of which a part was postponed.
  var lastSet: [Link: Int] = [:]
  private var isReordered = false
  /// Deletes that a rule refused, and that another change may make possible.
  private var refusedDeletes: [Int] = []
  /// Their objects, by root entity, which do not exist any more for later changes.
  private var toBeDeleted: Set<SavePermissions.Object> = []
  /// The objects of refused batches, by change.
  var refusedObjects: [Int: [ObjectID]] = [:]
  /// True during the last attempt of a refused delete.
  var isLastTry = false
  /// True while refused deletes are tried again.
  var isRetry = false
  /// The number of objects whose deletes were tried again before the last change.
  private var retries = 0

  /// The caller's permissions; nil if no access rules restrict the caller.
  var permissions: SavePermissions?
  private(set) var problems: [ChangeProblem] = []
  /// The same problems, to find repeated ones in O(1).
  private var reported: Set<ChangeProblem>
  var missingObjects = 0
  var failedPrecondition: ChangeProblem?
  var exceedsLimit = false
  /// True if a constraint rolled back the whole transaction. Then nothing more may be written.
  private(set) var isRolledBack = false
  /// The index of the current change.
  var current = 0

  // Reused from change to change, so that a row needs no allocation.
  var row = RowValues()
  var later: [(insert: Int, value: PropertyValue)] = []

  init(
    executor: SaveExecutor, connection: any SaveConnection, request: SaveRequest, token: Token
  ) {
    self.executor = executor
    self.connection = connection
    self.request = request
    result = SaveResult(token: token)
    insertedIDs = Array(repeating: nil, count: request.changes.count)
    progress = request.changes.map {
      $0.operation == .nothing || $0.faults != nil ? .failed : .open
    }
    problems = request.problems
    reported = Set(request.problems)
  }

  var statements: SaveStatements { executor.statements }

  func table(_ entity: Int) -> SaveTable { executor.tables[entity] }

  /// Makes every change until the transaction ends.
  mutating func applyAll() throws(StoreError) {
    let start = try executor.finalChecks.map { _ throws(StoreError) in
      try connection.historyPosition()
    }
    try lockRows()
    try readPermissions()
    for index in request.changes.indices where progress[index] != .failed || permissions == nil {
      if !refusedDeletes.isEmpty, !request.changes[index].isDeletion {
        try deleteRefused(isLast: false)
      }
      try apply(index)
      if !waiting.isEmpty { try resume(after: index) }
    }
    try deleteRefused(isLast: true)
    reportCircles()
    // A change that failed could have repaired the violation.
    if connection.hasDeferredViolations, !failedChangesMayRepairReferences {
      try reportDeferredViolations()
    }
    if let checks = executor.finalChecks, let start { try run(checks, after: start) }
    try checkPermissionsAfterwards()
  }

  /// The most objects whose deletes are tried again before the last change. Without a limit, a save
  /// takes the product of its refused deletes and its other changes.
  private static let maxRetries = 20_000

  /// Tries refused deletes again until no more succeed. Their preconditions held when it was their turn.
  ///
  /// - Parameter isLast: True after the last change; then those that are still refused are reported.
  private mutating func deleteRefused(isLast: Bool) throws(StoreError) {
    var last = -1
    while !refusedDeletes.isEmpty, !isRolledBack, isLast || retries < Self.maxRetries {
      isReordered = true
      isLastTry = result.deleted == last
      guard isLast || !isLastTry else { break }
      last = result.deleted
      // From both ends in turns: each object of a chain may need the delete of the next one.
      let again = Array(refusedDeletes.reversed())
      isRetry = true
      defer { isRetry = false }
      (refusedDeletes, toBeDeleted) = ([], [])
      for index in again {
        retries += refusedObjects[index]?.count ?? 1
        try deleteRefused(index)
      }
    }
    isLastTry = false
  }

  private mutating func deleteRefused(_ index: Int) throws(StoreError) {
    let change = request.changes[index]
    current = index
    if case .deleteAll(let predicate) = change.operation {
      try deleteAll(change, at: index, where: predicate)
    } else if let id = owner(of: index) {
      try deleteRow(of: table(change.entity), at: index, id: id)
    }
  }

  /// Postpones the delete of objects that other objects need.
  mutating func postponeDelete(of ids: [ObjectID], _ entity: Int, at index: Int) {
    refusedDeletes.append(index)
    for id in ids { toBeDeleted.insert(.init(entity: root(of: entity), id: id)) }
  }

  /// True if an earlier change deletes an object that still exists only because other objects need it.
  func isToBeDeleted(_ id: ObjectID, of entity: Int) -> Bool {
    !toBeDeleted.isEmpty && toBeDeleted.contains(.init(entity: root(of: entity), id: id))
  }

  /// Runs a statement that writes. Every write of a save uses this function: after a constraint
  /// with ON CONFLICT ROLLBACK a write would be a transaction of its own.
  mutating func attempt(
    _ sql: String, _ values: [SQLValue], then more: [SQLValue] = []
  ) throws(StoreError) -> Constraint? {
    guard !isRolledBack else { throw .failed("the transaction is over") }
    return ended(by: try connection.attempt(permitted(sql), values, then: more))
  }

  /// Runs a statement that writes the rows that `condition` selects.
  mutating func attempt(
    _ sql: String, _ values: [SQLValue], where condition: SQLFragment
  ) throws(StoreError) -> Constraint? {
    guard !isRolledBack else { throw .failed("the transaction is over") }
    return ended(by: try connection.attempt(permitted(sql), values, where: condition))
  }

  /// A statement that deletes only rows that the access rules were evaluated for.
  private func permitted(_ sql: String) throws(StoreError) -> String {
    try request.access == nil ? sql : connection.endingAtConstraints(sql)
  }

  private mutating func ended(by constraint: Constraint?) -> Constraint? {
    if constraint != nil { isRolledBack = connection.isTransactionOver }
    return constraint
  }

  private mutating func apply(_ index: Int) throws(StoreError) {
    let change = request.changes[index]
    current = index
    if let id = change.namedID {
      guard try !isNonCanonicalID(id, of: change.entity) else { return reportMissing(at: index) }
      guard mayChange(change, at: index, id: id) else { return }
    }
    if case .insert = change.operation, !mayInsert(change.entity) {
      return reportForbidden("insert", change.entity, at: index)
    }
    guard change.faults == nil else { return try diagnose(change, at: index) }
    switch change.operation {
    case .nothing: break
    case .insert: try insert(change, at: index)
    case .update(let reference):
      guard let id = target(reference, of: index) else { return }
      guard !isToBeDeleted(id, of: change.entity) else { return reportMissing(at: index) }
      try update(change, at: index, id: id)
    case .replace(let id): try replace(change, at: index, id: id)
    case .delete(let reference):
      guard let id = target(reference, of: index) else { return }
      try delete(change, at: index, id: id)
    case .updateAll(let predicate): try updateAll(change, at: index, where: predicate)
    case .deleteAll(let predicate): try deleteAll(change, at: index, where: predicate)
    }
  }

  /// Returns the object of a change; nil if the change waits for it or cannot be made.
  private mutating func target(_ reference: ObjectReference, of index: Int) -> ObjectID? {
    switch find(reference, for: index) {
    case .id(let id): return id
    case .pending(let insert): wait(index, for: insert, property: nil)
    case .failed: progress[index] = .failed
    }
    return nil
  }
}

// MARK: - References within the save

extension SaveRun {
  enum Found {
    case id(ObjectID)
    /// The object is created by that insert.
    case pending(Int)
    /// The change that it refers to failed and was reported.
    case failed
  }

  /// Finds the object that `reference` identifies.
  mutating func find(_ reference: ObjectReference, for change: Int) -> Found {
    guard case .inserted(let insert) = reference else {
      if case .id(let id) = reference { return .id(id) }
      return .failed
    }
    switch request.changes.indices.contains(insert) ? request.changes[insert].operation : nil {
    case .insert?: break
    case .nothing?: return .failed
    default:
      report(.unknownTemporaryID, nil, "a temporary id names no insert of this save", at: change)
      return .failed
    }
    if let id = insertedIDs[insert] { return .id(id) }
    if insert == change, let id = request.changes[insert].id { return .id(id) }
    return progress[insert] == .failed ? .failed : .pending(insert)
  }

  mutating func wait(_ change: Int, for insert: Int, property: String?) {
    waiting[insert, default: []].append(.change(change, property: property))
    isReordered = true
  }

  /// Continues the work that waited for `insert`, and recursively the work that waited for that.
  private mutating func resume(after insert: Int) throws(StoreError) {
    var completed = [insert]
    while let insert = completed.popLast() {
      guard progress[insert] != .open, let postponed = waiting.removeValue(forKey: insert) else {
        continue
      }
      for item in postponed {
        switch item {
        case .change(let index, _):
          try apply(index)
          completed.append(index)
        case .value(let index, let value): try setLater(value, of: index)
        }
      }
    }
  }

  private mutating func reportCircles() {
    let inserts = waiting.keys.sorted()
    for case .change(let index, let property) in inserts.flatMap({ waiting[$0] ?? [] }) {
      report(
        .circularReference, property, "it needs the id of an insert that needs its own first",
        at: index)
    }
  }

  /// Returns the id of the object that a change inserted or refers to.
  func owner(of change: Int) -> ObjectID? {
    switch request.changes[change].operation {
    case .insert: insertedIDs[change]
    case .update(.id(let id)), .delete(.id(let id)), .replace(let id): id
    case .update(.inserted(let insert)), .delete(.inserted(let insert)):
      insertedIDs.indices.contains(insert) ? insertedIDs[insert] : nil
    case .updateAll, .deleteAll, .nothing: nil
    }
  }
}

// MARK: - The outcome

extension SaveRun {
  mutating func finish(
    _ change: Int, entity: Int, _ id: ObjectID, as kind: SaveResult.Object.Kind
  ) {
    progress[change] = .done
    permissions?.record(kind, .init(entity: entity, id: id), by: change)
    switch kind {
    case .inserted: result.inserted += 1
    case .updated: result.updated += 1
    case .deleted: result.deleted += 1
    }
    result.objects.append(.init(change: change, entity: entity, id: id, kind: kind))
  }

  /// The number of objects that were inserted, updated and deleted so far.
  var affected: Int { result.inserted + result.updated + result.deleted }

  /// Returns the result of a completed save.
  func finishedResult() -> SaveResult {
    var result = result
    if isReordered { result.objects.sort { $0.change < $1.change } }
    for (index, change) in request.changes.enumerated() {
      guard case .insert(let temporaryID) = change.operation, let id = insertedIDs[index] else {
        continue
      }
      result.ids.append(.init(name: temporaryID ?? index.description, id: id))
    }
    return result
  }

  /// The reason why the save is refused; nil if it is not.
  ///
  /// Invalid changes (422) determine the status before conflicts with the store (409). The list
  /// contains both.
  var refusal: SaveError? {
    if let most = request.maxAffected, exceedsLimit || affected > most {
      return .tooManyAffected(limit: most)
    }
    guard !problems.isEmpty else { return nil }
    let forbidden = problems.filter { $0.code == .forbidden }
    if !forbidden.isEmpty { return .forbidden(forbidden.sorted { $0.change < $1.change }) }
    if request.isSingle, let failedPrecondition { return .preconditionFailed(failedPrecondition) }
    // Access rules make an object that the caller may not read one that does not exist.
    let sorted = problems.map(shown).sorted { $0.change < $1.change }
    if request.isSingle || permissions != nil, missingObjects > 0, request.problems.isEmpty {
      return .notFound(sorted)
    }
    return sorted.contains { !$0.code.isConflict } ? .invalid(sorted) : .conflicts(sorted)
  }

  mutating func report(
    _ code: ChangeProblem.Code, _ property: String?, _ detail: String, at change: Int
  ) {
    progress[change] = .failed
    let problem = ChangeProblem(change: change, property: property, code: code, detail: detail)
    add(problem)
  }

  /// Appends a problem unless it was reported before.
  mutating func add(_ problem: ChangeProblem) {
    if reported.insert(problem).inserted { problems.append(problem) }
  }

  /// Reports that the object of a change does not exist.
  mutating func reportMissing(at change: Int) {
    if request.changes[change].namesEntity, reportOtherEntity(at: change) { return }
    reportNoObject(at: change)
  }

  mutating func reportNoObject(at change: Int) {
    let entity = executor.model.entities[request.changes[change].entity]
    missingObjects += 1
    report(.noSuchObject, nil, "there is no such \(entity.name), or none any more", at: change)
  }

  /// The refusal of the current change if it is an insert for which its table has no id left; nil
  /// otherwise. With AUTOINCREMENT, SQLite assigns no id after the largest one, and its error is that of
  /// a full disk.
  var refusalWithoutID: SaveError? {
    guard request.changes.indices.contains(current) else { return nil }
    let change = request.changes[current]
    let table = table(change.entity)
    guard case .insert = change.operation, change.id == nil, table.key.kind == .rowidAlias,
      !table.key.dialect.hasTypedColumns
    else { return nil }
    // The error has undone the changes of this save.
    let isOwn = insertedIDs.indices.contains { index in
      insertedIDs[index] == .integer(.max)
        && self.table(request.changes[index].entity).table.name == table.table.name
    }
    let hasLargest = try? connection.hasRow(
      "SELECT 1 FROM main.sqlite_sequence WHERE name = ? COLLATE NOCASE AND seq = ?",
      [.text(table.table.name), .integer(.max)])
    guard isOwn || hasLargest == true else { return nil }
    let detail = "the store has no id left: the largest one has been assigned"
    return .invalid([
      ChangeProblem(change: current, property: "id", code: .refused, detail: detail)
    ])
  }

  /// Translates `error` for clients: a missing table or column means that the schema changed.
  func explained(_ error: StoreError) -> StoreError {
    guard case .failed(let text) = error, request.changes.indices.contains(current) else {
      return error
    }
    let table = table(request.changes[current].entity)
    let signs = [
      "no such column", "has no column named", "no such table: main.\(table.table.name)",
    ]
    return signs.contains(where: text.contains) ? .schemaChanged(entity: table.entity.name) : error
  }
}

extension ChangeProblem.Code {
  /// True if the problem is a conflict with stored data (409) rather than an invalid change (422).
  var isConflict: Bool {
    switch self {
    case .notUnique, .noSuchObject, .stillReferenced, .changed, .forbidden: true
    case .unknownEntity, .readOnlyEntity, .unknownProperty, .notWritable, .wrongType, .outOfRange,
      .notOptional, .missing, .unknownTemporaryID, .repeatedTemporaryID, .wrongEntity,
      .circularReference, .checkFailed, .refused, .abstractEntity, .tooSmall, .tooLarge, .tooShort,
      .tooLong, .patternMismatch, .invalidValue, .tooFew, .tooMany:
      false
    }
  }
}
