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

  public override func save(_ changes: [Change]) async throws {
    let queries = try order.withLock {
      var results = self.results
      let replaced = try changes.map { try Self.apply($0, to: &results) }
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

  /// Applies the change.
  ///
  /// - Returns: the earlier values of an updated result.
  private static func apply(_ change: Change, to results: inout [Result]) throws -> Result? {
    let id = change.result.instanceID
    let place = results.firstIndex { $0.instanceID == id }
    let old = change.type == .update ? place.map { results[$0] } : nil
    switch (change.type, place) {
    case (.insert, nil): results.append(change.result)
    case (.insert, .some): throw DataStoreError.exists("\(id)")
    case (.update, let place?): results[place] = change.result
    case (.delete, let place?): results.remove(at: place)
    case (.update, nil), (.delete, nil): throw DataStoreError.missing("\(id)")
    }
    return old
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
