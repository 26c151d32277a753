// An actor with a thread of its own, whose processor time can be measured.

import Foundation

/// An isolation domain whose code runs on one thread, which runs nothing else.
public actor ThreadActor {
  private let executor = ThreadExecutor()

  public nonisolated var unownedExecutor: UnownedSerialExecutor {
    executor.asUnownedSerialExecutor()
  }

  public init() {}
}

/// Runs jobs on one thread until it is deallocated.
private final class ThreadExecutor: SerialExecutor {
  private let queue = JobQueue()

  init() {
    let thread = Thread { [queue] in
      while let next = queue.next() { next.job.runSynchronously(on: next.executor) }
    }
    thread.stackSize = 8 << 20
    thread.start()
  }

  deinit { queue.end() }

  func enqueue(_ job: consuming ExecutorJob) {
    queue.append(UnownedJob(job), asUnownedSerialExecutor())
  }
}

private final class JobQueue: @unchecked Sendable {
  typealias Entry = (job: UnownedJob, executor: UnownedSerialExecutor)

  // Protects the jobs and the end.
  private let condition = NSCondition()
  private var jobs: [Entry] = []
  private var isEnded = false

  func append(_ job: UnownedJob, _ executor: UnownedSerialExecutor) {
    condition.withLock {
      jobs.append((job, executor))
      condition.signal()
    }
  }

  func end() {
    condition.withLock {
      isEnded = true
      condition.signal()
    }
  }

  /// Waits for the next job; nil after the end.
  func next() -> Entry? {
    condition.withLock {
      while jobs.isEmpty, !isEnded { condition.wait() }
      return jobs.isEmpty ? nil : jobs.removeFirst()
    }
  }
}
