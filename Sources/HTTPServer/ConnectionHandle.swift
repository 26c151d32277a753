// The pointer by which libmicrohttpd knows a connection.

import CMicrohttpd

/// A libmicrohttpd connection. Valid from its start until its request is completed; whoever keeps
/// one guards it with the lock under which completion takes it away.
struct ConnectionHandle: @unchecked Sendable {
  let pointer: OpaquePointer
  /// Wakes the connection's worker.
  let bell: WorkerBell

  /// To be called by the connection's worker.
  func suspend() {
    MHD_suspend_connection(pointer)
  }

  /// To be called once for each suspension, from any thread. Cost: a lock, and a wake of the
  /// worker if it has none to come and is not to be woken by `rings`.
  func resume(_ rings: GatheredRings? = nil) {
    MHD_resume_connection(pointer)
    if let rings { rings.add(bell) } else { bell.ring() }
  }
}
