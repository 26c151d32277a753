// The system clock.

import LiveFetchCLibrary

extension Instant {
  /// The current time of the system clock.
  public static var now: Instant {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return Instant(seconds: Int64(time.tv_sec), nanoseconds: Int32(time.tv_nsec))
  }
}
