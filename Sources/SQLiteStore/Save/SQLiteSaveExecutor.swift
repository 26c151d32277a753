// A resolved save and the writer's open transaction → its changes, or every reason for its refusal.

import FetchModel
import LiveFetchThreads
import SQLComposer
import SaveExecution

/// Executes saves on a file. For the thread that owns the writing connection.
struct SQLiteSaveExecutor: Sendable {
  private let executor: SaveExecutor
  private let history: History
  /// The time limit of a save, in nanoseconds; nil without a limit. Other saves wait meanwhile.
  private let timeLimit: UInt64?

  init(model: Model, schema: Schema, timeLimit: UInt64? = nil) {
    executor = SaveExecutor(model: model, schema: schema)
    history = History(model: model, schema: schema)
    self.timeLimit = timeLimit
  }

  /// Makes the changes of `request`, in order.
  ///
  /// An error may have ended the transaction; check ``Connection/isInAutocommit``.
  ///
  /// - Parameters:
  ///   - token: A placeholder in the result until the writer knows the save's own token.
  ///   - arrival: The time at which the save began to wait, as ``monotonicNanoseconds()``. The wait of
  ///     a batch is part of its time limit.
  /// - Throws: ``SaveError`` with every problem found, or with ``StoreError/queryTimeout``; the caller
  ///   has to roll back the savepoint.
  func execute(
    _ request: SaveRequest, on connection: Connection, token: Token = .untracked,
    since arrival: UInt64? = nil
  ) throws(SaveError) -> SaveResult {
    let limit = timeLimit.map { limit in
      let waited = request.isBatch ? arrival.map { monotonicNanoseconds() &- $0 } ?? 0 : 0
      return limit > waited ? limit - waited : 1
    }
    let save = SQLiteSaveConnection(connection, history: history)
    let result: Result<SaveResult, SaveError>
    do throws(StoreError) {
      result = try connection.withDeadline(after: limit) { () throws(StoreError) in
        Result { () throws(SaveError) in try executor.execute(request, on: save, token: token) }
      }
    } catch {
      throw .store(error)
    }
    return try result.get()
  }
}
