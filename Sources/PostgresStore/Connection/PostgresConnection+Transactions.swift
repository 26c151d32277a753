// Transactions: read transactions with their snapshot, and writing ones.

import CPostgres
import LiveFetchCLibrary

extension PostgresConnection {
  /// Runs `body` in a transaction, which is committed unless `body` throws.
  ///
  /// - Parameter script: statements that are run first, in the same round trip.
  func withTransaction<Result>(
    _ begin: String = "BEGIN", script: String = "", _ body: () throws(PostgresError) -> Result
  ) throws(PostgresError) -> Result {
    do {
      try execute("\(begin); \(statementTimeout); \(script)")
      let result = try body()
      try commit()
      return result
    } catch {
      rollBack()
      throw error
    }
  }

  /// Runs `body` in a transaction that only reads. The transaction begins with `script` and `query`,
  /// which are one round trip with its BEGIN. Nothing waits for its COMMIT. After a statement that
  /// fails, ``recover()`` lets the transaction continue.
  ///
  /// - Parameters:
  ///   - query: a SELECT without parameters, which is prepared on its first use.
  ///   - body: receives the query's result, whose values have the form of text.
  func withReadTransaction<Result>(
    _ begin: String, script: String, query: String,
    _ body: (QueryResult) throws(PostgresError) -> Result
  ) throws(PostgresError) -> Result {
    let name = try prepare(query, [])
    do throws(PostgresError) {
      let results: [QueryResult]
      do throws(PostgresError) {
        results = try execute(
          "\(begin); \(statementTimeout); \(script); SAVEPOINT livefetch; EXECUTE \(name)")
      } catch {
        if error.isStaleStatement { statements.remove(query) }
        throw error
      }
      guard let last = results.last else { throw .malformed("the server sent no result") }
      let result = try body(last)
      // What was read is complete, and may have been sent already: it is no error if the connection is lost now.
      do { try sendCommit() } catch { rollBack() }
      return result
    } catch {
      rollBack()
      throw error
    }
  }

  /// Commits. Throws if the transaction had failed, so that the server has rolled it back.
  func commit() throws(PostgresError) {
    guard try execute("COMMIT").last?.command == "COMMIT" else {
      throw .server(ServerError(sqlState: "25P02", message: "the transaction had failed"))
    }
  }

  private func sendCommit() throws(PostgresError) {
    try finishCommit()
    guard PQsendQuery(handle, "COMMIT") == 1, PQflush(handle) >= 0 else { throw sendFailure }
    isCommitting = true
  }

  /// Reads the result of a COMMIT that was sent without waiting for it. It ended a transaction that
  /// only read, so that nothing depends on it.
  func finishCommit() throws(PostgresError) {
    guard isCommitting else { return }
    isCommitting = false
    _ = try results()
  }

  /// The server stops a statement by itself a little after this side's deadline, if the cancellation
  /// does not reach it.
  private var statementTimeout: String {
    guard let deadline else { return "SET LOCAL statement_timeout = 0" }
    let left = max(0, (deadline - .now) / .milliseconds(1)) + 1_000
    return "SET LOCAL statement_timeout = \(Int(min(left, 2_000_000_000)))"
  }

  /// Ends the open transaction. If that fails, the connection is unusable and the pool closes it.
  func rollBack() { cleanUp("ROLLBACK") }

  /// Lets a read transaction in which a statement has failed read its snapshot again. The other tables
  /// that this statement locked are not locked any more.
  func recover() {
    if hasFailed { cleanUp("ROLLBACK TO SAVEPOINT livefetch") }
  }

  /// Runs a command that ends something. No deadline and no cancellation stops it; its error is ignored.
  func cleanUp(_ command: String) {
    let (deadline, isCancelled) = (deadline, isCancelled)
    defer { (self.deadline, self.isCancelled) = (deadline, isCancelled) }
    // A deadline that has passed must not end this statement as well.
    (self.deadline, self.isCancelled) = (ContinuousClock.now + .seconds(5), nil)
    _ = try? execute(command)
  }

  /// False if the server has sent something while the connection was idle, which usually is that it
  /// ends. Costs one system call, or a few after a read transaction.
  var isQuiet: Bool {
    readCommitResult()
    guard isIdle else { return false }
    if isCommitting { return true }
    var entry = pollfd(fd: PQsocket(handle), events: Int16(POLLIN), revents: 0)
    return poll(&entry, 1, 0) == 0
  }

  /// Takes the result of a COMMIT if it has arrived.
  private func readCommitResult() {
    guard isCommitting, PQconsumeInput(handle) == 1 else { return }
    while PQisBusy(handle) == 0 {
      guard let result = PQgetResult(handle) else {
        isCommitting = false
        return
      }
      PQclear(result)
    }
  }
}
