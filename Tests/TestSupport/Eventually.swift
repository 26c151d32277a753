// Waiting for another thread: a condition enters; true leaves if it became true in time.

import Foundation

/// Polls every millisecond until `isTrue`, so that a test whose condition never holds fails in place of
/// waiting for ever.
///
/// - Returns: false if the condition did not become true within `limit`.
public func eventually(within limit: Duration, _ isTrue: () throws -> Bool) rethrows -> Bool {
  let end = ContinuousClock.now + limit
  while ContinuousClock.now < end {
    if try isTrue() { return true }
    Thread.sleep(forTimeInterval: 0.001)
  }
  return try isTrue()
}

/// Like ``eventually(within:_:)``, without blocking a thread, so that the caller's actor goes on: polls
/// every 10 milliseconds. Its name differs, because an overload would be chosen by its defaults.
public func becomesTrue(
  within limit: Duration, isolation: isolated (any Actor)? = #isolation,
  _ isTrue: () async throws -> Bool
) async throws -> Bool {
  let end = ContinuousClock.now + limit
  while ContinuousClock.now < end {
    if try await isTrue() { return true }
    try await Task.sleep(for: .milliseconds(10))
  }
  return try await isTrue()
}
