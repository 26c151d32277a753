// A connection string enters; a connection that runs statements with parameters and a deadline
// leaves. libpq reads everything else: service files, environment variables, certificates.

import CPostgres
import LiveFetchCLibrary

/// A connection to a server. One thread uses it at a time and waits for the server's answers, so it
/// must not be a thread of the cooperative pool.
final class PostgresConnection: @unchecked Sendable {
  /// The `PGconn`.
  let handle: OpaquePointer
  /// The statements that are prepared on this connection.
  var statements = PreparedStatements()
  /// The time at which a running query is cancelled; nil for none.
  var deadline: ContinuousClock.Instant?
  /// Returns true if the running query has to be cancelled, for example because its client has disconnected.
  /// nil if only the deadline cancels it.
  var isCancelled: (@Sendable () -> Bool)?
  /// The time that the server has to cancel a query. After it the connection is shut down.
  var cancellationLimit = Duration.seconds(20)
  /// True while the result of the COMMIT of a read transaction is still to be read.
  var isCommitting = false
  /// The epoch of the history in the last single read on this connection; nil before the first one.
  var epoch: String?
  /// The tables for which the next transaction waits, and afterwards those that were locked or replaced after
  /// its snapshot; see ``waiting(for:_:_:)``.
  var replacedTables: [LockedTable] = []
  /// How long the transaction waits for locks of its tables.
  var lockPatience = LockPatience.patient
  private var isClosed = false

  /// The settings on which the decoding of values and the composed statements rely.
  private static let settings = """
    SET client_encoding = 'UTF8'; SET standard_conforming_strings = on; SET TimeZone = 'UTC'; \
    SET DateStyle = 'ISO, YMD'; SET IntervalStyle = 'iso_8601'; SET extra_float_digits = 1; \
    SET bytea_output = 'hex'; SET array_nulls = on; SET client_min_messages = 'warning'; \
    SET jit = off
    """

  /// Connects, and sets the session parameters. Blocks the thread.
  ///
  /// - Parameters:
  ///   - target: a URL such as `postgres://host/database` or a list of `keyword=value`;
  ///     empty to take everything from the environment.
  ///   - setup: statements that are run after the connection is made.
  ///   - limit: the time limit of connecting, unless `target` or `PGCONNECT_TIMEOUT` has one. It is rounded
  ///     up to whole seconds, from 2 to ``defaultLimit``.
  init(
    _ target: String, setup: String = "", within limit: Duration = defaultLimit
  ) throws(PostgresError) {
    guard let handle = Self.connect(target, limit) else { throw .disconnected("out of memory") }
    self.handle = handle
    guard PQstatus(handle) == CONNECTION_OK else {
      let message = lastMessage
      close()
      throw .disconnected(message)
    }
    cpostgres_ignore_notices(handle)
    PQsetnonblocking(handle, 1)
    do {
      try withDeadline(Self.defaultLimit) { () throws(PostgresError) in
        _ = try execute(setup.isEmpty ? Self.settings : "\(Self.settings); \(setup)")
      }
    } catch {
      close()
      throw error
    }
  }

  deinit { close() }

  /// Closes the connection. It must not be used afterwards.
  func close() {
    guard !isClosed else { return }
    isClosed = true
    PQfinish(handle)
  }

  /// The time limit of connecting.
  static let defaultLimit = Duration.seconds(10)

  /// Returns connection parameters that the target and the environment may replace. With them a server that
  /// does not answer any more is noticed after 20 seconds.
  private static func defaults(_ target: String, _ limit: Duration) -> [(String, String)] {
    let seconds = Int((min(max(limit, .seconds(2)), defaultLimit) / .seconds(1)).rounded(.up))
    var settings = [("fallback_application_name", "livefetch")]
    // The parameters of a service file would not replace these.
    if getenv("PGSERVICE") == nil, !target.contains("service=") {
      if getenv("PGCONNECT_TIMEOUT") == nil { settings.append(("connect_timeout", "\(seconds)")) }
      settings += [
        ("keepalives_idle", "10"), ("keepalives_interval", "5"), ("keepalives_count", "2"),
        ("tcp_user_timeout", "20000"),
      ]
    }
    return settings
  }

  /// Returns the connection, whether it was made or not; nil without memory.
  private static func connect(_ target: String, _ limit: Duration) -> OpaquePointer? {
    // libpq lets the parameters in `dbname` replace those before it.
    let settings = defaults(target, limit) + [("dbname", target)]
    let (keywords, values) = (settings.map(\.0), settings.map(\.1))
    return withCStrings(keywords) { keywords in
      withCStrings(values) { values in PQconnectdbParams(keywords, values, 1) }
    }
  }

  /// The version of the server as a number: 150018 for 15.18.
  var serverVersion: Int { Int(PQserverVersion(handle)) }

  /// True if the connection is usable and outside of a transaction.
  var isIdle: Bool {
    !isClosed && PQstatus(handle) == CONNECTION_OK
      && (isCommitting || PQtransactionStatus(handle) == PQTRANS_IDLE)
  }

  /// True while a transaction is open, failed or not.
  var isInTransaction: Bool {
    !isClosed && [PQTRANS_INTRANS, PQTRANS_INERROR].contains(PQtransactionStatus(handle))
  }

  /// True if a statement of the open transaction has failed.
  var hasFailed: Bool { !isClosed && PQtransactionStatus(handle) == PQTRANS_INERROR }

  /// The last error of libpq, on one line.
  var lastMessage: String {
    let text = PQerrorMessage(handle).map { String(cString: $0) } ?? ""
    return text.split(separator: "\n").joined(separator: "; ")
  }

  /// Runs `body` with a total time budget. An outer deadline that is earlier stays in force.
  func withDeadline<Result>(
    _ limit: Duration?, _ body: () throws(PostgresError) -> Result
  ) throws(PostgresError) -> Result {
    let outer = deadline
    defer { deadline = outer }
    if let limit {
      let end = ContinuousClock.now + limit
      deadline = outer.map { min($0, end) } ?? end
    }
    return try body()
  }
}

/// Calls `body` with an array of C strings that ends with nil.
func withCStrings<Result>(
  _ strings: [String], _ body: (UnsafePointer<UnsafePointer<CChar>?>?) -> Result
) -> Result {
  let copies = strings.map { strdup($0) }
  defer { for copy in copies { free(copy) } }
  var pointers = copies.map { UnsafePointer($0) }
  pointers.append(nil)
  return pointers.withUnsafeBufferPointer { body($0.baseAddress) }
}
