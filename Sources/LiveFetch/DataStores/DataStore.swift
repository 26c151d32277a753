// Any source behind one controller: requests enter as queries, which the store feeds until they are
// stopped; changes enter one by one or together.

/// A source of results: a service, a file, an array.
///
/// A store of one's own overrides ``execute(_:)`` and, where it keeps something running, ``stop(_:)``;
/// and ``save(_:)`` if it can be written.
///
/// ```swift
/// final class Cities: DataStore<City, FilterRequest<City>>, @unchecked Sendable {
///   override func execute(_ query: Query) {
///     Task {
///       do { query.enqueue(all: try await download()) } catch { query.reject(error) }
///       query.processPendingChanges()
///     }
///   }
/// }
/// ```
///
/// A store may be used from every isolation domain. A subclass guards what it stores, by a mutex for
/// instance, and says so by `@unchecked Sendable`.
///
/// Stores make trees: a draft is a store over its parent, and can have drafts itself.
open class DataStore<Result: InstanceIdentifiable & Sendable, Request: DataStoreRequest>:
  @unchecked Sendable
where Request.Result == Result {
  public typealias Query = DataStoreQuery<Result, Request>
  public typealias Change = DataStoreChange<Result>

  /// Where a commit goes; nil for a store that is the source itself.
  public let parent: DataStore<Result, Request>?

  public init(parent: DataStore<Result, Request>? = nil) { self.parent = parent }

  /// Begins to answer `query.request`, and goes on telling what changes until the query is stopped.
  ///
  /// Return at once; enqueue results when they come. The first `processPendingChanges()` says that
  /// the results are complete, also where there are none.
  open func execute(_ query: Query) { query.reject(DataStoreError.notExecutable) }

  /// Ends what ``execute(_:)`` began. Nobody reads the query any more.
  open func stop(_ query: Query) {}

  /// Makes all of these changes, or none. ``DataStore/insert(_:)`` and kin
  /// end here.
  ///
  /// - Throws: what the source says; ``DataStoreError/readOnly`` unless it is overridden.
  open func save(_ changes: [Change]) async throws { throw DataStoreError.readOnly }

  open func insert(_ result: Result) async throws { try await save([Change(.insert, result)]) }

  /// - Parameters:
  ///   - result: with its new values.
  ///   - base: the values seen before, where the store shall find conflicts.
  open func update(_ result: Result, from base: Result? = nil) async throws {
    try await save([Change(.update, result, base: base)])
  }

  open func delete(_ result: Result) async throws { try await save([Change(.delete, result)]) }

  /// A store that shows this one's results with changes that this one does not know before they are
  /// committed.
  public func draft() -> DataStoreDraft<Result, Request> { DataStoreDraft(parent: self) }
}
