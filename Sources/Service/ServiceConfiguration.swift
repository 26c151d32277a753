// The settings of a service, with their defaults.

import FetchModel
import LiveFetchHTTPServer
import LiveQueries
import Logging

/// The settings of a ``Service``.
public struct ServiceConfiguration: Sendable {
  /// The version in `GET /v1`.
  public var version = LiveFetchVersion.number
  /// The maximum number of items of a snapshot.
  public var maxItems = Self.defaultMaxItems
  static let defaultMaxItems = 10_000
  /// The number of seconds that a request without `wait` waits for a change.
  public var defaultWait = 25.0
  /// The number of seconds that a fetch without waiting clients is kept in memory. Clients that return
  /// later get a diff from the history.
  public var idleSeconds = 60.0
  /// The limits of the live engine; its idle time is ``idleSeconds``.
  package var engine = LiveConfiguration()
  /// The number of seconds between two comment lines of a stream, which keep its connection alive.
  public var heartbeat = 15.0
  /// The bearer token that allows every request; nil without one. If it is set, every request except
  /// health probes and files needs a credential.
  public var bearerToken: String?
  /// Verifies JWTs; nil accepts none.
  package var jwt: JWTVerifier?
  /// The access rules; nil means those of the store's model file.
  package var access: AccessDeclaration?
  /// True if a request without a credential is the anonymous caller's although others need one. Only
  /// under access rules.
  public var servesAnonymous = false
  /// The origins that browsers may call from, or `*`. Empty allows only the server's own origin.
  public var corsOrigins: [String] = []
  /// A directory of files to serve in place of ``builtInFiles``.
  public var publicDirectory: String?
  /// The paths of files that are not served under another name in ``publicDirectory``.
  public var ownFiles: [String] = []
  /// The web page, the manual and the JavaScript client that are built into the program; nil if there
  /// are none. With ``publicDirectory``, only the manual and the client are served from here.
  public var builtInFiles: StaticFiles?
  /// The documentation of the Swift library, served below `/docs/swift/`; nil if there is none.
  public var swiftDocumentation: StaticFiles?
  /// True if the data are a sample, which anyone may change; `GET /v1` reports it.
  public var servesSample = false
  /// True if requests may use `explain=true`.
  public var explains = false
  /// True if responses have the header `Server-Timing`.
  public var sendsServerTiming = false
  /// The maximum number of bytes of cached snapshots.
  public var cacheBytes = 64 << 20
  /// The maximum number of bytes of a response with many parts: of `/v1/live` and of the history. A store
  /// limits each part itself.
  public var maxResponseBytes = 64 << 20
  /// The time limit of a query in seconds, which includes the wait for a thread. The store limits the
  /// running time itself.
  public var queryTimeout = 10.0
  /// The number of slow queries that may run at the same time. If it is more than one, a single caller
  /// runs at most one fewer.
  public var slowQueries = 4
  /// The number of slow queries that may wait; further ones are refused with 503.
  public var slowQueryQueue = 1024

  /// Receives an event of level `error` for each problem of status 500.
  public var errorLogger = Logger(label: "livefetch")
  /// Receives one event for each request; nil for none. It needs
  /// `HTTPServerConfiguration.reportsCompletions`.
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
