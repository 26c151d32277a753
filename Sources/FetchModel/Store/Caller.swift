// The sender of a request, as queues identify it.

/// The sender of a request. Queues take turns between callers, and between the connections of one.
public struct Caller: Sendable, Hashable {
  /// The name of the credential if there is one, otherwise the client's address.
  public var name: String
  /// Identifies a connection of the caller.
  public var connection: UInt64

  public init(name: String = "", connection: UInt64 = 0) {
    self.name = name
    self.connection = connection
  }
}
