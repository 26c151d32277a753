// A value that another thread sets once.

import Dispatch
import Synchronization

/// A value that another thread sets, such as the outcome of a save.
public final class AwaitedValue<Value: Sendable>: Sendable {
  private let done = DispatchSemaphore(value: 0)
  // Protects the value.
  private let value = Mutex<Value?>(nil)

  public init() {}

  public func set(_ value: Value) {
    self.value.withLock { $0 = value }
    done.signal()
  }

  /// Blocks until the value is set; nil after five minutes.
  public func wait() -> Value? {
    _ = done.wait(timeout: .now() + 300)
    return value.withLock { $0 }
  }
}
