// The text of a JWT → its parts and its claims. Nothing here is verified.

import Bytes
import FetchModel
import LiveFetchHTTPServer

/// A JWT in its compact form.
struct JSONWebToken {
  let algorithm: JWTKey.Algorithm
  let keyID: String?
  /// The bytes that the signature covers.
  let signedText: [UInt8]
  let signature: [UInt8]
  private let payload: [UInt8]

  /// Returns nil for a text without the form of a JWT, for an algorithm that is not accepted (`none`
  /// is one), and for critical extensions, none of which is known.
  init?(_ text: String) {
    let parts = text.utf8.split(separator: 0x2E, omittingEmptySubsequences: false)
    guard parts.count == 3, let header = Self.decode(parts[0]), let payload = Self.decode(parts[1]),
      let signature = Self.decode(parts[2]), let json = try? JSON(request: header),
      let algorithm = json["alg"]?.string.flatMap(JWTKey.Algorithm.init), json["crit"] == nil
    else { return nil }
    if let id = json["kid"] {
      guard let id = id.string else { return nil }
      keyID = id
    } else {
      keyID = nil
    }
    self.algorithm = algorithm
    self.payload = payload
    self.signature = signature
    signedText = Array(text.utf8.prefix(parts[0].count + 1 + parts[1].count))
  }

  private static func decode(_ part: Substring.UTF8View) -> [UInt8]? {
    String(part).flatMap { [UInt8](base64: $0, .urlSafe) }
  }

  /// Returns the claims; nil if the payload is not a JSON object.
  var claims: JSON? {
    guard let json = try? JSON(request: payload), case .object = json else { return nil }
    return json
  }
}

/// The rules for the claims of a JWT.
package struct JWTRules: Sendable {
  /// The `iss` that tokens must have; nil accepts any.
  package var issuer: String?
  /// The value that `aud` must equal or contain; nil accepts any.
  package var audience: String?
  /// The name of the claim with the roles, or a path of names with dots.
  package var rolesClaim = "roles"

  package init(issuer: String? = nil, audience: String? = nil, rolesClaim: String = "roles") {
    self.issuer = issuer
    self.audience = audience
    self.rolesClaim = rolesClaim
  }

  /// Returns the caller with these claims.
  ///
  /// - Parameters:
  ///   - claims: nil if they are no JSON object.
  ///   - key: the key that verified the token.
  /// - Throws: The first fault, if they do not hold at `time`.
  func caller(
    _ claims: JSON?, of key: JWTKey?, at time: Double
  ) throws(CredentialFault) -> Caller {
    guard let claims, let expires = Self.date(claims["exp"], absent: .infinity),
      let begins = Self.date(claims["nbf"], absent: -.infinity),
      claims["sub"].map({ $0.string != nil }) ?? true
    else { throw .wrongForm }
    guard time < expires + JWTVerifier.clockSkew else { throw .expired }
    guard time >= begins - JWTVerifier.clockSkew else { throw .notYetValid }
    guard issuer.map({ claims["iss"] == .string($0) }) ?? true else { throw .wrongIssuer }
    guard audience.map({ Self.texts(claims["aud"]).contains($0) }) ?? true else {
      throw .wrongAudience
    }
    let userID = claims["sub"]?.string
    var caller = Caller(
      kind: .jwt(key: key?.fingerprint ?? []), scopes: Self.scopes(claims["scope"]),
      credential: userID.map { "jwt:\($0)" } ?? "claims:\(Self.hash(of: claims))")
    caller.userID = userID
    caller.roles = Self.texts(roles(in: claims))
    caller.claims = claims
    caller.expires = expires
    return caller
  }

  /// Returns a name for the caller with these claims. A renewed token has the same one.
  private static func hash(of claims: JSON) -> String {
    guard case .object(let members) = claims else { return "" }
    let lasting = members.filter { !["exp", "nbf", "iat", "jti"].contains($0.name) }
    var bytes: [UInt8] = []
    bytes.append(json: .object(lasting.sorted { $0.name < $1.name }))
    return Hexadecimal.text(of: SHA256Digest(of: bytes).bytes.prefix(12))
  }

  /// Returns nil for a value that is not a number.
  private static func date(_ claim: JSON?, absent: Double) -> Double? {
    claim.map { $0.double } ?? absent
  }

  private static func texts(_ claim: JSON?) -> [String] {
    switch claim {
    case .string(let text): [text]
    case .array(let elements): elements.compactMap(\.string)
    default: []
    }
  }

  /// A text separated by spaces, or an array.
  private static func scopes(_ claim: JSON?) -> Caller.Scopes {
    Caller.Scopes(names: texts(claim).flatMap { $0.split(separator: " ") })
  }

  private func roles(in claims: JSON) -> JSON? {
    if let roles = claims[rolesClaim] { return roles }
    return rolesClaim.split(separator: ".").reduce(Optional(claims)) { $0?[String($1)] }
  }
}
