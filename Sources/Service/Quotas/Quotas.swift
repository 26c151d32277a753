// Limits per caller: requests, saves and bytes per second, waiting requests, live fetches.
//
// A caller is a credential, or without one an address (the `/64` of an IPv6 address). Rates are token
// buckets that hold one second's worth. Promises: a request takes constant time; a refused request
// uses up nothing; memory is bounded by ``maxAccounts``, beyond which new callers share one account.

import FetchModel
import LiveFetchHTTPServer
import Synchronization

/// The limits for each caller; nil means no limit.
public struct QuotaLimits: Sendable, Hashable {
  /// Requests of any kind per second.
  public var requestsPerSecond: Double?
  /// Saves per second.
  public var savesPerSecond: Double?
  /// Bytes of responses' bodies.
  public var bytesPerSecond: Double?
  /// Requests that wait for a change, and streams.
  public var waitingRequests: Int?
  /// Fetches that waiting requests and streams follow.
  public var liveFetches: Int?

  /// Makes quota limits with the default values.
  public init() {}

  /// The names of the limits.
  public static let names = [
    "requests-per-second", "saves-per-second", "bytes-per-second", "waiting-requests",
    "live-fetches",
  ]

  /// Sets the limit `name`. Returns false if there is no such limit, or if it does not take the value.
  public mutating func set(_ name: String, to text: String) -> Bool {
    switch name {
    case "requests-per-second": Self.set(&requestsPerSecond, Self.rate(text))
    case "saves-per-second": Self.set(&savesPerSecond, Self.rate(text))
    case "bytes-per-second": Self.set(&bytesPerSecond, Self.rate(text))
    case "waiting-requests": Self.set(&waitingRequests, Self.count(text))
    case "live-fetches": Self.set(&liveFetches, Self.count(text))
    default: false
    }
  }

  /// True if a limit is a whole number.
  public static func isCount(_ name: String) -> Bool {
    ["waiting-requests", "live-fetches"].contains(name)
  }

  private static func set<Value>(_ limit: inout Value?, _ value: Value?) -> Bool {
    limit = value
    return value != nil
  }

  private static func rate(_ text: String) -> Double? {
    Double(text).flatMap { $0 >= 1e-6 && $0 <= 1e12 ? $0 : nil }
  }

  private static func count(_ text: String) -> Int? {
    Int(text).flatMap { (1...1_000_000_000).contains($0) ? $0 : nil }
  }
}

/// The quotas of all callers. Shared by all services of a server.
public final class Quotas: Sendable {
  /// The maximum number of callers that are counted one by one.
  static let maxAccounts = 50_000
  /// The account of all callers beyond these.
  private static let sharedAccount: [UInt8] = []
  private static let sweepPause: UInt64 = 1_000_000_000

  private struct Account {
    var requests: TokenBucket?
    var saves: TokenBucket?
    var bytes: TokenBucket?
    var waiting = 0
    var fetches = 0

    init(_ limits: QuotaLimits, _ now: UInt64) {
      requests = limits.requestsPerSecond.map { TokenBucket(rate: $0, now) }
      saves = limits.savesPerSecond.map { TokenBucket(rate: $0, now) }
      bytes = limits.bytesPerSecond.map { TokenBucket(rate: $0, now) }
    }

    /// True if the account is as a new one.
    func isIdle(_ now: UInt64) -> Bool {
      waiting == 0 && fetches == 0
        && [requests, saves, bytes].allSatisfy { $0?.isFull(at: now) ?? true }
    }
  }

  private struct State {
    /// By the bytes of the callers' names: two spellings of `é` are equal texts.
    var accounts: [[UInt8]: Account] = [:]
    var lastSweep: UInt64 = 0
  }

  let limits: QuotaLimits
  private let now: @Sendable () -> UInt64
  // Protects the accounts.
  private let state = Mutex(State())

  /// Makes accounts on which nothing was used yet.
  public convenience init(_ limits: QuotaLimits) {
    self.init(limits) { Deadlines.now }
  }

  /// - Parameter now: nanoseconds of a monotonic clock.
  init(_ limits: QuotaLimits, now: @escaping @Sendable () -> UInt64) {
    self.limits = limits
    self.now = now
  }

  /// The number of callers that are counted. For tests.
  var accountCount: Int { state.withLock { $0.accounts.count } }

  // MARK: Rates

  /// Counts a request.
  ///
  /// - Parameter isCounted: false to check only.
  /// - Throws: 429 if the caller has used up a quota; then nothing is counted.
  func admit(_ caller: String, isSave: Bool, isCounted: Bool = true) throws(Problem) {
    let time = now()
    let refusal: Problem? = withAccount(caller, at: time) { account in
      if let wait = account.requests?.wait(for: 1, at: time) {
        return tooMany("requests-per-second", limit: limits.requestsPerSecond, wait: wait)
      }
      if isSave, let wait = account.saves?.wait(for: 1, at: time) {
        return tooMany("saves-per-second", limit: limits.savesPerSecond, wait: wait)
      }
      if let wait = account.bytes?.wait(for: 0, at: time) {
        return tooMany("bytes-per-second", limit: limits.bytesPerSecond, wait: wait)
      }
      guard isCounted else { return nil }
      account.requests?.consume(1)
      if isSave { account.saves?.consume(1) }
      return nil
    }
    if let refusal { throw refusal }
  }

  /// Counts bytes that are sent. They may exceed the quota: then the next requests are refused.
  func charge(bytes: Int, to caller: String) {
    guard limits.bytesPerSecond != nil else { return }
    let time = now()
    withAccount(caller, at: time) { account in
      _ = account.bytes?.wait(for: 0, at: time)
      account.bytes?.consume(Double(bytes))
    }
  }

  // MARK: Waiting requests and streams

  /// Counts a request that waits, or a stream, with the fetches that it follows, for as long as the
  /// result exists.
  ///
  /// - Throws: 429 if the caller has as many already.
  func hold(_ caller: String, fetches: Int) throws(Problem) -> QuotaHold? {
    guard limits.waitingRequests != nil || limits.liveFetches != nil else { return nil }
    let time = now()
    let (refusal, key): (Problem?, [UInt8]) = withAccountAndKey(caller, at: time) { account, key in
      if let most = limits.waitingRequests, account.waiting >= most {
        return (tooMany("waiting-requests", limit: Double(most), wait: nil), key)
      }
      if let most = limits.liveFetches, account.fetches > most - fetches {
        return (tooMany("live-fetches", limit: Double(most), wait: nil), key)
      }
      account.waiting += 1
      account.fetches += fetches
      return (nil, key)
    }
    if let refusal { throw refusal }
    return QuotaHold(quotas: self, caller: key, fetches: fetches)
  }

  fileprivate func release(_ caller: [UInt8], fetches: Int) {
    state.withLock { state in
      state.accounts[caller]?.waiting -= 1
      state.accounts[caller]?.fetches -= fetches
    }
  }

  // MARK: Accounts

  private func withAccount<Result: Sendable>(
    _ caller: String, at time: UInt64, _ body: (inout Account) -> Result
  ) -> Result {
    withAccountAndKey(caller, at: time) { account, _ in body(&account) }
  }

  private func withAccountAndKey<Result: Sendable>(
    _ caller: String, at time: UInt64, _ body: (inout Account, [UInt8]) -> Result
  ) -> Result {
    state.withLock { state in
      var key = Array(caller.utf8)
      if state.accounts[key] == nil, state.accounts.count >= Self.maxAccounts {
        sweep(&state, time)
        if state.accounts.count >= Self.maxAccounts { key = Self.sharedAccount }
      }
      return body(&state.accounts[key, default: Account(limits, time)], key)
    }
  }

  /// Removes idle accounts. O(accounts), at most once a second.
  private func sweep(_ state: inout State, _ time: UInt64) {
    guard state.lastSweep == 0 || time &- state.lastSweep >= Self.sweepPause else { return }
    state.lastSweep = time
    state.accounts = state.accounts.filter { !$0.value.isIdle(time) }
  }

  // MARK: Refusals

  /// - Parameter wait: seconds until the quota allows another request; nil if that is not known.
  private func tooMany(_ name: String, limit: Double?, wait: Double?) -> Problem {
    let amount = limit.map { $0 == $0.rounded() ? String(Int($0)) : String($0) } ?? ""
    var problem = Problem(
      429, "too-many-requests", "Too many requests",
      "The quota `\(name)` of \(amount) for each caller is used up.")
    let seconds = Int(min(max((wait ?? 1).rounded(.up), 1), 86_400))
    // Fields of draft-ietf-httpapi-ratelimit-headers.
    let quota = Int(max((limit ?? 1).rounded(.up), 1))
    let policy =
      switch name {
      case "waiting-requests", "live-fetches": "q=\(quota);qu=\"concurrent-requests\""
      case "bytes-per-second": "q=\(quota);w=1;qu=\"content-bytes\""
      default: (limit ?? 1) < 1 ? "q=1;w=\(Int((1 / (limit ?? 1)).rounded(.up)))" : "q=\(quota);w=1"
      }
    problem.headers = [
      ("Retry-After", String(seconds)),
      ("RateLimit-Policy", "\"\(name)\";\(policy)"),
      ("RateLimit", "\"\(name)\";r=0" + (wait == nil ? "" : ";t=\(seconds)")),
    ]
    return problem
  }
}

/// A waiting request's part of its caller's quotas, for as long as this object exists.
final class QuotaHold: Sendable {
  private let quotas: Quotas
  private let caller: [UInt8]
  private let fetches: Int

  fileprivate init(quotas: Quotas, caller: [UInt8], fetches: Int) {
    self.quotas = quotas
    self.caller = caller
    self.fetches = fetches
  }

  deinit { quotas.release(caller, fetches: fetches) }
}

/// An amount that grows at a rate up to one second's worth, at least 1.
private struct TokenBucket {
  private let rate: Double
  private var level: Double
  private var time: UInt64

  init(rate: Double, _ now: UInt64) {
    self.rate = rate
    level = max(rate, 1)
    time = now
  }

  private func level(at now: UInt64) -> Double {
    min(max(rate, 1), level + Double(now > time ? now - time : 0) / 1e9 * rate)
  }

  func isFull(at now: UInt64) -> Bool { level(at: now) >= max(rate, 1) }

  /// Refills the bucket. Returns the seconds until it has `amount`, more than nothing; nil if it has.
  mutating func wait(for amount: Double, at now: UInt64) -> Double? {
    level = level(at: now)
    time = max(time, now)
    if amount > 0 ? level >= amount : level > 0 { return nil }
    return (max(amount, 1e-9) - level) / rate
  }

  mutating func consume(_ amount: Double) { level -= amount }
}
