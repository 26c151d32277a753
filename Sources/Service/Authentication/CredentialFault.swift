// Why a credential is refused. Only the log of requests says it: clients get one answer for all reasons.

/// What is wrong with a credential. The text is the member `refusal` of the request's line in the log.
package enum CredentialFault: String, Error {
  /// Without a header `Authorization: Bearer …`.
  case missing = "no credential"
  case unknown = "neither a known key nor a JWT of an accepted algorithm"
  case ended = "the key has expired or was revoked"
  case noFittingKey = "no key fits the JWT's algorithm, kid and length of signature"
  case wrongSignature = "the JWT's signature is wrong"
  case wrongForm = "the JWT's claims are no JSON object, or one has another type"
  case expired = "the JWT has expired"
  case notYetValid = "the JWT is not valid yet"
  case wrongIssuer = "the JWT has another issuer"
  case wrongAudience = "the JWT is for another audience"
}
