// Whole results of a store, from one read transaction.

import FetchModel

extension Store {
  /// Runs `body`, whose errors may be of any type, in a read transaction on the newest committed state.
  func reading<Value>(_ body: (any StoreReadTransaction) throws -> Value) throws -> Value {
    try readResponses { transaction throws(StoreError) -> Result<Value, any Error> in
      Result<Value, any Error> { try body(transaction) }
    }.get()
  }
}

extension StoreReadTransaction {
  /// Reads the result of `plan` in pages.
  ///
  /// - Parameter size: The most objects of a page.
  /// - Throws: The error of a query, or the first error of `body`, which ends the reading.
  func forEachPage(
    of plan: FetchPlan, size: Int, in model: Model, _ body: (JSON) throws -> Void
  ) throws {
    var failure: (any Error)?
    try pages(of: plan, size: size, in: model) { page in
      do {
        try body(try JSON(result: page.json))
      } catch {
        failure = error
      }
      return failure == nil
    }
    if let failure { throw failure }
  }
}
