// A resolved save and an open transaction → its changes, or every reason for its refusal.
//
// Nothing here begins, commits or rolls back. A refused save leaves its completed changes for the
// caller to roll back. Each shape of a change has its statements composed once.

import FetchModel
import SQLComposer

/// Executes saves on any database. Each instance belongs to one thread at a time.
package struct SaveExecutor: Sendable {
  package let model: Model
  package let schema: Schema
  /// Parallel to the model's entities.
  let tables: [SaveTable]
  let statements = SaveStatements()
  let ruleStatements = ComposedStatements<RuleStatement>()
  private let objectStatements = ComposedStatements<ObjectStatement>()
  /// The rules that need all changes to be complete; nil if the model has none.
  let finalChecks: DeferredConstraints?

  package init(model: Model, schema: Schema) {
    self.model = model
    self.schema = schema
    tables = zip(model.entities, schema.entities).enumerated().map { index, pair in
      SaveTable(
        index: index, entity: pair.0, table: pair.1,
        restriction: EntityTable.restriction(to: index, model, schema),
        isModelled: model.file != nil)
    }
    finalChecks = DeferredConstraints(model: model)
  }

  /// True if a save may read the history of its own transaction.
  package var readsHistory: Bool { finalChecks != nil }

  /// Makes the changes of `request`, in order.
  ///
  /// An error may have ended the transaction; check ``SaveConnection/isTransactionOver``.
  ///
  /// - Parameter token: A placeholder in the result until the caller knows the save's own token.
  /// - Throws: ``SaveError`` with every problem found; the caller has to roll back.
  package func execute(
    _ request: SaveRequest, on connection: any SaveConnection, token: Token
  ) throws(SaveError) -> SaveResult {
    var run = SaveRun(executor: self, connection: connection, request: request, token: token)
    do {
      try run.applyAll()
    } catch {
      if run.isRolledBack, let refusal = run.refusal { throw refusal }
      if error == .diskFull, let refusal = run.refusalWithoutID { throw refusal }
      throw .store(run.explained(error))
    }
    if let refusal = run.refusal { throw refusal }
    var result = run.finishedResult()
    if request.showsObject, let object = result.objects.first {
      do throws(StoreError) {
        if try !connection.mayChangeAtCommit() {
          result.shown = try read(object, as: request, on: connection, token: token)
        }
      } catch .answerTooLarge {
        // The save is made, and its response omits the object.
      } catch {
        throw .store(error)
      }
    }
    return result
  }

  /// Returns an object as the save left it, nil if the caller may not read it. A later read would need a
  /// transaction of its own.
  private func read(
    _ object: SaveResult.Object, as request: SaveRequest, on connection: any SaveConnection,
    token: Token
  ) throws(StoreError) -> ObjectSnapshot? {
    let key = schema.entities[object.entity].key
    guard key.bindings(of: object.id) != nil else { return nil }
    let statement = statement(for: object, as: request)
    let rows = try connection.rows(of: statement.binding(object.id, of: key))
    return rows.first.flatMap { ObjectSnapshot($0.row, token: token) }
  }

  /// Callers whose rules differ only in the values of variables share a statement.
  private func statement(
    for object: SaveResult.Object, as request: SaveRequest
  ) -> FetchStatement {
    func composed(_ access: CallerAccess?) -> FetchStatement {
      let plan = FetchPlan.object(
        of: object.entity, in: model, for: access, integersAsStrings: request.integersAsStrings)
      return FetchComposer(model: model, schema: schema).objectStatement(object.id, of: plan)
    }
    let shared = request.access?.parameterized
    guard shared != nil || request.access == nil else { return composed(request.access) }
    let key = ObjectStatement(
      entity: object.entity, integersAsStrings: request.integersAsStrings, rules: shared?.template)
    return objectStatements.value(of: key) { composed(shared?.template) }
      .bound(to: shared?.planValues ?? .none)
  }
}

/// The key of the statement that reads an object with its default values. The object's id and the caller's
/// values are bound.
private struct ObjectStatement: Hashable {
  let entity: Int
  let integersAsStrings: Bool
  /// The rules with parameters.
  let rules: CallerAccess?
}
