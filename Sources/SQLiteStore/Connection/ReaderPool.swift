// A pool of connections that read one file. Each is used by one thread at a time.

import FetchModel
import LiveFetchThreads
import Synchronization

/// The connections that read one file. May be used from any thread; there are at most `capacity`.
final class ReaderPool: Sendable {
  private struct Idle {
    var connections: [Connection] = []
    var isClosed = false
  }

  private let path: String
  private let access: Connection.Access
  /// Protects the idle connections. The most recently used one is taken first, because its page
  /// cache is warm.
  private let idle = Mutex(Idle())
  /// The number of connections in use.
  private let busy = Atomic(0)
  /// As many permits as there may be connections.
  private let permits: MonotonicSemaphore
  private let waitLimit: Double
  /// nil if the files are not monitored.
  private let files: ServedFiles?

  /// - Parameters:
  ///   - waitLimit: the seconds that a thread waits for a connection before it gets
  ///     ``StoreError/busy``.
  ///   - files: the served files; while they are not intact, no further connection is opened.
  init(
    path: String, access: Connection.Access, capacity: Int,
    waitLimit: Double = 5, files: ServedFiles? = nil
  ) {
    self.files = files
    self.path = path
    self.access = access
    self.waitLimit = waitLimit
    permits = MonotonicSemaphore(value: capacity)
  }

  /// Runs `body` with a connection, inside one read transaction.
  ///
  /// - Parameter limit: the nanoseconds after which its query ends with
  ///   ``StoreError/queryTimeout``.
  func read<Result>(
    limit: UInt64? = nil, _ body: (Connection) throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    guard permits.wait(seconds: waitLimit) else { throw .busy }
    defer { permits.signal() }
    let connection = try checkOut()
    busy.add(1, ordering: .relaxed)
    defer {
      busy.subtract(1, ordering: .relaxed)
      putBack(connection)
    }
    return try connection.withDeadline(after: limit) { () throws(StoreError) in
      try recordingErrors { () throws(StoreError) in try connection.run("BEGIN") }
      connection.holdsReadTransaction = true
      defer { end(connection) }
      let result = try recordingErrors { () throws(StoreError) in try body(connection) }
      // The file or its index may have been truncated while the body read: SQLite reads zeros then.
      files?.checkPages(connection)
      try checkFiles()
      return result
    }
  }

  /// The numbers of open connections.
  var connectionCounts: (idle: Int, busy: Int) {
    (idle.withLock { $0.connections.count }, busy.load(ordering: .relaxed))
  }

  private func recordingErrors<Result>(
    _ body: () throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    do {
      return try body()
    } catch {
      files?.recordDamage(error)
      throw error
    }
  }

  private func checkFiles() throws(StoreError) {
    guard let files, !files.allowsReading else { return }
    throw .storageFailed(files.condition.fault?.detail ?? "The files were cut short.")
  }

  private func end(_ connection: Connection) {
    connection.holdsReadTransaction = false
    connection.past.reset()
    guard !connection.isInAutocommit else { return }
    // A deadline that has passed must not end this statement as well.
    try? connection.withDeadline(after: nil) { () throws(StoreError) in
      try connection.run("ROLLBACK")
    }
  }

  private func checkOut() throws(StoreError) -> Connection {
    try checkFiles()
    let (known, isClosed) = idle.withLock { ($0.connections.popLast(), $0.isClosed) }
    if isClosed { throw .busy }
    if let known { return known }
    // The path may name other files than those that are served.
    if let condition = files?.condition, condition != .damaged, let fault = condition.fault {
      throw .storageFailed(fault.detail)
    }
    return try Connection(path: path, access: access)
  }

  /// Returns a connection to the pool, unless it is still inside a transaction.
  private func putBack(_ connection: Connection) {
    guard connection.isInAutocommit else { return }
    idle.withLock { if !$0.isClosed { $0.connections.append(connection) } }
  }

  /// Closes every connection; those in use are closed when they are returned. Later reads throw
  /// ``StoreError/busy``.
  func close() {
    idle.withLock { $0 = Idle(connections: [], isClosed: true) }
  }
}
