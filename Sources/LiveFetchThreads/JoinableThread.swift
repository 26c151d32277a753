// A thread that runs a closure and can be joined when it ends.

import CThreads
import LiveFetchCLibrary

/// A running thread. Call ``join()`` or ``detach()`` exactly once.
package struct JoinableThread: @unchecked Sendable {
  private final class Body: Sendable {
    let name: String
    let run: @Sendable () -> Void

    init(_ name: String, _ run: @escaping @Sendable () -> Void) {
      self.name = name
      self.run = run
    }
  }

  private let thread: pthread_t

  /// Starts the thread, with the normal priority. Returns nil if the system cannot create one.
  ///
  /// - Parameter stackSize: in bytes; nil for the system's default.
  package init?(_ name: String, stackSize: Int? = nil, _ run: @escaping @Sendable () -> Void) {
    let start = { @Sendable in Self.startHere(name, stackSize: stackSize, run) }
    guard let thread = ThreadStarter.ifNeeded.map({ $0.run(start) }) ?? start() else { return nil }
    self = thread
  }

  private init(_ thread: pthread_t) { self.thread = thread }

  /// Starts a thread with the priority of the current one. Returns nil if the system cannot create one.
  static func startHere(
    _ name: String, stackSize: Int? = nil, _ run: @escaping @Sendable () -> Void
  ) -> JoinableThread? {
    let body = Unmanaged.passRetained(Body(name, run))
    var attributes = pthread_attr_t()
    pthread_attr_init(&attributes)
    defer { pthread_attr_destroy(&attributes) }
    if let stackSize { pthread_attr_setstacksize(&attributes, stackSize) }
    #if canImport(Glibc)
      var handle = pthread_t()
    #else
      var handle: pthread_t?
    #endif
    let failure = pthread_create(
      &handle, &attributes,
      { context in
        // Optional in Glibc, not optional in Darwin; so is the handle.
        let context: UnsafeMutableRawPointer? = context
        guard let context else { return nil }
        let body = Unmanaged<Body>.fromOpaque(context).takeRetainedValue()
        cthreads_name_thread(body.name)
        body.run()
        return nil
      }, body.toOpaque())
    let started: pthread_t? = handle
    guard failure == 0, let started else {
      body.release()
      return nil
    }
    return JoinableThread(started)
  }

  /// Waits until the thread ends.
  package func join() {
    pthread_join(thread, nil)
  }

  /// Detaches a thread that ends by itself and is never joined.
  package func detach() {
    pthread_detach(thread)
  }

  /// True if the caller runs on this thread.
  package var isCurrent: Bool {
    pthread_equal(thread, pthread_self()) != 0
  }
}
