// A key that verifies JWTs, as ``JWTVerifier`` uses it. JWTKey+Reading.swift makes keys of text.

import FetchModel

/// The reason why keys cannot be used, for the person who runs the server.
package struct JWTKeyError: Error, Equatable, CustomStringConvertible {
  package let description: String
}

/// A key that verifies the signatures of one algorithm.
package struct JWTKey: Sendable {
  /// The algorithms that are accepted, as the header of a token names them.
  enum Algorithm: String, Sendable {
    case hs256 = "HS256"
    case rs256 = "RS256"
    case es256 = "ES256"
    case eddsa = "EdDSA"
  }

  /// The `kid` of a JWK.
  let id: String?
  let algorithm: Algorithm
  /// The length of every signature.
  let signatureBytes: Int
  /// Identifies the key; empty for one that is not of a JWK.
  var fingerprint: [UInt8] = []
  /// Returns true if the first bytes are the signature of the second ones.
  let isSignature: @Sendable ([UInt8], [UInt8]) -> Bool
  /// A JWT of usual size, which this key does not verify.
  let dummyToken: String

  init(
    _ id: String?, _ algorithm: Algorithm, signatureBytes: Int,
    isSignature: @escaping @Sendable ([UInt8], [UInt8]) -> Bool
  ) {
    self.id = id
    self.algorithm = algorithm
    self.signatureBytes = signatureBytes
    self.isSignature = isSignature
    dummyToken = Self.dummyToken(algorithm, signatureBytes)
  }

  func verify(_ signature: [UInt8], signs text: [UInt8]) -> Bool {
    signature.count == signatureBytes && isSignature(signature, text)
  }

  private static func dummyToken(_ algorithm: Algorithm, _ signatureBytes: Int) -> String {
    var text: [UInt8] = []
    text.append(base64: #"{"alg":"\#(algorithm.rawValue)","typ":"JWT"}"#.utf8, .urlSafe)
    text.append(0x2E)
    text.append(base64: #"{"sub":"nobody","scope":"read","exp":0}"#.utf8, .urlSafe)
    text.append(0x2E)
    text.append(base64: [UInt8](repeating: 1, count: signatureBytes), .urlSafe)
    return String(decoding: text, as: UTF8.self)
  }
}

extension JWTKeyError {
  package static let unreadable = JWTKeyError(description: "cannot be read")
  package static let unsupported = JWTKeyError(
    description: "this program was built without the trait JWT")
}
