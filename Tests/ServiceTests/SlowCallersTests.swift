// The callers whose requests do not use the HTTP workers, and the time of one attempt at a query.

import FetchModel
import Foundation
import TestSupport
import Testing

@testable import Service

@Suite("A caller whose request took half a millisecond or more of an HTTP worker")
struct SlowCallersTests {
  private let callers = SlowCallers()
  private let start = ContinuousClock.now

  /// Expects that the pause of a caller ends so many milliseconds after the start.
  private func expectPause(
    of caller: String, until end: Int, sourceLocation: SourceLocation = #_sourceLocation
  ) {
    let last = callers.isPaused(caller, at: start + .milliseconds(end - 1))
    #expect(last, sourceLocation: sourceLocation)
    let next = callers.isPaused(caller, at: start + .milliseconds(end))
    #expect(!next, sourceLocation: sourceLocation)
  }

  @Test("does not use the workers for ten times as long, and others do")
  func pause() {
    #expect(!callers.isPaused("a", at: start))
    callers.record("a", .milliseconds(3), at: start)
    #expect(!callers.isPaused("b", at: start + .milliseconds(29)))
    expectPause(of: "a", until: 30)
    callers.record("a", .microseconds(500), at: start + .milliseconds(60))
    expectPause(of: "a", until: 65)
  }

  @Test("does not use them for twice as long each time that it goes on, up to a second")
  func repeated() {
    var end = 0
    for length in [30, 60, 120, 240, 480, 960, 960] {
      callers.record("a", .milliseconds(3), at: start + .milliseconds(end))
      end += length
      expectPause(of: "a", until: end)
    }
    end += 1_000
    callers.record("a", .milliseconds(3), at: start + .milliseconds(end))
    expectPause(of: "a", until: end + 30)
  }

  @Test("has no longer pause for requests that ran together, nor for a short one after a long one")
  func together() {
    for _ in 0..<8 { callers.record("a", .milliseconds(3), at: start) }
    expectPause(of: "a", until: 30)
    callers.record("b", .milliseconds(200), at: start)
    callers.record("b", .microseconds(500), at: start + .seconds(3))
    expectPause(of: "b", until: 3_010)
  }

  @Test("does not use them for ten times as long as work that takes more than a tenth of a second")
  func long() {
    callers.record("a", .milliseconds(200), at: start)
    callers.record("a", .milliseconds(200), at: start + .seconds(2))
    expectPause(of: "a", until: 4_000)
  }

  @Test("uses them after shorter ones, however many there are")
  func short() {
    for _ in 0..<1_000 { callers.record("a", .microseconds(499), at: start) }
    #expect(!callers.isPaused("a", at: start))
  }

  @Test("does not use them after work that failed either")
  func failed() {
    struct Failed: Error {}
    #expect(throws: Failed.self) {
      try callers.measure("a") { () throws(Failed) in
        let end = QueryAttempt.processorTime + 3_000_000
        while QueryAttempt.processorTime < end {}
        throw Failed()
      }
    }
    #expect(callers.isPaused("a", at: start))
    #expect(!callers.isPaused("b", at: start))
  }

  @Test("is not forgotten before its pause is over, however many there are")
  func many() {
    for number in 0..<3_000 { callers.record("\(number)", .milliseconds(3), at: start) }
    #expect((0..<3_000).allSatisfy { callers.isPaused("\($0)", at: start) })
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
