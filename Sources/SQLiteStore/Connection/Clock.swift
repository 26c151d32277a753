// The clocks: one that never goes back, for deadlines; the date, for what is told; and a date that
// does not jump, for what is forgotten by age.

#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// Nanoseconds on a clock that never goes back.
func monotonicNanoseconds() -> UInt64 {
  var time = timespec()
  clock_gettime(CLOCK_MONOTONIC, &time)
  return UInt64(time.tv_sec) &* 1_000_000_000 &+ UInt64(time.tv_nsec)
}

/// Seconds since 1970.
func currentSeconds() -> Double {
  var time = timespec()
  clock_gettime(CLOCK_REALTIME, &time)
  return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
}

/// Seconds since 1970 for saying how old something is: no later than the date, and from the first
/// call on not faster than time itself. A date that jumps forward thus makes nothing old at once.
func steadySeconds() -> Double {
  SteadyDate.ofProcess.seconds(date: currentSeconds(), uptime: uptimeSeconds())
}

/// A date that goes on by the time that passed since it began.
struct SteadyDate: Sendable {
  fileprivate static let ofProcess = SteadyDate(date: currentSeconds(), uptime: uptimeSeconds())

  /// The date when the system started, as far as the beginning knew.
  private let origin: Double

  init(date: Double, uptime: Double) { origin = date - uptime }

  func seconds(date: Double, uptime: Double) -> Double { min(date, origin + uptime) }
}

/// Seconds since the system was started, also those that it slept.
private func uptimeSeconds() -> Double {
  var time = timespec()
  #if canImport(Glibc)
    clock_gettime(CLOCK_BOOTTIME, &time)
  #else
    clock_gettime(CLOCK_MONOTONIC, &time)
  #endif
  return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
}
