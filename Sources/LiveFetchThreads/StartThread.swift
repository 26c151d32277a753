// Runs a closure on a thread of its own. A task would occupy a thread of the cooperative pool.

/// Runs `body` on a new thread. Returns false if the system has none left.
///
/// - Parameter name: the thread's name in system tools, at most 15 bytes.
@discardableResult
package func startThread(
  name: String = "livefetch", _ body: @escaping @Sendable () -> Void
) -> Bool {
  guard let thread = JoinableThread(name, stackSize: 8 << 20, body) else { return false }
  thread.detach()
  return true
}
