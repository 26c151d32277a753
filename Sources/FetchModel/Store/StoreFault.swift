// A reason why the server is not ready, as `/health/ready` reports it.

/// A reason why the server is not ready, as `/health/ready` reports it.
public struct StoreFault: Sendable, Hashable {
  /// A stable identifier in kebab-case.
  public let code: String
  /// A sentence without a path and without stored values.
  public let detail: String

  /// Makes a fault.
  ///
  /// - Parameters:
  ///   - code: A stable identifier in kebab-case.
  ///   - detail: A sentence without a path and without stored values.
  public init(_ code: String, _ detail: String) {
    self.code = code
    self.detail = detail
  }
}
