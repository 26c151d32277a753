// What a service may be told.

import HTTPServer
import LiveQueries

/// The settings of a ``Service``.
public struct ServiceConfiguration: Sendable {
  /// The name and version that `GET /v1` tells.
  public var version = "0.1.0"
  /// The most items of a snapshot.
  public var maxItems = 10_000
  /// How long a request waits for a change when it does not say, in seconds.
  public var defaultWait = 25.0
  /// How many seconds a fetch that nobody waits for is kept up to date in memory; whoever comes back
  /// later still gets a diff, made from the history.
  public var idleSeconds = 60.0
  /// How the live engine spends its time; ``idleSeconds`` is said instead.
  package var engine = LiveConfiguration()
  /// Seconds between two comment lines of a stream.
  public var heartbeat = 15.0
  /// The token with which a request may do everything; nil without one. With it, every request but
  /// those for probes and files needs a credential.
  public var bearerToken: String?
  /// Verifies JWTs; nil accepts none.
  package var jwt: JWTVerifier?
  /// The origins that browsers may call from, or `*`; empty: none but the server's own.
  public var corsOrigins: [String] = []
  /// A directory of files to serve in place of ``builtInFiles``.
  public var publicDirectory: String?
  /// The web page and the manual that the program carries; nil: none. The manual, below `/docs/`, is
  /// served beside ``publicDirectory`` as well.
  public var builtInFiles: StaticFiles?
  /// Whether `explain=true` is answered.
  public var explains = false
  /// How many bytes of snapshots are kept to be sent again.
  public var cacheBytes = 64 << 20
  /// The most bytes of an answer with many parts: those of `/v1/live` and of the history. A store has
  /// its own limit for each part.
  public var maxAnswerBytes = 64 << 20
  /// The time limit of a query in seconds, which includes the time that it waits for its turn. The
  /// store has a limit of its own for running queries.
  public var queryTimeout = 10.0
  /// How many slow queries may run at the same time.
  public var slowQueries = 4
  /// How many slow queries may wait for their turn before new ones are refused with 503.
  public var slowQueryQueue = 1024

  /// Where requests are counted.
  public var metrics = ServiceMetrics()

  public init() {}
}
