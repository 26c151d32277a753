// Runs a closure on a thread of its own. A task would occupy a thread of the cooperative pool.

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

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

/// Lets other threads go before the current one where there are not enough processors. Linux gives each
/// thread a nice value of its own; elsewhere this does nothing.
func leaveProcessorToOthers() {
  #if canImport(Glibc)
    _ = setpriority(Int32(PRIO_PROCESS.rawValue), 0, 10)
  #elseif canImport(Musl)
    _ = setpriority(Int32(PRIO_PROCESS), 0, 10)
  #endif
}
