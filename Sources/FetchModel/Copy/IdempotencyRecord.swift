// A response that a store keeps for an `Idempotency-Key`, when it moves to another store.

/// An idempotency key with the response to its save.
public struct IdempotencyRecord: Sendable, Hashable {
  /// The key, with its caller.
  public let key: String
  /// Seconds since 1970.
  public let at: Double
  /// The fingerprint of the request.
  public let fingerprint: String
  /// The bytes of the response.
  public let bytes: [UInt8]

  /// Makes a record.
  public init(key: String, at: Double, fingerprint: String, bytes: [UInt8]) {
    (self.key, self.at, self.fingerprint, self.bytes) = (key, at, fingerprint, bytes)
  }
}
