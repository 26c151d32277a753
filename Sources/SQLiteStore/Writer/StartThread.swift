// A closure → a thread of its own. For loops that live as long as the store: a task would hold one
// of the few threads that tasks share.

#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

private final class ThreadBody {
  let run: @Sendable () -> Void
  init(_ run: @escaping @Sendable () -> Void) { self.run = run }
}

/// Runs `body` on a new detached thread; false if the system has none left.
func startThread(_ body: @escaping @Sendable () -> Void) -> Bool {
  let context = Unmanaged.passRetained(ThreadBody(body))
  #if canImport(Glibc)
    var thread = pthread_t()
    let code = pthread_create(
      &thread, nil,
      { context in
        context.map { Unmanaged<ThreadBody>.fromOpaque($0).takeRetainedValue().run() }
        return nil
      }, context.toOpaque())
  #else
    var thread: pthread_t?
    let code = pthread_create(
      &thread, nil,
      { context in
        Unmanaged<ThreadBody>.fromOpaque(context).takeRetainedValue().run()
        return nil
      }, context.toOpaque())
  #endif
  guard code == 0 else {
    context.release()
    return false
  }
  #if canImport(Glibc)
    pthread_detach(thread)
  #else
    if let thread { pthread_detach(thread) }
  #endif
  return true
}
