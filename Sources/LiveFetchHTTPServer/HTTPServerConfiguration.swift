// The settings of a server, fixed when it starts.

/// The settings of a server. Every limit has a default that suits a public server.
public struct HTTPServerConfiguration: Sendable {
  /// A numeric address or a name.
  public var host = "127.0.0.1"
  /// The port; with 0 the system chooses a free one.
  public var port = 8080
  /// Threads that read and write sockets and call the handler, 1 to 64.
  public var workers = 8
  /// The largest request body in bytes; a larger one gets 413.
  public var maxBodyBytes = 16 << 20
  /// The maximum number of bytes of a body of GET, HEAD and OPTIONS, which no handler reads.
  static let maxUnreadBodyBytes = 64 << 10
  /// The maximum number of bytes of all request bodies and responses in memory together; beyond it requests get
  /// 503.
  public var maxMemoryInFlight = 512 << 20
  /// The bytes of memory that libmicrohttpd reserves for each connection. The request's head, its
  /// parsed fields and the head of the response share them. A connection keeps all of them after
  /// its first request, so this is the cost of a waiting connection, and it bounds
  /// ``maxHeadBytes``.
  public var connectionMemory = 8_704
  /// The largest request line with all header lines, in bytes; a larger one gets 431. The effective
  /// limit is at most ``connectionMemory`` less 1,536 bytes for the response's head.
  public var maxHeadBytes = 7 << 10
  /// The maximum number of header fields of one request; more get 431.
  public var maxHeaderCount = 64
  /// The maximum number of connections at the same time, over all workers, at least one each; further ones wait
  /// to be accepted. The limit is lower if the process may not open as many descriptors.
  public var maxConnections = 20_000
  /// The maximum number of connections of one address at the same time; further ones are closed. Each
  /// worker has an equal share of it, at least one. nil for no limit.
  public var maxAddressConnections: Int?
  /// The seconds within which the head of a new connection's first request must be complete.
  public var headTimeout = 15
  /// Seconds from one response to the end of the next request's head.
  public var idleTimeout = 75
  /// The seconds for a request's body, plus one second for each 16 KiB of it that have arrived.
  public var bodyTimeout = 30
  /// The seconds after which a connection is closed whose client has closed its sending side,
  /// unless a response is being sent. A client that has disconnected looks the same as one that has
  /// only finished sending.
  public var finishedPeerTimeout = 0.5
  /// The seconds without progress after which a connection is closed whose client does not read.
  public var writeTimeout = 60
  /// The host names that requests may name; others get 421. Nil: any name. A request of HTTP/1.0
  /// that names no host is accepted.
  public var hostNames: HostNames?
  /// The certificate of HTTPS; nil for HTTP without TLS.
  public var certificate: TLSCertificate?
  /// The proxies whose `Forwarded` and `X-Forwarded-…` count. Those of other peers are ignored.
  public var trustedProxies: [AddressRange] = []
  /// True if every request is reported to its attachment or to ``HTTPHandler/completed(_:)``, and has
  /// an `X-Request-Id`.
  public var reportsCompletions = false
  /// Makes the response for a refusal by the server itself.
  public var renderProblem: @Sendable (HTTPProblem) -> HTTPResponse = { $0.response() }

  /// Makes an HTTP server configuration with the default values.
  public init() {}

  /// The effective limit of a request's head in bytes, given the connection's memory.
  var effectiveHeadBytes: Int {
    min(maxHeadBytes, max(connectionMemory - 1536, 512), 0xFFFF)
  }
}

/// The reason why a server could not start.
public enum HTTPServerError: Error, Equatable {
  /// The host has no address, or the port is out of range.
  case cannotResolve(host: String)
  /// No address of the host could be listened on, with the system's reason.
  case cannotListen(errno: Int32)
  /// No threads, memory or descriptors for the workers.
  case cannotStart
}
