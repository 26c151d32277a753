// All connections of a server, by descriptor.
//
// Its users are the disconnect monitor (connections whose peer has finished sending), the sweep
// (connections that have been reading for too long) and the stop (suspended exchanges). The table
// is split into stripes, each with its own lock, so that workers rarely wait for each other.

import CMicrohttpd
import Glibc

/// The open connections of one server.
final class ConnectionTable: Sendable {
  private struct Rows {
    var connections: [Int32: Connection] = [:]
    var isDraining = false
  }

  /// Protects the rows and the property `lastSuspended` of each connection in them.
  private final class Stripe: Sendable {
    let rows = SanitizedMutex(Rows())
  }

  private let stripes: [Stripe] = (0..<64).map { _ in Stripe() }
  /// The epoll set that reports when the peer of any connection has finished sending.
  private let watchSet: Int32

  init(watchSet: Int32) {
    self.watchSet = watchSet
  }

  private func stripe(_ descriptor: Int32) -> Stripe {
    stripes[Int(truncatingIfNeeded: descriptor & 63)]
  }

  /// Adds an accepted connection to the table and to the epoll set. One system call.
  func insert(_ connection: Connection) {
    stripe(connection.descriptor).rows.withLock {
      $0.connections[connection.descriptor] = connection
    }
    _ = chttp_watch(watchSet, EPOLL_CTL_ADD, connection.descriptor, chttp_hangups)
  }

  /// Removes a connection. Call before its descriptor is closed.
  func remove(_ connection: Connection) {
    let suspended = stripe(connection.descriptor).rows.withLock { rows in
      if rows.connections[connection.descriptor] === connection {
        rows.connections[connection.descriptor] = nil
      }
      defer { connection.lastSuspended = nil }
      return connection.lastSuspended
    }
    _ = suspended
  }

  /// Records that `exchange` is about to be suspended. Returns false if the server is draining;
  /// then it must not be suspended.
  func park(_ exchange: ExchangeState, on connection: Connection) -> Bool {
    stripe(connection.descriptor).rows.withLock { rows in
      guard !rows.isDraining else { return false }
      connection.lastSuspended = exchange
      return true
    }
  }

  /// The connection for which the epoll set reported an event; nil if the report is out of date
  /// because the descriptor belongs to another connection now.
  func hungUp(on descriptor: Int32) -> Connection? {
    stripe(descriptor).rows.withLock { rows in
      guard let connection = rows.connections[descriptor], connection.peerHasClosed else {
        return nil
      }
      return connection
    }
  }

  /// The suspended exchange of a connection that is still open.
  func lastSuspended(on connection: Connection) -> ExchangeState? {
    stripe(connection.descriptor).rows.withLock { rows in
      rows.connections[connection.descriptor] === connection ? connection.lastSuspended : nil
    }
  }

  /// The state of a connection some time after its peer has finished sending.
  enum Remainder {
    case closed
    case open
    case waiting(ExchangeState)
  }

  /// Makes the worker read the end of a connection whose peer has finished sending, unless an
  /// exchange is suspended there.
  ///
  /// libmicrohttpd 0.9.75 does not read again after a read that did not fill its buffer, so it
  /// misses a FIN directly after the bytes of a request. Shutting down the reading side makes the
  /// kernel report the descriptor to the worker's epoll set once more. Bytes that were received
  /// before the FIN can still be read. If the worker does not read them, the connection is shut down.
  ///
  /// - Parameter isEncrypted: true if GnuTLS may have the bytes that the worker does not read.
  func readEnd(of connection: Connection, isEncrypted: Bool) -> Remainder {
    stripe(connection.descriptor).rows.withLock { rows in
      guard rows.connections[connection.descriptor] === connection else { return .closed }
      if let suspended = connection.lastSuspended { return .waiting(suspended) }
      let isStalled = connection.countStalls(hasBytes: isEncrypted) > 0
      shutdown(connection.descriptor, Int32(isStalled ? SHUT_RDWR : SHUT_RD))
      return .open
    }
  }

  func unpark(_ connection: Connection) {
    let suspended = stripe(connection.descriptor).rows.withLock { _ in
      defer { connection.lastSuspended = nil }
      return connection.lastSuspended
    }
    _ = suspended
  }

  /// Returns all suspended exchanges. From now on no exchange can be suspended.
  func drain() -> [ExchangeState] {
    stripes.flatMap { stripe in
      stripe.rows.withLock { rows in
        rows.isDraining = true
        return rows.connections.values.compactMap(\.lastSuspended)
      }
    }
  }

  /// The number of connections with a request in progress. O(connections).
  var workingCount: Int {
    stripes.reduce(0) { count, stripe in
      stripe.rows.withLock { rows in
        count + rows.connections.values.count { $0.state.activity == .working }
      }
    }
  }

  /// The number of connections with a suspended exchange that is not complete. O(connections).
  var waitingCount: Int {
    stripes.reduce(0) { count, stripe in
      stripe.rows.withLock { rows in
        count + rows.connections.values.count { $0.lastSuspended != nil }
      }
    }
  }

  /// The number of open connections.
  var count: Int {
    stripes.reduce(0) { $0 + $1.rows.withLock { $0.connections.count } }
  }

  /// Shuts down every connection for which `isOverdue` returns true; its worker then closes it.
  /// Safe because a descriptor is closed only after its connection left the table.
  func sweep(_ isOverdue: (Connection) -> Bool) {
    for stripe in stripes {
      stripe.rows.withLock { rows in
        for connection in rows.connections.values where isOverdue(connection) {
          shutdown(connection.descriptor, Int32(SHUT_RDWR))
        }
      }
    }
  }
}
