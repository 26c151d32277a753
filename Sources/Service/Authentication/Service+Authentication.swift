// A service's part of authentication: it reads the store's API keys again every few seconds, and
// ends what waits for a caller whose credential has ended.

import FetchModel
import LiveFetchHTTPServer

extension Service {
  /// Seconds between two reads of the API keys.
  private static let keyInterval = 2.0

  /// Schedules a read of the API keys and a check of the credentials of waiting requests and streams.
  func scheduleKeyRefresh() {
    deadlines.schedule(after: Self.keyInterval) { [weak self] in
      guard let self else { return }
      // Reading may take long: not on the deadlines' thread.
      let isTaken = pools.credentials.run { [weak self] in
        guard let self else { return }
        authenticator.readKeys(of: store)
        credentialWatch.sweep(authenticator.isCurrent)
        authenticator.jwt?.refreshIfDue()
        scheduleKeyRefresh()
      }
      if !isTaken { scheduleKeyRefresh() }
    }
  }
}

extension Service {
  /// Returns the caller of a request. Without access rules, which another program may have removed from
  /// the store, a request without a credential is refused.
  func authenticate(_ request: HTTPRequest) -> Authenticator.Result {
    let result = authenticator.authenticate(request)
    guard result == .caller(Caller.visitor), !hasAccessRules else { return result }
    return .refused(.missing)
  }
}

extension RequestContext {
  /// Has `holder` end with 401 soon after the caller's credential has ended.
  func endWhenCredentialExpires(_ holder: any CredentialHolder) {
    if let caller { service.credentialWatch.add(holder, caller) }
  }

  /// - Throws: 401 without a caller, 403 if the caller lacks `scope`.
  func require(_ scope: Caller.Scopes) throws(Problem) {
    guard let caller else { throw .unauthorized }
    try caller.require(scope)
  }
}

extension Caller {
  /// - Throws: 403 if the caller lacks `scope`; 401 if it has no credential.
  func require(_ scope: Scopes) throws(Problem) {
    guard scopes.contains(scope) else {
      throw kind == .anonymous ? Problem.unauthorized : Problem.forbidden(scope)
    }
  }
}

extension Authenticator {
  convenience init(_ configuration: ServiceConfiguration) {
    self.init(
      serverToken: configuration.bearerToken, jwt: configuration.jwt,
      servesAnonymous: configuration.servesAnonymous)
  }

  /// The authenticator of other settings. It knows the API keys that `earlier` knew.
  convenience init(_ configuration: ServiceConfiguration, after earlier: Authenticator) {
    self.init(configuration)
    copyKeys(of: earlier)
  }
}

extension Problem {
  /// The anonymous caller of an open server asks for what access rules may hide.
  static let underRules = Problem(
    403, "forbidden", "Forbidden",
    "This request shows what access rules may hide, and a caller without a credential is under them. "
      + "It needs a credential with the scope `admin`.")

  /// The caller lacks a scope.
  static func forbidden(_ scope: Caller.Scopes) -> Problem {
    var problem = Problem(
      403, "forbidden", "Forbidden",
      "The credential lacks the scope `\(scope.name)`, which this request needs.")
    problem.headers = [
      (
        "WWW-Authenticate",
        "Bearer realm=\"LiveFetch\", error=\"insufficient_scope\", scope=\"\(scope.name)\""
      )
    ]
    return problem
  }
}
