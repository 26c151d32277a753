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
  /// The store that fetches and saves.
  public let objects: any ObjectStore
  /// Resolves conflicts with saves made since the results were read.
  public let mergePolicy: MergePolicy
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
    let values = try ElementValues(change.result)
    var members = [
      JSON.Member(name: "\(change.type)", value: .string(Element.entityName))
    ]
    switch change.type {
    case .insert:
      members.append(.init(name: "values", value: values.json))
    case .update:
      members.append(.init(name: "id", value: values.id))
      let base = try change.base.map { try ElementValues($0) }
      let changed = try base.map(values.changes(from:)) ?? ElementValues(whole: change.result)
      members.append(.init(name: "values", value: changed.json))
      if let base { members.append(.init(name: "base", value: base.values(of: changed).json)) }
    case .delete:
      members.append(.init(name: "id", value: values.id))
    }
    return .object(members)
  }
}

/// An element's values by its coding keys.
private struct ElementValues {
  private var members: [JSON.Member]

  init(_ element: some Encodable) throws {
    let json = try ItemCoding.encode(element)
    guard case .object(let members) = json else {
      throw EncodingError.invalidValue(
        element, .init(codingPath: [], debugDescription: "an element encodes as an object"))
    }
    self.members = members.sorted { $0.name < $1.name }
  }

  /// All values without the id, with null for optionals that are nil.
  init(whole element: some Encodable) throws {
    let members = try ElementValues(element).members + NilKeys.members(of: element)
    self.members = members.filter { $0.name != "id" }.sorted { $0.name < $1.name }
  }

  private init(members: [JSON.Member]) { self.members = members }

  var json: JSON { .object(members) }
  var id: JSON { json["id"] ?? .null }
  var withoutID: Self { Self(members: members.filter { $0.name != "id" }) }

  /// The values that differ from `base`; null for those that only the base has.
  func changes(from base: Self) -> Self {
    let gone = base.members.filter { json[$0.name] == nil }.map {
      JSON.Member(name: $0.name, value: .null)
    }
    let changed = members.filter { base.json[$0.name] != $0.value }
    return Self(members: changed + gone).withoutID
  }

  /// This element's values of the properties in `changes`.
  func values(of changes: Self) -> Self {
    Self(members: changes.members.map { .init(name: $0.name, value: json[$0.name] ?? .null) })
  }
}
