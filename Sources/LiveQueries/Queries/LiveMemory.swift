// The memory that the live fetches of a store need, in several engines.

import Synchronization

/// Counts the bytes of several engines' fetches.
final class LiveMemory: Sendable {
  private let bytes = Atomic(0)

  var byteCount: Int { bytes.load(ordering: .relaxed) }

  func add(_ count: Int) { bytes.add(count, ordering: .relaxed) }
}
