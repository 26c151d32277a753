// A resolved save and the writer's open transaction → its changes, or every reason for its refusal.

import FetchModel
import SQLComposer
import SaveExecution

/// Executes saves on a file. For the thread that owns the writing connection.
struct SQLiteSaveExecutor: Sendable {
  private let executor: SaveExecutor
  /// nil if saves need no history.
  private let history: History?
  /// The time limit of a change of all matching objects, in nanoseconds; nil without a limit.
  private let batchLimit: UInt64?

  init(model: Model, schema: Schema, batchLimit: UInt64? = nil) {
    let executor = SaveExecutor(model: model, schema: schema)
    self.executor = executor
    history = executor.readsHistory ? History(model: model, schema: schema) : nil
    self.batchLimit = batchLimit
  }

  /// Makes the changes of `request`, in order.
  ///
  /// An error may have ended the transaction; check ``Connection/isInAutocommit``.
  ///
  /// - Parameters:
  ///   - token: A placeholder in the result until the writer knows the save's own token.
  ///   - arrival: The time at which the save began to wait, as ``monotonicNanoseconds()``.
  /// - Throws: ``SaveError`` with every problem found; the caller has to roll back the savepoint.
  func execute(
    _ request: SaveRequest, on connection: Connection, token: Token = .untracked,
    since arrival: UInt64? = nil
  ) throws(SaveError) -> SaveResult {
    let limit = batchLimit.map { limit in
      let waited = arrival.map { monotonicNanoseconds() &- $0 } ?? 0
      return limit > waited ? limit - waited : 1
    }
    return try executor.execute(
      request, on: SQLiteSaveConnection(connection, history: history), token: token,
      batchLimit: limit)
  }
}
