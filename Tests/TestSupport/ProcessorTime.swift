// Work → the processor time that it took, which does not grow while other processes run.

#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// The processor time of this thread that `body` takes.
public func processorTime(of body: () throws -> Void) rethrows -> Duration {
  let start = threadTime()
  try body()
  return threadTime() - start
}

/// The processor time of the current thread since its start.
public func threadTime() -> Duration { time(of: CLOCK_THREAD_CPUTIME_ID) }

/// The value of a clock.
public func time(of clock: clockid_t) -> Duration {
  var now = timespec()
  clock_gettime(clock, &now)
  return .seconds(now.tv_sec) + .nanoseconds(now.tv_nsec)
}

#if canImport(Glibc)
  /// The processor time that a process has used; nil if it has ended.
  public func processorTime(ofProcess id: pid_t) -> Duration? {
    var clock = clockid_t()
    return clock_getcpuclockid(id, &clock) == 0 ? time(of: clock) : nil
  }
#endif
