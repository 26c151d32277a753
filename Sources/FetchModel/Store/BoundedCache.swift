// Keys → values that were made for them before, bounded in number.

import Synchronization

/// Values by their keys. Each is made once. Any thread may use it.
package final class BoundedCache<Key: Hashable & Sendable, Value: Sendable>: Sendable {
  /// The maximum number of values. Clients determine the keys. Beyond this number, all values are dropped.
  private static var capacity: Int { 1_000 }

  // Protects the values. Never held while a value is made.
  private let values = Mutex<[Key: Value]>([:])

  /// Makes an empty cache.
  package init() {}

  /// Returns the value of a key.
  ///
  /// - Parameter make: Called for a new key. If several threads make its value at once, all get the one
  ///   that is stored first.
  package func value(of key: Key, _ make: () -> Value) -> Value {
    if let known = values.withLock({ $0[key] }) { return known }
    let new = make()
    return values.withLock { values in
      if let known = values[key] { return known }
      if values.count >= Self.capacity { values.removeAll() }
      values[key] = new
      return new
    }
  }
}
