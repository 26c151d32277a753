// A source of results for a controller. The controller executes requests as queries; the store
// enqueues results and changes until a query is stopped.

/// A source of results: a service, a file, an array.
///
/// A subclass overrides ``execute(_:)``; ``stop(_:)`` if a query needs cleaning up; and
/// ``save(_:)`` if the store is writable.
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
/// A store may be used from every isolation domain. A subclass protects its state, for example by a
/// mutex, and declares `@unchecked Sendable`.
///
/// Stores form trees: a draft is a store over its parent and can have drafts itself.
open class DataStore<Result: InstanceIdentifiable & Sendable, Request: DataStoreRequest>:
  @unchecked Sendable
where Request.Result == Result {
  /// A running request of this store.
  public typealias Query = DataStoreQuery<Result, Request>
  /// A change of this store's results.
  public typealias Change = DataStoreChange<Result>

  /// Makes a store.
  public init() {}

  /// Executes `query.request` and enqueues changes until the query is stopped.
  ///
  /// Return at once, and enqueue results when they are available. The first
  /// `processPendingChanges()` marks the results as complete, even if there are none. Keep a strong
  /// reference to the query until ``stop(_:)``. A subclass may call this class's method; if it does
  /// nothing else, ``DataStoreError/notExecutable`` is thrown by the fetch.
  open func execute(_ query: Query) { query.recordSuperclass() }

  /// Ends what ``execute(_:)`` started. The query has no reader any more.
  open func stop(_ query: Query) {}

  /// Saves all of these changes or none. ``DataStore/insert(_:)``, update and delete call this
  /// method.
  ///
  /// - Throws: the source's error; ``DataStoreError/readOnly`` unless overridden.
  open func save(_ changes: [Change]) async throws { throw DataStoreError.readOnly }

  /// Inserts a result. Throws as ``save(_:)``.
  open func insert(_ result: Result) async throws { try await save([Change(.insert, result)]) }

  /// Updates the result with this id. Throws as ``save(_:)``.
  ///
  /// - Parameters:
  ///   - result: the result with its new values.
  ///   - base: the values that the caller had read, for stores that detect conflicts.
  open func update(_ result: Result, from base: Result? = nil) async throws {
    try await save([Change(.update, result, base: base)])
  }

  /// Deletes the result with this id. Throws as ``save(_:)``.
  open func delete(_ result: Result) async throws { try await save([Change(.delete, result)]) }

  /// Creates and executes a query. Rejects it if only this class's method executed it and no code
  /// can enqueue results, because none kept the query.
  func start(_ request: Request, throttle: Duration) -> Query {
    var query = Query(request, throttle: throttle)
    execute(query)
    if query.isLeftToSuperclass, isKnownUniquelyReferenced(&query) {
      query.reject(DataStoreError.notExecutable)
    }
    return query
  }

  /// Creates a draft: a store with this store's results and its own uncommitted changes.
  public func draft() -> DataStoreDraft<Result, Request> { DataStoreDraft(parent: self) }
}
