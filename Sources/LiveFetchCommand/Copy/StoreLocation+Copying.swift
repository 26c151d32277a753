// Both sides of a copy: a store that is copied, and a new one.

import FetchModel
import PostgresStore
import SQLiteStore

extension StoreLocation {
  func storedModel() throws(StoreError) -> ModelFile? {
    switch self {
    case .file(let path): try SQLiteStore.storedModel(path: path)
    case .database(let target): try PostgresStore.storedModel(target.text)
    }
  }

  func highestIDs(of model: ModelFile) throws(StoreError) -> [String: Int64] {
    switch self {
    case .file(let path): try SQLiteStore.highestIDs(path: path, of: model)
    case .database(let target): try PostgresStore.highestIDs(target.text, of: model)
    }
  }

  func credentials() throws(StoreError) -> (records: [IdempotencyRecord], keys: [APIKeyRecord]) {
    switch self {
    case .file(let path):
      (try SQLiteStore.idempotencyRecords(path: path), try SQLiteStore.apiKeys(path: path))
    case .database(let target):
      (
        try PostgresStore.idempotencyRecords(target.text), try PostgresStore.apiKeys(target.text)
      )
    }
  }

  /// Begins a new store.
  func beginCopy(of model: ModelFile) throws(StoreError) -> any CopyDestination {
    switch self {
    case .file(let path): try CopyToFile(path: path, model: model)
    case .database(let target): try CopyToDatabase(target.text, model: model)
    }
  }

  /// Adds the history, the model's triggers, and what belongs to clients.
  func completeCopy(
    of model: ModelFile, _ records: [IdempotencyRecord], _ keys: [APIKeyRecord]
  ) throws(StoreError) {
    switch self {
    case .file(let path):
      var options = SQLiteStoreOptions()
      options.model = model
      try SQLiteStore(path: path, options: options).close()
      try SQLiteStore.addIdempotencyRecords(records, path: path)
      for key in keys where try !SQLiteStore.addAPIKey(key, path: path) { throw refusal(of: key) }
    case .database(let target):
      var options = PostgresStoreOptions()
      options.model = model
      try PostgresStore(target.text, options: options).close()
      try PostgresStore.addIdempotencyRecords(records, to: target.text)
      for key in keys where try !PostgresStore.addAPIKey(key, to: target.text) {
        throw refusal(of: key)
      }
    }
  }

  private func refusal(of key: APIKeyRecord) -> StoreError {
    .unusable("it has another API key with the name \(key.name)")
  }
}
