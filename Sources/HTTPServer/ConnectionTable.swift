// All connections of a server, by descriptor.
//
// Who asks: the hangup watch (which exchange waits on this descriptor?), the sweep (who has been
// reading too long?) and the stop (who is still suspended?). Split into stripes, each with its
// own lock, so that workers do not meet.

import CMicrohttpd
import Glibc

/// The open connections of one server.
final class ConnectionTable: Sendable {
  private struct Rows {
    var connections: [Int32: Connection] = [:]
    var isDraining = false
  }

  /// Guards the rows and, of each connection in them, `parked` and `isWatched`.
  private final class Stripe: Sendable {
    let rows = Guarded(Rows())
  }

  private let stripes: [Stripe] = (0..<64).map { _ in Stripe() }
  /// The epoll set that watches suspended connections for hangups.
  private let watchSet: Int32

  init(watchSet: Int32) {
    self.watchSet = watchSet
  }

  private func stripe(_ descriptor: Int32) -> Stripe {
    stripes[Int(truncatingIfNeeded: descriptor & 63)]
  }

  func insert(_ connection: Connection) {
    stripe(connection.descriptor).rows.withLock {
      $0.connections[connection.descriptor] = connection
    }
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

  /// Notes that `exchange` is about to be suspended and has its descriptor watched. False if the
  /// server is draining: then it must not be suspended. Costs one system call.
  func park(_ exchange: ExchangeState, on connection: Connection) -> Bool {
    stripe(connection.descriptor).rows.withLock { rows in
      guard !rows.isDraining else { return false }
      connection.parked = exchange
      watch(connection)
      return true
    }
  }

  /// Arms the edge again where the descriptor is known already: a hangup that came while nobody
  /// was waiting is reported anew.
  private func watch(_ connection: Connection) {
    let operation = connection.isWatched ? EPOLL_CTL_MOD : EPOLL_CTL_ADD
    connection.isWatched =
      chttp_watch(watchSet, operation, connection.descriptor, chttp_hangups) == 0
  }

  func unpark(_ connection: Connection) {
    let parked = stripe(connection.descriptor).rows.withLock { _ in
      defer { connection.parked = nil }
      return connection.parked
    }
    _ = parked
  }

  /// The exchange that waits on a descriptor.
  func parked(on descriptor: Int32) -> ExchangeState? {
    stripe(descriptor).rows.withLock { $0.connections[descriptor]?.parked }
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
