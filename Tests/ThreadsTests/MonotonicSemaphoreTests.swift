// The semaphore: signals, waits and time limits.

import Dispatch
import TestSupport
import Testing

@testable import LiveFetchThreads

@Suite(.mayBlock) struct MonotonicSemaphoreTests {
  @Test func `a signal that came before lets a wait pass`() {
    let signal = MonotonicSemaphore()
    signal.signal()
    signal.signal()
    signal.wait()
    #expect(signal.wait(nanoseconds: 0))
    #expect(!signal.wait(nanoseconds: 0))
  }

  @Test func `the initial value is counted`() {
    let signal = MonotonicSemaphore(value: 2)
    #expect(signal.wait(nanoseconds: 0))
    #expect(signal.wait(nanoseconds: 0))
    #expect(!signal.wait(nanoseconds: 1_000_000))
  }

  @Test func `a wait ends at its time limit`() {
    let signal = MonotonicSemaphore()
    let began = ContinuousClock.now
    #expect(!signal.wait(seconds: 0.05))
    #expect(ContinuousClock.now - began >= .milliseconds(50))
  }

  @Test func `a signal from another thread ends a wait`() {
    let signal = MonotonicSemaphore()
    for _ in 0..<100 {
      DispatchQueue.global().async { signal.signal() }
      #expect(signal.wait(seconds: 300))
    }
    DispatchQueue.global().async { signal.signal() }
    signal.wait()
  }
}
