// The thread pool: concurrency, queue length, deadlines, closing.

import Synchronization
import TestSupport
import Testing

@testable import LiveFetchThreads

/// Work that runs until the test releases it.
private final class Gate: Sendable {
  let entered = MonotonicSemaphore()
  private let opened = MonotonicSemaphore()
  let done = Mutex<[Int]>([])

  func pass(_ number: Int) {
    entered.signal()
    opened.wait()
    done.withLock { $0.append(number) }
  }

  func open(_ count: Int) { for _ in 0..<count { opened.signal() } }

  /// True if these items are done, in this order, within the time limit.
  func did(_ numbers: Range<Int>) -> Bool {
    eventually(within: .seconds(300)) { done.withLock { $0 == Array(numbers) } }
  }
}

/// For work that is not refused.
@Sendable private func ignore(_ refusal: ThreadPool.Refusal) {}

@Suite(.mayBlock) struct ThreadPoolTests {
  @Test
  func `as many bodies run as there are threads, a full queue waits, and the rest is refused`()
    throws
  {
    let (pool, gate) = (ThreadPool(threads: 2, queue: 3), Gate())
    for number in 0..<2 {
      #expect(pool.run { gate.pass(number) })
      try #require(gate.entered.wait(seconds: 300))
    }
    let taken = (2..<7).map { number in pool.run { gate.pass(number) } }
    #expect(taken == [true, true, true, false, false])
    #expect(!gate.entered.wait(seconds: 0.02))
    #expect(pool.running == 2)
    #expect(pool.waiting == 3)
    gate.open(5)
    for _ in 0..<3 { try #require(gate.entered.wait(seconds: 300)) }
    pool.close()
  }

  @Test func `one thread does its work in order, also after it slept`() {
    let (pool, gate) = (ThreadPool(threads: 1, queue: .max), Gate())
    for number in 0..<3 { #expect(pool.run { gate.pass(number) }) }
    gate.open(3)
    #expect(gate.did(0..<3))
    #expect(eventually(within: .seconds(300)) { pool.running == 0 })
    #expect(pool.run { gate.pass(3) })
    gate.open(1)
    #expect(gate.did(0..<4))
    pool.close()
  }

  @Test func `a closed pool runs waiting work and accepts no more`() {
    let (pool, gate) = (ThreadPool(threads: 1, queue: .max), Gate())
    for number in 0..<3 { #expect(pool.run { gate.pass(number) }) }
    pool.close()
    #expect(!pool.run { gate.pass(3) })
    gate.open(4)
    #expect(gate.did(0..<3))
  }

  @Test func `a finished pool has run all accepted work`() {
    let (pool, gate) = (ThreadPool(threads: 1, queue: .max), Gate())
    gate.open(100)
    for number in 0..<100 { #expect(pool.run { gate.pass(number) }) }
    pool.finish()
    #expect(gate.done.withLock { $0 } == Array(0..<100))
    #expect(!pool.run { gate.pass(100) })
  }

  @Test func `callers take turns for a thread`() throws {
    let (pool, gate) = (ThreadPool(threads: 1, queue: 100), Gate())
    #expect(pool.run { gate.pass(0) })
    try #require(gate.entered.wait(seconds: 300))
    for (caller, number) in [("a", 1), ("a", 3), ("a", 4), ("b", 2)] {
      pool.run(for: QueueKey(caller: caller), until: nil, refused: ignore) { gate.pass(number) }
    }
    gate.open(5)
    #expect(gate.did(0..<5))
    pool.close()
  }

  @Test func `one caller leaves threads to others, and uses them one after the other`() throws {
    let (pool, gate) = (ThreadPool(threads: 3, leftToOthers: 1, queue: 100), Gate())
    let run = { (caller: String, number: Int) in
      pool.run(for: QueueKey(caller: caller), until: nil, refused: ignore) { gate.pass(number) }
    }
    for number in 0..<4 { run("a", number) }
    for _ in 0..<2 { try #require(gate.entered.wait(seconds: 300)) }
    #expect(!gate.entered.wait(seconds: 0.02))
    #expect(pool.running == 2)
    #expect(pool.waiting == 2)
    run("b", 4)
    try #require(gate.entered.wait(seconds: 300))
    #expect(pool.waiting == 2)
    gate.open(5)
    #expect(eventually(within: .seconds(300)) { gate.done.withLock { $0.count == 5 } })
    pool.close()
    #expect(gate.done.withLock { $0.sorted() } == [0, 1, 2, 3, 4])
  }

  @Test func `a closed pool runs the work that one caller may not run at once`() {
    let (pool, gate) = (ThreadPool(threads: 2, leftToOthers: 1, queue: 100), Gate())
    for number in 0..<3 {
      pool.run(for: QueueKey(caller: "a"), until: nil, refused: ignore) { gate.pass(number) }
    }
    pool.close()
    gate.open(3)
    #expect(gate.did(0..<3))
  }

  @Test func `work that waited until its deadline is refused, and not done`() throws {
    let (pool, gate) = (ThreadPool(threads: 1, queue: 100), Gate())
    let refused = Mutex<[ThreadPool.Refusal]>([])
    #expect(pool.run { gate.pass(0) })
    try #require(gate.entered.wait(seconds: 300))
    let now = ContinuousClock.now
    let note = { @Sendable (why: ThreadPool.Refusal) in refused.withLock { $0.append(why) } }
    pool.run(for: QueueKey(), until: now, refused: note) { gate.pass(9) }
    pool.run(for: QueueKey(), until: now + .seconds(3_600), refused: ignore) { gate.pass(1) }
    pool.refuseExpired()
    #expect(refused.withLock { $0 } == [.expired])
    #expect(pool.waiting == 1)
    gate.open(2)
    #expect(gate.did(0..<2))
    pool.close()
  }

  @Test func `a closed pool can refuse waiting work`() throws {
    let (pool, gate) = (ThreadPool(threads: 1, queue: 1), Gate())
    let refused = Mutex<[ThreadPool.Refusal]>([])
    let note = { @Sendable (why: ThreadPool.Refusal) in refused.withLock { $0.append(why) } }
    #expect(pool.run { gate.pass(0) })
    try #require(gate.entered.wait(seconds: 300))
    for _ in 0..<2 { pool.run(for: QueueKey(), until: nil, refused: note) { gate.pass(9) } }
    pool.close(refusesWaiting: true)
    pool.run(for: QueueKey(), until: nil, refused: note) { gate.pass(9) }
    #expect(refused.withLock { $0 } == [.full, .closed, .closed])
    gate.open(1)
    #expect(gate.did(0..<1))
  }
}
