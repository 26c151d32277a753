// A change of a result that a data store saves or reports, the errors of data stores, and the comparison that
// finds unchanged results.

/// The kind of a result's change.
public enum DataStoreChangeType: Sendable, Hashable { case insert, update, delete }

/// The change of one result in a save.
public struct DataStoreChange<Result: InstanceIdentifiable> {
  /// The kind of change.
  public let type: DataStoreChangeType
  /// The new values; for a deletion the last known ones.
  public let result: Result
  /// The values that the author of the change had read; nil if unknown. A store may refuse the change if
  /// the result has other values now.
  public let base: Result?

  /// Makes a change.
  public init(_ type: DataStoreChangeType, _ result: Result, base: Result? = nil) {
    self.type = type
    self.result = result
    self.base = base
  }
}

extension DataStoreChange {
  /// The identity of the result.
  var id: Result.InstanceID { result.instanceID }
}

extension DataStoreChange: Sendable where Result: Sendable {}

/// The errors of data stores.
public enum DataStoreError: Error, Sendable, Hashable {
  /// The store is read-only.
  case readOnly
  /// The store cannot execute requests: its class does not override ``DataStore/execute(_:)``.
  case notExecutable
  /// An inserted result exists already. The value is its id.
  case exists(String)
  /// An updated or deleted result does not exist. The value is its id.
  case missing(String)
}

extension DataStoreError: CustomStringConvertible {
  public var description: String {
    switch self {
    case .readOnly: "the store is read-only"
    case .notExecutable: "the store cannot execute requests"
    case .exists(let id): "the result \(id) exists already"
    case .missing(let id): "the result \(id) does not exist"
    }
  }
}

/// Returns true if two values are known to be equal. Compares them by `==` if their type is Equatable, and by
/// identity if it is a class that is not. Returns false for values of other types.
func isKnownSame<Value>(_ left: Value, _ right: Value) -> Bool {
  if let left = left as? any Equatable { return left.isSame(as: right) }
  guard Value.self is AnyClass else { return false }
  return left as AnyObject === right as AnyObject
}

extension Equatable {
  fileprivate func isSame(as other: Any) -> Bool { other as? Self == self }
}
