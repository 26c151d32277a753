// A closure → a thread of its own that ends by itself. A task would hold one of the few threads that
// tasks share.

/// Runs `body` on a new thread; false if the system has none left.
///
/// - Parameter name: what the system's tools show, of at most 15 bytes.
@discardableResult
package func startThread(
  name: String = "livefetch", _ body: @escaping @Sendable () -> Void
) -> Bool {
  guard let thread = JoinableThread(name, stackSize: 8 << 20, body) else { return false }
  thread.detach()
  return true
}
