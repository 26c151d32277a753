// One TCP connection: its descriptor, its address, its current activity and the time at which that
// began.
//
// Owned by libmicrohttpd's socket context from accept to close, and by the connection table. The
// descriptor is open exactly as long as the table holds the connection.

import CMicrohttpd
import Glibc
import Synchronization

/// One TCP connection.
final class Connection: Sendable {
  /// The activity of a connection. It is stored in the low bits of the time at which it began.
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
  /// Identifies the connection within this process.
  let number: UInt64
  /// nil unless the peer has an IP address.
  let address: IPAddress?
  /// Milliseconds since boot, shifted by two, and the activity.
  private let startAndActivity: Atomic<UInt64>
  /// The bytes of the current request's body. Each 16 KiB extend the body's time limit by a second.
  let bodyBytes = Atomic<Int>(0)
  /// True if no further request may be read from this connection.
  let isClosing = Atomic<Bool>(false)
  /// The current request, once its request line was read. Used only by the connection's worker.
  nonisolated(unsafe) var exchange: ExchangeState?
  /// The target of the last request, as sent. Used only by the connection's worker.
  nonisolated(unsafe) var lastTarget = ""
  /// True once the peer has closed its sending side, or the whole connection. Used only by the
  /// disconnect monitor.
  nonisolated(unsafe) var peerHasFinished = false
  /// The body's bytes at the last check, and the number of consecutive checks that found no further
  /// ones although the socket has bytes. Used only by the disconnect monitor.
  nonisolated(unsafe) private var progress = (bytes: -1, stalls: 0)
  /// The exchange that is, or last was, suspended here. Protected by the lock of the table's
  /// stripe.
  nonisolated(unsafe) var lastSuspended: ExchangeState?

  init(descriptor: Int32) {
    self.descriptor = descriptor
    number = Self.opened.add(1, ordering: .relaxed).newValue
    address = IPAddress(peerOf: descriptor)
    startAndActivity = Atomic(Self.stamp(.fresh))
  }

  func begin(_ activity: Activity) {
    startAndActivity.store(Self.stamp(activity), ordering: .relaxed)
  }

  /// The current activity, and its duration in milliseconds.
  var state: (activity: Activity, milliseconds: UInt64) {
    let value = startAndActivity.load(ordering: .relaxed)
    let activity = Activity(rawValue: value & 3) ?? .working
    let now = coarseMilliseconds()
    let since = value >> 2
    return (activity, now > since ? now &- since : 0)
  }

  private static func stamp(_ activity: Activity) -> UInt64 {
    coarseMilliseconds() << 2 | activity.rawValue
  }

  /// True if the peer has closed its sending side or the connection, as the kernel reports. Call
  /// only while the descriptor cannot be closed.
  var peerHasClosed: Bool {
    // POLLRDHUP, which Glibc's module does not export.
    var query = pollfd(fd: descriptor, events: Int16(truncatingIfNeeded: 0x2000), revents: 0)
    return poll(&query, 1, 0) > 0
  }
}

// MARK: - Bodies that are not read

extension Connection {
  /// Checks whether bytes of the body were read since the last check. Returns the number of
  /// consecutive checks that found none although there are bytes to read.
  ///
  /// libmicrohttpd 0.9.75 reads no more if a chunk's size line is longer than its buffer: it neither
  /// refuses the request nor sees its end.
  ///
  /// - Parameter hasBytes: true if there are bytes to read, also if the socket has none, because GnuTLS
  ///   has read them.
  func countStalls(hasBytes: Bool = false) -> Int {
    let bytes = bodyBytes.load(ordering: .relaxed)
    var next: UInt8 = 0
    let flags = Int32(MSG_PEEK) | Int32(MSG_DONTWAIT)
    let isStalled =
      state.activity == .receiving && !isClosing.load(ordering: .relaxed)
      && bytes == progress.bytes && (hasBytes || recv(descriptor, &next, 1, flags) == 1)
    progress = (bytes, isStalled ? progress.stalls + 1 : 0)
    return progress.stalls
  }
}

extension Connection {
  /// Replaces the socket by one without anything to read. Returns the connection's own socket; nil if
  /// descriptors are exhausted.
  ///
  /// libmicrohttpd 0.9.75 reads once when a suspended connection is resumed, and closes it without
  /// a response if it reads a FIN. Only for a suspended connection, before it is resumed: its
  /// descriptor is then in no epoll set of libmicrohttpd. The epoll set of the disconnect monitor
  /// keeps the connection's own socket under its old number.
  func silenceSocket() -> Int32? {
    let kind = Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue)
    let silent = socket(AF_UNIX, kind | Int32(SOCK_CLOEXEC.rawValue), 0)
    guard silent >= 0 else { return nil }
    defer { close(silent) }
    let own = fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
    guard own >= 0 else { return nil }
    replaceSocket(by: silent)
    return own
  }

  /// Restores the socket that ``silenceSocket()`` returned.
  func restoreSocket(_ own: Int32) {
    replaceSocket(by: own)
    close(own)
  }

  private func replaceSocket(by other: Int32) {
    dup2(other, descriptor)
    _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
  }
}

/// Milliseconds of the monotonic clock, as of the kernel's last tick: reading takes nanoseconds,
/// the error is a few milliseconds.
func coarseMilliseconds() -> UInt64 {
  var now = timespec()
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now)
  return UInt64(truncatingIfNeeded: now.tv_sec) &* 1000
    &+ UInt64(truncatingIfNeeded: now.tv_nsec) / 1_000_000
}
