// A save that is made once, however often it is asked for: the key that the client chose enters
// with it, and the answer that was given the first time leaves each time.

/// What makes a save one that may be repeated.
public struct SaveOnce: Sendable {
  /// Chosen by the client.
  public let key: String
  /// A hash of everything that was asked; the same key with another one is refused.
  public let fingerprint: String
  /// Makes the answer to keep. Called in the save's own transaction, after its changes.
  public let answer: @Sendable (SaveResult, any StoreMoment) throws(StoreError) -> [UInt8]

  public init(
    key: String, fingerprint: String,
    answer: @escaping @Sendable (SaveResult, any StoreMoment) throws(StoreError) -> [UInt8]
  ) {
    self.key = key
    self.fingerprint = fingerprint
    self.answer = answer
  }

  /// How long an answer is kept, in seconds.
  public static let keptSeconds = 86_400.0
}

/// The answer to a save that is made once.
public struct KeptAnswer: Sendable, Hashable {
  public let bytes: [UInt8]
  /// Whether the save had been made before: nothing was saved now.
  public let isRepeated: Bool

  public init(bytes: [UInt8], isRepeated: Bool) {
    self.bytes = bytes
    self.isRepeated = isRepeated
  }
}
