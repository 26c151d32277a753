// JWTs: algorithms, claims, signatures and key files.

import Crypto
import CryptoExtras
import FetchModel
import JWTKit
import LiveFetchHTTPServer
import SQLiteStore
import Service
import Synchronization
import TestSupport
import Testing

@Suite("JWTs")
struct JWTTests {
  static let now = 1_900_000_000.0
  static let secret = "a secret of at least thirty-two bytes"

  /// A key that signs, and the file with which a server verifies.
  struct Signer: Sendable {
    let algorithm: String
    let file: String
    let signing: any JWTAlgorithm

    func token(
      _ claims: String, header: String? = nil, signed text: String? = nil
    ) throws -> String {
      let parts =
        Self.encode(header ?? #"{"alg":"\#(algorithm)","typ":"JWT"}"#) + "."
        + Self.encode(claims)
      let signature = try signing.sign(Array((text ?? parts).utf8))
      return parts + "." + Self.encode(signature)
    }

    static func encode(_ text: String) -> String { encode(Array(text.utf8)) }

    static func encode(_ bytes: [UInt8]) -> String {
      var text: [UInt8] = []
      text.append(base64: bytes, .urlSafe)
      return String(decoding: text, as: UTF8.self)
    }
  }

  static func hs256() async throws -> Signer {
    let keys = await JWTKeyCollection().add(
      hmac: HMACKey(from: secret), digestAlgorithm: .sha256)
    return Signer(algorithm: "HS256", file: secret + "\n", signing: try await keys.getKey())
  }

  static func rs256() async throws -> Signer {
    let key = try _RSA.Signing.PrivateKey(keySize: .bits2048)
    let keys = await JWTKeyCollection().add(
      rsa: try JWTKit.Insecure.RSA.PrivateKey(backing: key), digestAlgorithm: .sha256)
    return Signer(
      algorithm: "RS256", file: key.publicKey.pemRepresentation, signing: try await keys.getKey())
  }

  static func es256() async throws -> Signer {
    let key = P256.Signing.PrivateKey()
    let keys = await JWTKeyCollection().add(ecdsa: try ES256PrivateKey(backing: key))
    return Signer(
      algorithm: "ES256", file: key.publicKey.pemRepresentation, signing: try await keys.getKey())
  }

  static func eddsa(id: String? = nil) async throws -> Signer {
    let key = Curve25519.Signing.PrivateKey()
    let keys = await JWTKeyCollection().add(eddsa: EdDSA.PrivateKey(backing: key))
    let kid = id.map { #","kid":"\#($0)""# } ?? ""
    let x = Signer.encode([UInt8](key.publicKey.rawRepresentation))
    return Signer(
      algorithm: "EdDSA",
      file: #"{"keys":[{"kty":"OKP","crv":"Ed25519","x":"\#(x)","use":"sig"\#(kid)}]}"#,
      signing: try await keys.getKey())
  }

  static func all() async throws -> [Signer] {
    [try await hs256(), try await rs256(), try await es256(), try await eddsa()]
  }

  static func authenticator(
    _ files: [String], rules: JWTRules = JWTRules(), now: Double = now
  ) async throws -> Authenticator {
    var keys: [JWTKey] = []
    for file in files { keys += try await JWTKey.keys(of: Array(file.utf8)) }
    return Authenticator(serverToken: nil, jwt: JWTVerifier(rules: rules, keys: keys)) { now }
  }

  private func authenticate(_ authenticator: Authenticator, _ token: String) -> Caller? {
    let result = authenticator.authenticate(authorization: "Bearer \(token)")
    // A verified token is cached.
    #expect(authenticator.authenticate(authorization: "bearer \(token)") == result)
    guard case .caller(let caller) = result else { return nil }
    return caller
  }

  // MARK: Accepted

  @Test("Each algorithm is accepted, and its claims become the caller")
  func algorithms() async throws {
    let signers = try await Self.all()
    let authenticator = try await Self.authenticator(signers.map(\.file))
    for signer in signers {
      let claims = #"{"sub":"ann","roles":["hr","it"],"scope":"read write x","exp":1900000060}"#
      let caller = try #require(
        authenticate(authenticator, try signer.token(claims)), "\(signer.algorithm)")
      #expect(caller.userID == "ann")
      #expect(caller.roles == ["hr", "it"])
      #expect(caller.scopes == [.read, .write])
      #expect(caller.credential == "jwt:ann")
      #expect(caller.expires == 1_900_000_060)
      #expect(caller.claims["roles"] == .array([.string("hr"), .string("it")]))
    }
  }

  @Test(
    "Claims are accepted that hold",
    arguments: [
      #"{}"#, #"{"exp":1900000000}"#, #"{"exp":1899999971}"#, #"{"exp":1900000000.5}"#,
      #"{"nbf":1900000030}"#, #"{"nbf":1}"#, #"{"iat":1,"exp":1.9e9}"#,
      #"{"iss":"any","aud":["x","y"]}"#,
    ])
  func goodClaims(claims: String) async throws {
    let signer = try await Self.hs256()
    let authenticator = try await Self.authenticator([signer.file])
    #expect(authenticate(authenticator, try signer.token(claims)) != nil)
  }

  @Test(
    "Scopes are a text or an array, roles an array, a text, or after a path",
    arguments: [
      (#"{"scope":["admin","read"],"roles":"hr"}"#, "roles", [.admin, .read], ["hr"]),
      (#"{"scope":"write"}"#, "roles", [.write], []),
      (#"{"scope":7,"roles":7}"#, "roles", [], []),
      (#"{"realm":{"roles":["a"]}}"#, "realm.roles", [], ["a"]),
      (#"{"realm.roles":["b"],"realm":{"roles":["a"]}}"#, "realm.roles", [], ["b"]),
    ] as [(String, String, Caller.Scopes, [String])])
  func scopesAndRoles(
    claims: String, path: String, scopes: Caller.Scopes, roles: [String]
  ) async throws {
    let signer = try await Self.hs256()
    let authenticator = try await Self.authenticator(
      [signer.file], rules: JWTRules(rolesClaim: path))
    let caller = try #require(authenticate(authenticator, try signer.token(claims)))
    #expect(caller.scopes == scopes)
    #expect(caller.roles == roles)
  }

  // MARK: Refused

  @Test(
    "Claims are refused that do not hold",
    arguments: [
      #"{"exp":1899999970}"#, #"{"exp":1}"#, #"{"exp":"1900000060"}"#, #"{"exp":null}"#,
      #"{"nbf":1900000031}"#, #"{"nbf":"1"}"#, #"[]"#, #""a""#, #"{"exp":1,"exp":1900000060}"#,
      #"{"#, #"{"exp":-1e400}"#, #"{"sub":7}"#, #"{"sub":null}"#, #"{"sub":["ann"]}"#,
    ])
  func badClaims(claims: String) async throws {
    let signer = try await Self.hs256()
    let authenticator = try await Self.authenticator([signer.file])
    #expect(authenticate(authenticator, try signer.token(claims)) == nil)
  }

  @Test(
    "The reason of a refusal is known to the log",
    arguments: [
      (#"{"exp":1899999970}"#, .expired), (#"{"nbf":1900000031}"#, .notYetValid),
      (#"{"exp":"1900000060"}"#, .wrongForm), (#"[]"#, .wrongForm), (#"{"sub":7}"#, .wrongForm),
      (#"{"iss":"other","aud":"shop"}"#, .wrongIssuer),
      (#"{"iss":"https://login"}"#, .wrongAudience),
      (#"{"iss":"https://login","aud":["x"]}"#, .wrongAudience),
    ] as [(String, CredentialFault)])
  func reasons(claims: String, fault: CredentialFault) async throws {
    let signer = try await Self.hs256()
    let authenticator = try await Self.authenticator(
      [signer.file], rules: JWTRules(issuer: "https://login", audience: "shop"))
    let token = try signer.token(claims)
    #expect(authenticator.authenticate(authorization: "Bearer \(token)") == .refused(fault))
    #expect(
      authenticator.authenticate(authorization: "Bearer \(token.dropLast(2))AA")
        == .refused(.wrongSignature))
    #expect(authenticator.authenticate(authorization: "Basic x") == .refused(.missing))
    #expect(authenticator.authenticate(authorization: "Bearer x") == .refused(.unknown))
  }

  @Test("Issuer and audience must fit where they are given")
  func issuerAndAudience() async throws {
    let signer = try await Self.es256()
    let authenticator = try await Self.authenticator(
      [signer.file], rules: JWTRules(issuer: "https://login", audience: "shop"))
    let good = [
      #"{"iss":"https://login","aud":"shop"}"#, #"{"iss":"https://login","aud":["x","shop"]}"#,
    ]
    let bad = [
      #"{}"#, #"{"iss":"https://login"}"#, #"{"aud":"shop"}"#,
      #"{"iss":"https://login/","aud":"shop"}"#, #"{"iss":"https://login","aud":["shops"]}"#,
      #"{"iss":["https://login"],"aud":"shop"}"#,
    ]
    for claims in good { #expect(authenticate(authenticator, try signer.token(claims)) != nil) }
    for claims in bad { #expect(authenticate(authenticator, try signer.token(claims)) == nil) }
  }

  @Test("A changed, cut or foreign signature is refused")
  func signatures() async throws {
    for (signer, other) in zip(try await Self.all(), try await Self.all()) {
      let authenticator = try await Self.authenticator([signer.file])
      let token = try signer.token(#"{"sub":"ann"}"#)
      let parts = token.split(separator: ".").map(String.init)
      let forged = Signer.encode(#"{"sub":"bob"}"#)
      let flipped = (parts[2].hasPrefix("A") ? "B" : "A") + parts[2].dropFirst()
      var bad = [
        "\(parts[0]).\(forged).\(parts[2])", "\(parts[0]).\(parts[1]).\(flipped)",
        "\(parts[0]).\(parts[1]).", "\(parts[0]).\(parts[1])",
        "\(parts[0]).\(parts[1]).\(parts[2]).",
        "\(parts[0]).\(parts[1]).AAAA", token + "=", token + "A", " " + token,
        try signer.token(#"{"sub":"ann"}"#, signed: "other"),
      ]
      // Both signers of HS256 have one secret.
      if signer.algorithm != "HS256" { bad.append(try other.token(#"{"sub":"ann"}"#)) }
      for token in bad { #expect(authenticate(authenticator, token) == nil, "\(signer.algorithm)") }
      #expect(authenticate(authenticator, token) != nil)
    }
  }

  @Test("`alg: none` and other algorithms are refused, with and without a signature")
  func none() async throws {
    let signer = try await Self.hs256()
    let authenticator = try await Self.authenticator([signer.file])
    for name in ["none", "None", "NONE", "", "HS512", "hs256", "PS256", "ES384"] {
      let token = try signer.token(#"{"sub":"ann"}"#, header: #"{"alg":"\#(name)"}"#)
      #expect(authenticate(authenticator, token) == nil)
      let unsigned = token.split(separator: ".").prefix(2).joined(separator: ".") + "."
      #expect(authenticate(authenticator, unsigned) == nil)
    }
    for header in [#"{}"#, #"{"alg":7}"#, #"{"alg":"HS256","crit":["exp"]}"#, #"[]"#, "x"] {
      #expect(authenticate(authenticator, try signer.token("{}", header: header)) == nil)
    }
  }

  @Test("A public key is no secret of HS256, and a key of one kind does not verify another")
  func wrongKind() async throws {
    for signer in [try await Self.rs256(), try await Self.es256(), try await Self.eddsa()] {
      let authenticator = try await Self.authenticator([signer.file])
      for secret in [signer.file, signer.file.trimmingLine, signer.file + "\n"] {
        let keys = await JWTKeyCollection().add(
          hmac: HMACKey(from: secret), digestAlgorithm: .sha256)
        let forger = Signer(algorithm: "HS256", file: "", signing: try await keys.getKey())
        #expect(
          authenticate(authenticator, try forger.token(#"{"sub":"ann","scope":"admin"}"#)) == nil)
      }
      for name in ["HS256", "RS256", "ES256", "EdDSA"] where name != signer.algorithm {
        let token = try signer.token(#"{"sub":"ann"}"#, header: #"{"alg":"\#(name)"}"#)
        #expect(authenticate(authenticator, token) == nil)
      }
    }
  }

  @Test(
    "A key file that cannot be used is refused with the reason",
    arguments: [
      ("short", "holds a secret of fewer than 32 bytes"),
      (#"{"keys":[]}"#, "holds no key for HS256, RS256, ES256 or EdDSA"),
      (#"{"keys":[{"kty":"EC","crv":"P-384","x":"AA","y":"AA"}]}"#, "holds no key for HS256"),
      (#"{"keys":[{"kty":"RSA","n":"AQAB","e":"AQAB"}]}"#, "holds no key for HS256"),
      (#"{"keys":[{"kty":"oct","k":"c2hvcnQ"}]}"#, "holds a secret of fewer than 32 bytes"),
      ("{", "is not JSON"),
      (
        "MCowBQYDK2VwAyEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE=",
        "holds a public key in a form that is not read"
      ),
      (
        "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIBm/RAlphM3+hUG6wWfcO5bIUIaqMLa2ywxcOK1wMWbh a",
        "holds a public key in a form that is not read"
      ),
      (
        #"[{"kty":"OKP","crv":"Ed25519","x":"Gb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE"}]"#,
        "holds a public key in a form that is not read"
      ),
      (
        "---- BEGIN SSH2 PUBLIC KEY ----\nAAAAC3NzaC1lZDI1NTE5AAAAIBm\n---- END SSH2 PUBLIC KEY ----",
        "holds a public key in a form that is not read"
      ),
      (
        "Our PUBLIC KEY: MCowBQYDK2VwAyEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE=",
        "holds a public key in a form that is not read"
      ),
      (
        "-\0-\0-\0-\0-\0B\0E\0G\0I\0N\0 \0P\0U\0B\0L\0I\0C\0 \0K\0E\0Y\0",
        "is in UTF-16"
      ),
      ("-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----", "holds a private key"),
      ("-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----", "holds no RSA"),
    ])
  func badKeyFile(text: String, reason: String) async throws {
    let error = await #expect(throws: JWTKeyError.self) {
      try await JWTKey.keys(of: Array(text.utf8))
    }
    #expect(error?.description.hasPrefix(reason) == true, "\(error?.description ?? "")")
  }

  @Test("A secret may be any bytes, also NUL")
  func binarySecret() async throws {
    let secret = [UInt8](0..<40)
    #expect(try await JWTKey.keys(of: secret).count == 1)
  }

  @Test("A key of a set is chosen by `kid`, and tried where the token has none")
  func keyIDs() async throws {
    let (first, second) = (try await Self.eddsa(id: "1"), try await Self.eddsa(id: "2"))
    let authenticator = try await Self.authenticator([first.file, second.file])
    let header = { (id: String) in #"{"alg":"EdDSA","kid":\#(id)}"# }
    #expect(authenticate(authenticator, try second.token("{}")) != nil)
    #expect(authenticate(authenticator, try second.token("{}", header: header(#""2""#))) != nil)
    for id in [#""1""#, #""3""#, #""""#, "2", "null"] {
      #expect(authenticate(authenticator, try second.token("{}", header: header(id))) == nil)
    }
  }
}

extension String {
  fileprivate var trimmingLine: String { hasSuffix("\n") ? String(dropLast()) : self }
}
