// The bytes of request bodies and answers that are in memory → one bound for all of them.

import Synchronization

/// Counts the bytes that the requests and answers of one server hold.
final class MemoryBudget: Sendable {
  /// The most bytes.
  let limit: Int
  private let used = Atomic(0)

  init(limit: Int) {
    self.limit = limit
  }

  /// The bytes that are counted now.
  var bytes: Int { used.load(ordering: .relaxed) }

  /// Whether so many bytes more fit.
  func hasRoom(for count: Int) -> Bool { count <= limit &- bytes }

  /// Counts more bytes; false, and nothing is counted, where they do not fit and are not `forced`.
  fileprivate func take(_ count: Int, forced: Bool) -> Bool {
    let (before, _) = used.add(count, ordering: .relaxed)
    guard !forced, count > limit &- before else { return true }
    giveBack(count)
    return false
  }

  fileprivate func giveBack(_ count: Int) { used.subtract(count, ordering: .relaxed) }
}

/// The memory of one body: counted from its charge until the last reference to this is gone.
final class MemoryCharge: Sendable {
  private struct State {
    var budget: MemoryBudget?
    var bytes = 0
  }

  /// Smaller answers are not counted.
  private static let least = 1 << 10
  // Guards what was counted.
  private let state = Mutex(State())

  init() {}

  /// Of a body of `count` bytes; nil where that is not worth counting.
  init?(for count: Int) {
    guard count >= Self.least else { return nil }
  }

  /// Counts `count` bytes more.
  ///
  /// - Returns: false where they do not fit.
  func grow(by count: Int, in budget: MemoryBudget) -> Bool {
    guard budget.take(count, forced: false) else { return false }
    state.withLock { state in
      state.budget = budget
      state.bytes += count
    }
    return true
  }

  /// Counts `count` bytes unless something was counted before.
  ///
  /// - Parameter forced: whether they are counted beyond the limit too.
  /// - Returns: false where they do not fit.
  func begin(with count: Int, in budget: MemoryBudget, forced: Bool) -> Bool {
    state.withLock { state in
      if state.budget != nil { return true }
      guard budget.take(count, forced: forced) else { return false }
      state = State(budget: budget, bytes: count)
      return true
    }
  }

  deinit {
    state.withLock { $0.budget?.giveBack($0.bytes) }
  }
}
