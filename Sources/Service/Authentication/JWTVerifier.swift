// JWT → caller.
//
// Promises: a verified token is kept until keys are fetched or too many are kept, so that its signature is
// verified once. Every refusal verifies at least one signature if there are keys, so that malformed text is
// not refused faster.
// Fetching keys never blocks a request's thread: a request with an unknown key is handled again after
// the keys were fetched.

import FetchModel
import LiveFetchHTTPServer
import LiveFetchThreads
import Synchronization

/// Verifies JWTs by keys from a file and from a URL.
package final class JWTVerifier: Sendable {
  /// The keys of a URL.
  package struct Source: Sendable {
    /// Returns the JWKS.
    let fetch: @Sendable () async throws -> [UInt8]
    /// Called when fetching fails, with the reason, and true if keys of an earlier fetch stay in use.
    let onFailure: @Sendable (String, Bool) -> Void
    /// The time between two fetches.
    let interval: Duration

    package init(
      every interval: Duration = .seconds(600),
      fetch: @escaping @Sendable () async throws -> [UInt8],
      onFailure: @escaping @Sendable (String, Bool) -> Void = { _, _ in }
    ) {
      self.interval = interval
      self.fetch = fetch
      self.onFailure = onFailure
    }
  }

  private struct State {
    var fetched: [JWTKey] = []
    /// Verified tokens by their hashes, and the bytes of their texts.
    var verified: [SHA256Digest: Caller] = [:]
    var verifiedBytes = 0
    var lastFetch: ContinuousClock.Instant?
    var hasFailed = false
    var isFetching = false
    /// Called once the fetch has ended.
    var waiting: [@Sendable () -> Void] = []
  }

  /// Seconds by which clocks may differ.
  static let clockSkew = 30.0
  /// The maximum number of verified tokens that are kept.
  private static let maxVerified = 10_000
  /// The maximum number of bytes of their texts. The claims of a token take several times the memory of
  /// its text.
  package static let maxVerifiedBytes = 8 << 20
  /// The maximum number of requests that wait for a fetch of keys.
  private static let maxWaiting = 1_000
  /// The maximum number of keys that a token is tried with.
  private static let maxTries = 8
  /// The shortest time between two fetches that unknown keys cause.
  private static let minInterval = Duration.seconds(30)

  private let rules: JWTRules
  private let ownKeys: [JWTKey]
  private let source: Source?
  // Protects the fetched keys and the verified tokens; not held while a signature is verified.
  private let state = Mutex(State())

  package init(rules: JWTRules = JWTRules(), keys: [JWTKey] = [], source: Source? = nil) {
    self.rules = rules
    ownKeys = keys
    self.source = source
  }

  /// The verified tokens that are kept, and the bytes of their texts.
  package var kept: (count: Int, bytes: Int) {
    state.withLock { ($0.verified.count, $0.verifiedBytes) }
  }

  /// - Parameter digest: The SHA-256 of `text`.
  func verify(
    _ text: String, _ digest: SHA256Digest, at time: Double
  ) -> Authenticator.Result {
    let (known, fetched, lastFetch) = state.withLock {
      ($0.verified[digest], $0.fetched, $0.lastFetch)
    }
    if let known, time < known.expires + Self.clockSkew { return .caller(known) }
    let keys = ownKeys + fetched
    guard let token = JSONWebToken(text) else { return refuse(.unknown, keys, at: time) }
    let fitting = keys.filter { $0.fits(token) }.prefix(Self.maxTries)
    let fault: CredentialFault
    do throws(CredentialFault) {
      let caller = try caller(of: token, fitting, at: time)
      keep(caller, digest, bytes: text.utf8.count, verifiedAfter: lastFetch)
      return .caller(caller)
    } catch {
      fault = error
    }
    let isKnownKey = token.keyID.map { id in keys.contains { $0.id == id } } ?? !fitting.isEmpty
    if !isKnownKey {
      if source != nil, state.withLock({ Self.mayFetch($0) }) { return .pending }
      // Keys may have arrived since they were read above.
      if state.withLock({ $0.lastFetch }) != lastFetch { return verify(text, digest, at: time) }
    }
    return fitting.isEmpty ? refuse(.noFittingKey, keys, at: time) : .refused(fault)
  }

  /// Verifies the signature, and checks the claims also where the signature is wrong: both refusals
  /// take the same time.
  private func caller(
    of token: JSONWebToken, _ keys: ArraySlice<JWTKey>, at time: Double
  ) throws(CredentialFault) -> Caller {
    let key = keys.first { $0.verify(token.signature, signs: token.signedText) }
    let caller = Result { () throws(CredentialFault) in
      try rules.caller(token.claims, of: key, at: time)
    }
    if key == nil { throw .wrongSignature }
    return try caller.get()
  }

  /// Refuses a text without a signature to verify, in the time that refusing a JWT takes.
  private func refuse(
    _ fault: CredentialFault, _ keys: [JWTKey], at time: Double
  ) -> Authenticator.Result {
    if let key = keys.first, let dummy = JSONWebToken(key.dummyToken) {
      _ = try? caller(of: dummy, [key], at: time)
    }
    return .refused(fault)
  }

  /// Keeps a verified token, unless keys were fetched since: its own may have been withdrawn.
  ///
  /// - Parameter lastFetch: The time of the fetch whose keys verified the token.
  func keep(
    _ caller: Caller, _ digest: SHA256Digest, bytes: Int,
    verifiedAfter lastFetch: ContinuousClock.Instant?
  ) {
    state.withLock { state in
      guard state.lastFetch == lastFetch else { return }
      if state.verified.count >= Self.maxVerified
        || state.verifiedBytes + bytes > Self.maxVerifiedBytes
      {
        (state.verified, state.verifiedBytes) = ([:], 0)
      }
      guard state.verified.updateValue(caller, forKey: digest) == nil else { return }
      state.verifiedBytes += bytes
    }
  }

  /// True unless the key was withdrawn.
  func hasKey(fingerprint: [UInt8]) -> Bool {
    let isIt = { (key: JWTKey) in key.fingerprint == fingerprint }
    return ownKeys.contains(where: isIt) || state.withLock { $0.fetched.contains(where: isIt) }
  }
}

extension JWTKey {
  /// True if the token's header admits this key.
  fileprivate func fits(_ token: JSONWebToken) -> Bool {
    algorithm == token.algorithm && signatureBytes == token.signature.count
      && (id == nil || token.keyID == nil || id == token.keyID)
  }
}

// MARK: - Fetching keys

extension JWTVerifier {
  /// True if an unknown key is a reason to fetch, or a fetch runs that a request may wait for.
  private static func mayFetch(_ state: State) -> Bool {
    guard state.waiting.count < maxWaiting else { return false }
    return state.isFetching || age(state) >= minInterval
  }

  private static func age(_ state: State) -> Duration {
    state.lastFetch.map { ContinuousClock.now - $0 } ?? .seconds(1_000_000)
  }

  /// Fetches the keys if there are none yet or they are old.
  package func refreshIfDue() {
    guard let source else { return }
    let retry = min(Self.minInterval, source.interval)
    let isDue = { (state: State) in
      !state.isFetching && Self.age(state) >= (state.hasFailed ? retry : source.interval)
    }
    _ = fetch(if: isDue, then: {})
  }

  /// Calls `body` on another thread: after the running fetch of the keys or a new one, or at once if the last
  /// one has just ended or too many requests wait.
  func whenFetched(_ body: @escaping @Sendable () -> Void) {
    if !fetch(if: Self.mayFetch, then: body) { startThread(body) }
  }

  /// Calls `body` on another thread after the running fetch or a new one, if `isDue` says so. Returns false
  /// otherwise.
  private func fetch(
    if isDue: (State) -> Bool, then body: @escaping @Sendable () -> Void
  ) -> Bool {
    guard let source else { return false }
    let (isWanted, isFirst) = state.withLock { state in
      guard isDue(state) else { return (false, false) }
      state.waiting.append(body)
      defer { state.isFetching = true }
      return (true, !state.isFetching)
    }
    guard isFirst else { return isWanted }
    Task {
      do {
        self.finish(try await JWTKey.keys(fetched: try await source.fetch()))
      } catch {
        self.finish(nil)
        source.onFailure("\(error)", self.state.withLock { !$0.fetched.isEmpty })
      }
    }
    return true
  }

  /// - Parameter keys: nil if fetching failed; the earlier keys are kept then.
  private func finish(_ keys: [JWTKey]?) {
    let waiting = state.withLock { state in
      state.lastFetch = .now
      state.isFetching = false
      state.hasFailed = keys == nil
      if let keys {
        state.fetched = keys
        // The keys that signed these tokens may have been withdrawn.
        (state.verified, state.verifiedBytes) = ([:], 0)
      }
      defer { state.waiting = [] }
      return state.waiting
    }
    startThread { for body in waiting { body() } }
  }
}
