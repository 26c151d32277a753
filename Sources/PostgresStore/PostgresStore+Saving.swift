// The writing half of the store: saves enter; their results leave after the commit.

import FetchModel

extension PostgresStore {
  public func save(
    _ request: SaveRequest,
    completion: @escaping @Sendable (Result<SaveResult, SaveError>) -> Void
  ) {
    guard let saves else { return completion(.failure(.store(.readOnly))) }
    saves.save(request) { [weak watch] result in
      if case .failure(.store(.schemaChanged)) = result { watch?.checkSchema() }
      completion(result)
    }
  }

  public func save(
    _ request: SaveRequest, once: IdempotentSave,
    completion: @escaping @Sendable (Result<StoredResponse, SaveError>) -> Void
  ) {
    guard let saves else { return completion(.failure(.store(.readOnly))) }
    saves.save(request, once: once) { [weak watch] result in
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

  /// Notifies the observers of a commit of this process without waiting for the next poll.
  func noteSave(_ token: Token) {
    note(token)
    watch.noteCommit()
  }
}
