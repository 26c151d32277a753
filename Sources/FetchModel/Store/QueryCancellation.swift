// Passes the cancellation and the deadline of the running task's queries from the service to the stores.

/// The conditions under which the running task's queries end early; see ``Store/withCancellation(_:until:_:)``.
package struct QueryCancellation: Sendable {
  /// Returns true as soon as no client needs the result.
  package let isCancelled: @Sendable () -> Bool
  /// The time at which the queries are cancelled; nil for the store's own time limit.
  package let deadline: ContinuousClock.Instant?

  /// The cancellation of the running task; nil without one.
  @TaskLocal package static var current: QueryCancellation?
}
