// The objects of another store → a new SQLite file.

import FetchModel
import LiveFetchCLibrary
import ModelStorage
import SQLComposer

/// Writes a copy of a store to a new SQLite file: call ``write(_:of:)`` for each entity, then
/// ``finish(_:)`` or ``cancel()``. The file appears complete, or not at all: until then it is called
/// `FILE.partial`. One thread at a time may use it.
public final class CopyToFile: CopyDestination, CopyConnection {
  private let path: String
  /// The file until it is complete.
  private let draft: String
  private let connection: Connection
  private let tables: ModelTables

  /// Creates the file with the tables of `model`.
  ///
  /// - Throws: ``StoreError/unusable(_:)`` if the file exists, which is then left as it is, or if the
  ///   model cannot be stored in a file.
  public init(path: String, model: ModelFile) throws(StoreError) {
    self.path = path
    tables = ModelTables(model, .sqlite)
    try OrphanedLog.check(path)
    draft = SQLiteStore.unusedName(path + ".partial")
    guard access(path, F_OK) != 0, SQLiteStore.makeEmptyFile(draft) else {
      throw .unusable("the file exists already, or cannot be created")
    }
    do throws(StoreError) {
      connection = try Connection(path: draft, access: .write)
    } catch {
      SQLiteStore.removeFiles(draft)
      throw error
    }
    do throws(StoreError) {
      try connection.execute("PRAGMA foreign_keys = OFF")
      try connection.enableTrustedSchema()
      try connection.execute("BEGIN IMMEDIATE")
      try copy.begin()
    } catch {
      cancel()
      throw error
    }
  }

  /// Composes the statements of the copy and runs them on this connection. It has no state.
  private var copy: ModelCopy { ModelCopy(tables, on: self) }

  package func run(_ sql: String) throws(StoreError) { try connection.execute(sql) }

  package func insert(_ sql: String, _ values: [SQLValue]) throws(StoreError) {
    try connection.run(sql, values)
  }

  /// Inserts objects of an entity: the JSON of items, with their `id`.
  public func write(_ items: [JSON], of entity: String) throws(StoreError) {
    try copy.write(items, of: entity)
  }

  /// Completes the copy, closes the file and gives it its name.
  ///
  /// - Throws: ``StoreError/unusable(_:)`` if an object refers to one that does not exist.
  public func finish(_ state: CopiedState) throws(StoreError) {
    try copy.finish(highestIDs: state.highestIDs)
    let broken = try connection.first("PRAGMA foreign_key_check") {
      "\($0.text(0)) \($0.integer(1))"
    }
    if let broken { throw .unusable("\(broken) refers to an object that does not exist") }
    try connection.execute("COMMIT")
    connection.close()
    var options = SQLiteStoreOptions()
    options.model = tables.file
    try SQLiteStore(path: draft, options: options).close()
    try SQLiteStore.addIdempotencyRecords(state.idempotencyRecords, path: draft)
    for key in state.apiKeys where try !SQLiteStore.addAPIKey(key, path: draft) {
      throw .unusable("there are two API keys with the name \(key.name)")
    }
    guard access(path, F_OK) != 0 else { throw .unusable("another process has made the file") }
    guard rename(draft, path) == 0 else { throw .failed("the copy could not be given its name") }
  }

  /// Closes the file and deletes it, in place of ``finish(_:)`` or after its failure.
  public func cancel() {
    connection.close()
    SQLiteStore.removeFiles(draft)
  }
}
