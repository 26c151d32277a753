// An idempotent save: the first request with a key saves and stores its response; later requests
// with the key get that response.

/// The idempotency key of a save.
public struct IdempotentSave: Sendable {
  /// The key that the client chose.
  public let key: String
  /// A hash of the whole request. A request with the same key and another hash is refused.
  public let fingerprint: String
  /// Creates the response to store. Called in the save's transaction, after its changes.
  public let makeResponse:
    @Sendable (SaveResult, any StoreReadTransaction) throws(StoreError) -> [UInt8]

  /// Makes an idempotent save.
  public init(
    key: String, fingerprint: String,
    makeResponse:
      @escaping @Sendable (SaveResult, any StoreReadTransaction) throws(StoreError) -> [UInt8]
  ) {
    self.key = key
    self.fingerprint = fingerprint
    self.makeResponse = makeResponse
  }

  /// The retention time of a response in seconds.
  public static let keptSeconds = 86_400.0
}

/// The response to an idempotent save.
public struct StoredResponse: Sendable, Hashable {
  /// The stored response.
  public let bytes: [UInt8]
  /// True if an earlier request made the save, and this one stored nothing.
  public let isRepeated: Bool

  /// Makes the response to one request.
  public init(bytes: [UInt8], isRepeated: Bool) {
    self.bytes = bytes
    self.isRepeated = isRepeated
  }
}
