// Statements of one transaction → the effects of all of them, or of none.

import FetchModel

extension Connection {
  /// Runs `body` in a transaction that may write. Rolls it back if `body` or the commit fails.
  ///
  /// - Parameter keeps: False to roll it back at the end in any case.
  func transaction<Result>(
    keeps: Bool = true, _ body: () throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    try execute("BEGIN IMMEDIATE")
    do {
      let result = try body()
      try execute(keeps ? "COMMIT" : "ROLLBACK")
      return result
    } catch {
      if !isInAutocommit { try? execute("ROLLBACK") }
      throw error
    }
  }

  /// Runs `body`, whose reads all see one state of the file. Nothing that it writes stays.
  func reading<Result>(_ body: () throws(StoreError) -> Result) throws(StoreError) -> Result {
    try run("BEGIN")
    defer { if !isInAutocommit { try? run("ROLLBACK") } }
    return try body()
  }
}
