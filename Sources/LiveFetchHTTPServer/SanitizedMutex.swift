// A mutex that the thread sanitizer understands.
//
// A contended `Mutex` waits in the kernel, which hands the lock over invisibly to the sanitizer;
// the sanitizer then reports false races. In a sanitizer build each hand-over is announced to it.
// Otherwise this is `Mutex` with two null checks.

import CMicrohttpd
import Synchronization

/// A value that is accessed only while its lock is held.
struct SanitizedMutex<Value>: ~Copyable {
  private let mutex: Mutex<Value>

  init(_ value: consuming sending Value) {
    mutex = Mutex(value)
  }

  /// Runs `body` with the lock held. Must not be nested on the same value.
  @inline(__always)
  func withLock<Result>(
    _ body: (inout sending Value) throws(Never) -> sending Result
  ) -> sending Result {
    // The lock does not move while in use, so that its address identifies it to the sanitizer.
    let name = withUnsafePointer(to: mutex) { UInt(bitPattern: $0) }
    return mutex.withLock { value in
      chttp_lock_taken(name)
      defer { chttp_lock_given(name) }
      return body(&value)
    }
  }
}

extension SanitizedMutex: Sendable {}
