// Quotas: rates of requests, saves and bytes, waiting requests, live fetches.

import FetchModel
import Synchronization
import Testing

@testable import Service

@Suite struct QuotaTests {
  private final class Clock: Sendable {
    private let nanoseconds = Atomic<UInt64>(1_000_000_000)

    var now: UInt64 { nanoseconds.load(ordering: .relaxed) }

    func advance(seconds: Double) {
      nanoseconds.add(UInt64(seconds * 1e9), ordering: .relaxed)
    }
  }

  private func quotas(_ clock: Clock, _ limits: (String, String)...) -> Quotas {
    var all = QuotaLimits()
    for (name, value) in limits {
      let isSet = all.set(name, to: value)
      #expect(isSet)
    }
    return Quotas(all) { clock.now }
  }

  /// The number of requests that are admitted until the first refusal.
  private func admitted(_ quotas: Quotas, _ caller: String, isSave: Bool = false) -> Int {
    (0..<1_000).first { _ in
      (try? quotas.admit(caller, isSave: isSave)) == nil
    } ?? 1_000
  }

  private func refusal(_ body: () throws(Problem) -> Void) -> Problem? {
    do throws(Problem) {
      try body()
      return nil
    } catch {
      return error
    }
  }

  @Test func `a caller has one second's worth of requests, and gets more as time passes`() {
    let clock = Clock()
    let quotas = quotas(clock, ("requests-per-second", "10"))
    #expect(admitted(quotas, "a") == 10)
    #expect(admitted(quotas, "a") == 0)
    clock.advance(seconds: 0.35)
    #expect(admitted(quotas, "a") == 3)
    clock.advance(seconds: 3_600)
    #expect(admitted(quotas, "a") == 10)
  }

  @Test func `callers do not notice each other`() {
    let quotas = quotas(Clock(), ("requests-per-second", "5"))
    #expect(admitted(quotas, "a") == 5)
    #expect(admitted(quotas, "b") == 5)
  }

  @Test func `callers whose names are two spellings of one text do not notice each other`() {
    let quotas = quotas(Clock(), ("requests-per-second", "5"))
    #expect(admitted(quotas, "jwt:\u{E9}") == 5)
    #expect(admitted(quotas, "jwt:e\u{301}") == 5)
  }

  @Test func `a refused save uses up no request`() {
    let quotas = quotas(Clock(), ("requests-per-second", "5"), ("saves-per-second", "2"))
    #expect(admitted(quotas, "a", isSave: true) == 2)
    #expect(admitted(quotas, "a") == 3)
  }

  @Test func `a request that is only checked uses up nothing`() {
    let quotas = quotas(Clock(), ("requests-per-second", "1"))
    for _ in 0..<5 {
      let problem = refusal { () throws(Problem) in
        try quotas.admit("a", isSave: false, isCounted: false)
      }
      #expect(problem == nil)
    }
    #expect(admitted(quotas, "a") == 1)
  }

  @Test
  func `after bytes beyond the quota, requests are refused until the excess has been refilled`() {
    let clock = Clock()
    let quotas = quotas(clock, ("bytes-per-second", "1000"))
    #expect(refusal { () throws(Problem) in try quotas.admit("a", isSave: false) } == nil)
    quotas.charge(bytes: 5_000, to: "a")
    let problem = refusal { () throws(Problem) in try quotas.admit("a", isSave: false) }
    #expect(problem?.status == 429)
    #expect(problem?.headers.first { $0.name == "Retry-After" }?.value == "5")
    #expect(
      problem?.headers.first { $0.name == "RateLimit-Policy" }?.value
        == "\"bytes-per-second\";q=1000;w=1;qu=\"content-bytes\"")
    clock.advance(seconds: 3.9)
    #expect(refusal { () throws(Problem) in try quotas.admit("a", isSave: false) } != nil)
    clock.advance(seconds: 0.2)
    #expect(refusal { () throws(Problem) in try quotas.admit("a", isSave: false) } == nil)
  }

  @Test func `a waiting request counts until it ends`() throws {
    let quotas = quotas(Clock(), ("waiting-requests", "2"), ("live-fetches", "10"))
    var first = try quotas.hold("a", fetches: 6)
    #expect(refusal { () throws(Problem) in _ = try quotas.hold("a", fetches: 5) }?.status == 429)
    let second = try quotas.hold("a", fetches: 4)
    #expect(refusal { () throws(Problem) in _ = try quotas.hold("a", fetches: 0) }?.status == 429)
    #expect(try quotas.hold("b", fetches: 10) != nil)
    #expect(first != nil && second != nil)
    first = nil
    #expect(try quotas.hold("a", fetches: 6) != nil)
  }

  @Test func `more fetches than a number can hold are refused`() {
    let quotas = quotas(Clock(), ("live-fetches", "10"))
    #expect(refusal { () throws(Problem) in _ = try quotas.hold("a", fetches: 11) }?.status == 429)
  }

  @Test func `callers beyond the bound share one account until idle ones are removed`() {
    let clock = Clock()
    let quotas = quotas(clock, ("requests-per-second", "2"))
    for number in 0..<Quotas.maxAccounts {
      try? quotas.admit("\(number)", isSave: false)
    }
    #expect(quotas.accountCount == Quotas.maxAccounts)
    #expect(admitted(quotas, "x") == 2)
    #expect(admitted(quotas, "y") == 0)
    #expect(quotas.accountCount <= Quotas.maxAccounts + 1)
    clock.advance(seconds: 10)
    #expect(admitted(quotas, "z") == 2)
    #expect(quotas.accountCount <= 2)
  }

  @Test(arguments: [
    ("requests-per-second", "0"), ("requests-per-second", "-1"), ("requests-per-second", "nan"),
    ("requests-per-second", "inf"), ("live-fetches", "0"), ("live-fetches", "1.5"),
    ("waiting-requests", ""), ("none", "1"),
  ])
  func `an impossible limit is refused`(name: String, value: String) {
    var limits = QuotaLimits()
    let isSet = limits.set(name, to: value)
    #expect(!isSet)
  }
}
