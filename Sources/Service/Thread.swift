// Threads and a counting signal: the two things that Swift's own library leaves to the platform.

import Dispatch
import Foundation

/// Runs `body` on a new thread.
func startThread(name: String = "livefetch", _ body: @escaping @Sendable () -> Void) {
  let thread = Thread { body() }
  thread.name = name
  thread.stackSize = 8 << 20
  thread.start()
}

/// Wakes one waiting thread each time it is raised; raises are counted.
struct Signal: Sendable {
  private let semaphore = DispatchSemaphore(value: 0)

  func raise() { semaphore.signal() }
  func wait() { semaphore.wait() }
}
