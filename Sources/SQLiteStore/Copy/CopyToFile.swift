// The objects of another store → a new SQLite file.

import FetchModel
import ModelStorage
import SQLComposer

/// Writes a copy of a store to a new SQLite file: call ``write(_:of:)`` for each entity, then
/// ``finish(highestIDs:)`` or ``cancel()``. One thread at a time may use it.
public final class CopyToFile: CopyDestination, CopyConnection {
  private let path: String
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
    guard SQLiteStore.makeEmptyFile(path) else {
      throw .unusable("the file exists already, or cannot be created")
    }
    do throws(StoreError) {
      connection = try Connection(path: path, access: .write)
    } catch {
      SQLiteStore.removeFiles(path)
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

  /// Commits the copy and closes the file.
  ///
  /// - Parameter highestIDs: by root entity, the highest id that was ever assigned; the next one is
  ///   higher.
  /// - Throws: ``StoreError/unusable(_:)`` if an object refers to one that does not exist.
  public func finish(highestIDs: [String: Int64]) throws(StoreError) {
    try copy.finish(highestIDs: highestIDs)
    let broken = try connection.first("PRAGMA foreign_key_check") {
      "\($0.text(0)) \($0.integer(1))"
    }
    if let broken { throw .unusable("\(broken) refers to an object that does not exist") }
    try connection.execute("COMMIT")
    connection.close()
  }

  /// Closes the file and deletes it, in place of ``finish(highestIDs:)`` or after its failure.
  public func cancel() {
    connection.close()
    SQLiteStore.removeFiles(path)
  }
}
