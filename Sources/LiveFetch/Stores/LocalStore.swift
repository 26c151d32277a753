// An SQLite file in this process as an object store: requests as JSON enter, and the responses leave
// that a server on the file would send. Queries run on a queue of their own, since they block.

import Dispatch
import FetchModel
import Foundation
import LiveQueries
import SQLiteStore
import Synchronization

/// A store on an SQLite file in this process.
///
/// The file gets history tables and triggers, as a server would add them; other processes may
/// write to it, but only one process may have it open as a store, this one or a server. Local stores
/// of one file in this process share it: one connection writes, and each store is notified of the saves
/// of all. The options of the first one apply while any of them is open; another model or access is
/// refused.
public final class LocalStore: ModelledStore {
  private let file: LocalFile
  private let resolver: FetchResolver
  private let queue = DispatchQueue(label: "livefetch.local-store", attributes: .concurrent)
  private let isClosed = Mutex(false)
  /// The requests that wait for a diff.
  private let waiters = Mutex<[ObjectIdentifier: ContinuationWaiter]>([:])
  /// The folder of a store in memory, which is removed with it.
  private let folder = Mutex<URL?>(nil)

  /// Opens the file at `path`, which has to exist, and starts to observe its changes.
  ///
  /// - Parameters:
  ///   - path: of the file.
  ///   - options: how the file is opened and written.
  ///   - maxItems: the most items of a snapshot.
  /// - Throws: `StoreError` if it is no database, is held by another process, is open in this one
  ///   with another model or access, or is damaged.
  public init(
    path: String, options: Options = .init(), maxItems: Int = 1_000_000
  ) throws(StoreError) {
    file = try LocalFile.open(path: path, options: options)
    resolver = FetchResolver(model: file.store.model, maxItems: maxItems)
  }

  private var store: SQLiteStore { file.store }

  /// Makes a new file at `path` with the tables of `model`, and opens it. The model is
  /// stored in the file: later `LocalStore(path:)` alone opens it.
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
  /// - Throws: `StoreError`, with every problem of the model, or if there is a file already; nothing
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

  /// Creates a store in memory with the tables of `model`, for tests and previews, with rows.
  /// `values` holds one list of structures per entity, whose properties have the names of the
  /// attributes. Pass the destinations of relationships first.
  ///
  /// ```swift
  /// let store = try LocalStore.inMemory(model, [City(id: 1, name: "Oslo", population: 700_000)])
  /// ```
  ///
  /// Its file is in `/dev/shm`, which is memory, or in the temporary folder where there is no such
  /// folder. Closing or releasing the store removes it. If a program ends with an open store,
  /// the next call removes its files.
  ///
  /// - Parameters:
  ///   - model: the entities.
  ///   - options: how the file is read and written, such as `queryTimeout`; `model`, `durability` and
  ///     `isReadOnly` have no effect.
  ///   - values: the rows.
  /// - Throws: `StoreError`, with every problem of the model, also for a value that does not fit it.
  public static func inMemory<each Value: Fetchable & Encodable>(
    _ model: ModelFile, options: Options = .init(), _ values: repeat [each Value]
  ) throws(StoreError) -> LocalStore {
    let folder = try memoryFolder()
    do throws(StoreError) {
      var options = options
      (options.model, options.isReadOnly, options.durability) = (nil, false, .normal)
      let path = folder.appendingPathComponent(memoryFile).path
      try LocalStore(creating: path, model: model, options: options).close()
      for list in repeat each values {
        if !list.isEmpty { try importValues(list, path: path) }
      }
      let store = try LocalStore(path: path, options: options)
      store.folder.withLock { $0 = folder }
      return store
    } catch {
      try? FileManager.default.removeItem(at: folder)
      throw error
    }
  }

  /// The beginning of the names of folders of stores in memory; the id of their process follows.
  private static let memoryPrefix = "livefetch-memory-"
  private static let memoryFile = "memory.sqlite"

  /// Makes a folder, and removes those of processes that ended with an open store.
  private static func memoryFolder() throws(StoreError) -> URL {
    let files = FileManager.default
    let memory = URL(fileURLWithPath: "/dev/shm")
    let parent = files.isWritableFile(atPath: memory.path) ? memory : files.temporaryDirectory
    for name in (try? files.contentsOfDirectory(atPath: parent.path)) ?? [] {
      guard name.hasPrefix(memoryPrefix),
        let process = pid_t(name.dropFirst(memoryPrefix.count).prefix { $0 != "-" }),
        kill(process, 0) != 0, errno == ESRCH
      else { continue }
      let folder = parent.appendingPathComponent(name)
      // The process may run in another container; then it holds the file's lock.
      guard SQLiteStore.server(of: folder.appendingPathComponent(memoryFile).path) == nil else {
        continue
      }
      try? files.removeItem(at: folder)
    }
    let folder = parent.appendingPathComponent("\(memoryPrefix)\(getpid())-\(UUID().uuidString)")
    do {
      try files.createDirectory(
        at: folder, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
    } catch {
      throw .unusable("the folder of the store cannot be created")
    }
    return folder
  }

  deinit { close() }

  /// The entities, attributes and relationships of the file.
  package var model: Model { store.model }

  func relationshipDestinations() async -> RelationshipDestinations? {
    RelationshipDestinations(store.model)
  }

  /// Waiting requests throw `cancelled`. Closes the file if no other local store of it is open. Every
  /// later request fails.
  public func close() {
    let wasClosed = isClosed.withLock { isClosed in
      defer { isClosed = true }
      return isClosed
    }
    guard !wasClosed else { return }
    for waiter in waiters.withLock({ Array($0.values) }) { end(waiter) }
    file.close()
    if let folder = folder.withLock({ $0 }) { try? FileManager.default.removeItem(at: folder) }
  }

  // MARK: - ObjectStore

  public func fetch(_ request: JSON) async throws(ObjectStoreError) -> JSON {
    let (fetch, plan) = try resolved(request)
    guard let since = fetch.since else {
      return try await read { store throws(StoreError) in try store.snapshotValue(of: plan) }
    }
    let isReadOnly = store.properties.isReadOnly
    if let problem = Problem(following: plan, in: store.model, isReadOnly: isReadOnly) {
      throw .refused(problem)
    }
    return try await diff(of: plan, since: since, wait: fetch.wait ?? Self.defaultWait)
  }

  /// Fetches a snapshot.
  ///
  /// - Parameter type: the collection to build from the rows while they are read.
  /// - Returns: the response, with 0 in place of each row.
  func snapshot<Rows: RowCollection>(
    of request: JSON, as type: Rows.Type
  ) async throws(ObjectStoreError) -> sending (answer: JSON, rows: Rows) {
    let (_, plan) = try resolved(request)
    let read = try await read { store throws(StoreError) in
      var rows = Rows()
      var hasIDs = true
      let answer = try store.snapshotValue(of: plan) { id, values in
        if let id = ObjectID(id) { rows.add(id, values) } else { hasIDs = false }
      }
      return (answer: answer, rows: rows, hasIDs: hasIDs)
    }
    guard read.hasIDs else { throw .notUnderstood("a row has no id") }
    return (read.answer, read.rows)
  }

  private func resolved(
    _ request: JSON
  ) throws(ObjectStoreError) -> (fetch: FetchModel.FetchRequest, plan: FetchPlan) {
    guard !isClosed.withLock({ $0 }) else { throw .cancelled }
    do throws(FetchRequestError) {
      let fetch = try FetchModel.FetchRequest(json: request)
      return (fetch, try resolver.resolve(fetch))
    } catch {
      throw .refused(Problem(error, isPath: false))
    }
  }

  /// Runs `body` on the queue of this store.
  private func result<Value>(
    of body: @escaping @Sendable (SQLiteStore) throws(StoreError) -> sending Value
  ) async -> sending Result<Value, StoreError> {
    await withCheckedContinuation { continuation in
      queue.async { [store] in
        continuation.resume(
          returning: Result { () throws(StoreError) in try body(store) })
      }
    }
  }

  private func read<Value>(
    _ body: @escaping @Sendable (SQLiteStore) throws(StoreError) -> sending Value
  ) async throws(ObjectStoreError) -> sending Value {
    switch await result(of: body) {
    case .success(let value): return value
    case .failure(let error): throw ObjectStoreError(Problem(error))
    }
  }

  public func save(_ request: JSON) async throws(ObjectStoreError) -> SaveReceipt {
    guard !isClosed.withLock({ $0 }) else { throw .cancelled }
    let save: SaveRequest
    do throws(SaveError) {
      save = try SaveResolver(model: store.model).resolve(request)
    } catch {
      throw .refused(Problem(error))
    }
    let result = await withCheckedContinuation { continuation in
      store.save(save) { continuation.resume(returning: $0) }
    }
    switch result {
    case .success(let result): return SaveReceipt(result)
    case .failure(.store(.queryTimeout)): throw .unreachable(Self.saveTimeout)
    case .failure(let error): throw ObjectStoreError(Problem(error))
    }
  }

  private static let saveTimeout = ServiceUnavailable(
    "the save took longer than the option queryTimeout; nothing was changed", status: 504,
    code: "query-timeout")

  public func changes(since token: String) async throws(ObjectStoreError) -> JSON {
    guard !isClosed.withLock({ $0 }) else { throw .cancelled }
    guard let start = Token(token) else { throw .refused(.badToken) }
    let history = try await read { store throws(StoreError) in
      try store.changes(after: start, limit: 1000)
    }
    guard let history else { throw .tokenExpired }
    return try Self.parse(history.json(store.model))
  }

  /// Reads rows by SQL of the program: one `SELECT`, `WITH` or `VALUES`.
  ///
  /// ```swift
  /// struct Tally: Decodable { var country: String, cities: Int }
  /// let tallies = try await store.rows(
  ///   "SELECT country, count(*) AS cities FROM City WHERE population > ? GROUP BY country",
  ///   1_000_000, as: Tally.self)
  /// ```
  ///
  /// Use the names of SQL tables and columns, not those of the model. Values are those that SQLite
  /// stores: a Boolean is 0 or 1 and is read as `Int`; a date is a number, the seconds since 1970, in files of
  /// a model, and a text or a number in others; binary is read as `Data`. Access rules and subentities do not
  /// apply, and rows are not live.
  ///
  /// - Parameters:
  ///   - sql: the statement. Rows are decoded by the names of its columns; one column alone may be
  ///     decoded as a value: `as: Int.self`.
  ///   - arguments: the values of `?`, in their order. Dates and data are refused: pass what the
  ///     column stores, such as `date.timeIntervalSince1970`.
  ///   - type: the type of a row. In a module whose default isolation is the main actor it is declared
  ///     `nonisolated struct`.
  /// - Throws: `StoreError` if the statement is invalid, with SQLite's message, does not only read, or
  ///   takes longer than the options' `queryTimeout`; ``UnreadableValue`` if a row does not fit the
  ///   type; `ObjectStoreError.cancelled` if the task is cancelled or the store closed.
  public func rows<Row: Decodable & Sendable>(
    _ sql: String, _ arguments: any PredicateArgumentConvertible..., as type: Row.Type
  ) async throws -> [Row] {
    guard !isClosed.withLock({ $0 }) else { throw ObjectStoreError.cancelled }
    for argument in arguments { try Self.checkArgument(argument) }
    let values = arguments.map(\.predicateArgument)
    let cancellation = Cancellation()
    let rows = await withTaskCancellationHandler {
      await result { store throws(StoreError) in
        try store.rows(of: sql, values) { cancellation.isCancelled.withLock { $0 } }
      }
    } onCancel: {
      cancellation.isCancelled.withLock { $0 = true }
    }
    if Task.isCancelled, case .failure(.queryTimeout) = rows { throw ObjectStoreError.cancelled }
    return try rows.get().map { row in
      if row.values.count == 1, type is any PredicateArgumentConvertible.Type,
        !(type is any CodableAttributeValue.Type)
      {
        return try ItemCoding.decode(type, from: row.values[0].json)
      }
      return try ItemCoding.decode(type, from: row)
    }
  }

  private final class Cancellation: Sendable { let isCancelled = Mutex(false) }

  /// Refuses dates and data: files store them in several forms, and a comparison with one form could miss
  /// rows.
  private static func checkArgument(
    _ argument: any PredicateArgumentConvertible
  ) throws(StoreError) {
    if argument is Date || argument is Instant {
      throw .failed(
        "a date is no argument of SQL: pass what the column stores, in files of a model "
          + "`date.timeIntervalSince1970`")
    }
    if argument is Data {
      throw .failed("data is no argument of SQL: compare `hex(column)` with a text")
    }
  }

  /// The time for which a request without `wait` waits for a diff, in seconds.
  private static let defaultWait = 25.0

  private func diff(
    of plan: FetchPlan, since: FetchModel.FetchRequest.Since, wait: Double
  ) async throws(ObjectStoreError) -> JSON {
    let start: LiveStart =
      switch since {
      case .now: .arrival(store.newestToken)
      case .token(let token): .token(token)
      }
    let waiter = ContinuationWaiter()
    waiters.withLock { $0[ObjectIdentifier(waiter)] = waiter }
    defer { waiters.withLock { $0[ObjectIdentifier(waiter)] = nil } }
    let answer = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        guard waiter.begin(continuation) else { return }
        file.engine.follow(plan, since: start, until: .now + .seconds(wait), waiter)
        // `close()` ends the requests that began before it, and no others.
        if isClosed.withLock({ $0 }) { end(waiter) }
      }
    } onCancel: {
      end(waiter)
    }
    switch answer {
    case .diff(let diff): return try Self.parse(diff.json)
    case .expired: throw .tokenExpired
    case .failed(let error): throw ObjectStoreError(Problem(error))
    case nil: throw .cancelled
    }
  }

  private func end(_ waiter: ContinuationWaiter) {
    file.engine.cancel(waiter)
    waiter.end(nil)
  }

  private static func parse(_ json: [UInt8]) throws(ObjectStoreError) -> JSON {
    do {
      return try JSON(result: json)
    } catch {
      throw .notUnderstood("expected \(error.expected) at byte \(error.offset)")
    }
  }
}
