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
public func threadTime() -> Duration {
  var now = timespec()
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now)
  return .seconds(now.tv_sec) + .nanoseconds(now.tv_nsec)
}
