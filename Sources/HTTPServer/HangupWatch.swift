// The thread that notices what libmicrohttpd does not.
//
// Clients that leave while their connection is suspended: an epoll set of the suspended sockets.
// Clients that are too slow in asking: a sweep over all connections once a second.

import CMicrohttpd
import Glibc
import Threads

/// Watches the connections of one server, on a thread of its own.
final class HangupWatch: Sendable {
  /// The epoll set that connections are added to.
  let set: Int32
  private let stopSignal: Int32
  /// Guards the thread, so that it is joined once.
  private let thread = Guarded<JoinableThread?>(nil)

  init() throws(HTTPServerError) {
    set = epoll_create1(Int32(EPOLL_CLOEXEC))
    stopSignal = eventfd(0, Int32(EFD_CLOEXEC))
    guard set >= 0, stopSignal >= 0,
      chttp_watch(set, EPOLL_CTL_ADD, stopSignal, chttp_input) == 0
    else { throw .cannotStart }
  }

  deinit {
    close(set)
    close(stopSignal)
  }

  func start(_ server: ServerContext) throws(HTTPServerError) {
    let (set, stopSignal) = (set, stopSignal)
    let started = JoinableThread("http-watch") {
      Self.run(set: set, stopSignal: stopSignal, server)
    }
    guard let started else { throw .cannotStart }
    thread.withLock { $0 = started }
  }

  /// Ends the thread and waits for its end.
  func stop() {
    let running = thread.withLock { thread in
      defer { thread = nil }
      return thread
    }
    guard let running else { return }
    eventfd_write(stopSignal, 1)
    running.join()
  }

  private static func run(set: Int32, stopSignal: Int32, _ server: ServerContext) {
    var nextSweep = coarseMilliseconds() &+ 1000
    var events = [epoll_event](repeating: epoll_event(), count: 256)
    while true {
      let now = coarseMilliseconds()
      let pause = nextSweep > now ? Int32(truncatingIfNeeded: nextSweep &- now) : 0
      let count = Int(epoll_wait(set, &events, Int32(events.count), pause))
      for event in events.prefix(max(count, 0)) {
        let descriptor = withUnsafePointer(to: event) { chttp_event_descriptor($0) }
        if descriptor == stopSignal { return }
        server.table.parked(on: descriptor)?.hangUp()
      }
      if coarseMilliseconds() >= nextSweep {
        server.table.sweep(server.isOverdue)
        nextSweep = coarseMilliseconds() &+ 1000
      }
    }
  }
}
