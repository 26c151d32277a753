// The result of authenticating a request.

import FetchModel

/// The authenticated sender of a request.
package struct Caller: Sendable, Hashable {
  /// The scopes of a credential. No scope includes another one.
  package struct Scopes: OptionSet, Hashable, Sendable {
    package let rawValue: UInt8

    package init(rawValue: UInt8) { self.rawValue = rawValue }

    /// Fetches.
    package static let read = Scopes(rawValue: 1)
    /// Saves.
    package static let write = Scopes(rawValue: 2)
    /// Everything else.
    package static let admin = Scopes(rawValue: 4)
    package static let all: Scopes = [.read, .write, .admin]
  }

  /// The kind of credential.
  package enum Kind: Sendable, Hashable {
    case anonymous
    case serverToken
    case apiKey(id: String)
    /// - Parameter key: the ``JWTKey/fingerprint`` of the key that verified the token.
    case jwt(key: [UInt8])
  }

  package var kind: Kind
  package var scopes: Scopes
  /// The credential's name for queues, logs, quotas and idempotency keys; nil for an anonymous caller,
  /// who is identified by the address.
  package var credential: String?
  package var userID: String?
  package var roles: [String] = []
  /// The claims of a JWT as a JSON object; `null` for other credentials.
  package var claims = JSON.null
  /// The end of the credential, in seconds since 1970.
  package var expires = Double.infinity

  /// A caller without a credential, if none is required.
  package static let anonymous = Caller(kind: .anonymous, scopes: .all)
  /// A caller without a credential under access rules, while others have one.
  package static let visitor = Caller(kind: .anonymous, scopes: [.read, .write])
  static let serverToken = Caller(kind: .serverToken, scopes: .all, credential: "token")

  init(kind: Kind, scopes: Scopes, credential: String? = nil) {
    self.kind = kind
    self.scopes = scopes
    self.credential = credential
  }
}

extension Caller.Scopes {
  /// The scopes and their names.
  package static let names: [(name: String, scope: Caller.Scopes)] = [
    ("read", .read), ("write", .write), ("admin", .admin),
  ]

  /// The scopes with these names; other names are ignored.
  init(names: some Sequence<some StringProtocol>) {
    self = []
    for name in names {
      if let known = Self.names.first(where: { $0.name == name }) { insert(known.scope) }
    }
  }

  /// The name of a single scope.
  var name: String { Self.names.first { $0.scope == self }?.name ?? "" }
}

extension Caller {
  init(_ key: APIKeyRecord) {
    self.init(
      kind: .apiKey(id: key.id), scopes: Scopes(names: key.scopes), credential: "key:\(key.name)")
    userID = key.userID
    roles = key.roles
    expires = key.expires ?? .infinity
  }
}
