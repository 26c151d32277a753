// The bytes of request bodies and responses in memory → one limit for all of them.

import Synchronization

/// Counts the bytes that the requests and responses of one server occupy.
final class MemoryBudget: Sendable {
  /// The most bytes.
  let limit: Int
  private let used = Atomic(0)

  init(limit: Int) {
    self.limit = limit
  }

  /// The bytes that are currently counted.
  var bytes: Int { used.load(ordering: .relaxed) }

  /// True if this many more bytes fit.
  func hasRoom(for count: Int) -> Bool { count <= limit &- bytes }

  /// Counts more bytes. Returns false and counts nothing if they do not fit and are not `forced`.
  fileprivate func take(_ count: Int, forced: Bool) -> Bool {
    let (before, _) = used.add(count, ordering: .relaxed)
    guard !forced, count > limit &- before else { return true }
    putBack(count)
    return false
  }

  fileprivate func putBack(_ count: Int) { used.subtract(count, ordering: .relaxed) }
}

/// The memory of one body, counted until the last reference to this object is released.
final class MemoryReservation: Sendable {
  private struct State {
    var budget: MemoryBudget?
    var bytes = 0
  }

  /// The smallest size in bytes that is counted.
  private static let least = 1 << 10
  // Protects the count.
  private let state = Mutex(State())

  init() {}

  /// The reservation for a body of `count` bytes; nil if the body is too small to be counted.
  init?(for count: Int) {
    guard count >= Self.least else { return nil }
  }

  /// Counts `count` more bytes.
  ///
  /// - Returns: false if they do not fit.
  func grow(by count: Int, in budget: MemoryBudget) -> Bool {
    guard budget.take(count, forced: false) else { return false }
    state.withLock { state in
      state.budget = budget
      state.bytes += count
    }
    return true
  }

  /// Counts `count` bytes unless bytes are counted already.
  ///
  /// - Parameter forced: true to count them even beyond the limit.
  /// - Returns: false if they do not fit.
  func begin(with count: Int, in budget: MemoryBudget, forced: Bool) -> Bool {
    state.withLock { state in
      if state.budget != nil { return true }
      guard budget.take(count, forced: forced) else { return false }
      state = State(budget: budget, bytes: count)
      return true
    }
  }

  deinit {
    state.withLock { $0.budget?.putBack($0.bytes) }
  }
}
