// When a quiet connection is probed.
//
// A peer that lost its power is noticed within a minute: while something is sent, by the user
// timeout (a stream sends at least every 15 s); while nothing is, by probes, one of which has to be
// answered within that timeout too.
//
// Ten thousand connections that were all answered at one moment must not be probed at one moment:
// the probes would overflow the kernel's queue (1,000 packets on loopback), the next ones as well,
// and the clients pass for dead. So each connection has its own rhythm, and many tries.

import CMicrohttpd
import Glibc

/// The rhythm of one connection's probes.
struct KeepAlive: Equatable {
  /// Milliseconds without an answer after which a connection is over. Looked at when a probe is
  /// due, so up to one interval late.
  static let userTimeout: Int32 = 40_000

  /// Seconds of quiet before the first probe.
  let idle: Int32
  /// Seconds between probes.
  let interval: Int32

  /// Neighbouring descriptors are far apart: 16 beginnings, three intervals.
  init(descriptor: Int32) {
    let number = descriptor & .max
    idle = 8 + number % 16
    interval = 3 + number / 16 % 3
  }

  func apply(to descriptor: Int32) {
    ListenSocket.set(descriptor, Int32(IPPROTO_TCP), TCP_KEEPIDLE, idle)
    ListenSocket.set(descriptor, Int32(IPPROTO_TCP), TCP_KEEPINTVL, interval)
  }
}
