// The pointer to a libmicrohttpd connection.

import CMicrohttpd
import LiveFetchCQueueResponse

/// A libmicrohttpd connection. Valid until its request is completed; a user protects it with the
/// lock under which completion removes it.
struct ConnectionHandle: @unchecked Sendable {
  let pointer: OpaquePointer
  /// Wakes the connection's worker.
  let wakeup: WakeupEvent

  /// Queues the response of the connection's request. Call only on the connection's worker.
  func queue(_ response: OpaquePointer, _ status: Int) -> MHD_Result {
    livefetch_queue_response(pointer, UInt32(status), response) != 0 ? chttp_yes : chttp_no
  }

  /// Call only on the connection's worker.
  func suspend() {
    MHD_suspend_connection(pointer)
  }

  /// Call once per suspension, on any thread. Takes a lock, and wakes the worker unless a wakeup is
  /// pending or `wakeups` will do it.
  func resume(_ wakeups: WakeupBatch? = nil) {
    MHD_resume_connection(pointer)
    if let wakeups { wakeups.add(wakeup) } else { wakeup.signal() }
  }
}
