// What a data store is asked for, and what its results are told apart by.

/// Something with an identity that stays while its values change.
///
/// What is `Identifiable` is told apart by its `id`.
public protocol InstanceIdentifiable {
  associatedtype InstanceID: Hashable & Sendable
  var instanceID: InstanceID { get }
}

extension InstanceIdentifiable where Self: Identifiable, ID: Sendable {
  public var instanceID: ID { id }
}

/// Which results are meant. A value that a store of its kind understands.
public protocol DataStoreRequest<Result>: Sendable {
  associatedtype Result: InstanceIdentifiable

  /// Whether `result` is meant; nil where the store alone can tell.
  func includes(_ result: Result) -> Bool?
}

extension DataStoreRequest {
  public func includes(_ result: Result) -> Bool? { nil }
}

/// A request that a closure decides, for results in memory.
public struct FilterRequest<Result: InstanceIdentifiable & Sendable>: DataStoreRequest {
  private let isIncluded: @Sendable (Result) -> Bool

  /// - Parameter isIncluded: which results are meant; all of them if left out.
  public init(where isIncluded: @escaping @Sendable (Result) -> Bool = { _ in true }) {
    self.isIncluded = isIncluded
  }

  public func includes(_ result: Result) -> Bool? { isIncluded(result) }
}

/// A fetch of typed elements, for stores of objects: see ``ObjectDataStore``.
extension FetchRequest: DataStoreRequest
where Element: InstanceIdentifiable {
  public typealias Result = Element
}
