// A new file with the tables of a small model.

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
    store = try LocalStore(creating: path, model: ModelFile(parsing: Array(Self.model.utf8)))
  }

  deinit {
    store.close()
    for end in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: path + end) }
  }

  private static let model = """
    {"version":"1","entities":[
      {"name":"List",
       "attributes":[{"name":"title","type":"String","optional":false},
         {"name":"itemCount","type":"Integer 32","derivation":"items.@count"}],
       "relationships":[{"name":"items","destination":"Item","toMany":true,"inverse":"list"}]},
      {"name":"Item",
       "attributes":[{"name":"title","type":"String","optional":false},
         {"name":"done","type":"Boolean","optional":false,"default":false}],
       "relationships":[{"name":"list","destination":"List","inverse":"items"}]}]}
    """
}
