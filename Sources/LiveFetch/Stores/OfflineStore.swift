// A remote store that keeps results and saves in a storage: an application shows the results of its last
// run before the server answers, and saves wait until the server can be reached.

import Foundation

/// A ``RemoteStore`` that can be used without a network.
///
/// ```swift
/// let store = try OfflineStore(
///   RemoteStore(address), storage: FolderStorage(folder),
///   onRefused: { refused in show(refused.error) })
/// ```
///
/// The storage keeps the newest results of the 50 fetches that were followed last. After a
/// start, a results controller and ``ObjectStore/live(_:section:)`` show the stored result at once and
/// then continue from its token: the changes since then arrive as one diff. Until the server has
/// answered, the controller's state is `loading` or `offline`, not `following`, and
/// ``LiveSnapshot/isStored`` is true.
///
/// A save is stored before it is sent. Saves are sent one at a time in their order, each under one
/// idempotency key, and again after a restart of the program until the server has answered, so that
/// each is executed once. One that the storage has damaged is left there and not sent. A save that
/// inserts an object may be followed by saves that use its temporary id. If the call that submitted it
/// has returned, a refused save is kept until the application has received it.
///
/// ``ManagedObjectContext/save(isolation:)`` returns when the save is stored, if the server does not
/// answer soon. The context then treats the changes as saved, with temporary ids until the answer.
///
/// One store at a time may use a storage.
public final class OfflineStore: ModelledStore {
  /// The store that requests are sent to.
  public let remote: RemoteStore
  private let results: OfflineResults
  private let queue: OfflineQueue
  private let sending: Task<Void, Never>

  /// Reads the storage, and begins to send the saves that wait in it.
  ///
  /// - Parameters:
  ///   - remote: the store that requests are sent to.
  ///   - storage: where results and saves are kept. No other store may use it at the same time.
  ///   - onQueue: called after each change with the number of saves that wait, and with the error if the
  ///     first of them could not be sent.
  ///   - onRefused: called for a save that the server or a gateway refused after the call that submitted
  ///     it had returned: the task was cancelled, the program was started again, or the save of a
  ///     context had not waited. The application resolves the conflict, for example by another save. If
  ///     a context of this run made the changes, they are unsaved again. If nil, these saves stay in
  ///     ``refusedSaves``, also for later runs.
  /// - Throws: the storage's error if it cannot be read; ``ObjectStoreError/notUnderstood(_:)`` if
  ///   the remote store's address, token or headers are invalid, because no save could ever be sent.
  public init(
    _ remote: RemoteStore, storage: any OfflineStorage,
    onQueue: (@Sendable (Int, ObjectStoreError?) -> Void)? = nil,
    onRefused: (@Sendable (RefusedSave) -> Void)? = nil
  ) throws {
    guard remote.isValid else { throw RemoteStore.invalid }
    self.remote = remote
    results = OfflineResults(storage)
    let queue = try OfflineQueue(
      storage,
      send: { body, key in
        do throws(ObjectStoreError) {
          return .success(try await remote.save(body, idempotencyKey: key))
        } catch {
          return .failure(error)
        }
      }, onQueue: onQueue, onRefused: onRefused)
    self.queue = queue
    sending = Task { await queue.run() }
  }

  deinit { close() }

  /// Stops sending and writes the results. Saves that wait stay in the storage, and their callers get
  /// ``ObjectStoreError/cancelled``.
  public func close() {
    sending.cancel()
    queue.close()
    results.write()
  }

  /// Writes the newest results to the storage, for example before the program is suspended. They are
  /// otherwise written a second after a change. Saves are always in the storage.
  public func flush() { results.write() }

  /// The saves that the server has not answered yet, in their order, also those of earlier runs.
  public var queuedSaves: [JSON] { queue.bodies }

  /// Removes waiting saves, which are not sent then. One that is being sent may have been made.
  ///
  /// The calls that wait for them throw ``ObjectStoreError/refused(_:)`` with the code `removed`, and
  /// contexts of this run have the changes as unsaved ones again. Later saves that use a temporary id
  /// of a removed one will be refused.
  ///
  /// - Parameter isRemoved: gets each of ``queuedSaves``; by default all are removed.
  public func removeQueuedSaves(where isRemoved: (JSON) -> Bool = { _ in true }) {
    queue.remove(where: isRemoved)
  }

  /// The error of the last attempt to send the first of ``queuedSaves``; nil if no attempt has failed.
  ///
  /// `unreachable` is transient. ``ObjectStoreError/notUnderstood(_:)``, for example for the page of
  /// another server, and `unauthorized` last until the address or the credential is corrected. A
  /// refusal is never the error: a save that the server or a gateway refuses leaves the queue.
  public var queueError: ObjectStoreError? { queue.failure }

  /// The saves that the server refused and `onRefused` did not receive, oldest first, also those of
  /// earlier runs.
  public var refusedSaves: [RefusedSave] { queue.refusedSaves }

  /// Removes ``refusedSaves`` from the storage.
  public func removeRefusedSaves() { queue.removeRefusedSaves() }

  // MARK: - ObjectStore

  /// Returns the stored result of a followed fetch until the server has answered it, and while the server
  /// cannot be reached; otherwise the server's answer. A feed confirms a stored result; a caller that
  /// does not follow the fetch gets the server's answer from ``remote``.
  ///
  /// - Throws: the server's refusal; its transient errors if no result is stored. A result that the
  ///   storage cannot read counts as not stored.
  public func fetch(_ request: JSON) async throws(ObjectStoreError) -> JSON {
    guard OfflineResults.keeps(request) else {
      let answer = try await remote.fetch(request)
      results.recordAnswer()
      return answer
    }
    if let stored = results.snapshot(of: request, onlyUnconfirmed: true) { return stored }
    do throws(ObjectStoreError) {
      let answer = try await remote.fetch(request)
      results.keep(answer, of: request)
      return answer
    } catch {
      guard error.isTransient, let stored = results.snapshot(of: request, onlyUnconfirmed: false)
      else {
        throw error
      }
      return stored
    }
  }

  /// Stores the save, and returns when the server has answered, which may be much later. If the task
  /// is cancelled, the save stays in the queue, and a refusal is given to `onRefused`.
  ///
  /// - Throws: the server's refusal; ``ObjectStoreError/unreachable(_:)`` if the storage cannot be
  ///   written, and then the save is not executed, or with the code `internal-error` if the server
  ///   failed.
  public func save(_ request: JSON) async throws(ObjectStoreError) -> SaveReceipt {
    try await queue.save(request).get()
  }

  /// Stores the save. Waits for the server's answer for at most two seconds, and not at all while the
  /// server cannot be reached; a refusal that comes later is given to `onRefused`.
  ///
  /// - Throws: as ``save(_:)``; ``ObjectStoreError/notUnderstood(_:)`` if no request can hold the key.
  public func submit(
    _ request: JSON, idempotencyKey: String
  ) async throws(ObjectStoreError) -> SubmittedSave {
    try RemoteStore.check(idempotencyKey: idempotencyKey)
    return try await queue.submit(request, idempotencyKey).get()
  }

  /// The saves after a token, which the server alone knows.
  public func changes(since token: String) async throws(ObjectStoreError) -> JSON {
    try await remote.changes(since: token)
  }

  /// The destinations of the server's relationships; nil while it cannot be reached, and before it has
  /// answered a fetch: stored results and saves do not wait for it.
  func relationshipDestinations() async -> RelationshipDestinations? {
    results.isAnswered ? await remote.relationshipDestinations() : nil
  }

  /// Returns a feed that also stores its results.
  public func feed(of request: JSON) -> any FetchFeed {
    let feed = remote.feed(of: request)
    guard OfflineResults.keeps(request) else { return feed }
    return OfflineFeed(feed, results, of: request)
  }
}

/// A feed whose answers are kept in the storage.
private final class OfflineFeed: FetchFeed {
  private let feed: any FetchFeed
  private let results: OfflineResults
  private let request: JSON

  init(_ feed: any FetchFeed, _ results: OfflineResults, of request: JSON) {
    (self.feed, self.results, self.request) = (feed, results, request)
    results.beginFollowing(request)
  }

  deinit { results.endFollowing(request) }

  func next(since token: String, hold: Double) async throws(ObjectStoreError) -> JSON {
    // Until the server has confirmed the stored result, do not wait for a change.
    let hold = results.isConfirmed(request) ? hold : 0
    do throws(ObjectStoreError) {
      let answer = try await feed.next(since: token, hold: hold)
      results.keep(answer, of: request)
      return answer
    } catch {
      if error.isTokenExpired { results.remove(request) }
      throw error
    }
  }
}
