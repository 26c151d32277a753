// What other threads tell the engine's thread: wishes enter from anywhere, batches leave on one.

import Dispatch
import FetchModel
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

  func tell(_ note: (inout Batch) -> Void) {
    let wasEmpty = batch.withLock { batch in
      let wasEmpty = batch.isEmpty
      note(&batch)
      return wasEmpty
    }
    if wasEmpty { signal.signal() }
  }

  /// Waits until there is something or `deadline` has come, and takes it all.
  func take(until deadline: ContinuousClock.Instant?) -> Batch {
    if let deadline {
      let seconds = ContinuousClock.now.duration(to: deadline) / .seconds(1)
      _ = signal.wait(seconds: seconds)
    } else {
      signal.wait()
    }
    return batch.withLock { batch in
      defer { batch = Batch() }
      return batch
    }
  }
}
