// The callers whose queries are not tried on HTTP workers.

import Testing

@testable import Service

@Suite("A caller whose query took too long for an HTTP worker")
struct SlowCallersTests {
  @Test("is not tried there for 30 ms, and others are")
  func pause() {
    let callers = SlowCallers()
    let start = ContinuousClock.now
    #expect(callers.mayTry("a", at: start))
    callers.record("a", at: start)
    #expect(!callers.mayTry("a", at: start + .milliseconds(29)))
    #expect(callers.mayTry("b", at: start + .milliseconds(29)))
    #expect(callers.mayTry("a", at: start + .milliseconds(30)))
    // The pause is over, also for a query that arrived before its end.
    #expect(callers.mayTry("a", at: start + .milliseconds(29)))
  }

  @Test("waits as long for its next attempt if that takes too long again")
  func again() {
    let callers = SlowCallers()
    let start = ContinuousClock.now
    callers.record("a", at: start)
    callers.record("a", at: start + .milliseconds(40))
    #expect(!callers.mayTry("a", at: start + .milliseconds(69)))
    #expect(callers.mayTry("a", at: start + .milliseconds(70)))
  }

  @Test("is not forgotten before its pause is over, however many there are")
  func many() {
    let callers = SlowCallers()
    let start = ContinuousClock.now
    for number in 0..<3_000 { callers.record("\(number)", at: start) }
    #expect((0..<3_000).allSatisfy { !callers.mayTry("\($0)", at: start) })
  }
}
