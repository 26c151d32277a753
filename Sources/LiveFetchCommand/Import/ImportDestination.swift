// An import into a SQLite file or into a PostgreSQL database, behind one interface.

import FetchModel
import PostgresStore
import SQLiteStore

/// A running import.
protocol ImportDestination: AnyObject {
  /// The number of inserted rows.
  var inserted: Int { get }
  /// The number of updated rows.
  var updated: Int { get }
  /// True if a row may refer to another row of the table.
  var refersToItself: Bool { get }
  /// Returns those of a file's names that are not imported, because their values follow from others.
  func derivedNames(among names: [String]) -> [String]
  /// Sets the properties of the following records' fields.
  func use(properties: [String]) throws(ImportError)
  /// Adds the record that `input` read last. Returns the rows that were refused meanwhile, also earlier
  /// ones.
  func add(_ input: ImportInput) throws(StoreError) -> [DatabaseImport.RefusedRow]
  /// Writes the rows that wait for their batch. Returns those that were refused.
  func flush() throws(StoreError) -> [DatabaseImport.RefusedRow]
  /// Commits the import.
  func commit() throws(StoreError)
  /// Rolls the import back.
  func cancel()
}

extension TableImport: ImportDestination {
  var inserted: Int { counts.inserted }
  var updated: Int { counts.updated }

  func add(_ input: ImportInput) throws(StoreError) -> [DatabaseImport.RefusedRow] {
    guard let refusal = try add(input.fields) else { return [] }
    return [DatabaseImport.RefusedRow(line: input.line, raw: input.raw, refusal: refusal)]
  }

  func flush() -> [DatabaseImport.RefusedRow] { [] }
}

extension DatabaseImport: ImportDestination {
  func add(_ input: ImportInput) throws(StoreError) -> [RefusedRow] {
    try add(input.fields, line: input.line, raw: input.raw)
  }
}

extension ImportCommand {
  /// Begins the import.
  ///
  /// - Parameter new: The table to create first; nil for an existing table.
  func begin(creating new: NewTable?) throws(ImportError) -> any ImportDestination {
    switch location {
    case .file(let path):
      try TableImport(
        path: path, entity: into, key: keyNames, isLenient: asStored, creating: new)
    case .database(let target):
      try DatabaseImport(target.text, entity: into, key: keyNames, creating: new)
    }
  }
}
