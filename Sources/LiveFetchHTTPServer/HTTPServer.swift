// The server, from start to stop.
//
// Promises: a started server listens on `port`; stopping it sends 503 to every exchange that is
// still open, ends the streams, and never ends the process.

import CMicrohttpd
import Glibc

/// An HTTP/1.1 server on one TCP port.
public final class HTTPServer: Sendable {
  /// The port on which the server listens; if 0 was requested, the one that the system chose.
  public let port: Int
  private let context: ServerContext
  private let watch: DisconnectMonitor
  private let workers: HTTPWorkers

  /// Starts listening and serving.
  ///
  /// - Parameter listener: a socket that was opened before, used by one server only; nil opens the
  ///   configuration's host and port.
  public init(
    _ configuration: HTTPServerConfiguration, listener: HTTPListener? = nil,
    handler: any HTTPHandler
  ) throws(HTTPServerError) {
    watch = try DisconnectMonitor()
    let opened = if let listener { listener } else { try HTTPListener(configuration) }
    let listener = try opened.take()
    context = ServerContext(
      handler: handler, configuration: configuration, table: ConnectionTable(watchSet: watch.set))
    port = listener.port
    let count = min(max(configuration.workers, 1), 64)
    let settings = Self.settings(configuration, workers: count)
    let workers = HTTPWorkers(context, settings, count: count, listener: listener.descriptor)
    guard let workers else { throw .cannotStart }
    self.workers = workers
    do {
      try watch.start(context)
    } catch {
      stop()
      throw error
    }
  }

  deinit {
    stop()
  }

  /// The number of open connections.
  public var connectionCount: Int {
    context.table.count
  }

  /// The bytes of request bodies and responses in memory.
  public var memoryInFlight: Int {
    context.memory.bytes
  }

  /// The number of connections that wait for a response, or for something to stream.
  /// O(connections).
  public var waitingCount: Int {
    context.table.waitingCount
  }

  /// Sends 503 to suspended exchanges, or closes their connections if a refusal was forbidden (see
  /// ``HTTPExchange/forbidRefusal()``), ends the streams, stops listening, and closes all
  /// connections. Responses that are being sent have `grace` seconds to complete; requests that
  /// arrive meanwhile still reach the handler, but none is suspended. Must not be called from a
  /// handler. A second call does nothing.
  public func stop(grace: Double = 2) {
    // MHD_quiesce_daemon is not used: it and a busy worker may both remove the listener from the
    // worker's epoll set, and libmicrohttpd 0.9.75 aborts the process when the second removal
    // fails.
    for exchange in context.table.drain() { exchange.drain() }
    awaitResponses(seconds: grace)
    watch.stop()
    workers.stop()
  }

  private func awaitResponses(seconds: Double) {
    let end = coarseMilliseconds() &+ UInt64(max(0, min(seconds, 3600)) * 1000)
    while context.table.workingCount > 0, coarseMilliseconds() < end { usleep(2000) }
  }

  private static func settings(
    _ configuration: HTTPServerConfiguration, workers: Int
  ) -> chttp_settings {
    var settings = chttp_settings()
    settings.connection_memory = min(max(configuration.connectionMemory, 2 << 10), 1 << 20)
    let most = min(configuration.maxConnections, DescriptorLimit.connections(workers: workers))
    settings.connection_limit = UInt32(min(max(most, workers), 1 << 20))
    settings.address_limit = UInt32(min(configuration.maxAddressConnections ?? 0, 1 << 20))
    let timeout = max(configuration.writeTimeout, configuration.idleTimeout, 1)
    settings.timeout_seconds = UInt32(min(timeout, 86_400))
    settings.access = requestAdvanced
    settings.target = targetRead
    settings.completed = requestCompleted
    settings.notify = connectionChanged
    if configuration.certificate != nil { settings.certificate = chooseCertificate }
    return settings
  }
}
