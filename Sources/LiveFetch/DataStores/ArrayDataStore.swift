// A data store over results in memory.

import Foundation
import Synchronization

/// A store of results in memory, in insertion order.
///
/// A request that cannot decide about a result includes it.
public final class ArrayDataStore<
  Result: InstanceIdentifiable & Sendable, Request: DataStoreRequest
>: DataStore<Result, Request>, @unchecked Sendable where Request.Result == Result {
  private struct State {
    var results: [Result]
    var queries: [Query] = []
  }

  // Held while queries receive changes, which are therefore in order. Requests are the user's code
  // and run under it; it is recursive, so that they may execute requests of this store.
  private let order = NSRecursiveLock()
  // Protects the results and the running queries; never held while a request decides.
  private let state: Mutex<State>

  /// Makes a store with these results.
  public init(_ results: [Result] = []) {
    state = Mutex(State(results: results))
    super.init()
  }

  /// All results.
  public var results: [Result] { state.withLock { $0.results } }

  public override func execute(_ query: Query) {
    order.withLock {
      let results = state.withLock { state in
        state.queries.append(query)
        return state.results
      }
      query.enqueue(all: results.filter { query.request.includes($0) ?? true })
    }
    query.processPendingChanges()
  }

  public override func stop(_ query: Query) {
    state.withLock { $0.queries.removeAll { $0 === query } }
  }

  /// Saves the changes in their order, all or none. O(results + changes).
  public override func save(_ changes: [Change]) async throws {
    let queries = try order.withLock {
      let (results, replaced) = try Self.apply(changes, to: self.results)
      let queries = state.withLock { state in
        state.results = results
        return state.queries
      }
      for query in queries {
        if Self.returns(changes, replaced, to: query.request) {
          query.enqueue(all: results.filter { query.request.includes($0) ?? true })
        } else {
          Self.notify(changes, to: query)
        }
      }
      return queries
    }
    for query in queries { query.processPendingChanges() }
  }

  /// Applies the changes.
  ///
  /// - Returns: the results, and for each change the earlier value of an updated one.
  private static func apply(
    _ changes: [Change], to results: [Result]
  ) throws -> (results: [Result], replaced: [Result?]) {
    var places = places(of: changes, in: results)
    var (changed, deleted) = (results, Set<Int>())
    let replaced = try changes.map { change -> Result? in
      switch (change.type, places[change.id]) {
      case (.insert, nil):
        places[change.id] = changed.count
        changed.append(change.result)
      case (.insert, .some): throw DataStoreError.exists("\(change.id)")
      case (.update, let place?):
        defer { changed[place] = change.result }
        return changed[place]
      case (.delete, let place?):
        places[change.id] = nil
        deleted.insert(place)
      case (.update, nil), (.delete, nil): throw DataStoreError.missing("\(change.id)")
      }
      return nil
    }
    guard !deleted.isEmpty else { return (changed, replaced) }
    return (changed.indices.filter { !deleted.contains($0) }.map { changed[$0] }, replaced)
  }

  /// The places of the results that the changes concern. Hashes no result for a single change.
  private static func places(
    of changes: [Change], in results: [Result]
  ) -> [Result.InstanceID: Int] {
    let ids = Set(changes.map(\.id))
    if ids.count == 1, let id = ids.first {
      return results.firstIndex { $0.instanceID == id }.map { [id: $0] } ?? [:]
    }
    var places: [Result.InstanceID: Int] = [:]
    for (place, result) in results.enumerated() where ids.contains(result.instanceID) {
      if places[result.instanceID] == nil { places[result.instanceID] = place }
    }
    return places
  }

  /// True if an update makes the request include a result again. Its place is not the end.
  private static func returns(
    _ changes: [Change], _ replaced: [Result?], to request: Request
  ) -> Bool {
    zip(changes, replaced).contains { change, old in
      guard let old, request.includes(old) == false else { return false }
      return request.includes(change.result) ?? true
    }
  }

  private static func notify(_ changes: [Change], to query: Query) {
    for change in changes {
      let isIncluded = change.type != .delete && query.request.includes(change.result) ?? true
      query.enqueue(change.result, as: isIncluded ? change.type : .delete)
    }
  }
}
