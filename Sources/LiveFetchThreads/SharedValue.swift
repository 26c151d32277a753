// A value that closures on several threads read and replace.

import Synchronization

/// A variable that closures on several threads share.
package final class SharedValue<Value: Sendable>: Sendable {
  private let storage: Mutex<Value>

  package init(_ value: Value) { storage = Mutex(value) }

  package var value: Value {
    get { storage.withLock { $0 } }
    set { storage.withLock { $0 = newValue } }
  }
}
