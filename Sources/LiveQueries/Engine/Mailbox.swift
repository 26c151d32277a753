// What other threads tell the engine's thread: wishes enter from anywhere, batches leave on one.

import Dispatch
import FetchModel
import Foundation
import Synchronization
import Threads

/// Everything told since the last batch was taken.
struct Batch: Sendable {
  enum Wish: Sendable {
    case follow(FollowRequest)
    case followGroup(GroupWish)
    case cancel(any LiveWaiter)
  }

  /// In the order in which they were told.
  var wishes: [Wish] = []
  /// Whether the store may have a newer moment.
  var storeDidChange = false
  var drains: [DispatchSemaphore] = []
  var isStopped = false

  var isEmpty: Bool { wishes.isEmpty && !storeDidChange && drains.isEmpty && !isStopped }
}

/// The engine's letter box.
final class Mailbox: Sendable {
  /// Guards the batch that gathers.
  private let batch = Mutex(Batch())
  private let signal = TimedSignal()
  /// Until when the thread that takes stays awake, on the continuous clock from `origin` on, in
  /// nanoseconds.
  private let awakeUntil = Atomic<Int64>(0)
  private let origin = ContinuousClock.now

  func tell(_ note: (inout Batch) -> Void) {
    let wasEmpty = batch.withLock { batch in
      let wasEmpty = batch.isEmpty
      note(&batch)
      return wasEmpty
    }
    if wasEmpty { signal.signal() }
  }

  /// Something is likely to be told soon: wakes the thread that takes, which stays awake so long.
  ///
  /// Waking a thread of an idle machine takes as long as a small commit does: so it is awake when the
  /// commit is made. Within `rest` after the last time nothing is done, so that a busy store has its
  /// processors for itself.
  func expect(for time: Duration, rest: Duration) {
    let now = nanoseconds(origin.duration(to: .now))
    let known = awakeUntil.load(ordering: .relaxed)
    let end = now + nanoseconds(time)
    guard now - known > nanoseconds(rest),
      awakeUntil.compareExchange(expected: known, desired: end, ordering: .relaxed).exchanged
    else { return }
    signal.signal()
  }

  private func nanoseconds(_ duration: Duration) -> Int64 {
    duration.components.seconds &* 1_000_000_000 &+ duration.components.attoseconds / 1_000_000_000
  }

  private func stayAwake() {
    let end = awakeUntil.load(ordering: .relaxed)
    while nanoseconds(origin.duration(to: .now)) < end, batch.withLock({ $0.isEmpty }) {
      sched_yield()
    }
  }

  /// Waits until there is something or `deadline` has come, and takes it all.
  func take(until deadline: ContinuousClock.Instant?) -> Batch {
    if let deadline {
      let seconds = ContinuousClock.now.duration(to: deadline) / .seconds(1)
      _ = signal.wait(seconds: seconds)
    } else {
      signal.wait()
    }
    stayAwake()
    return batch.withLock { batch in
      defer { batch = Batch() }
      return batch
    }
  }
}
