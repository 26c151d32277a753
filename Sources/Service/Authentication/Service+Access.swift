// The caller of a request → the access rules that restrict it.

import Bytes
import FetchModel
import Synchronization

extension Service {
  /// True if the store has access rules, whether they fit it or not.
  var hasAccessRules: Bool { accessRules != nil || accessFault != nil }

  /// Returns the rules of a caller; nil if none restrict it.
  ///
  /// - Throws: 503 if the rules do not fit the model.
  func access(of caller: Caller) throws(Problem) -> CallerAccess? {
    guard caller.kind != .serverToken else { return nil }
    if let accessFault { throw Health.notReady([accessFault]) }
    return accessRules?.access(of: AccessCaller(caller))
  }

  /// The tag of the tokens in responses for which no rules are needed. An unknown caller gets the one of
  /// the anonymous caller. If the rules do not fit the model, the tag is that of no caller.
  func tokenTag(of caller: Caller?) -> UInt32? {
    guard hasAccessRules, caller?.kind != .serverToken else { return settingsTag }
    guard let accessRules else { return 0 }
    return tokenTag(under: accessRules.access(of: AccessCaller(caller ?? .anonymous)))
  }

  /// The tag of the tokens that a caller with these permissions receives; nil if nothing restricts it.
  func tokenTag(under access: CallerAccess?) -> UInt32? {
    access.map { $0.tokenTag ^ (settingsTag ?? 0) } ?? settingsTag
  }

  /// The tag of callers without rules; nil in a server without rules and with the default maximum of
  /// items. A snapshot that is cut at another maximum has other diffs, so its token has another tag; and
  /// a token that was given before there were rules may belong to a snapshot of everything.
  static func settingsTag(maxItems: Int, hasAccessRules: Bool) -> UInt32? {
    let isDefault = maxItems == ServiceConfiguration.defaultMaxItems
    guard !isDefault || hasAccessRules else { return nil }
    var hash = FNV1a64()
    if !isDefault { hash.combine("max-items \(maxItems)".utf8) }
    if hasAccessRules { hash.combine("access".utf8) }
    return UInt32(hash.value >> 32)
  }

  /// True if a token with this tag names the state of a client whose diffs the caller may receive. A token
  /// of a caller without rules may be handed to others.
  func admits(_ token: Token, of tag: UInt32?) -> Bool {
    token.tag == tag || token.tag == settingsTag
  }

  /// Makes browsers treat a response as what its `Content-Type` says.
  static var noSniff: (name: String, value: String) { ("X-Content-Type-Options", "nosniff") }

  /// - Parameter token: nil for the store's newest.
  func tokenHeader(_ token: Token?, _ tag: UInt32?) -> (name: String, value: String) {
    ("LiveFetch-Token", (token ?? store.newestToken).tagged(tag).description)
  }

  func resolver(for access: CallerAccess?) -> FetchResolver {
    guard let access else { return resolver }
    return FetchResolver(access: access, maxItems: resolver.maxItems)
  }

  func saveResolver(for access: CallerAccess?) -> SaveResolver {
    access.map { saveResolver.restricted(to: $0) } ?? saveResolver
  }
}

extension RequestContext {
  /// The tag of the tokens that the caller receives; nil if no access rules restrict it.
  var tokenTag: UInt32? {
    access.flatMap { service.tokenTag(under: $0) } ?? service.tokenTag(of: caller)
  }

  /// Returns where a client's diffs start from, without a tag, and the tags of their tokens. Returns no
  /// start for a token that was given under other access rules: its client may hold objects that the
  /// caller may not read, or lack some, and a diff would not show that.
  func admitted(
    _ since: FetchRequest.Since?
  ) -> (since: FetchRequest.Since?, tags: TokenTags) {
    let own = TokenTags(from: tokenTag, to: tokenTag)
    guard case .token(let token)? = since else { return (since, own) }
    guard service.admits(token, of: tokenTag) else { return (nil, own) }
    return (.token(token.tagged(nil)), TokenTags(from: token.tag, to: tokenTag))
  }

  /// - Throws: 403 unless the caller may know what no access rule restricts. The anonymous caller of
  ///   an open server has every scope, and is under the rules.
  func requireWholeStore() throws(Problem) {
    try require(.admin)
    if service.hasAccessRules, caller?.kind == .anonymous { throw .underRules }
  }
}

extension AccessRules {
  /// Returns nil if neither a rule file nor the model has rules.
  ///
  /// - Throws: Every rule that does not fit the model, as after a change of the schema.
  convenience init?(_ given: AccessDeclaration?, of model: Model) throws(ModelFileError) {
    guard let declaration = given ?? model.file.flatMap({ AccessDeclaration($0) }) else {
      return nil
    }
    try self.init(declaration, model: model)
  }
}

extension StoreFault {
  /// Names no rule: clients read it. The log has the rules that do not fit.
  static let unfitRules = StoreFault("access-rules", "The access rules do not fit the tables.")
  static let changedRules = StoreFault(
    "access-rules", "The access rules read other tables or columns than before.")
}

/// What the key paths of the access rules read in the services with the same settings. A schema change
/// may give a name to another relationship.
final class RuleMeanings: Sendable {
  // Protects the first meaning of each key path.
  private let known = Mutex<[String: String]>([:])

  /// Returns the key paths that read something else than in the first service.
  func changes(in meanings: [String: String]) -> [String] {
    known.withLock { known in
      let earlier = known
      known.merge(meanings) { first, _ in first }
      return meanings.filter { (earlier[$0.key] ?? $0.value) != $0.value }.keys.sorted()
    }
  }
}

extension AccessCaller {
  fileprivate init(_ caller: Caller) {
    self.init(id: caller.userID, name: caller.name, roles: caller.roles, claims: caller.claims)
  }
}

extension Caller {
  /// The name of the user: of a JWT its claim `name`, of an API key the key's name.
  fileprivate var name: String? {
    if case .apiKey = kind { return credential.map { String($0.dropFirst("key:".count)) } }
    return claims["name"]?.string
  }
}
