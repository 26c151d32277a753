// A thread of our own: started with a body, joined at its end.

import CMicrohttpd
import Glibc

/// A running thread. It must be joined or detached, once.
struct JoinableThread: @unchecked Sendable {
  private final class Body: Sendable {
    let name: String
    let run: @Sendable () -> Void

    init(_ name: String, _ run: @escaping @Sendable () -> Void) {
      self.name = name
      self.run = run
    }
  }

  private let thread: pthread_t

  /// Nil if the system has no thread to give.
  ///
  /// - Parameter stackSize: bytes; nil for as many as the system gives.
  init?(_ name: String, stackSize: Int? = nil, _ run: @escaping @Sendable () -> Void) {
    let body = Unmanaged.passRetained(Body(name, run))
    var thread = pthread_t()
    var attributes = pthread_attr_t()
    pthread_attr_init(&attributes)
    defer { pthread_attr_destroy(&attributes) }
    if let stackSize { pthread_attr_setstacksize(&attributes, stackSize) }
    let failure = pthread_create(
      &thread, &attributes,
      { context in
        guard let context else { return nil }
        let body = Unmanaged<Body>.fromOpaque(context).takeRetainedValue()
        chttp_name_thread(body.name)
        body.run()
        return nil
      }, body.toOpaque())
    guard failure == 0 else {
      body.release()
      return nil
    }
    self.thread = thread
  }

  func join() {
    pthread_join(thread, nil)
  }

  /// For a thread that ends by itself and cannot be joined, since it is the caller's own.
  func detach() {
    pthread_detach(thread)
  }

  /// Whether the caller runs on this thread.
  var isCurrent: Bool {
    pthread_equal(thread, pthread_self()) != 0
  }
}
