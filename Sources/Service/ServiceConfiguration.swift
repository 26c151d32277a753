// What a service may be told.

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
  /// The bearer token that every request but probes and files needs; nil: none.
  public var bearerToken: String?
  /// The origin that browsers may call from: an origin, `*`, or nil for none but its own.
  public var corsOrigin: String?
  /// The directory of the web page; nil: none.
  public var publicDirectory: String?
  /// Whether `explain=true` is answered.
  public var explains = false
  /// How many bytes of snapshots are kept to be sent again.
  public var cacheBytes = 64 << 20
  /// The most bytes of an answer with many parts: those of `/v1/live` and of the history. A store has
  /// its own limit for each part.
  public var maxAnswerBytes = 64 << 20
  /// How many slow queries may run at the same time.
  public var slowQueries = 4
  /// How many slow queries may wait for their turn before new ones are refused with 503.
  public var slowQueryQueue = 1024

  /// Where requests are counted.
  public var metrics = ServiceMetrics()

  public init() {}
}
