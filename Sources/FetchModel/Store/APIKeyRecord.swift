// An API key as a store keeps it: everything but the key itself.

/// A stored API key. Of the key the store has only the id and the hash.
public struct APIKeyRecord: Sendable, Hashable {
  /// The part of the key that identifies it.
  public var id: String
  /// Unique among the keys that are not revoked.
  public var name: String
  /// The SHA-256 of the key.
  public var digest: [UInt8]
  /// `read`, `write`, `admin`.
  public var scopes: [String]
  /// The roles of requests with this key.
  public var roles: [String]
  /// The user of requests with this key; nil for none.
  public var userID: String?
  /// Seconds since 1970, as are the other dates.
  public var created: Double
  /// The time from which the key is refused; nil if it does not expire.
  public var expires: Double?
  /// The time of the revocation; nil if it is not revoked.
  public var revoked: Double?

  /// Makes an API key record.
  public init(
    id: String, name: String, digest: [UInt8], scopes: [String], roles: [String] = [],
    userID: String? = nil, created: Double, expires: Double? = nil, revoked: Double? = nil
  ) {
    self.id = id
    self.name = name
    self.digest = digest
    self.scopes = scopes
    self.roles = roles
    self.userID = userID
    self.created = created
    self.expires = expires
    self.revoked = revoked
  }

  /// True if the key may be stored beside `keys`: if it is revoked, or no active key has its name, or has
  /// the name as its id.
  package func mayBeAdded(to keys: [APIKeyRecord]) -> Bool {
    revoked != nil || !keys.contains { [$0.name, $0.id].contains(name) && $0.revoked == nil }
  }

  /// The key of `keys` that is not revoked and has this id or, if none has, this name.
  package static func active(_ name: String, in keys: [APIKeyRecord]) -> APIKeyRecord? {
    let active = keys.filter { $0.revoked == nil }
    return active.first { $0.id == name } ?? active.first { $0.name == name }
  }

  /// Returns the texts of a JSON array, the form in which stores keep scopes and roles.
  package static func texts(_ json: String) -> [String] {
    guard case .array(let elements)? = try? JSON(parsing: Array(json.utf8)) else { return [] }
    return elements.compactMap(\.string)
  }

  /// Returns texts as a JSON array.
  package static func json(_ texts: [String]) -> String {
    JSON.array(texts.map { .string($0) }).text
  }

  /// True if requests may use the key at `time`, in seconds since 1970.
  public func isValid(at time: Double) -> Bool {
    revoked == nil && expires.map { time < $0 } ?? true
  }
}
