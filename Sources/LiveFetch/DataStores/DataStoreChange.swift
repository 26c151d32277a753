// The changes of results, and the errors of data stores.

/// The kind of a result's change.
public enum DataStoreChangeType: Sendable, Hashable { case insert, update, delete }

/// The change of one result in a save.
public struct DataStoreChange<Result: InstanceIdentifiable> {
  /// The kind of change.
  public let type: DataStoreChangeType
  /// The new values; for a deletion the last known ones.
  public let result: Result
  /// The values that the author of the change had read; nil if unknown. A store may refuse to
  /// overwrite other values.
  public let base: Result?

  public init(_ type: DataStoreChangeType, _ result: Result, base: Result? = nil) {
    self.type = type
    self.result = result
    self.base = base
  }
}

extension DataStoreChange: Sendable where Result: Sendable {}

/// The errors of data stores.
public enum DataStoreError: Error, Sendable, Hashable {
  /// The store is read-only.
  case readOnly
  /// The store cannot execute requests: a subclass overrides ``DataStore/execute(_:)``.
  case notExecutable
  /// An inserted result exists already.
  case exists(String)
  /// An updated or deleted result does not exist.
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

/// True if two values are known to be equal: by `==` if their type is Equatable, by identity if it
/// is a class.
func isKnownSame<Value>(_ left: Value, _ right: Value) -> Bool {
  if let left = left as? any Equatable { return left.isSame(as: right) }
  guard Value.self is AnyClass else { return false }
  return left as AnyObject === right as AnyObject
}

extension Equatable {
  fileprivate func isSame(as other: Any) -> Bool { other as? Self == self }
}
