// The identity of a request's sender, as far as queues need it.

/// The sender of a request. Queues take turns between callers, and between the connections of one.
public struct CallerID: Sendable, Hashable {
  /// The name of the credential, or the client's address without one.
  public var name: String
  /// Distinguishes the connections of one caller.
  public var connection: UInt64

  /// Makes a caller ID.
  public init(name: String = "", connection: UInt64 = 0) {
    self.name = name
    self.connection = connection
  }
}
