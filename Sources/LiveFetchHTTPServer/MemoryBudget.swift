// Limits the memory that the request bodies and responses of one server occupy together.

import Synchronization

/// Counts the bytes that the requests and responses of one server occupy.
final class MemoryBudget: Sendable {
  /// The largest number of bytes that may be reserved at the same time.
  let limit: Int
  private let used = Atomic(0)

  init(limit: Int) {
    self.limit = limit
  }

  /// The number of reserved bytes.
  var bytes: Int { used.load(ordering: .relaxed) }

  /// True if this many more bytes fit.
  func hasRoom(for count: Int) -> Bool { count <= limit &- bytes }

  /// Reserves `count` bytes. Returns false and reserves nothing if they do not fit and are not
  /// `forced`.
  fileprivate func reserve(_ count: Int, forced: Bool) -> Bool {
    let (before, _) = used.add(count, ordering: .relaxed)
    guard !forced, count > limit &- before else { return true }
    release(count)
    return false
  }

  fileprivate func release(_ count: Int) { used.subtract(count, ordering: .relaxed) }
}

/// The memory of one body. Its bytes stay reserved until this object is deinitialized.
final class MemoryReservation: Sendable {
  private struct State {
    var budget: MemoryBudget?
    var bytes = 0
  }

  /// The size in bytes of the smallest body for which memory is reserved.
  private static let smallestBody = 1 << 10
  // Protects the number of reserved bytes.
  private let state = Mutex(State())

  init() {}

  /// Makes a reservation for a body of `count` bytes; nil if the body is too small for one. Reserves
  /// nothing yet.
  init?(for count: Int) {
    guard count >= Self.smallestBody else { return nil }
  }

  /// Reserves `count` more bytes.
  ///
  /// - Returns: false if they do not fit.
  func grow(by count: Int, in budget: MemoryBudget) -> Bool {
    guard budget.reserve(count, forced: false) else { return false }
    state.withLock { state in
      state.budget = budget
      state.bytes += count
    }
    return true
  }

  /// Reserves `count` bytes unless this object has reserved some before.
  ///
  /// - Parameter forced: true to reserve them even beyond the limit.
  /// - Returns: false if they do not fit.
  func reserve(_ count: Int, in budget: MemoryBudget, forced: Bool) -> Bool {
    state.withLock { state in
      if state.budget != nil { return true }
      guard budget.reserve(count, forced: forced) else { return false }
      state = State(budget: budget, bytes: count)
      return true
    }
  }

  deinit {
    state.withLock { $0.budget?.release($0.bytes) }
  }
}
