// What another thread brings about: a condition enters, whether it came true in time leaves.

import Foundation

/// Polls every millisecond until `isTrue`, so that a test whose condition never holds fails in place of
/// waiting for ever.
///
/// - Returns: false where it was not within `limit`.
public func eventually(within limit: Duration, _ isTrue: () throws -> Bool) rethrows -> Bool {
  let end = ContinuousClock.now + limit
  while ContinuousClock.now < end {
    if try isTrue() { return true }
    Thread.sleep(forTimeInterval: 0.001)
  }
  return try isTrue()
}
