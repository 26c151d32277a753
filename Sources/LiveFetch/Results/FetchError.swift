// Why a controller or a context has no result.

/// What went wrong with a fetch.
public enum FetchError: Error, Sendable {
  case store(ObjectStoreError)
  /// An object that does not make an instance of the type that was asked for.
  case materialization(MaterializationError)
}

extension FetchError: CustomStringConvertible {
  public var description: String {
    switch self {
    case .store(let error): error.description
    case .materialization(let error): error.description
    }
  }
}
