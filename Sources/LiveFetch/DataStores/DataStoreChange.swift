// What is done to a result, and what may go wrong with it.

/// What happened, or shall happen, to a result.
public enum DataStoreChangeType: Sendable, Hashable { case insert, update, delete }

/// One result's part in a save.
public struct DataStoreChange<Result: InstanceIdentifiable> {
  public let type: DataStoreChangeType
  public let result: Result
  /// The values that whoever changed the result had seen; nil where that is not known. A store may
  /// refuse to overwrite others.
  public let base: Result?

  public init(_ type: DataStoreChangeType, _ result: Result, base: Result? = nil) {
    self.type = type
    self.result = result
    self.base = base
  }
}

extension DataStoreChange: Sendable where Result: Sendable {}

/// Why a data store does not do what it is asked.
public enum DataStoreError: Error, Sendable, Hashable {
  /// The store takes no changes.
  case readOnly
  /// The store cannot execute requests: a subclass overrides ``DataStore/execute(_:)``.
  case notExecutable
  /// An inserted result is there already.
  case exists(String)
  /// A result to be updated or deleted is not there.
  case missing(String)
}

extension DataStoreError: CustomStringConvertible {
  public var description: String {
    switch self {
    case .readOnly: "this store takes no changes"
    case .notExecutable: "this store executes no requests"
    case .exists(let id): "there is a result \(id) already"
    case .missing(let id): "there is no result \(id)"
    }
  }
}

/// Whether two values are known to be the same: by `==` where their type has one, as one object
/// where it has not.
func isKnownSame<Value>(_ left: Value, _ right: Value) -> Bool {
  if let left = left as? any Equatable { return left.isSame(as: right) }
  guard Value.self is AnyClass else { return false }
  return left as AnyObject === right as AnyObject
}

extension Equatable {
  fileprivate func isSame(as other: Any) -> Bool { other as? Self == self }
}
