// A trait for tests that block: their bodies run on threads of their own.
//
// Swift runs tests on its cooperative pool, which has one thread per core. A body that waits for a
// semaphore, a process or a socket takes one of these threads away from all other tests, and from the
// tasks that it may be waiting for. With `.mayBlock`, a suite's bodies run on the threads of an
// executor of this file instead. Tasks that a body begins with `Task` still use the pool.

import Foundation
import Testing

/// Runs test bodies where blocking harms no other task.
public struct BlockingTestTrait: TestTrait, SuiteTrait, TestScoping {
  public let isRecursive = true

  public func provideScope(
    for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
  ) async throws {
    try await withTaskExecutorPreference(BlockingExecutor.shared) { try await function() }
  }
}

extension Trait where Self == BlockingTestTrait {
  /// The bodies may block their threads.
  public static var mayBlock: Self { Self() }
}

/// Threads that run jobs in the order in which they come.
private final class BlockingExecutor: TaskExecutor, @unchecked Sendable {
  /// So many bodies run at the same time: enough that those that wait leave no core idle, few enough
  /// that their servers and files do not exhaust the machine.
  private static let threads = 8

  static let shared = BlockingExecutor()

  // Protects the jobs.
  private let condition = NSCondition()
  private var jobs: [UnownedJob] = []
  private var next = 0

  private init() {
    for _ in 0..<Self.threads {
      let thread = Thread { [unowned self] in while true { run(take()) } }
      thread.stackSize = 8 << 20
      thread.start()
    }
  }

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    condition.lock()
    jobs.append(job)
    condition.signal()
    condition.unlock()
  }

  private func take() -> UnownedJob {
    condition.lock()
    defer { condition.unlock() }
    while next == jobs.count { condition.wait() }
    defer {
      next += 1
      if next == jobs.count { (jobs, next) = ([], 0) }
    }
    return jobs[next]
  }

  private func run(_ job: UnownedJob) { job.runSynchronously(on: asUnownedTaskExecutor()) }
}
