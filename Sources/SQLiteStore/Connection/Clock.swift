// The two clocks: one that never goes back, for deadlines, and the date, for the history.

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
