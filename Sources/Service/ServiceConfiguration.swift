// The settings of a service, with their defaults.

import FetchModel
import LiveFetchHTTPServer
import LiveQueries
import Logging

/// The settings of a ``Service``.
public struct ServiceConfiguration: Sendable {
  /// The version in `GET /v1`.
  public var version = LiveFetchVersion.number
  /// The most items of a snapshot.
  public var maxItems = 10_000
  /// Seconds that a request without `wait` waits for a change.
  public var defaultWait = 25.0
  /// Seconds that a fetch without waiting clients is kept up to date in memory. Clients that return
  /// later get a diff from the history.
  public var idleSeconds = 60.0
  /// The memory in bytes that all live fetches may need together, about. Beyond it, those without waiting
  /// clients are dropped, and then new ones are 503 `overloaded`.
  public var maxLiveBytes = Int.max
  /// The limits of the live engine; its idle time is ``idleSeconds``, its memory
  /// ``maxLiveBytes``.
  package var engine = LiveConfiguration()
  /// Seconds between two comment lines of a stream.
  public var heartbeat = 15.0
  /// The token with which a request may do everything; nil without one. With it, every request but
  /// those for probes and files needs a credential.
  public var bearerToken: String?
  /// Verifies JWTs; nil accepts none.
  package var jwt: JWTVerifier?
  /// The access rules; nil means those of the store's model file.
  package var access: AccessDeclaration?
  /// The origins that browsers may call from, or `*`; empty: none but the server's own.
  public var corsOrigins: [String] = []
  /// A directory of files to serve in place of ``builtInFiles``.
  public var publicDirectory: String?
  /// The web page, the manual and the JavaScript client that the program carries; nil if there are
  /// none. The manual and the client are served in addition to ``publicDirectory`` too.
  public var builtInFiles: StaticFiles?
  /// The documentation of the Swift library, served below `/docs/swift/`; nil: it is not there.
  public var swiftDocumentation: StaticFiles?
  /// True if the data are a sample that anyone may try changes on; `GET /v1` reports it.
  public var servesSample = false
  /// True if `explain=true` is answered.
  public var explains = false
  /// True if responses have `Server-Timing`.
  public var sendsServerTiming = false
  /// The most bytes of cached snapshots.
  public var cacheBytes = 64 << 20
  /// The most bytes of a response with many parts: of `/v1/live` and of the history. A store has its
  /// own limit for each part.
  public var maxResponseBytes = 64 << 20
  /// The time limit of a query in seconds, from the request's arrival on. The store has a limit of its
  /// own for running queries.
  public var queryTimeout = 10.0
  /// The number of slow queries that may run at the same time. One caller leaves a thread to others, if
  /// there is more than one.
  public var slowQueries = 4
  /// The number of slow queries that may wait; further ones are refused with 503.
  public var slowQueryQueue = 1024

  /// Gets an event of level `error` for each problem of status 500.
  public var errorLogger = Logger(label: "livefetch")
  /// Gets one event for each request; nil for none. Set
  /// `HTTPServerConfiguration.reportsCompletions` with it.
  public var requestLogger: Logger?
  /// Records the saves; nil if they are not recorded.
  public var audit: AuditLog?
  /// Limits what each caller uses; nil without limits.
  public var quotas: Quotas?

  /// Has logged the readiness, of this service and of those before it.
  package var readinessLog = ReadinessLog()
  /// Counts the requests.
  public var metrics = ServiceMetrics()

  /// Makes a service configuration with the default values.
  public init() {}
}
