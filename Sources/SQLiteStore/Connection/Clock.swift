// The clocks: the date for clients, and a date without jumps for the age of the history.

import LiveFetchCLibrary

/// Seconds since 1970.
func currentSeconds() -> Double {
  var time = timespec()
  clock_gettime(CLOCK_REALTIME, &time)
  return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
}

/// Seconds since 1970 for measuring ages. It is never later than the date, and after the first call
/// never faster than the monotonic clock, so a date that jumps forward does not make everything old
/// at once.
func steadySeconds() -> Double {
  SteadyDate.ofProcess.seconds(date: currentSeconds(), uptime: uptimeSeconds())
}

/// A date that advances with the system's uptime.
struct SteadyDate: Sendable {
  fileprivate static let ofProcess = SteadyDate(date: currentSeconds(), uptime: uptimeSeconds())

  /// The date at which the system started, computed at initialization.
  private let origin: Double

  init(date: Double, uptime: Double) { origin = date - uptime }

  func seconds(date: Double, uptime: Double) -> Double { min(date, origin + uptime) }
}

/// Seconds since the system started, including sleep.
private func uptimeSeconds() -> Double {
  var time = timespec()
  #if !canImport(Darwin)
    clock_gettime(CLOCK_BOOTTIME, &time)
  #else
    clock_gettime(CLOCK_MONOTONIC, &time)
  #endif
  return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
}
