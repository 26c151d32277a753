// What other threads tell the engine's thread: wishes enter from anywhere, batches leave on one.

import Dispatch
import FetchModel
import Synchronization
import Threads

#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

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
  /// Resumes that were found out apart.
  var finished: [FinishedResume] = []
  var isStopped = false
  /// Whether the store is about to have one.
  var isAlerted = false

  var isEmpty: Bool { !isAlerted && !hasNews }
  var hasNews: Bool {
    !wishes.isEmpty || storeDidChange || !drains.isEmpty || isStopped || !finished.isEmpty
  }
}

/// A resume and what became of it.
struct FinishedResume: Sendable {
  let job: ResumeJob
  let outcome: ResumeOutcome
}

/// The engine's letter box.
final class Mailbox: Sendable {
  /// Guards the batch that gathers.
  private let batch = Mutex(Batch())
  private let signal = TimedSignal()
  /// Whether there is more than an alert in the batch.
  private let hasNews = Atomic(false)
  private let awaitsNews = Atomic(false)

  /// When the engine was told to end, in nanoseconds since the system started; 0 before.
  private let end = Atomic<UInt64>(0)

  /// Has the engine end, with what `note` tells it: nothing long is begun any more.
  func end(_ note: (inout Batch) -> Void) {
    end.store(DispatchTime.now().uptimeNanoseconds, ordering: .sequentiallyConsistent)
    tell(note)
  }

  var isEnding: Bool { end.load(ordering: .relaxed) != 0 }

  /// Whether that was so long ago that what still runs is to be broken off.
  var isOverdue: Bool {
    let end = end.load(ordering: .relaxed)
    return end != 0 && DispatchTime.now().uptimeNanoseconds > end &+ 1_000_000_000
  }

  /// Whether ``alert()`` is of use.
  func awaitsNews(_ awaits: Bool) { awaitsNews.store(awaits, ordering: .relaxed) }

  /// Something will be told in a moment.
  func alert() {
    if awaitsNews.load(ordering: .relaxed) { tell { $0.isAlerted = true } }
  }

  func tell(_ note: (inout Batch) -> Void) {
    let wasEmpty = batch.withLock { batch in
      let wasEmpty = batch.isEmpty
      note(&batch)
      if batch.hasNews { hasNews.store(true, ordering: .releasing) }
      return wasEmpty
    }
    if wasEmpty { signal.signal() }
  }

  /// Takes wishes back for the next batch, before those that came since.
  func putBack(_ requests: [FollowRequest]) {
    tell { $0.wishes.insert(contentsOf: requests.map(Batch.Wish.follow), at: 0) }
  }

  /// Waits until there is something or `deadline` has come, and takes it all.
  func take(until deadline: ContinuousClock.Instant?) -> Batch {
    if let deadline {
      let seconds = ContinuousClock.now.duration(to: deadline) / .seconds(1)
      _ = signal.wait(seconds: seconds)
    } else {
      signal.wait()
    }
    let taken = takeAll()
    guard taken.isAlerted, !taken.hasNews else { return taken }
    stayAwake()
    return takeAll()
  }

  private func takeAll() -> Batch {
    batch.withLock { batch in
      defer { batch = Batch() }
      hasNews.store(false, ordering: .relaxed)
      return batch
    }
  }

  /// Waits without sleeping, for a moment: a commit takes less than it takes to wake up twice.
  private func stayAwake() {
    let end = ContinuousClock.now + .microseconds(400)
    while !hasNews.load(ordering: .acquiring) {
      if ContinuousClock.now > end { return }
      sched_yield()
    }
    // That was told with a signal.
    _ = signal.wait(nanoseconds: 0)
  }
}
