// A value behind a lock that the thread sanitizer can follow.
//
// `Mutex` waits in the kernel where it is contended, and the kernel hands the lock over unseen by
// the sanitizer, which then reports races that are none. Under the sanitizer each hand-over is
// announced to it; otherwise this is `Mutex`, and two tests for null.

import CMicrohttpd
import Synchronization

/// A value that is touched only while its lock is held.
struct Guarded<Value>: ~Copyable {
  private let mutex: Mutex<Value>

  init(_ value: consuming sending Value) {
    mutex = Mutex(value)
  }

  /// Runs `body` while the lock is held. Not to be nested on the same value.
  @inline(__always)
  func withLock<Result>(
    _ body: (inout sending Value) throws(Never) -> sending Result
  ) -> sending Result {
    // A lock is not moved while it is in use, so its address names it to the sanitizer.
    let name = withUnsafePointer(to: mutex) { UInt(bitPattern: $0) }
    return mutex.withLock { value in
      chttp_lock_taken(name)
      defer { chttp_lock_given(name) }
      return body(&value)
    }
  }
}

extension Guarded: Sendable {}
