// Readiness probes → small commits: at most one at a time and at most four per second.

import FetchModel
import LiveFetchThreads
import Synchronization

/// Determines whether the writer can commit. May be used from any thread.
final class WriteProbe: Sendable {
  typealias Completion = @Sendable (StoreError?) -> Void

  /// The time in nanoseconds for which a successful commit answers further probes.
  private static let validity: UInt64 = 250_000_000

  private struct State {
    /// The monotonic time of the last commit in nanoseconds; 0 after one that failed or that had nothing
    /// to write.
    var lastCommit: UInt64 = 0
    /// Probes that wait for the running commit; nil if none runs.
    var waiting: [Completion]?
  }

  /// Protects `State`.
  private let state = Mutex(State())

  /// Records how a group of saves ended.
  func record(hasWritten: Bool) {
    let now = hasWritten ? monotonicNanoseconds() : 0
    state.withLock { $0.lastCommit = now }
  }

  /// Calls `completion` with the error of a probe commit, or with nil if it succeeded.
  func run(on writer: Writer, _ completion: @escaping Completion) {
    enum Step { case isKnown, joins, begins }
    let now = monotonicNanoseconds()
    let step: Step = state.withLock { state in
      if state.waiting != nil {
        state.waiting?.append(completion)
        return .joins
      }
      if state.lastCommit != 0, now &- state.lastCommit < Self.validity { return .isKnown }
      state.waiting = [completion]
      return .begins
    }
    switch step {
    case .isKnown: completion(nil)
    case .joins: break
    case .begins: writer.save(Self.write, isProbe: true) { [self] in end($0) }
    }
  }

  /// Updates a row to its own values: one page goes to the log, and no object changes.
  private static let write: Writer.Body = { connection, token throws(SaveError) in
    do throws(StoreError) {
      try connection.run("UPDATE main.livefetch_store SET value = value WHERE key = 'format'")
    } catch {
      throw .store(error)
    }
    return SaveResult(token: token)
  }

  private func end(_ result: Result<SaveResult, SaveError>) {
    let waiting = state.withLock { state in
      defer { state.waiting = nil }
      return state.waiting ?? []
    }
    let error: StoreError? =
      switch result {
      case .success: nil
      case .failure(.store(let error)): error
      case .failure: .failed("the probe was refused")
      }
    for completion in waiting { completion(error) }
  }
}
