// The errors of results controllers and contexts.

/// The reason why a fetch failed.
public enum FetchError: Error, Sendable {
  /// The request to the store failed.
  case store(ObjectStoreError)
  /// An object's stored values do not fit the requested type.
  case materialization(MaterializationError)
  /// The applied diffs did not lead to the store's state: a digest differed, or a diff did not
  /// apply. The result was fetched again; no action is needed.
  case diffNotApplicable
  /// Another update, or ``FetchedResultsController/stop()``, replaced this call's request before it
  /// took effect.
  case superseded
  /// The controller was used outside an actor, where it cannot report changes. Call it on an actor,
  /// or use ``ObjectStore/live(_:section:)``.
  case outsideActor
}

extension FetchError {
  /// The reason why the store could not be reached; nil for every other error.
  public var unavailability: ServiceUnavailable? {
    if case .store(let error) = self { error.unavailability } else { nil }
  }

  /// The error of a context's fetch.
  init(_ error: ContextError) {
    switch error {
    case .store(let error): self = .store(error)
    case .materialization(let error): self = .materialization(error)
    default: self = .store(.notUnderstood("\(error)"))
    }
  }
}

extension FetchError: CustomStringConvertible {
  public var description: String {
    switch self {
    case .store(let error): error.description
    case .materialization(let error): error.description
    case .diffNotApplicable:
      "a diff did not lead to the store's state, and the result was fetched again"
    case .superseded: "another request replaced this one, or the controller was stopped"
    case .outsideActor:
      "a controller needs an actor to report changes: call it on one, or use store.live(request)"
    }
  }
}
