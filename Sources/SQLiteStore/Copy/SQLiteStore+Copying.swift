// The data of a file that a copy keeps in addition to its objects: the highest ids, and the responses for
// idempotency keys.

import FetchModel
import ModelStorage

extension SQLiteStore {
  /// Returns by root entity the highest id that was ever assigned (`sqlite_sequence`), where it is known.
  public static func highestIDs(
    path: String, of model: ModelFile
  ) throws(StoreError) -> [String: Int64] {
    let (connection, _) = try OpenFile.openForReading(path)
    defer { connection.close() }
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

  /// Returns the responses that the file at `path` keeps for idempotency keys.
  public static func idempotencyRecords(path: String) throws(StoreError) -> [IdempotencyRecord] {
    let (connection, _) = try OpenFile.openForReading(path)
    defer { connection.close() }
    guard try History.isPresent(on: connection) else { return [] }
    return try IdempotencyTable.all(on: connection)
  }

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
