// One TCP connection: its descriptor, its address, and what it is doing since when.
//
// Owned by libmicrohttpd's socket context from accept to close, and by the connection table. The
// descriptor is open exactly as long as the table holds the connection.

import CMicrohttpd
import Glibc
import Synchronization

/// One TCP connection.
final class Connection: Sendable {
  /// What a connection is doing; kept in the low bits beside the time it began.
  enum Activity: UInt64 {
    /// Accepted; its first request's head has not been read.
    case fresh = 0
    /// Between requests, or a later request's head is being read.
    case idle = 1
    /// A body is being read.
    case receiving = 2
    /// A request is with its handler, suspended, or being answered.
    case working = 3
  }

  private static let opened = Atomic<UInt64>(0)

  let descriptor: Int32
  /// Tells the connections of this process apart.
  let number: UInt64
  private let address: SocketAddress
  /// Milliseconds since boot, shifted by two, and the activity.
  private let clock: Atomic<UInt64>
  /// Body bytes of the present request; the sweep grants them time.
  let bodyBytes = Atomic<Int>(0)
  /// Set when no further request may be read from this connection.
  let isSpent = Atomic<Bool>(false)
  /// True once the peer has closed its sending side, or all of the connection. Used by the hangup
  /// watch alone.
  nonisolated(unsafe) var peerHasFinished = false
  /// The exchange that is or was last suspended here. Guarded by the table's stripe.
  nonisolated(unsafe) var parked: ExchangeState?

  init(descriptor: Int32) {
    self.descriptor = descriptor
    number = Self.opened.add(1, ordering: .relaxed).newValue
    address = SocketAddress(peerOf: descriptor)
    clock = Atomic(Self.stamp(.fresh))
  }

  func begin(_ activity: Activity) {
    clock.store(Self.stamp(activity), ordering: .relaxed)
  }

  /// What it is doing, and for how many milliseconds.
  var state: (activity: Activity, milliseconds: UInt64) {
    let value = clock.load(ordering: .relaxed)
    let activity = Activity(rawValue: value & 3) ?? .working
    let now = coarseMilliseconds()
    let since = value >> 2
    return (activity, now > since ? now &- since : 0)
  }

  private static func stamp(_ activity: Activity) -> UInt64 {
    coarseMilliseconds() << 2 | activity.rawValue
  }

  /// The numeric address of the client, made when asked for.
  var remoteAddress: String {
    address.numericHost
  }

  /// Asks the kernel. To be called only while the descriptor cannot be closed.
  var hasHungUp: Bool {
    var query = pollfd(fd: descriptor, events: Int16(truncatingIfNeeded: 0x2000), revents: 0)
    return poll(&query, 1, 0) > 0
  }
}

extension Connection {
  /// Replaces the socket by one without anything to read, and returns the connection's own; nil if
  /// descriptors are exhausted.
  ///
  /// libmicrohttpd 0.9.75 reads once when a suspended connection is resumed, and closes it without
  /// an answer where it reads a FIN. Only for a suspended connection, before it is resumed: its
  /// descriptor is then in no epoll set of libmicrohttpd. The set of the hangup watch keeps the
  /// connection's own socket under its old number.
  func hideEnd() -> Int32? {
    let kind = Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue)
    let silent = socket(AF_UNIX, kind | Int32(SOCK_CLOEXEC.rawValue), 0)
    guard silent >= 0 else { return nil }
    defer { close(silent) }
    let own = fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
    guard own >= 0 else { return nil }
    replaceSocket(by: silent)
    return own
  }

  /// Restores the socket that ``hideEnd()`` returned.
  func showEnd(_ own: Int32) {
    replaceSocket(by: own)
    close(own)
  }

  private func replaceSocket(by other: Int32) {
    dup2(other, descriptor)
    _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
  }
}

/// Milliseconds of the monotonic clock at the kernel's tick: a few nanoseconds to read, a few
/// milliseconds exact.
func coarseMilliseconds() -> UInt64 {
  var now = timespec()
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now)
  return UInt64(truncatingIfNeeded: now.tv_sec) &* 1000
    &+ UInt64(truncatingIfNeeded: now.tv_nsec) / 1_000_000
}
