// The data of a file that a copy keeps in addition to its objects: the highest ids, the responses for
// idempotency keys, and the API keys.

import FetchModel
import ModelStorage

extension SQLiteReadTransaction {
  func copiedState(of model: ModelFile) throws(StoreError) -> CopiedState {
    try connection.withResponseLimit(.max) { () throws(StoreError) in
      CopiedState(
        highestIDs: try highestIDs(of: model),
        idempotencyRecords: try IdempotencyTable.all(on: connection),
        apiKeys: try APIKeyTable.all(on: connection))
    }
  }

  /// Returns by root entity the highest id that was ever assigned (`sqlite_sequence`), where it is known.
  private func highestIDs(of model: ModelFile) throws(StoreError) -> [String: Int64] {
    // Only a file with an AUTOINCREMENT column has this table.
    let hasSequences = try connection.first(
      "SELECT 1 FROM main.sqlite_schema WHERE name = 'sqlite_sequence'"
    ) { _ in true }
    guard hasSequences == true else { return [:] }
    var highest: [String: Int64] = [:]
    for table in ModelTables(model, .sqlite).tables {
      guard let root = table.root else { continue }
      highest[root] = try connection.first(
        "SELECT seq FROM main.sqlite_sequence WHERE name = ? COLLATE NOCASE", [.text(table.name)]
      ) { $0.integer(0) }
    }
    return highest
  }
}

extension SQLiteStore {
  /// Stores responses in the file at `path`, which has a history.
  public static func addIdempotencyRecords(
    _ records: [IdempotencyRecord], path: String
  ) throws(StoreError) {
    let connection = try Connection(path: path, access: .write)
    defer { connection.close() }
    try connection.transaction { () throws(StoreError) in
      for record in records { try IdempotencyTable.insert(record, on: connection) }
    }
  }
}
