// The callers whose requests do not use the HTTP workers, and the time of one attempt at a query.

import FetchModel
import Foundation
import TestSupport
import Testing

@testable import Service

@Suite("A caller whose request took half a millisecond or more of an HTTP worker")
struct SlowCallersTests {
  @Test("does not use the workers for ten times as long, and others do")
  func pause() {
    let callers = SlowCallers()
    let start = ContinuousClock.now
    #expect(callers.mayUseWorker("a", at: start))
    callers.record("a", .milliseconds(3), at: start)
    #expect(!callers.mayUseWorker("a", at: start + .milliseconds(29)))
    #expect(callers.mayUseWorker("b", at: start + .milliseconds(29)))
    #expect(callers.mayUseWorker("a", at: start + .milliseconds(30)))
    callers.record("a", .microseconds(500), at: start + .milliseconds(60))
    #expect(!callers.mayUseWorker("a", at: start + .milliseconds(64)))
    #expect(callers.mayUseWorker("a", at: start + .milliseconds(65)))
  }

  @Test("does not use them for twice as long each time that it goes on, up to a second")
  func repeated() {
    let callers = SlowCallers()
    var now = ContinuousClock.now
    for length in [30, 60, 120, 240, 480, 960, 960] {
      callers.record("a", .milliseconds(3), at: now)
      #expect(!callers.mayUseWorker("a", at: now + .milliseconds(length - 1)))
      now += .milliseconds(length)
      #expect(callers.mayUseWorker("a", at: now))
    }
    now += .seconds(1)
    callers.record("a", .milliseconds(3), at: now)
    #expect(callers.mayUseWorker("a", at: now + .milliseconds(30)))
  }

  @Test("has no longer pause for requests that ran together, nor for a short one after a long one")
  func parallel() {
    let callers = SlowCallers()
    let start = ContinuousClock.now
    for _ in 0..<8 { callers.record("a", .milliseconds(3), at: start) }
    #expect(callers.mayUseWorker("a", at: start + .milliseconds(30)))
    callers.record("b", .milliseconds(200), at: start)
    callers.record("b", .microseconds(500), at: start + .seconds(3))
    #expect(!callers.mayUseWorker("b", at: start + .milliseconds(3_009)))
    #expect(callers.mayUseWorker("b", at: start + .milliseconds(3_010)))
  }

  @Test("does not use them for ten times as long as work that takes more than a tenth of a second")
  func long() {
    let callers = SlowCallers()
    let start = ContinuousClock.now
    callers.record("a", .milliseconds(200), at: start)
    callers.record("a", .milliseconds(200), at: start + .seconds(2))
    #expect(!callers.mayUseWorker("a", at: start + .milliseconds(3_999)))
    #expect(callers.mayUseWorker("a", at: start + .seconds(4)))
  }

  @Test("uses them after shorter ones, however many there are")
  func short() {
    let callers = SlowCallers()
    let start = ContinuousClock.now
    for _ in 0..<1_000 { callers.record("a", .microseconds(499), at: start) }
    #expect(callers.mayUseWorker("a", at: start))
  }

  @Test("does not use them after work that failed either")
  func failed() {
    struct Failed: Error {}
    let callers = SlowCallers()
    let start = ContinuousClock.now
    #expect(throws: Failed.self) {
      try callers.measure("a") { () throws(Failed) in
        let end = QueryAttempt.processorTime + 3_000_000
        while QueryAttempt.processorTime < end {}
        throw Failed()
      }
    }
    #expect(!callers.mayUseWorker("a", at: start))
    #expect(callers.mayUseWorker("b", at: start))
  }

  @Test("is not forgotten before its pause is over, however many there are")
  func many() {
    let callers = SlowCallers()
    let start = ContinuousClock.now
    for number in 0..<3_000 { callers.record("\(number)", .milliseconds(3), at: start) }
    #expect((0..<3_000).allSatisfy { !callers.mayUseWorker("\($0)", at: start) })
  }
}

@Suite("An attempt at a query", .mayBlock)
struct QueryAttemptTests {
  @Test("ends soon when its thread waits without using the processor, as for a database server")
  func waits() throws {
    let file = try ServedFile("CREATE TABLE t(id INTEGER PRIMARY KEY);")
    let attempt = QueryAttempt(
      deadline: .now + .seconds(600), limit: .milliseconds(50), isLate: false)
    let isCancelled = { @Sendable in false }
    let end = ContinuousClock.now + .seconds(20)
    #expect(throws: StoreError.tooSlow) {
      try attempt.run(file.store, cancellation: isCancelled) { () throws(StoreError) in
        while QueryCancellation.current?.isCancelled() == false {
          guard ContinuousClock.now < end else { throw .busy }
          Thread.sleep(forTimeInterval: 0.05)
        }
        throw .queryTimeout
      }
    }
  }
}
