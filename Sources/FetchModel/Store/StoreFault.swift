// A reason for which a store cannot do all of its work, as readiness probes report it.

/// A reason for which a store, or the server on it, is not ready.
public struct StoreFault: Sendable, Hashable {
  /// A stable identifier in kebab-case.
  public let code: String
  /// A sentence without a path and without stored values.
  public let detail: String

  /// Makes a store fault.
  public init(_ code: String, _ detail: String) {
    self.code = code
    self.detail = detail
  }
}
