// The threads that run libmicrohttpd: each has a daemon of its own, all accept from one port.
//
// libmicrohttpd 0.9.75 drains its epoll set 128 events at a time, and waits again, without end,
// after a batch that was full: when as many as 128 sockets (or a multiple) are ready and no more,
// its own threads sleep on requests that they have been told of. So the waiting is done here
// wherever a batch can be full.

import CMicrohttpd
import Glibc
import Threads

/// What the callbacks of one worker's daemon are given.
final class WorkerContext: Sendable {
  let server: ServerContext
  let bell: WakeupEvent
  /// Whether a connection has ended since the worker last asked. Used by the worker alone.
  nonisolated(unsafe) var hasEnded = false
  /// Not 0 if the system had no descriptor or memory for a new connection since the worker last
  /// looked. Used by the worker alone.
  nonisolated(unsafe) let cannotAccept = UnsafeMutablePointer<Int32>.allocate(capacity: 1)

  init(_ server: ServerContext, _ bell: WakeupEvent) {
    self.server = server
    self.bell = bell
    cannotAccept.initialize(to: 0)
  }

  deinit { cannotAccept.deallocate() }
}

/// Running workers; to be stopped once.
final class HTTPWorkers: Sendable {
  private struct Worker: @unchecked Sendable {
    let daemon: OpaquePointer
    let context: WorkerContext
    let thread: JoinableThread
  }

  /// Handlers parse what clients nest: the deepest that they accept needs more than a megabyte
  /// without optimisation. Only pages that were touched are memory.
  private static let stackSize = 8 << 20

  /// Guards the workers, so that they are stopped once.
  private let workers = SanitizedMutex<[Worker]>([])

  /// Takes the listener over. Nil if the system has no daemon or thread to give; the listener is
  /// closed then too.
  ///
  /// - Parameter settings: whose limit of connections is that of all workers together.
  init?(_ server: ServerContext, _ settings: chttp_settings, count: Int, listener: Int32) {
    defer { close(listener) }
    for number in 0..<count {
      guard let worker = Self.start(server, settings, listener, number: number, of: count) else {
        stop()
        return nil
      }
      workers.withLock { $0.append(worker) }
    }
  }

  deinit {
    stop()
  }

  /// Ends the threads, then closes the connections. Nothing may be suspended any more. A second
  /// call does nothing.
  func stop() {
    let workers = workers.withLock { workers in
      defer { workers = [] }
      return workers
    }
    for worker in workers { worker.context.bell.ringForEnd() }
    for worker in workers { worker.thread.join() }
    for worker in workers {
      withExtendedLifetime(worker.context) { MHD_stop_daemon(worker.daemon) }
    }
  }

  private static func start(
    _ server: ServerContext, _ settings: chttp_settings, _ listener: Int32, number: Int,
    of count: Int
  ) -> Worker? {
    guard let bell = WakeupEvent() else { return nil }
    let context = WorkerContext(server, bell)
    let own = fcntl(listener, F_DUPFD_CLOEXEC, 0)
    guard own >= 0 else { return nil }
    var settings = settings
    settings.context = Unmanaged.passUnretained(context).toOpaque()
    settings.cannot_accept = context.cannotAccept
    settings.connection_limit = share(of: settings.connection_limit, number, of: count)
    guard let daemon = chttp_start(&settings, own) else {
      close(own)
      return nil
    }
    let loop = Loop(daemon: daemon, context: context, set: chttp_epoll_set(daemon))
    guard bell.hang(in: loop.set),
      let thread = JoinableThread("http-\(number)", stackSize: stackSize, { loop.run() })
    else {
      MHD_stop_daemon(daemon)
      return nil
    }
    return Worker(daemon: daemon, context: context, thread: thread)
  }

  /// The shares differ by one at most and add up to the limit.
  private static func share(of limit: UInt32, _ number: Int, of count: Int) -> UInt32 {
    let (each, rest) = Int(limit).quotientAndRemainder(dividingBy: count)
    return UInt32(max(1, number < rest ? each + 1 : each))
  }

  /// One worker's life: wait, run, again.
  private struct Loop: @unchecked Sendable {
    /// With fewer connections a batch cannot be full: events are 128, and the listener and the bell
    /// have one each.
    private static let fewConnections = 120
    /// Microseconds between two tries to accept where descriptors are exhausted.
    private static let exhaustedPause: UInt32 = 100_000

    let daemon: OpaquePointer
    let context: WorkerContext
    let set: Int32

    func run() {
      let bell = context.bell
      while !bell.isOver {
        if chttp_connection_count(daemon) <= Self.fewConnections {
          MHD_run_wait(daemon, -1)
          _ = bell.hear()
          pauseIfExhausted()
        } else {
          context.hasEnded = false
          MHD_run(daemon)
          // It may have taken a ring's edge after it had looked for what was resumed; and where it
          // was full, it watches its listener again when it is run the next time.
          if !bell.hear(), !context.hasEnded { wait() }
        }
      }
    }

    /// libmicrohttpd does not stop accepting where it has no connection whose end could make it
    /// start again: the listener would wake the worker without end. Such a worker serves nobody.
    private func pauseIfExhausted() {
      guard context.cannotAccept.pointee != 0 else { return }
      context.cannotAccept.pointee = 0
      if chttp_connection_count(daemon) == 0 { usleep(Self.exhaustedPause) }
    }

    /// Sleeps until something is ready, or a connection's time is over.
    private func wait() {
      var milliseconds: UInt64 = 0
      let isTimed = MHD_get_timeout(daemon, &milliseconds) == chttp_yes
      guard !isTimed || milliseconds > 0 else { return }
      var watched = pollfd(fd: set, events: Int16(POLLIN), revents: 0)
      poll(&watched, 1, isTimed ? Int32(clamping: milliseconds) : -1)
    }
  }
}
