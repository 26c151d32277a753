// The reasons why the server is not ready → an event of the log when they change.
//
// Promise: while the reasons stay the same, they are logged once.

import FetchModel
import Logging
import Synchronization

/// The readiness that was logged last. Services that replace each other share it.
package final class ReadinessLog: Sendable {
  // Protects the codes of the reasons that were logged last; none while the server is ready.
  private let logged = Mutex<[String]>([])

  package init() {}

  /// True if the server was not ready when it was checked last.
  var isUnready: Bool { logged.withLock { !$0.isEmpty } }

  /// Logs the result of a check if it has other reasons than the one before.
  package func record(_ faults: [StoreFault], _ logger: Logger) {
    let codes = faults.map(\.code)
    let hasChanged = logged.withLock { logged in
      defer { logged = codes }
      return logged != codes
    }
    guard hasChanged else { return }
    if faults.isEmpty { return logger.notice("The server is ready again.") }
    logger.error(
      "The server is not ready: \(faults.map(\.detail).joined(separator: " "))",
      metadata: ["reasons": "\(codes.joined(separator: ","))"])
  }
}
