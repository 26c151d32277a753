// A resolved save + the writer's open transaction → the changes made, or every reason why not.
//
// Nothing here begins, commits or rolls back: a refused save leaves its first half behind for the
// writer's savepoint to take back. Statements are made once for each shape of a change.

import FetchModel

/// Carries saves out. For the one thread that holds the connection that writes.
struct SaveExecutor: Sendable {
  let model: Model
  let schema: Schema
  /// Parallel to the model's entities.
  let tables: [SaveTable]
  let statements = SaveStatements()
  /// What can be said only when every change was made; nil where nothing asks for it.
  let finalChecks: FinalChecks?
  /// Nanoseconds that a change of every object that matches may take; nil for as long as it takes.
  let batchLimit: UInt64?

  init(model: Model, schema: Schema, batchLimit: UInt64? = nil) {
    self.batchLimit = batchLimit
    self.model = model
    self.schema = schema
    tables = zip(model.entities, schema.entities).enumerated().map { index, pair in
      SaveTable(
        index: index, entity: pair.0, table: pair.1,
        restriction: EntityTable.restriction(to: index, model, schema),
        isModelled: model.file != nil)
    }
    finalChecks = FinalChecks(model: model, schema: schema)
  }

  /// Makes the changes of `request`, in their order.
  ///
  /// After an error the transaction may be over: ask ``Connection/isInAutocommit``.
  ///
  /// - Parameters:
  ///   - token: stands in the result until the writer knows the save's own.
  ///   - arrival: when the time limit of batches began, on the monotonic clock in nanoseconds; nil: now.
  /// - Throws: ``SaveError`` with every problem that was found; the savepoint has to be rolled back.
  func execute(
    _ request: SaveRequest, on connection: Connection, token: Token = .unfollowed,
    since arrival: UInt64? = nil
  ) throws(SaveError) -> SaveResult {
    var run = SaveRun(executor: self, connection: connection, request: request, token: token)
    run.batchLimit = batchLimit.map { limit in
      let waited = arrival.map { monotonicNanoseconds() &- $0 } ?? 0
      return limit > waited ? limit - waited : 1
    }
    do {
      try run.applyAll()
    } catch {
      if run.isOver, let refusal = run.refusal { throw refusal }
      throw .store(run.explained(error))
    }
    if let refusal = run.refusal { throw refusal }
    var result = run.finishedResult()
    if request.showsObject, let object = result.objects.first {
      do { result.shown = try read(object, on: connection, token: token) } catch {
        throw .store(error)
      }
    }
    return result
  }

  /// An object as the save left it. Here it costs one look at pages that are in memory; afterwards
  /// it would cost a transaction of its own.
  private func read(
    _ object: SaveResult.Object, on connection: Connection, token: Token
  ) throws(StoreError) -> ObjectSnapshot? {
    guard let key = schema.entities[object.entity].key.bindings(of: object.id) else { return nil }
    let composer = FetchComposer(model: model, schema: schema)
    let statement = statements.object(object.id, of: object.entity, composer)
    return try connection.object(statement.binding(key: key), token: token)
  }
}
