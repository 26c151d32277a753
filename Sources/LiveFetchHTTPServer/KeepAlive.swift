// TCP keep-alive settings of idle connections.
//
// A peer that lost power is detected within a minute: by the user timeout while data is sent (a
// stream sends at least every 15 s), otherwise by probes, which must be answered within the same
// timeout.
//
// Probing ten thousand connections at the same time would overflow the kernel's queue (1,000
// packets on loopback), and live clients would be considered dead. Each connection therefore has
// its own intervals and many retries.

import CMicrohttpd
import Glibc

/// The probe intervals of one connection.
struct KeepAlive: Equatable {
  /// Milliseconds without a response after which a connection is closed. Checked when a probe is
  /// due, so up to one interval late.
  static let userTimeout: Int32 = 40_000

  /// Seconds of silence before the first probe.
  let idle: Int32
  /// Seconds between probes.
  let interval: Int32

  /// Spreads consecutive descriptors over 16 start times and three intervals.
  init(descriptor: Int32) {
    let number = descriptor & .max
    idle = 8 + number % 16
    interval = 3 + number / 16 % 3
  }

  func apply(to descriptor: Int32) {
    ListenSocket.set(descriptor, Int32(IPPROTO_TCP), TCP_KEEPIDLE, to: idle)
    ListenSocket.set(descriptor, Int32(IPPROTO_TCP), TCP_KEEPINTVL, to: interval)
  }
}
