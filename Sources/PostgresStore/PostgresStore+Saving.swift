// Saves → their results, after the commit. The protocol `Store` documents the methods without a comment.

import FetchModel

extension PostgresStore {
  /// Executes the save in the body of a `POST /v1/save` request. The database gets a history if it has none.
  /// Blocks the thread.
  ///
  /// - Parameter target: as for ``init(_:options:)``.
  /// - Throws: ``SaveError``, for example `store(.readOnly)` if the role may not write.
  public static func save(_ body: JSON, to target: String) throws(SaveError) -> SaveResult {
    let store: PostgresStore
    do throws(StoreError) { store = try PostgresStore(target) } catch { throw .store(error) }
    defer { store.close() }
    let request = try SaveResolver(model: store.model).resolve(body)
    guard let saves = store.saves else { throw .store(.readOnly) }
    return try saves.execute(.init(request: request, once: nil)).result
  }

  public func save(
    _ request: SaveRequest,
    completion: @escaping @Sendable (Result<SaveResult, SaveError>) -> Void
  ) {
    guard let saves else { return completion(.failure(.store(.readOnly))) }
    saves.save(request, completion: checkingSchema(completion))
  }

  public func save(
    _ request: SaveRequest, once: IdempotentSave,
    completion: @escaping @Sendable (Result<StoredResponse, SaveError>) -> Void
  ) {
    guard let saves else { return completion(.failure(.store(.readOnly))) }
    saves.save(request, once: once, completion: checkingSchema(completion))
  }

  /// Returns a completion that also lets the store look for a changed schema after a save failed because of one.
  private func checkingSchema<Value>(
    _ completion: @escaping @Sendable (Result<Value, SaveError>) -> Void
  ) -> @Sendable (Result<Value, SaveError>) -> Void {
    { [weak watch] result in
      if case .failure(.store(.schemaChanged)) = result { watch?.checkSchema() }
      completion(result)
    }
  }

  public func storedResponse(
    under key: String, fingerprint: String
  ) throws(SaveError) -> StoredResponse? {
    try saves?.storedResponse(under: key, fingerprint: fingerprint)
  }

  public func endSaves(cancellingRunning: Bool) {
    saves?.end(cancellingRunning: cancellingRunning)
  }

  /// Records the token of a commit of this process, and notifies the observers without waiting for the next
  /// poll.
  func recordSave(_ token: Token) {
    newest.record(token)
    watch.recordCommit()
  }
}
