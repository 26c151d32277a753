// The time that the callers' fetches may take on an engine's thread.

import FetchModel
import Testing

@testable import LiveQueries

@Suite("The time of callers") struct CallerTimesTests {
  private let times = CallerTimes(limit: .milliseconds(20))

  @Test("A caller that is alone has no limit")
  func alone() {
    times.note("a", now: .now)
    times.charge(.seconds(5), to: ["a"])
    #expect(times.timeLeft(for: ["a"]) == nil)
    times.note("b", now: .now)
    #expect(times.timeLeft(for: ["a"]) == .zero)
    #expect(times.timeLeft(for: ["b"]) == .milliseconds(20))
  }

  @Test("A fetch of several callers is charged to each in equal parts, and may use the time of all")
  func shared() {
    let now = ContinuousClock.now
    for caller in ["a", "b", "c"] { times.note(caller, now: now) }
    times.charge(.milliseconds(30), to: ["a", "b"], now: now)
    #expect(times.timeLeft(for: ["a"], now: now) == .milliseconds(5))
    #expect(times.timeLeft(for: ["a", "b"], now: now) == .milliseconds(10))
    #expect(times.timeLeft(for: ["c"], now: now) == .milliseconds(20))
  }

  @Test("A fetch of more than fifty callers has no limit and is charged to none")
  func popular() {
    let callers = Set((0..<51).map { "caller \($0)" })
    for caller in callers { times.note(caller, now: .now) }
    times.charge(.seconds(60), to: callers)
    #expect(times.timeLeft(for: callers) == nil)
    #expect(times.timeLeft(for: ["caller 1"]) == .milliseconds(20))
  }

  @Test("A twentieth of the time that passes is given back")
  func recovery() {
    let now = ContinuousClock.now
    times.note("b", now: now)
    times.charge(.milliseconds(25), to: ["a"], now: now)
    #expect(times.timeLeft(for: ["a"], now: now) == .zero)
    #expect(times.timeLeft(for: ["a"], now: now + .milliseconds(200)) == .milliseconds(5))
    #expect(times.timeLeft(for: ["a"], now: now + .seconds(2)) == .milliseconds(20))
  }

  @Test("In each transaction 0.2 ms of a caller, and 20 µs for each changed object, do not count")
  func ordinary() {
    let now = ContinuousClock.now
    for caller in ["a", "b"] { times.note(caller, now: now) }
    times.beginTransaction(changes: 1_000)
    times.charge(.milliseconds(15), to: ["a"], now: now)
    #expect(times.timeLeft(for: ["a"], now: now) == .microseconds(25_200))
    times.charge(.milliseconds(15), to: ["a"], now: now)
    #expect(times.timeLeft(for: ["a"], now: now) == .microseconds(10_200))
    #expect(times.timeLeft(for: ["b"], now: now) == .microseconds(40_200))
    times.beginTransaction(changes: 0)
    #expect(times.timeLeft(for: ["a"], now: now) == .microseconds(10_400))
    times.charge(.microseconds(100), to: ["a"], now: now)
    #expect(times.timeLeft(for: ["a"], now: now) == .microseconds(10_300))
  }

  @Test("Callers without requests for a minute do not count")
  func sweep() {
    let now = ContinuousClock.now
    times.note("a", now: now)
    times.note("b", now: now - .seconds(61))
    #expect(times.isLimiting)
    times.sweep(now)
    #expect(!times.isLimiting)
  }

  @Test("Without a limit no caller counts")
  func unlimited() {
    let times = CallerTimes(limit: nil)
    times.note("a", now: .now)
    times.note("b", now: .now)
    #expect(!times.isLimiting)
    #expect(times.timeLeft(for: ["a"]) == nil)
  }
}
