// Why a controller or a context has no result.

/// What went wrong with a fetch.
public enum FetchError: Error, Sendable {
  case store(ObjectStoreError)
  /// An object that does not make an instance of the type that was asked for.
  case materialization(MaterializationError)
  /// What diffs had led to was not what the store holds: a digest differed, or a diff did not fit.
  /// The result was fetched anew; nothing is left to do.
  case outOfStep
  /// Another update was asked for, or the controller was stopped, before this call's request was in
  /// force. It never will be.
  case superseded
}

extension FetchError {
  /// Why the store could not be reached; nil of every other error.
  public var unavailability: ServiceUnavailable? {
    if case .store(let error) = self { error.unavailability } else { nil }
  }
}

extension FetchError: CustomStringConvertible {
  public var description: String {
    switch self {
    case .store(let error): error.description
    case .materialization(let error): error.description
    case .outOfStep: "the content was out of step with the store, and was fetched anew"
    case .superseded: "another request was asked for, or the controller was stopped, meanwhile"
    }
  }
}
