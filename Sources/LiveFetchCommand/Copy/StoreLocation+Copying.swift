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

  /// Begins a new store.
  func beginCopy(of model: ModelFile) throws(StoreError) -> any CopyDestination {
    switch self {
    case .file(let path): try CopyToFile(path: path, model: model)
    case .database(let target): try CopyToDatabase(target.text, model: model)
    }
  }
}
