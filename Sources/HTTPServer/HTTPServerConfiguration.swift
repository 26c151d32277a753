// What a server is started with.

/// The settings of a server. Every limit has a default that suits a public server.
public struct HTTPServerConfiguration: Sendable {
  /// A numeric address or a name.
  public var host = "127.0.0.1"
  /// 0 has the system choose a free port.
  public var port = 8080
  /// Threads that read and write sockets and call the handler, 1 to 64.
  public var workers = 8
  /// Largest body in bytes; beyond it 413.
  public var maxBodyBytes = 16 << 20
  /// Most bytes of all request bodies and answers in memory together; beyond it 503.
  public var maxMemoryInFlight = 512 << 20
  /// Memory libmicrohttpd keeps for each connection, in bytes: the request's head, its parsed
  /// fields and the head of the response share it. After its first request a connection keeps all
  /// of it, so this is what a waiting connection costs, and it bounds ``maxHeadBytes``.
  public var connectionMemory = 8_704
  /// Largest request line with all header lines, in bytes; beyond it 431. At most
  /// ``connectionMemory`` less 1,536 bytes for the response's head counts.
  public var maxHeadBytes = 7 << 10
  /// Most header fields of one request; beyond it 431.
  public var maxHeaderCount = 64
  /// Most connections at once, over all workers, at least one each; further ones wait to be accepted.
  /// Fewer where the process may not have as many descriptors open.
  public var maxConnections = 20_000
  /// Seconds a new connection has for its first request's head, however its bytes trickle in.
  public var headTimeout = 15
  /// Seconds from one answer to the end of the next request's head.
  public var idleTimeout = 75
  /// Seconds a body may take, beside one second for each 16 KiB of it that have come.
  public var bodyTimeout = 30
  /// Seconds after which a connection is closed whose client has closed its sending side, unless an
  /// answer is being sent. A client that has left looks the same as one that has only finished
  /// sending.
  public var finishedPeerTimeout = 0.5
  /// Seconds without any progress after which a reader that takes no bytes is cut off.
  public var writeTimeout = 60
  /// The host names that requests may name; others are refused with 421. Nil: any name. A request of
  /// HTTP/1.0 that names no host is accepted.
  public var hostNames: HostNames?
  /// Makes the response to what the server itself refuses.
  public var renderProblem: @Sendable (HTTPProblem) -> HTTPResponse = { $0.response() }

  public init() {}

  /// The limit that holds, within the memory there is.
  var effectiveHeadBytes: Int {
    min(maxHeadBytes, max(connectionMemory - 1536, 512), 0xFFFF)
  }
}

/// Why a server could not be started.
public enum HTTPServerError: Error, Equatable {
  /// The host has no address, or the port is out of range.
  case cannotResolve(host: String)
  /// No address of the host could be listened on, with the system's reason.
  case cannotListen(errno: Int32)
  /// No threads, memory or descriptors for the workers.
  case cannotStart
}
