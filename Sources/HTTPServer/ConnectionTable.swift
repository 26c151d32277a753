// All connections of a server, by descriptor.
//
// Its users are the hangup watch (whose peer has finished?), the sweep (who has been reading too
// long?) and the stop (who is still suspended?). Split into stripes, each with its own lock, so
// that workers do not meet.

import CMicrohttpd
import Glibc

/// The open connections of one server.
final class ConnectionTable: Sendable {
  private struct Rows {
    var connections: [Int32: Connection] = [:]
    var isDraining = false
  }

  /// Guards the rows and, of each connection in them, `parked`.
  private final class Stripe: Sendable {
    let rows = SanitizedMutex(Rows())
  }

  private let stripes: [Stripe] = (0..<64).map { _ in Stripe() }
  /// The epoll set that watches all connections for hangups.
  private let watchSet: Int32

  init(watchSet: Int32) {
    self.watchSet = watchSet
  }

  private func stripe(_ descriptor: Int32) -> Stripe {
    stripes[Int(truncatingIfNeeded: descriptor & 63)]
  }

  /// Adds an accepted connection and watches it for hangups. Costs one system call.
  func insert(_ connection: Connection) {
    stripe(connection.descriptor).rows.withLock {
      $0.connections[connection.descriptor] = connection
    }
    _ = chttp_watch(watchSet, EPOLL_CTL_ADD, connection.descriptor, chttp_hangups)
  }

  /// To be called before the descriptor is closed.
  func remove(_ connection: Connection) {
    let parked = stripe(connection.descriptor).rows.withLock { rows in
      if rows.connections[connection.descriptor] === connection {
        rows.connections[connection.descriptor] = nil
      }
      defer { connection.parked = nil }
      return connection.parked
    }
    _ = parked
  }

  /// Notes that `exchange` is about to be suspended. False if the server is draining: then it must
  /// not be suspended.
  func park(_ exchange: ExchangeState, on connection: Connection) -> Bool {
    stripe(connection.descriptor).rows.withLock { rows in
      guard !rows.isDraining else { return false }
      connection.parked = exchange
      return true
    }
  }

  /// The connection whose hangup the watch reports. Nil where the report is out of date, because
  /// another connection has the descriptor now.
  func hungUp(on descriptor: Int32) -> Connection? {
    stripe(descriptor).rows.withLock { rows in
      guard let connection = rows.connections[descriptor], connection.hasHungUp else { return nil }
      return connection
    }
  }

  /// The exchange that waits on a connection, if that is still open.
  func parked(on connection: Connection) -> ExchangeState? {
    stripe(connection.descriptor).rows.withLock { rows in
      rows.connections[connection.descriptor] === connection ? connection.parked : nil
    }
  }

  /// What a connection does some time after its peer has finished sending.
  enum Remainder {
    case closed
    case open
    case waiting(ExchangeState)
  }

  /// Has the worker read the end of a connection whose peer has finished sending, unless an
  /// exchange waits there.
  ///
  /// libmicrohttpd 0.9.75 does not read again after a read that did not fill its buffer, so a FIN
  /// right behind the bytes of a request is lost to it. Shutting down the reading side makes the
  /// kernel report the descriptor to the worker's epoll set once more. Bytes that were received
  /// before the FIN can still be read.
  func readEnd(of connection: Connection) -> Remainder {
    stripe(connection.descriptor).rows.withLock { rows in
      guard rows.connections[connection.descriptor] === connection else { return .closed }
      if let parked = connection.parked { return .waiting(parked) }
      shutdown(connection.descriptor, Int32(SHUT_RD))
      return .open
    }
  }

  func unpark(_ connection: Connection) {
    let parked = stripe(connection.descriptor).rows.withLock { _ in
      defer { connection.parked = nil }
      return connection.parked
    }
    _ = parked
  }

  /// From now on nothing can be parked; all that were.
  func drain() -> [ExchangeState] {
    stripes.flatMap { stripe in
      stripe.rows.withLock { rows in
        rows.isDraining = true
        return rows.connections.values.compactMap(\.parked)
      }
    }
  }

  /// How many connections have a request in hand.
  var workingCount: Int {
    stripes.reduce(0) { count, stripe in
      stripe.rows.withLock { rows in
        count + rows.connections.values.count { $0.state.activity == .working }
      }
    }
  }

  /// How many connections have an exchange that was suspended and is not over.
  var waitingCount: Int {
    stripes.reduce(0) { count, stripe in
      stripe.rows.withLock { rows in
        count + rows.connections.values.count { $0.parked != nil }
      }
    }
  }

  /// Open connections.
  var count: Int {
    stripes.reduce(0) { $0 + $1.rows.withLock { $0.connections.count } }
  }

  /// Shuts down every connection that `isOverdue` picks; its worker then closes it. Safe because a
  /// descriptor is closed only after its connection left the table.
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
