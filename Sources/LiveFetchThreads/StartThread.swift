// A closure → a new thread that runs it. For work that blocks or takes long: a task would occupy a thread of
// the cooperative pool.

/// Runs `body` on a new thread. Returns false if the system cannot create another thread.
///
/// - Parameters:
///   - name: the thread's name in system tools, at most 15 bytes.
///   - isInBackground: true for a lower priority. Such a thread may take long.
///   - mayTakeLong: true if `body` may compute for several milliseconds without a pause. Then
///     ``leaveProcessorBriefly()`` has an effect on this thread; it has none on other threads.
@discardableResult
package func startThread(
  name: String = "livefetch", isInBackground: Bool = false, mayTakeLong: Bool = false,
  _ body: @escaping @Sendable () -> Void
) -> Bool {
  if isInBackground { ThreadStarter.prepare() }
  let run = { @Sendable in
    if isInBackground { leaveProcessorToOthers() }
    if isInBackground || mayTakeLong { beginLeavingProcessor() }
    body()
  }
  guard let thread = JoinableThread(name, stackSize: 8 << 20, run) else { return false }
  thread.detach()
  return true
}
