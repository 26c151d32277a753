// A data store of typed values over an object store: an SQLite file in this process or a LiveFetch
// server. Each query has a task, which follows the fetch as a loop over `live` does, and passes on what
// changed.

import FetchModel
import Foundation
import Synchronization

/// Typed values from an ``ObjectStore``: a ``LocalStore`` or a ``RemoteStore``.
///
/// ```swift
/// let store = ObjectDataStore<City>(RemoteStore(address))
/// let controller = DataStoreResultsController(
///   store: store, request: FetchRequest<City>(sortedBy: [.descending("population")]))
/// ```
public final class ObjectDataStore<
  Element: Fetchable & InstanceIdentifiable & Codable & Sendable
>: DataStore<Element, FetchRequest<Element>>, @unchecked Sendable {
  private let objects: any ObjectStore
  private let mergePolicy: MergePolicy
  private let holdTime: Double

  // The tasks of the running queries.
  private let tasks = Mutex<[ObjectIdentifier: Task<Void, Never>]>([:])
  private let unansweredSave = Mutex(UnansweredSave())

  /// - Parameters:
  ///   - objects: a file in this process, or a server.
  ///   - mergePolicy: resolves conflicts of updates with a base.
  ///   - holdTime: the wait of one request for changes, in seconds.
  public init(
    _ objects: any ObjectStore, mergePolicy: MergePolicy = .error, holdTime: Double = 25
  ) {
    self.objects = objects
    self.mergePolicy = mergePolicy
    self.holdTime = holdTime
    super.init()
  }

  public override func execute(_ query: Query) {
    let follower = QueryFollower(objects, query, hold: holdTime)
    let task = Task { await follower.run() }
    tasks.withLock { $0[ObjectIdentifier(query)] = task }
  }

  public override func stop(_ query: Query) {
    tasks.withLock { $0.removeValue(forKey: ObjectIdentifier(query)) }?.cancel()
  }

  /// Saves the changes as one transaction.
  ///
  /// An update with a base, such as a draft's, sends the values that differ and detects conflicts.
  /// An update without a base sends every value, and null for optionals that are nil. If the answer was
  /// lost (`unreachable` without a ``ServiceUnavailable/code``), a second call with the same changes
  /// saves them once.
  ///
  /// - Throws: ``ObjectStoreError``, or the error of encoding an element.
  public override func save(_ changes: [Change]) async throws {
    let body: JSON = .object([
      .init(name: "changes", value: .array(try changes.map(Self.json))),
      .init(name: "mergePolicy", value: .string(mergePolicy.rawValue)),
    ])
    let save = unansweredSave.withLock { $0.begin(body) }
    do throws(ObjectStoreError) {
      _ = try await objects.save(body, key: save.key)
      unansweredSave.withLock { $0.end(save, nil) }
    } catch {
      unansweredSave.withLock { $0.end(save, error) }
      throw error
    }
  }

  private static func json(_ change: Change) throws -> JSON {
    let entity = Element.entityName
    switch change.type {
    case .insert:
      let values = try ItemCoding.members(of: change.result)
      return .object(.change("insert", entity, values: values))
    case .update:
      return .object(try ValueChange(updating: change.result, from: change.base).json)
    case .delete:
      let id = try ItemCoding.id(in: ItemCoding.members(of: change.result))
      return .object(ValueChange(entity: entity, kind: .delete(id)).json)
    }
  }
}
