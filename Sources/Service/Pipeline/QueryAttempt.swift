// A query and the time limits of one attempt → its result, or ``StoreError/tooSlow`` if it needs another
// attempt.

import FetchModel
import LiveFetchCLibrary

/// One attempt at a query.
struct QueryAttempt: Sendable {
  /// The deadline of the query, over all attempts.
  let deadline: ContinuousClock.Instant
  /// The processor time that this attempt may take, in addition to a wait of ``longestWait``; nil for the last
  /// attempt.
  let limit: Duration?
  /// True if the query waited for more than half of its time limit.
  let isLate: Bool
  /// How long an attempt may be without the processor, as while a database server works.
  private static let longestWait = Duration.milliseconds(500)

  /// Runs `body` within the attempt's time.
  ///
  /// - Throws: ``StoreError/tooSlow`` if the query needs a further attempt.
  func run<Result>(
    _ store: any Store, cancellation: @escaping @Sendable () -> Bool,
    _ body: () throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    // Processor time: on a busy machine, the same limit on elapsed time would repeat brief queries.
    let end = limit.map { Self.processorTime + UInt64($0 / .nanoseconds(1)) }
    let latest = limit.map { ContinuousClock.now + $0 + Self.longestWait }
    let hasToEnd = { @Sendable () -> Bool in
      if cancellation() { return true }
      guard let end, let latest else { return false }
      return Self.processorTime > end || ContinuousClock.now > latest
    }
    do throws(StoreError) {
      return try store.withCancellation(hasToEnd, until: deadline, body)
    } catch {
      guard error == .queryTimeout, !cancellation() else { throw error }
      if limit != nil, ContinuousClock.now < deadline { throw .tooSlow }
      throw isLate ? .overloaded : .queryTimeout
    }
  }

  /// The processor time of this thread, in nanoseconds.
  static var processorTime: UInt64 {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
  }
}
