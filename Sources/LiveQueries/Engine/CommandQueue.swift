// What other threads tell the engine's thread: commands enter from anywhere, batches leave on one.

import Dispatch
import FetchModel
import Synchronization
import Threads

/// Everything told since the last batch was taken.
struct CommandBatch: Sendable {
  enum Command: Sendable {
    case follow(FollowRequest)
    case followGroup(GroupCommand)
    case cancel(any LiveWaiter)
  }

  /// In the order in which they were told.
  var commands: [Command] = []
  /// Whether the store may have a newer moment.
  var storeDidChange = false
  var drains: [DispatchSemaphore] = []
  /// Resumes that were found out apart.
  var finished: [FinishedCatchUp] = []
  var isStopped = false

  var isEmpty: Bool {
    commands.isEmpty && !storeDidChange && drains.isEmpty && !isStopped && finished.isEmpty
  }
}

/// A resume and what became of it.
struct FinishedCatchUp: Sendable {
  let job: CatchUpJob
  let outcome: CatchUpOutcome
}

/// The engine's letter box.
final class CommandQueue: Sendable {
  /// Guards the batch that gathers.
  private let batch = Mutex(CommandBatch())
  private let signal = MonotonicSemaphore()
  /// When the engine was told to end, in nanoseconds since the system started; 0 before.
  private let end = Atomic<UInt64>(0)

  /// Has the engine end, with what `note` tells it: nothing long is begun any more.
  func end(_ note: (inout CommandBatch) -> Void) {
    end.store(DispatchTime.now().uptimeNanoseconds, ordering: .sequentiallyConsistent)
    tell(note)
  }

  var isEnding: Bool { end.load(ordering: .relaxed) != 0 }

  /// Whether that was so long ago that what still runs is to be broken off.
  var isOverdue: Bool {
    let end = end.load(ordering: .relaxed)
    return end != 0 && DispatchTime.now().uptimeNanoseconds > end &+ 1_000_000_000
  }

  func tell(_ note: (inout CommandBatch) -> Void) {
    let wasEmpty = batch.withLock { batch in
      let wasEmpty = batch.isEmpty
      note(&batch)
      return wasEmpty
    }
    if wasEmpty { signal.signal() }
  }

  /// Takes commands back for the next batch, before those that came since.
  func putBack(_ requests: [FollowRequest]) {
    tell { $0.commands.insert(contentsOf: requests.map(CommandBatch.Command.follow), at: 0) }
  }

  /// Waits until there is something or `deadline` has come, and takes it all.
  func take(until deadline: ContinuousClock.Instant?) -> CommandBatch {
    if let deadline {
      let seconds = ContinuousClock.now.duration(to: deadline) / .seconds(1)
      _ = signal.wait(seconds: seconds)
    } else {
      signal.wait()
    }
    return batch.withLock { batch in
      defer { batch = CommandBatch() }
      return batch
    }
  }
}
