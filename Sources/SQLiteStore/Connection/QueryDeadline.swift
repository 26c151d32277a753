// The deadline of the query that this thread runs, for functions that take long over one value: SQLite
// asks for its end only every few thousand steps of its own machine, and a step may be a call.

import CSQLite

#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

enum QueryDeadline {
  private static let key: pthread_key_t = {
    var key = pthread_key_t()
    pthread_key_create(&key, nil)
    return key
  }()

  /// On the monotonic clock in nanoseconds; 0 is none.
  static var ofThread: UInt64 {
    get { UInt64(UInt(bitPattern: pthread_getspecific(key))) }
    set { pthread_setspecific(key, UnsafeRawPointer(bitPattern: UInt(newValue))) }
  }

  static var isOver: Bool {
    let deadline = ofThread
    return deadline != 0 && monotonicNanoseconds() > deadline
  }

  /// Ends the query of a function's call where its time is over.
  static func end(_ context: OpaquePointer?) -> Bool {
    guard isOver else { return false }
    sqlite3_result_error_code(context, SQLITE_INTERRUPT)
    return true
  }
}
