// A thread that detects clients that have disconnected or are too slow, which libmicrohttpd does
// not.
//
// Clients that disconnect: an epoll set of all sockets reports every FIN and RST. Clients that send
// a request too slowly: a sweep over all connections once a second.
//
// A FIN does not show whether the client has disconnected or has only finished sending (`nc -N`).
// Promise: a request whose client has finished sending is answered if its response is made within
// `finishedPeerTimeout`, or if it is a save. Other requests end then. An RST ends a request at once.

import CMicrohttpd
import Glibc
import LiveFetchThreads

/// Watches the connections of one server on its own thread.
final class DisconnectMonitor: Sendable {
  /// The epoll set that connections are added to.
  let set: Int32
  private let stopSignal: Int32
  /// Protects the thread, which is joined once.
  private let thread = SanitizedMutex<JoinableThread?>(nil)

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

  /// Ends the thread and joins it.
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
    var finished = FinishedPeers(timeout: server.configuration.finishedPeerTimeout)
    var events = [epoll_event](repeating: epoll_event(), count: 256)
    while true {
      let next = min(nextSweep, finished.nextDeadline)
      let now = coarseMilliseconds()
      let pause = next > now ? Int32(truncatingIfNeeded: next &- now) : 0
      let count = max(0, Int(epoll_wait(set, &events, Int32(events.count), pause)))
      for event in events.prefix(count) {
        let descriptor = withUnsafePointer(to: event) { chttp_event_descriptor($0) }
        if descriptor == stopSignal { return }
        let isReset = withUnsafePointer(to: event) { chttp_event_is_reset($0) } != 0
        recordHangup(descriptor, isReset: isReset, server.table, &finished)
      }
      for connection in finished.takeOverdue() { end(connection, server, &finished) }
      if coarseMilliseconds() >= nextSweep {
        server.table.sweep(server.isOverdue)
        nextSweep = coarseMilliseconds() &+ 1000
      }
      // Workers close most connections that end within this pause, so these need no report.
      if count > 0, count < events.count { usleep(batchPause) }
    }
  }

  private static func recordHangup(
    _ descriptor: Int32, isReset: Bool, _ table: ConnectionTable, _ finished: inout FinishedPeers
  ) {
    guard let connection = table.hungUp(on: descriptor) else { return }
    if isReset { table.lastSuspended(on: connection)?.hangUp(isReset: true) }
    if !connection.peerHasFinished {
      connection.peerHasFinished = true
      finished.add(connection)
    }
  }

  /// Ends the suspended exchange of a connection, or makes its worker read the end. Checks again
  /// later until the connection is closed, because its worker may not have been ready for either.
  private static func end(
    _ connection: Connection, _ server: ServerContext, _ finished: inout FinishedPeers
  ) {
    let isEncrypted = server.configuration.certificate != nil
    switch server.table.readEnd(of: connection, isEncrypted: isEncrypted) {
    case .closed: return
    case .open: break
    case .waiting(let exchange): exchange.hangUp(isReset: false)
    }
    finished.add(connection)
  }

  /// The microseconds for which reports are collected.
  private static let batchPause: UInt32 = 10_000
}

/// Connections whose peers have finished sending, in the order of their next check.
private struct FinishedPeers {
  private let milliseconds: UInt64
  private var entries: [(deadline: UInt64, connection: Connection)] = []

  init(timeout seconds: Double) {
    milliseconds = UInt64(max(0.01, min(seconds, 3600)) * 1000)
  }

  var nextDeadline: UInt64 { entries.first?.deadline ?? .max }

  mutating func add(_ connection: Connection) {
    entries.append((coarseMilliseconds() &+ milliseconds, connection))
  }

  mutating func takeOverdue() -> [Connection] {
    let now = coarseMilliseconds()
    let overdue = entries.prefix { $0.deadline <= now }.map(\.connection)
    entries.removeFirst(overdue.count)
    return overdue
  }
}
