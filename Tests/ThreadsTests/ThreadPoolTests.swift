import Synchronization
import TestSupport
import Testing

@testable import LiveFetchThreads

/// Work that stays under way until it is let go.
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

  /// Whether so much was done, in this order.
  func did(_ numbers: Range<Int>) -> Bool {
    eventually(within: .seconds(300)) { done.withLock { $0 == Array(numbers) } }
  }
}

/// For work that is not refused.
@Sendable private func ignore(_ refusal: ThreadPool.Refusal) {}

@Suite(.mayBlock) struct ThreadPoolTests {
  @Test func `so much runs at once as there are threads, so much waits, and the rest is refused`()
    throws
  {
    let (lane, gate) = (ThreadPool(threads: 2, queue: 3), Gate())
    for number in 0..<2 {
      #expect(lane.run { gate.pass(number) })
      try #require(gate.entered.wait(seconds: 300))
    }
    let taken = (2..<7).map { number in lane.run { gate.pass(number) } }
    #expect(taken == [true, true, true, false, false])
    #expect(!gate.entered.wait(seconds: 0.02))
    #expect(lane.running == 2)
    #expect(lane.waiting == 3)
    gate.open(5)
    for _ in 0..<3 { try #require(gate.entered.wait(seconds: 300)) }
    lane.close()
  }

  @Test func `one thread does its work in order, also after it slept`() {
    let (lane, gate) = (ThreadPool(threads: 1, queue: .max), Gate())
    for number in 0..<3 { #expect(lane.run { gate.pass(number) }) }
    gate.open(3)
    #expect(gate.did(0..<3))
    #expect(eventually(within: .seconds(300)) { lane.running == 0 })
    #expect(lane.run { gate.pass(3) })
    gate.open(1)
    #expect(gate.did(0..<4))
    lane.close()
  }

  @Test func `a lane that is closed does what waits and takes nothing more`() {
    let (lane, gate) = (ThreadPool(threads: 1, queue: .max), Gate())
    for number in 0..<3 { #expect(lane.run { gate.pass(number) }) }
    lane.close()
    #expect(!lane.run { gate.pass(3) })
    gate.open(4)
    #expect(gate.did(0..<3))
  }

  @Test func `a lane that is finished has done what it took`() {
    let (lane, gate) = (ThreadPool(threads: 1, queue: .max), Gate())
    gate.open(100)
    for number in 0..<100 { #expect(lane.run { gate.pass(number) }) }
    lane.finish()
    #expect(gate.done.withLock { $0 } == Array(0..<100))
    #expect(!lane.run { gate.pass(100) })
  }

  @Test func `callers take turns for a thread`() throws {
    let (lane, gate) = (ThreadPool(threads: 1, queue: 100), Gate())
    #expect(lane.run { gate.pass(0) })
    try #require(gate.entered.wait(seconds: 10))
    for (caller, number) in [("a", 1), ("a", 3), ("a", 4), ("b", 2)] {
      lane.run(for: QueueKey(caller: caller), until: nil, refused: ignore) { gate.pass(number) }
    }
    gate.open(5)
    #expect(gate.did(0..<5))
    lane.close()
  }

  @Test func `work that waited until its deadline is refused, and not done`() throws {
    let (lane, gate) = (ThreadPool(threads: 1, queue: 100), Gate())
    let refused = Mutex<[ThreadPool.Refusal]>([])
    #expect(lane.run { gate.pass(0) })
    try #require(gate.entered.wait(seconds: 10))
    let now = ContinuousClock.now
    let note = { @Sendable (why: ThreadPool.Refusal) in refused.withLock { $0.append(why) } }
    lane.run(for: QueueKey(), until: now, refused: note) { gate.pass(9) }
    lane.run(for: QueueKey(), until: now + .seconds(3_600), refused: ignore) { gate.pass(1) }
    lane.refuseExpired()
    #expect(refused.withLock { $0 } == [.expired])
    #expect(lane.waiting == 1)
    gate.open(2)
    #expect(gate.did(0..<2))
    lane.close()
  }

  @Test func `a lane that is closed can refuse what waits`() throws {
    let (lane, gate) = (ThreadPool(threads: 1, queue: 1), Gate())
    let refused = Mutex<[ThreadPool.Refusal]>([])
    let note = { @Sendable (why: ThreadPool.Refusal) in refused.withLock { $0.append(why) } }
    #expect(lane.run { gate.pass(0) })
    try #require(gate.entered.wait(seconds: 10))
    for _ in 0..<2 { lane.run(for: QueueKey(), until: nil, refused: note) { gate.pass(9) } }
    lane.close(refusesWaiting: true)
    lane.run(for: QueueKey(), until: nil, refused: note) { gate.pass(9) }
    #expect(refused.withLock { $0 } == [.full, .closed, .closed])
    gate.open(1)
    #expect(gate.did(0..<1))
  }
}
