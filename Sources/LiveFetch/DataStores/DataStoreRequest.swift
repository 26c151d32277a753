// The requests of data stores, and the identity of results.

/// A type with an identity that does not change with its values.
///
/// For `Identifiable` types it is the `id`.
public protocol InstanceIdentifiable {
  /// The type of the identity.
  associatedtype InstanceID: Hashable & Sendable
  /// The identity; it stays the same when values change.
  var instanceID: InstanceID { get }
}

extension InstanceIdentifiable where Self: Identifiable, ID: Sendable {
  public var instanceID: ID { id }
}

/// Describes which results a store returns. Each kind of store defines its own.
public protocol DataStoreRequest<Result>: Sendable {
  /// The type of the results.
  associatedtype Result: InstanceIdentifiable

  /// True if the request includes `result`; nil if only the store can decide.
  func includes(_ result: Result) -> Bool?
  /// The part of the results that is requested; nil for all.
  var window: Range<Int>? { get }
  /// The same request for another part of the results. Drafts use it to fill a window after
  /// deletions.
  func showing(_ window: Range<Int>) -> Self
}

extension DataStoreRequest {
  public func includes(_ result: Result) -> Bool? { nil }
  public var window: Range<Int>? { nil }
  public func showing(_ window: Range<Int>) -> Self { self }
}

/// A request that filters by a closure, for results in memory.
public struct FilterRequest<Result: InstanceIdentifiable & Sendable>: DataStoreRequest {
  private let isIncluded: @Sendable (Result) -> Bool

  /// - Parameter isIncluded: returns true for included results; all of them if omitted.
  public init(where isIncluded: @escaping @Sendable (Result) -> Bool = { _ in true }) {
    self.isIncluded = isIncluded
  }

  public func includes(_ result: Result) -> Bool? { isIncluded(result) }
}

/// A fetch of typed elements, for stores of objects: see ``ObjectDataStore``.
extension FetchRequest: DataStoreRequest
where Element: InstanceIdentifiable {
  public typealias Result = Element

  /// The range from offset to offset plus limit; nil without either, and for negative numbers,
  /// which the store refuses.
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
