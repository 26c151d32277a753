// The threads that run libmicrohttpd. Each has a daemon of its own, and all accept from one port.
//
// libmicrohttpd 0.9.75 reads 128 events of its epoll set at a time. After a full batch it waits
// again, without a timeout: if exactly 128 sockets (or a multiple) are ready, its own threads sleep
// although requests have been reported to them. So the waiting is done here wherever a batch can be
// full.

import CMicrohttpd
import Glibc
import LiveFetchThreads

/// The context of the callbacks of one worker's daemon.
final class WorkerContext: Sendable {
  let server: ServerContext
  let wakeup: WakeupEvent
  /// True if a connection has ended since the worker's last check. Used only by the worker.
  nonisolated(unsafe) var hasEnded = false
  /// Not 0 if the system had no descriptor or memory for a new connection since the worker's last
  /// check. Used only by the worker.
  nonisolated(unsafe) let cannotAccept = UnsafeMutablePointer<Int32>.allocate(capacity: 1)

  init(_ server: ServerContext, _ wakeup: WakeupEvent) {
    self.server = server
    self.wakeup = wakeup
    cannotAccept.initialize(to: 0)
  }

  deinit { cannotAccept.deallocate() }
}

/// The running workers, which are stopped once.
final class HTTPWorkers: Sendable {
  private struct Worker: @unchecked Sendable {
    let daemon: OpaquePointer
    let context: WorkerContext
    let thread: JoinableThread
  }

  /// The stack size of a worker in bytes. Handlers parse nested input: the deepest accepted nesting
  /// needs more than a megabyte in a build without optimization. Only pages that were used occupy
  /// memory.
  private static let stackSize = 8 << 20

  /// Protects the workers, so that they are stopped once.
  private let workers = SanitizedMutex<[Worker]>([])

  /// Takes ownership of the listener. Returns nil if the system has no daemon or thread left; the
  /// listener is closed then too.
  ///
  /// - Parameter settings: its limit of connections applies to all workers together.
  init?(_ server: ServerContext, _ settings: chttp_settings, count: Int, listener: Int32) {
    defer { close(listener) }
    for number in 0..<count {
      guard let worker = Self.start(server, settings, on: listener, number: number, of: count)
      else {
        stop()
        return nil
      }
      workers.withLock { $0.append(worker) }
    }
  }

  deinit {
    stop()
  }

  /// Ends the threads, then closes the connections. No exchange may be suspended. A second call
  /// does nothing.
  func stop() {
    let workers = workers.withLock { workers in
      defer { workers = [] }
      return workers
    }
    for worker in workers { worker.context.wakeup.signalEnd() }
    for worker in workers { worker.thread.join() }
    for worker in workers {
      withExtendedLifetime(worker.context) { MHD_stop_daemon(worker.daemon) }
    }
  }

  private static func start(
    _ server: ServerContext, _ settings: chttp_settings, on listener: Int32, number: Int,
    of count: Int
  ) -> Worker? {
    guard let wakeup = WakeupEvent() else { return nil }
    let context = WorkerContext(server, wakeup)
    let own = fcntl(listener, F_DUPFD_CLOEXEC, 0)
    guard own >= 0 else { return nil }
    var settings = settings
    settings.context = Unmanaged.passUnretained(context).toOpaque()
    settings.cannot_accept = context.cannotAccept
    settings.connection_limit = share(of: settings.connection_limit, number, of: count)
    // 0 is no limit.
    if settings.address_limit > 0 {
      settings.address_limit = share(of: settings.address_limit, number, of: count)
    }
    guard let daemon = chttp_start(&settings, own) else {
      close(own)
      return nil
    }
    let loop = Loop(daemon: daemon, context: context, set: chttp_epoll_set(daemon))
    guard wakeup.add(to: loop.set),
      let thread = JoinableThread("http-\(number)", stackSize: stackSize, { loop.run() })
    else {
      MHD_stop_daemon(daemon)
      return nil
    }
    return Worker(daemon: daemon, context: context, thread: thread)
  }

  /// A worker's share of the limit. The shares differ by at most one and add up to the limit.
  private static func share(of limit: UInt32, _ number: Int, of count: Int) -> UInt32 {
    let (each, rest) = Int(limit).quotientAndRemainder(dividingBy: count)
    return UInt32(max(1, number < rest ? each + 1 : each))
  }

  /// The main loop of one worker: wait, run the daemon, repeat.
  private struct Loop: @unchecked Sendable {
    /// The number of connections below which a batch cannot be full: a batch is 128 events, of
    /// which the listener and the wakeup event have one each.
    private static let fewConnections = 120
    /// The microseconds between two attempts to accept while descriptors are exhausted.
    private static let exhaustedPause: UInt32 = 100_000

    let daemon: OpaquePointer
    let context: WorkerContext
    let set: Int32

    func run() {
      let wakeup = context.wakeup
      context.replacePages()
      context.server.configuration.certificate?.useOnThisThread()
      while !wakeup.isEnding {
        if chttp_connection_count(daemon) <= Self.fewConnections {
          MHD_run_wait(daemon, -1)
          _ = wakeup.consume()
          pauseIfExhausted()
        } else {
          context.hasEnded = false
          MHD_run(daemon)
          // The daemon may have consumed the edge of a wakeup after it had looked for resumed
          // connections. A full daemon watches its listener again only when it runs the next time.
          if !wakeup.consume(), !context.hasEnded { wait() }
        }
      }
    }

    /// Pauses if the worker has no connections and the system cannot accept one. libmicrohttpd
    /// stops accepting only if it has a connection whose end makes it start again; otherwise the
    /// listener would wake the worker continuously. Such a worker serves no connection.
    private func pauseIfExhausted() {
      guard context.cannotAccept.pointee != 0 else { return }
      context.cannotAccept.pointee = 0
      if chttp_connection_count(daemon) == 0 { usleep(Self.exhaustedPause) }
    }

    /// Sleeps until something is ready or a connection's time limit passes.
    private func wait() {
      var milliseconds: UInt64 = 0
      let isTimed = MHD_get_timeout(daemon, &milliseconds) == chttp_yes
      guard !isTimed || milliseconds > 0 else { return }
      var watched = pollfd(fd: set, events: Int16(POLLIN), revents: 0)
      poll(&watched, 1, isTimed ? Int32(clamping: milliseconds) : -1)
    }
  }
}
