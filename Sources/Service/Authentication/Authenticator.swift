// Credential → caller.
//
// Enters: the `Authorization` header of a request. Leaves: the caller, or a refusal. Promises: no
// query, no wait. Every refusal takes the same work, whatever is wrong with the credential: one hash,
// two comparisons, and, if JWTs are accepted, one signature for each key that the token's header may mean.

import FetchModel
import LiveFetchHTTPServer
import Synchronization

/// Authenticates requests. Shared by all services of a server.
package final class Authenticator: Sendable {
  package enum Result: Sendable, Equatable {
    case caller(Caller)
    /// The credential is missing, malformed, unknown, expired or revoked.
    case refused(CredentialFault)
    /// The key of a JWT is being fetched; see ``JWTVerifier/whenFetched(_:)``.
    case pending
  }

  private struct Keys {
    var byID: [String: APIKeyRecord] = [:]
    /// False until the store's keys were read once.
    var areKnown = false
  }

  /// The maximum number of bytes of a credential.
  private static let maxBytes = 8_192

  private let serverToken: SHA256Digest?
  /// True if a request without a credential is served also where others need one.
  private let servesAnonymous: Bool
  let jwt: JWTVerifier?
  // Protects the API keys.
  private let keys = Mutex(Keys())
  // Once true it stays true: a store that loses its keys does not open the server to everyone.
  private let hasHadKeys = Atomic(false)
  private let now: @Sendable () -> Double

  /// - Parameters:
  ///   - serverToken: The token that may do everything; nil without one.
  ///   - servesAnonymous: True if a request without a credential is ``Caller/visitor``'s where others
  ///     need one.
  ///   - now: The time in seconds since 1970.
  package init(
    serverToken: String?, jwt: JWTVerifier? = nil, servesAnonymous: Bool = false,
    now: @escaping @Sendable () -> Double = { Instant.now.secondsSince1970 }
  ) {
    self.serverToken = serverToken.map { SHA256Digest(of: $0.utf8) }
    self.jwt = jwt
    self.servesAnonymous = servesAnonymous
    self.now = now
  }

  /// True if requests need a credential.
  package var requiresCredential: Bool {
    serverToken != nil || jwt != nil || hasHadKeys.load(ordering: .relaxed)
  }

  /// Replaces the API keys.
  package func install(_ records: [APIKeyRecord]) {
    if !records.isEmpty { hasHadKeys.store(true, ordering: .relaxed) }
    keys.withLock { keys in
      keys.areKnown = true
      keys.byID = Dictionary(records.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
    }
  }

  /// Takes over the API keys of another authenticator of the same store.
  func copyKeys(of other: Authenticator) {
    let known = other.keys.withLock { $0 }
    keys.withLock { $0 = known }
    hasHadKeys.store(other.hasHadKeys.load(ordering: .relaxed), ordering: .relaxed)
  }

  /// Reads the API keys of `store`. If they were never read, every request needs a credential.
  func readKeys(of store: some Store) {
    do throws(StoreError) {
      install(try store.apiKeys())
    } catch {
      if !keys.withLock({ $0.areKnown }) { hasHadKeys.store(true, ordering: .relaxed) }
    }
  }
}

// MARK: - A request

extension Authenticator {
  func authenticate(_ request: HTTPRequest) -> Result {
    guard requiresCredential else { return .caller(.anonymous) }
    let authorization = request.header("Authorization")
    // Any credential, also one that is empty or of another scheme, has to be valid.
    if servesAnonymous, authorization == nil { return .caller(.visitor) }
    return authenticate(authorization: authorization)
  }

  /// - Parameter authorization: The header's value; nil without one.
  package func authenticate(authorization: String?) -> Result {
    let token = authorization.flatMap(Self.bearerToken)
    let credential = token ?? ""
    let digest = SHA256Digest(of: credential.utf8)
    let time = now()
    let isServerToken = isServerToken(digest)
    let key = key(of: credential, digest)
    if isServerToken { return .caller(.serverToken) }
    if let key, key.isValid(at: time) { return .caller(Caller(key)) }
    let result = jwt?.verify(credential, digest, at: time) ?? .refused(.unknown)
    guard case .refused(.unknown) = result else { return result }
    return .refused(token == nil ? .missing : key == nil ? .unknown : .ended)
  }

  private static func bearerToken(_ header: String) -> String? {
    guard header.utf8.count <= maxBytes else { return nil }
    let parts = header.split(separator: " ", maxSplits: 1)
    guard parts.count == 2, parts[0].lowercased() == "bearer" else { return nil }
    return String(parts[1])
  }

  private func isServerToken(_ digest: SHA256Digest) -> Bool {
    let isEqual = Self.isEqual(digest, serverToken?.bytes ?? [])
    return isEqual && serverToken != nil
  }

  /// Returns the API key with this text, also if it has expired.
  private func key(of credential: String, _ digest: SHA256Digest) -> APIKeyRecord? {
    let id = APIKey.id(of: credential) ?? ""
    let found = keys.withLock { $0.byID[id] }
    let isEqual = Self.isEqual(digest, found?.digest ?? [])
    return isEqual ? found : nil
  }

  /// Takes a time that does not depend on where the hashes differ, nor on `stored`'s length.
  private static func isEqual(_ digest: SHA256Digest, _ stored: [UInt8]) -> Bool {
    var difference = stored.count ^ SHA256Digest.byteCount
    for (index, byte) in digest.bytes.enumerated() {
      difference |= Int(byte ^ (index < stored.count ? stored[index] : 0))
    }
    return difference == 0
  }
}

// MARK: - A request that waits

extension Authenticator {
  /// True if a request that `caller` sent earlier may continue to wait.
  package func isCurrent(_ caller: Caller) -> Bool {
    switch caller.kind {
    case .anonymous: caller == .visitor ? servesAnonymous : !requiresCredential
    case .serverToken: true
    case .apiKey(let id): keys.withLock { $0.byID[id] }?.isValid(at: now()) ?? false
    // Before the end of the skew, so that it ends within 30 seconds.
    case .jwt(let key):
      now() < caller.expires + JWTVerifier.clockSkew - 5 && jwt?.hasKey(fingerprint: key) == true
    }
  }
}
