// An SQLite file in this process as an object store: requests as JSON enter, the same answers leave
// that a server on the file would give. Queries run on a queue of their own, since they block.

import Dispatch
import Foundation
import LiveQueries
import SQLiteStore
import Synchronization

/// A store on an SQLite file in this process.
///
/// The file gets history tables and triggers, as a server would add them; other processes may
/// write it, but only one LiveFetch store, here or in a server, may have it open at a time.
public final class LocalStore: ObjectStore {
  private let store: SQLiteStore
  private let engine: LiveEngine
  private let resolver: FetchResolver
  private let queue = DispatchQueue(label: "livefetch.local-store", attributes: .concurrent)
  private let isClosed = Mutex(false)

  /// Opens the file at `path`, which has to exist, and begins to follow it.
  ///
  /// - Parameters:
  ///   - path: of the file.
  ///   - options: how the file is opened and written.
  ///   - maxItems: the most items of a snapshot.
  /// - Throws: `StoreError` where it is no database, is held by another store, or is damaged.
  public init(
    path: String, options: Options = .init(), maxItems: Int = 1_000_000
  ) throws(StoreError) {
    store = try SQLiteStore(path: path, options: options)
    engine = LiveEngine(store: store, delivery: ContinuationDelivery())
    resolver = FetchResolver(model: store.model, maxItems: maxItems)
    let engine = engine
    store.onChange { engine.storeDidChange() }
  }

  /// Makes a new file at `path` with the tables of `model`, and opens it. The file remembers the
  /// model: later `LocalStore(path:)` alone opens it.
  ///
  /// ```swift
  /// let model = try ModelFile(parsing: [UInt8](Data(contentsOf: url)))
  /// let store = try LocalStore(creating: path, model: model)
  /// ```
  ///
  /// - Parameters:
  ///   - path: of the file, which may not exist; its folder has to.
  ///   - model: the entities, in code or read from a model's JSON.
  ///   - options: how the file is opened and written.
  ///   - maxItems: the most items of a snapshot.
  /// - Throws: `StoreError`, with every problem of the model, or where there is a file already; nothing
  ///   is left behind then.
  public convenience init(
    creating path: String, model: ModelFile, options: Options = .init(),
    maxItems: Int = 1_000_000
  ) throws(StoreError) {
    do throws(ModelFileError) {
      try model.check()
    } catch {
      throw .unusable("the model cannot be used:\n\(error)")
    }
    do {
      try Data().write(to: URL(fileURLWithPath: path), options: .withoutOverwriting)
    } catch CocoaError.fileWriteFileExists {
      throw .unusable("there is a file already")
    } catch {
      throw .unusable("the file cannot be made")
    }
    var options = options
    options.model = model
    do throws(StoreError) {
      try self.init(path: path, options: options, maxItems: maxItems)
    } catch {
      for end in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: path + end) }
      throw error
    }
  }

  deinit { close() }

  /// What the file holds.
  public var model: Model { store.model }

  /// Answers whoever waits and closes the file. Every request after that fails.
  public func close() {
    let wasClosed = isClosed.withLock { isClosed in
      defer { isClosed = true }
      return isClosed
    }
    guard !wasClosed else { return }
    engine.drain()
    engine.stop()
    store.close()
  }

  // MARK: - ObjectStore

  public func relationshipDestinations() async -> RelationshipDestinations? {
    RelationshipDestinations(store.model)
  }

  public func fetch(_ request: JSON) async throws(ObjectStoreError) -> JSON {
    guard !isClosed.withLock({ $0 }) else { throw .cancelled }
    let fetch: FetchModel.FetchRequest
    let plan: FetchPlan
    do throws(FetchRequestError) {
      fetch = try FetchModel.FetchRequest(json: request)
      plan = try resolver.resolve(fetch)
    } catch {
      throw .refused(Problem(error, isPath: false))
    }
    guard let since = fetch.since else { return try await snapshot(of: plan) }
    let isReadOnly = store.properties.isReadOnly
    if let problem = Problem(following: plan, in: store.model, isReadOnly: isReadOnly) {
      throw .refused(problem)
    }
    return try await diff(of: plan, since: since, wait: fetch.wait ?? Self.defaultWait)
  }

  public func save(_ request: JSON) async throws(ObjectStoreError) -> SaveReceipt {
    guard !isClosed.withLock({ $0 }) else { throw .cancelled }
    let save: SaveRequest
    do throws(SaveError) {
      save = try SaveResolver(model: store.model).resolve(request)
    } catch {
      throw .refused(Problem(error, model: store.model))
    }
    let result = await withCheckedContinuation { continuation in
      store.save(save) { continuation.resume(returning: $0) }
    }
    switch result {
    case .success(let result): return SaveReceipt(result)
    case .failure(let error): throw ObjectStoreError(Problem(error, model: store.model))
    }
  }

  public func changes(since token: String) async throws(ObjectStoreError) -> JSON {
    guard !isClosed.withLock({ $0 }) else { throw .cancelled }
    guard let start = Token(token) else { throw .refused(.badToken) }
    let result: Result<ChangeHistory?, StoreError> = await withCheckedContinuation { continuation in
      queue.async { [store] in
        continuation.resume(
          returning: Result { () throws(StoreError) in
            try store.changes(after: start, limit: 1000)
          })
      }
    }
    switch result {
    case .success(let history?): return try Self.parse(history.json(store.model))
    case .success(nil): throw .tokenExpired
    case .failure(let error): throw ObjectStoreError(Problem(error))
    }
  }

  /// How long a diff is waited for when the request does not say, in seconds.
  private static let defaultWait = 25.0

  private func snapshot(of plan: FetchPlan) async throws(ObjectStoreError) -> JSON {
    let result: Result<EncodedSnapshot, StoreError> = await withCheckedContinuation {
      continuation in
      queue.async { [store] in
        continuation.resume(
          returning: Result { () throws(StoreError) in
            try store.snapshot(of: plan, queryClass: .full)
          })
      }
    }
    switch result {
    case .success(let snapshot): return try Self.parse(snapshot.json)
    case .failure(let error): throw ObjectStoreError(Problem(error))
    }
  }

  private func diff(
    of plan: FetchPlan, since: FetchModel.FetchRequest.Since, wait: Double
  ) async throws(ObjectStoreError) -> JSON {
    let start: LiveStart =
      switch since {
      case .now: .arrival(store.newestToken)
      case .token(let token): .token(token)
      }
    let waiter = ContinuationWaiter()
    let answer = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        guard waiter.begin(continuation) else { return }
        engine.follow(plan, since: start, until: .now + .seconds(wait), waiter)
        // The engine answers the requests that it got before `close()` drained it, and no others.
        if isClosed.withLock({ $0 }) { waiter.end(nil) }
      }
    } onCancel: { [engine] in
      engine.cancel(waiter)
      waiter.end(nil)
    }
    switch answer {
    case .diff(let json, _, _): return try Self.parse(json)
    case .expired: throw .tokenExpired
    case .failed(let error): throw ObjectStoreError(Problem(error))
    case nil: throw .cancelled
    }
  }

  private static func parse(_ json: [UInt8]) throws(ObjectStoreError) -> JSON {
    do {
      return try JSON(parsing: json)
    } catch {
      throw .notUnderstood("expected \(error.expected) at byte \(error.offset)")
    }
  }
}
