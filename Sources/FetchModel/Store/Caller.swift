// Who sent a request, as far as queues have to know.

/// The sender of a request. Queues take turns between callers, and between the connections of one.
public struct Caller: Sendable, Hashable {
  /// Names the credential where there is one, otherwise the client's address.
  public var name: String
  /// Tells the connections of one caller apart.
  public var connection: UInt64

  public init(name: String = "", connection: UInt64 = 0) {
    self.name = name
    self.connection = connection
  }
}
