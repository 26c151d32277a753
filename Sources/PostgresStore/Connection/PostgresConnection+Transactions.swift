// Transactions: read transactions with their snapshot, and writing ones.

import CPostgres

#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

extension PostgresConnection {
  /// Runs `body` in a transaction, which is committed unless `body` throws.
  ///
  /// - Parameter script: statements that are run first, in the same round trip.
  func withTransaction<Result>(
    _ begin: String = "BEGIN", _ script: String = "", _ body: () throws(PostgresError) -> Result
  ) throws(PostgresError) -> Result {
    do {
      try execute("\(begin); \(statementTimeout); \(script)")
      let result = try body()
      try execute("COMMIT")
      return result
    } catch {
      rollBack()
      throw error
    }
  }

  /// The server stops a statement by itself a little after this side's deadline, if the cancellation
  /// does not reach it.
  private var statementTimeout: String {
    guard let deadline else { return "SET LOCAL statement_timeout = 0" }
    let left = max(0, (deadline - .now) / .milliseconds(1)) + 1_000
    return "SET LOCAL statement_timeout = \(Int(min(left, 2_000_000_000)))"
  }

  /// Ends the open transaction. If that fails, the connection is unusable and the pool closes it.
  func rollBack() {
    let (deadline, isCancelled) = (deadline, isCancelled)
    defer { (self.deadline, self.isCancelled) = (deadline, isCancelled) }
    // A deadline that has passed must not end this statement as well.
    (self.deadline, self.isCancelled) = (ContinuousClock.now + .seconds(5), nil)
    _ = try? execute("ROLLBACK")
  }

  /// False if the server has sent something while the connection was idle, which usually is that it
  /// ends. Costs one system call.
  var isQuiet: Bool {
    guard isIdle else { return false }
    var entry = pollfd(fd: PQsocket(handle), events: Int16(POLLIN), revents: 0)
    return poll(&entry, 1, 0) == 0
  }
}
