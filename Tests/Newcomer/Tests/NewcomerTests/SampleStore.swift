// A new file with the tables that the classes of managed objects declare.

import Foundation
import LiveFetch

/// Removes its file when it is released.
final class SampleStore {
  let path: String
  let store: LocalStore

  init() throws {
    path =
      FileManager.default.temporaryDirectory
      .appendingPathComponent("\(UUID().uuidString).sqlite").path
    store = try LocalStore(creating: path, model: ModelFile(of: [List.self]))
  }

  deinit {
    store.close()
    for end in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: path + end) }
  }
}
