// The queue of the engine's thread: commands and notifications enter on any thread, batches leave
// on one.

import Dispatch
import FetchModel
import LiveFetchThreads
import Synchronization

/// Everything added since the last batch was taken.
struct CommandBatch: Sendable {
  enum Command: Sendable {
    case follow(FollowRequest)
    case followGroup(GroupCommand)
    case endWait(any GroupWaiter)
    case endCatchUps(any GroupWaiter)
    case cancel(any LiveWaiter)
    /// A group of another engine.
    case adoptGroup(Group)
  }

  /// In order of arrival.
  var commands: [Command] = []
  /// True if the store may have a newer snapshot.
  var storeDidChange = false
  var drains: [DispatchSemaphore] = []
  /// Finished background catch-ups.
  var finished: [FinishedCatchUp] = []
  var isStopped = false

  /// True if a client waits for nothing: its response must not be older than a response before its request.
  func mustAnswer(_ now: ContinuousClock.Instant) -> Bool {
    commands.contains { command in
      switch command {
      case .follow(let request): request.deadline.map { $0 <= now } ?? false
      case .followGroup(let group): group.mustAnswer
      case .endWait, .endCatchUps, .cancel, .adoptGroup: false
      }
    }
  }

  var isEmpty: Bool {
    commands.isEmpty && !storeDidChange && drains.isEmpty && !isStopped && finished.isEmpty
  }
}

/// A background catch-up and its outcome.
struct FinishedCatchUp: Sendable {
  let job: CatchUpJob
  let outcome: CatchUpOutcome
}

/// The engine's command queue.
final class CommandQueue: Sendable {
  /// Protects the next batch.
  private let batch = Mutex(CommandBatch())
  private let signal = MonotonicSemaphore()
  /// When the engine was stopped or drained, in nanoseconds since the system started; 0 before.
  private let end = Atomic<UInt64>(0)

  /// Adds a command that ends the engine; nothing long is started any more.
  func end(_ note: (inout CommandBatch) -> Void) {
    end.store(DispatchTime.now().uptimeNanoseconds, ordering: .sequentiallyConsistent)
    update(note)
  }

  var isEnding: Bool { end.load(ordering: .relaxed) != 0 }

  /// True one second after the end; running reads are then cancelled.
  var isOverdue: Bool {
    let end = end.load(ordering: .relaxed)
    return end != 0 && DispatchTime.now().uptimeNanoseconds > end &+ 1_000_000_000
  }

  func update(_ note: (inout CommandBatch) -> Void) {
    let wasEmpty = batch.withLock { batch in
      let wasEmpty = batch.isEmpty
      note(&batch)
      return wasEmpty
    }
    if wasEmpty { signal.signal() }
  }

  /// Returns requests to the next batch, before newer commands.
  func putBack(_ requests: [FollowRequest], _ groups: [Group] = []) {
    let commands =
      requests.map(CommandBatch.Command.follow) + groups.map(CommandBatch.Command.adoptGroup)
    update { $0.commands.insert(contentsOf: commands, at: 0) }
  }

  /// Waits for commands until `deadline`, and takes all of them.
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
