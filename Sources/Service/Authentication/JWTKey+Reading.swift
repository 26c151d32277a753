// The text of keys → keys that verify JWTs, by JWTKit.
//
// Enters: a PEM public key, a JWK or JWKS, or a secret. Leaves: keys, each bound to one algorithm.
// Promises: a public key never verifies HS256, whatever the header of a token says. Without the trait
// JWT no key is read: JWTKit and what it needs take two fifths of the time of a build.

#if JWT
  import CryptoExtras
  import FetchModel
  import JWTKit
  import LiveFetchHTTPServer

  extension JWTKey {
    /// True if the program was built with the trait JWT.
    package static let isSupported = true

    /// The maximum number of keys of a set. The others are ignored.
    private static let maxKeys = 100
    /// The fewest bytes of a secret.
    private static let minSecretBytes = 32

    /// Reads the content of a key file.
    package static func keys(of bytes: [UInt8]) async throws(JWTKeyError) -> [JWTKey] {
      let text = String(decoding: bytes, as: UTF8.self)
      let start = text.drop { $0.isWhitespace }
      if start.hasPrefix("-----BEGIN") { return [try await key(ofPEM: text)] }
      if start.hasPrefix("{") { return try await keys(ofJSON: bytes) }
      var secret = bytes
      while let last = secret.last, last == 0x0A || last == 0x0D { secret.removeLast() }
      // Half of the bytes of a public key in UTF-16 are NUL, and hardly one of a random secret's.
      guard secret.count(where: { $0 == 0 }) * 4 <= secret.count else {
        throw JWTKeyError(description: "is in UTF-16; keys and secrets are in UTF-8")
      }
      return [try await key(secret: secret, id: nil)]
    }
  }

  extension JWTKey {
    /// Reads the keys of a URL, without secrets: one that a URL shows is none. `{"keys":[]}` withdraws all
    /// keys; anything else without a usable key is an error.
    static func keys(fetched bytes: [UInt8]) async throws(JWTKeyError) -> [JWTKey] {
      let text = String(decoding: bytes, as: UTF8.self)
      let start = text.drop { $0.isWhitespace }
      if start.hasPrefix("-----BEGIN") { return [try await key(ofPEM: text)] }
      if let json = try? JSON(parsing: bytes), json["keys"] == .array([]) { return [] }
      return try await keys(ofJSON: bytes, takesSecrets: false)
    }
  }

  // MARK: - One key

  extension JWTKey {
    private init(
      _ id: String?, _ algorithm: Algorithm, signatureBytes: Int,
      _ add: @Sendable (JWTKeyCollection) async -> Void
    ) async throws(JWTKeyError) {
      let collection = JWTKeyCollection()
      await add(collection)
      let verifier: any JWTAlgorithm
      do {
        verifier = try await collection.getKey()
      } catch {
        throw JWTKeyError(description: "holds a key that cannot be used")
      }
      self.init(id, algorithm, signatureBytes: signatureBytes) { signature, text in
        (try? verifier.verify(signature, signs: text)) ?? false
      }
    }

    private static func key(rsa: JWTKit.Insecure.RSA.PublicKey, id: String?)
      async throws(JWTKeyError)
      -> JWTKey
    {
      let key = try? _RSA.Signing.PublicKey(derRepresentation: rsa.derRepresentation)
      let bits = key?.keySizeInBits ?? 0
      return try await JWTKey(id, .rs256, signatureBytes: (bits + 7) / 8) {
        await $0.add(rsa: rsa, digestAlgorithm: .sha256)
      }
    }

    private static func key(ecdsa: ES256PublicKey, id: String?) async throws(JWTKeyError) -> JWTKey
    {
      try await JWTKey(id, .es256, signatureBytes: 64) { await $0.add(ecdsa: ecdsa) }
    }

    private static func key(eddsa: EdDSA.PublicKey, id: String?) async throws(JWTKeyError) -> JWTKey
    {
      try await JWTKey(id, .eddsa, signatureBytes: 64) { await $0.add(eddsa: eddsa) }
    }

    private static func key(secret: [UInt8], id: String?) async throws(JWTKeyError) -> JWTKey {
      guard secret.count >= minSecretBytes else {
        throw JWTKeyError(description: "holds a secret of fewer than \(minSecretBytes) bytes")
      }
      // A public key as the secret would let everyone sign who knows it.
      guard !isPublicKey(secret) else {
        throw JWTKeyError(
          description: "holds a public key in a form that is not read; PEM or a JWKS is needed")
      }
      return try await JWTKey(id, .hs256, signatureBytes: 32) {
        await $0.add(hmac: HMACKey(from: secret), digestAlgorithm: .sha256)
      }
    }

    /// True if `bytes` are a public key, or keys, in a common form: PEM, DER and its base64, OpenSSH's
    /// lines, JSON, and texts that call themselves a key.
    private static func isPublicKey(_ bytes: [UInt8]) -> Bool {
      let text = String(decoding: bytes, as: UTF8.self)
      let words = text.drop { $0.isWhitespace || $0 == "\u{FEFF}" }
      if text.contains("BEGIN ") || text.contains("PUBLIC KEY") { return true }
      if words.hasPrefix("{") || words.hasPrefix("[") { return true }
      if ["ssh-", "ecdsa-", "sk-"].contains(where: words.hasPrefix) { return true }
      let compact = words.filter { !$0.isWhitespace }
      let decoded = [UInt8](base64: String(compact), .standard)
      return isDER(bytes) || isDER(decoded ?? [])
    }

    /// True if `bytes` are one DER sequence, as public keys and certificates are.
    private static func isDER(_ bytes: [UInt8]) -> Bool {
      guard bytes.count > 4, bytes[0] == 0x30 else { return false }
      let first = Int(bytes[1])
      guard first >= 0x80 else { return bytes.count == 2 + first }
      let size = first - 0x80
      guard (1...3).contains(size) else { return false }
      let length = bytes[2..<(2 + size)].reduce(0) { $0 << 8 | Int($1) }
      return bytes.count == 2 + size + length
    }

    private static func key(ofPEM text: String) async throws(JWTKeyError) -> JWTKey {
      guard !text.contains("PRIVATE KEY") else {
        throw JWTKeyError(description: "holds a private key; the server needs the public one alone")
      }
      if let key = try? JWTKit.Insecure.RSA.PublicKey(pem: text) {
        return try await self.key(rsa: key, id: nil)
      }
      if let key = try? ES256PublicKey(pem: text) { return try await self.key(ecdsa: key, id: nil) }
      if let key = try? EdDSA.PublicKey(pem: text) {
        return try await self.key(eddsa: key, id: nil)
      }
      throw JWTKeyError(
        description: "holds no RSA (2048 bits or more), P-256 or Ed25519 public key")
    }
  }

  // MARK: - JWK and JWKS

  extension JWTKey {
    private static func keys(
      ofJSON bytes: [UInt8], takesSecrets: Bool = true
    ) async throws(JWTKeyError) -> [JWTKey] {
      guard let json = try? JSON(parsing: bytes) else {
        throw JWTKeyError(description: "is not JSON")
      }
      var members = [json]
      if case .array(let keys)? = json["keys"] { members = keys }
      var keys: [JWTKey] = []
      for member in members.prefix(maxKeys) where takesSecrets || member["kty"]?.string != "oct" {
        if let key = try await key(ofJWK: member) { keys.append(key) }
      }
      guard !keys.isEmpty else {
        let algorithms = (takesSecrets ? "HS256, " : "") + "RS256, ES256 or EdDSA"
        throw JWTKeyError(description: "holds no key for \(algorithms)")
      }
      return keys
    }

    /// Returns nil for a key of another kind or for another use.
    private static func key(ofJWK jwk: JSON) async throws(JWTKeyError) -> JWTKey? {
      guard jwk["use"].map({ $0.string == "sig" }) ?? true, mayVerify(jwk["key_ops"]),
        var key = try await keyOfKind(jwk),
        jwk["alg"].map({ $0.string == key.algorithm.rawValue }) ?? true
      else { return nil }
      let material = ["kid", "kty", "crv", "n", "e", "x", "y", "k"].map { jwk[$0]?.string ?? "" }
      key.fingerprint = SHA256Digest(of: material.joined(separator: ",").utf8).bytes
      return key
    }

    /// True unless the operations of a key leave out verifying (RFC 7517, section 4.3).
    private static func mayVerify(_ operations: JSON?) -> Bool {
      guard let operations else { return true }
      guard case .array(let names) = operations else { return false }
      return names.contains { $0.string == "verify" }
    }

    private static func keyOfKind(_ jwk: JSON) async throws(JWTKeyError) -> JWTKey? {
      let id = jwk["kid"]?.string
      func text(_ name: String) -> String { jwk[name]?.string ?? "" }
      switch (text("kty"), text("crv")) {
      case ("RSA", _):
        guard let key = try? JWTKit.Insecure.RSA.PublicKey(modulus: text("n"), exponent: text("e"))
        else { return nil }
        return try await self.key(rsa: key, id: id)
      case ("EC", "P-256"):
        guard let key = try? ES256PublicKey(parameters: (text("x"), text("y"))) else { return nil }
        return try await self.key(ecdsa: key, id: id)
      case ("OKP", "Ed25519"):
        guard let key = try? EdDSA.PublicKey(x: text("x"), curve: .ed25519) else { return nil }
        return try await self.key(eddsa: key, id: id)
      case ("oct", _):
        guard let secret = [UInt8](base64: text("k"), .urlSafe) else { return nil }
        return try await key(secret: secret, id: id)
      default: return nil
      }
    }
  }
#else
  extension JWTKey {
    package static let isSupported = false

    package static func keys(of bytes: [UInt8]) async throws(JWTKeyError) -> [JWTKey] {
      throw .unsupported
    }

    static func keys(fetched bytes: [UInt8]) async throws(JWTKeyError) -> [JWTKey] {
      throw .unsupported
    }
  }
#endif
