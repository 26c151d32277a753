// The callers whose queries are not tried on HTTP workers.

import Testing

@testable import Service

@Suite("A caller whose query took half a millisecond or more on an HTTP worker")
struct SlowCallersTests {
  @Test("is not tried there for ten times as long, and others are")
  func pause() {
    let callers = SlowCallers()
    let start = ContinuousClock.now
    #expect(callers.mayTry("a", at: start))
    callers.record("a", .milliseconds(3), at: start)
    #expect(!callers.mayTry("a", at: start + .milliseconds(29)))
    #expect(callers.mayTry("b", at: start + .milliseconds(29)))
    #expect(callers.mayTry("a", at: start + .milliseconds(30)))
    callers.record("a", .microseconds(500), at: start + .milliseconds(40))
    #expect(!callers.mayTry("a", at: start + .milliseconds(44)))
    #expect(callers.mayTry("a", at: start + .milliseconds(45)))
  }

  @Test("is tried on after shorter ones, however many there are")
  func short() {
    let callers = SlowCallers()
    let start = ContinuousClock.now
    for _ in 0..<1_000 { callers.record("a", .microseconds(499), at: start) }
    #expect(callers.mayTry("a", at: start))
  }

  @Test("is not forgotten before its pause is over, however many there are")
  func many() {
    let callers = SlowCallers()
    let start = ContinuousClock.now
    for number in 0..<3_000 { callers.record("\(number)", .milliseconds(3), at: start) }
    #expect((0..<3_000).allSatisfy { !callers.mayTry("\($0)", at: start) })
  }
}
