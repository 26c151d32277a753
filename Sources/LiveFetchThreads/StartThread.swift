// Runs a closure on a thread of its own. A task would occupy a thread of the cooperative pool.

/// Runs `body` on a new thread. Returns false if the system has none left.
///
/// - Parameters:
///   - name: the thread's name in system tools, at most 15 bytes.
///   - isInBackground: true if other threads go first where there are not enough processors.
///   - isBrief: false if it works for some milliseconds now and then: ``leaveProcessorBriefly()`` works on
///     it, as on a thread in the background.
@discardableResult
package func startThread(
  name: String = "livefetch", isInBackground: Bool = false, isBrief: Bool = true,
  _ body: @escaping @Sendable () -> Void
) -> Bool {
  if isInBackground { ThreadStarter.prepare() }
  let run = { @Sendable in
    if isInBackground { leaveProcessorToOthers() }
    if isInBackground || !isBrief { beginLeavingProcessor() }
    body()
  }
  guard let thread = JoinableThread(name, stackSize: 8 << 20, run) else { return false }
  thread.detach()
  return true
}
