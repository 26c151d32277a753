// One save while it is carried out: what was done, what is wrong, and who waits for whose id.
//
// A change that needs the id of an insert that is still to come waits for it: whole, where it
// cannot begin without; else only the link, set as soon as the id is there. Whoever still waits at
// the end waits in a circle.

import FetchModel

struct SaveRun {
  enum Progress: UInt8 { case open, done, failed }

  /// Something that goes on once an insert has its id.
  enum Postponed {
    case change(Int, property: String?)
    /// One to-one or to-many value of a change that was made otherwise.
    case value(change: Int, PropertyValue)
  }

  let executor: SaveExecutor
  let connection: Connection
  let request: SaveRequest
  /// Nanoseconds that a change of every object that matches may take; nil for as long as it takes.
  var batchLimit: UInt64?
  var result: SaveResult
  /// By change: the ids that inserts got.
  var insertedIDs: [ObjectID?]
  var progress: [Progress]
  /// By the insert waited for.
  var waiting: [Int: [Postponed]] = [:]
  private var isReordered = false
  /// Deletes that a rule refused, which another change may make possible.
  var refusedDeletes: [Int] = []
  /// Whether a refused delete is tried for the last time.
  var isLastTry = false

  var problems: [ChangeProblem] = []
  var missingObjects = 0
  var failedPrecondition: ChangeProblem?
  var exceededLimit: Int?
  /// Whether a constraint rolled the whole transaction back: then nothing may be written any more.
  private(set) var isOver = false
  /// The change being made.
  var current = 0

  // Kept from change to change, so that a row allocates nothing.
  var row = RowValues()
  var later: [(insert: Int, value: PropertyValue)] = []

  init(
    executor: SaveExecutor, connection: Connection, request: SaveRequest, token: Token
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
  }

  var statements: SaveStatements { executor.statements }

  func table(_ entity: Int) -> SaveTable { executor.tables[entity] }

  /// Makes every change, as far as the transaction lives.
  mutating func applyAll() throws(StoreError) {
    let start = try executor.finalChecks.map { checks throws(StoreError) in
      try checks.position(on: connection)
    }
    for index in request.changes.indices {
      try apply(index)
      if !waiting.isEmpty { try resume(after: index) }
    }
    try deleteRefused()
    reportCircles()
    // What was not made could have made good what is wrong now.
    if connection.hasDeferredViolations, !failuresMayExcuseReferences {
      try reportDeferredViolations()
    }
    if let checks = executor.finalChecks, let start { try run(checks, after: start) }
  }

  /// Tries the deletes again that were refused, as long as that leads on.
  private mutating func deleteRefused() throws(StoreError) {
    var last = 0
    while !refusedDeletes.isEmpty, !isOver {
      isLastTry = refusedDeletes.count == last
      last = refusedDeletes.count
      let again = refusedDeletes
      refusedDeletes = []
      for index in again { try apply(index) }
    }
    isLastTry = false
  }

  /// Runs a statement that writes. Every write of a save goes through here: behind a constraint
  /// with ON CONFLICT ROLLBACK it would be a transaction of its own.
  mutating func attempt(
    _ sql: String, _ values: [SQLValue], _ more: [SQLValue] = [],
    row: (Statement) -> Void = { _ in }
  ) throws(StoreError) -> Constraint? {
    guard !isOver else { throw .failed("the transaction is over") }
    let constraint = try connection.attempt(sql, values, more, row: row)
    if constraint != nil { isOver = connection.isInAutocommit }
    return constraint
  }

  private mutating func apply(_ index: Int) throws(StoreError) {
    let change = request.changes[index]
    current = index
    guard change.faults == nil else { return try diagnose(change, at: index) }
    switch change.operation {
    case .nothing: break
    case .insert: try insert(change, at: index)
    case .update(let reference):
      guard let id = target(reference, of: index) else { return }
      try update(change, at: index, id: id)
    case .replace(let id): try replace(change, at: index, id: id)
    case .delete(let reference):
      guard let id = target(reference, of: index) else { return }
      try delete(change, at: index, id: id)
    case .updateAll(let predicate, let limit):
      // All other saves wait meanwhile.
      try connection.withDeadline(after: batchLimit) { () throws(StoreError) in
        try updateAll(change, at: index, where: predicate, limit: limit)
      }
    case .deleteAll(let predicate, let limit):
      try connection.withDeadline(after: batchLimit) { () throws(StoreError) in
        try deleteAll(change, at: index, where: predicate, limit: limit)
      }
    }
  }

  /// The object that a change is about; nil where the change waits for it or cannot be made.
  private mutating func target(_ reference: ObjectReference, of index: Int) -> ObjectID? {
    switch find(reference, for: index) {
    case .id(let id): return id
    case .comes(let insert): wait(index, for: insert, property: nil)
    case .never: progress[index] = .failed
    }
    return nil
  }
}

// MARK: - References within the save

extension SaveRun {
  enum Found {
    case id(ObjectID)
    /// After that insert.
    case comes(Int)
    /// What it refers to failed; told already.
    case never
  }

  /// The object that `reference` means.
  mutating func find(_ reference: ObjectReference, for change: Int) -> Found {
    guard case .inserted(let insert) = reference else {
      if case .id(let id) = reference { return .id(id) }
      return .never
    }
    switch request.changes.indices.contains(insert) ? request.changes[insert].operation : nil {
    case .insert?: break
    case .nothing?: return .never
    default:
      report(.unknownTemporaryID, nil, "a temporary id names no insert of this save", at: change)
      return .never
    }
    if let id = insertedIDs[insert] { return .id(id) }
    if insert == change, let id = request.changes[insert].id { return .id(id) }
    return progress[insert] == .failed ? .never : .comes(insert)
  }

  mutating func wait(_ change: Int, for insert: Int, property: String?) {
    waiting[insert, default: []].append(.change(change, property: property))
    isReordered = true
  }

  /// Goes on with what waited for `insert`, and with what waited for that in turn.
  private mutating func resume(after insert: Int) throws(StoreError) {
    var settled = [insert]
    while let insert = settled.popLast() {
      guard progress[insert] != .open, let postponed = waiting.removeValue(forKey: insert) else {
        continue
      }
      for item in postponed {
        switch item {
        case .change(let index, _):
          try apply(index)
          settled.append(index)
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

  /// The id of the object that a change made or is about.
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
    _ change: Int, _ entity: Int, _ id: ObjectID, _ kind: SaveResult.Object.Kind
  ) {
    progress[change] = .done
    switch kind {
    case .inserted: result.inserted += 1
    case .updated: result.updated += 1
    case .deleted: result.deleted += 1
    }
    result.objects.append(.init(change: change, entity: entity, id: id, kind: kind))
  }

  /// The result of a save that was made.
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

  /// Why the save is refused; nil where it is not.
  ///
  /// What is wrong in itself (422) comes before what collides with the store (409), and the list
  /// holds both.
  var refusal: SaveError? {
    if let exceededLimit { return .tooManyAffected(limit: exceededLimit) }
    guard !problems.isEmpty else { return nil }
    if request.isSingle, let failedPrecondition { return .preconditionFailed(failedPrecondition) }
    if request.isSingle, missingObjects > 0, request.problems.isEmpty {
      return .notFound(problems)
    }
    let sorted = problems.sorted { $0.change < $1.change }
    return sorted.contains { !$0.code.isConflict } ? .invalid(sorted) : .conflicts(sorted)
  }

  mutating func report(
    _ code: ChangeProblem.Code, _ property: String?, _ detail: String, at change: Int
  ) {
    progress[change] = .failed
    let problem = ChangeProblem(change: change, property: property, code: code, detail: detail)
    if !problems.contains(problem) { problems.append(problem) }
  }

  /// Reports that the object of a change is not there.
  mutating func reportMissing(at change: Int) {
    let entity = executor.model.entities[request.changes[change].entity]
    if request.changes[change].namesEntity, reportOtherEntity(at: change) { return }
    missingObjects += 1
    report(.noSuchObject, nil, "there is no such \(entity.name), or none any more", at: change)
  }

  /// `error` as it concerns clients: a table or column that is gone is a changed schema.
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
  /// Whether it is about what is stored (409) rather than the change in itself (422).
  var isConflict: Bool {
    switch self {
    case .notUnique, .noSuchObject, .stillReferenced, .changed: true
    case .unknownEntity, .readOnlyEntity, .unknownProperty, .notWritable, .wrongType, .outOfRange,
      .notOptional, .missing, .unknownTemporaryID, .repeatedTemporaryID, .wrongEntity,
      .circularReference, .checkFailed, .refused, .abstractEntity, .tooSmall, .tooLarge, .tooShort,
      .tooLong, .patternMismatch, .invalidValue, .tooFew, .tooMany:
      false
    }
  }
}
