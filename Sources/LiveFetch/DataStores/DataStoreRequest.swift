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
  /// The part of the results that the store gives; nil: all of them.
  var window: Range<Int>? { get }
  /// The same request for another part of the results. A draft asks so for what comes into a window
  /// in place of what it deletes.
  func showing(_ window: Range<Int>) -> Self
}

extension DataStoreRequest {
  public func includes(_ result: Result) -> Bool? { nil }
  public var window: Range<Int>? { nil }
  public func showing(_ window: Range<Int>) -> Self { self }
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

  /// From the offset to the limit; nil without a limit and an offset, and of negative ones, which the
  /// store refuses.
  public var window: Range<Int>? {
    guard fetchLimit != nil || fetchOffset != 0 else { return nil }
    let length = fetchLimit ?? .max
    guard fetchOffset >= 0, length >= 0 else { return nil }
    let (end, overflow) = fetchOffset.addingReportingOverflow(length)
    return fetchOffset..<(overflow ? .max : end)
  }

  public func showing(_ window: Range<Int>) -> FetchRequest {
    var request = self
    request.fetchOffset = window.lowerBound
    request.fetchLimit = window.upperBound == .max ? nil : window.count
    return request
  }
}
