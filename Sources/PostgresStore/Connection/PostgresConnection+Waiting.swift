// Waiting for the server: for its results, up to the deadline, and cancelling what takes longer.

import CPostgres
import LiveFetchCLibrary
import LiveFetchThreads
import Synchronization

extension PostgresConnection {
  /// The results of what was sent. Throws the first error after all results have been read, so that
  /// the connection can be used again.
  ///
  /// - Parameter row: receives the results of single rows, which are not collected.
  func results(
    _ row: (QueryResult) -> Void = { _ in }
  ) throws(PostgresError) -> [QueryResult] {
    var results: [QueryResult] = []
    var failure: PostgresError?
    while let result = try nextResult() {
      switch PQresultStatus(result.pointer) {
      case PGRES_COMMAND_OK, PGRES_TUPLES_OK, PGRES_EMPTY_QUERY: results.append(result)
      case PGRES_SINGLE_TUPLE: row(result)
      case PGRES_COPY_IN:
        PQputCopyEnd(handle, "the client sends no rows")
      default: failure = failure ?? error(of: result)
      }
    }
    guard PQstatus(handle) == CONNECTION_OK else { throw .disconnected(lastMessage) }
    if let failure { throw failure }
    return results
  }

  /// Reads and ignores the remaining results.
  func finishResults() throws(PostgresError) {
    while try nextResult(isStopping: true) != nil {}
  }

  private func error(of result: QueryResult) -> PostgresError {
    let error = ServerError(result.pointer)
    // query_canceled: `statement_timeout`, unless another session cancelled it.
    return error.sqlState == "57014" ? .timedOut : .server(error)
  }

  /// The next result; nil when there are no more.
  ///
  /// - Parameter isStopping: true if the statement has been cancelled already.
  func nextResult(isStopping: Bool = false) throws(PostgresError) -> QueryResult? {
    var cancellation: Cancellation?
    while PQisBusy(handle) == 1 {
      let writes = PQflush(handle)
      if writes < 0 { throw sendFailure }
      if cancellation == nil, !isStopping, let reason = stopReason {
        cancellation = Cancellation(self, reason, end: .now + cancellationLimit)
      }
      if let current = cancellation, current.isIgnored {
        guard !current.isOverdue else { throw abandon("the server did not cancel") }
        cancellation = Cancellation(self, current.reason, end: current.end)
      }
      try waitForSocket(writing: writes == 1, isStopping: isStopping || cancellation != nil)
      guard PQconsumeInput(handle) == 1 else { throw sendFailure }
    }
    let result = PQgetResult(handle).map { QueryResult($0) }
    if let cancellation { try settle(cancellation, result) }
    return result
  }

  /// Waits until a cancellation has ended, which could otherwise stop the next statement.
  private func settle(
    _ cancellation: Cancellation, _ result: QueryResult?
  ) throws(PostgresError) {
    guard cancellation.finish() else { throw abandon("the cancellation did not end") }
    guard let result, PQresultErrorField(result.pointer, cpostgres_sqlstate) != nil else { return }
    try finishResults()
    throw cancellation.reason
  }

  /// Ends a connection whose state is unknown.
  private func abandon(_ reason: String) -> PostgresError {
    shutdown(PQsocket(handle), Int32(SHUT_RDWR))
    return .disconnected(reason)
  }

  /// True if the running query must stop.
  var hasToEnd: Bool { stopReason != nil }

  /// The reason why the running query must stop; nil if it may continue.
  private var stopReason: PostgresError? {
    if let deadline, deadline <= .now { return .timedOut }
    return isCancelled?() == true ? .cancelled : nil
  }

  /// Waits until the socket can be read or written, or some time has passed.
  func waitForSocket(writing: Bool, isStopping: Bool = false) throws(PostgresError) {
    let socket = PQsocket(handle)
    guard socket >= 0 else { throw .disconnected(lastMessage) }
    var entry = pollfd(
      fd: socket, events: Int16(POLLIN) | (writing ? Int16(POLLOUT) : 0), revents: 0)
    let code = poll(&entry, 1, pollMilliseconds(isStopping: isStopping))
    guard code >= 0 || errno == EINTR else { throw .disconnected("poll: error \(errno)") }
  }

  /// Without a deadline and a cancellation, waits as long as it takes.
  private func pollMilliseconds(isStopping: Bool) -> Int32 {
    if isStopping { return 50 }
    let slice: Int32? = isCancelled == nil ? nil : 20
    guard let deadline else { return slice ?? -1 }
    let left = (deadline - .now) / .milliseconds(1)
    return min(slice ?? .max, Int32(min(max(left.rounded(.up), 0), 60_000)))
  }

  /// Waits up to `limit` until a notification arrives or the descriptor `other` can be read.
  func waitForNotification(within limit: Duration, or other: Int32) throws(PostgresError) {
    var entries = [PQsocket(handle), other].map {
      pollfd(fd: $0, events: Int16(POLLIN), revents: 0)
    }
    let milliseconds = Int32(min(max(limit / .milliseconds(1), 0).rounded(.up), 1e9))
    if !takeNotifications() { poll(&entries, 2, milliseconds) }
    guard entries[0].revents == 0 || PQconsumeInput(handle) == 1 else { throw sendFailure }
    _ = takeNotifications()
  }

  /// Removes the notifications that have arrived. Returns true if there were any.
  private func takeNotifications() -> Bool {
    var isNotified = false
    while let notification = PQnotifies(handle) {
      isNotified = true
      PQfreemem(notification)
    }
    return isNotified
  }
}

/// The request to the server to stop a connection's running statement. It uses a connection of its
/// own, which may hang, and so has a thread of its own.
///
/// The server ignores a request that arrives before the statement does, so it may have to be repeated.
final class Cancellation: Sendable {
  let reason: PostgresError
  /// The end of the wait for the server.
  fileprivate let end: ContinuousClock.Instant
  private let start = ContinuousClock.now
  private let done = MonotonicSemaphore()
  private let isDone = Atomic(false)

  fileprivate init(
    _ connection: PostgresConnection, _ reason: PostgresError,
    end: ContinuousClock.Instant
  ) {
    self.reason = reason
    self.end = end
    nonisolated(unsafe) let request = PQgetCancel(connection.handle)
    startThread(name: "lf-pg-cancel") { [self] in
      var message = [CChar](repeating: 0, count: 256)
      if let request { PQcancel(request, &message, Int32(message.count)) }
      PQfreeCancel(request)
      isDone.store(true, ordering: .releasing)
      done.signal()
    }
  }

  fileprivate var isOverdue: Bool { ContinuousClock.now > end }

  /// True if the request was sent a while ago without effect, or cannot be sent in time.
  fileprivate var isIgnored: Bool {
    isOverdue
      || isDone.load(ordering: .acquiring) && ContinuousClock.now > start + .milliseconds(200)
  }

  /// Waits until the request has been sent. Returns false if that takes too long.
  fileprivate func finish() -> Bool {
    done.wait(seconds: max(0.1, (end - .now) / .seconds(1)))
  }
}
