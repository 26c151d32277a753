// An import into a SQLite file or into a PostgreSQL database, behind one interface.

import FetchModel
import PostgresStore
import SQLiteStore

/// A running import.
enum ImportDestination {
  case file(TableImport)
  case database(DatabaseImport)

  /// Begins the import.
  ///
  /// - Parameter new: The table to create first; nil for an existing table.
  init(_ command: ImportCommand, creating new: NewTable?) throws(ImportError) {
    switch command.location {
    case .file(let path):
      self = .file(
        try TableImport(
          path: path, entity: command.into, key: command.keyNames, isLenient: command.asStored,
          creating: new))
    case .database(let target):
      self = .database(
        try DatabaseImport(
          target.text, entity: command.into, key: command.keyNames, creating: new))
    }
  }

  /// The number of inserted rows.
  var inserted: Int {
    switch self {
    case .file(let run): run.counts.inserted
    case .database(let run): run.inserted
    }
  }

  /// The number of updated rows.
  var updated: Int {
    switch self {
    case .file(let run): run.counts.updated
    case .database(let run): run.updated
    }
  }

  /// True if a row may refer to another row of the table.
  var refersToItself: Bool {
    switch self {
    case .file(let run): run.refersToItself
    case .database(let run): run.refersToItself
    }
  }

  /// Returns those of a file's names that are not imported, because their values follow from others.
  func derivedNames(among names: [String]) -> [String] {
    switch self {
    case .file(let run): run.derivedNames(among: names)
    case .database(let run): run.derivedNames(among: names)
    }
  }

  /// Sets the properties of the following records' fields.
  func use(properties: [String]) throws {
    switch self {
    case .file(let run): try run.use(properties: properties)
    case .database(let run): try run.use(properties: properties)
    }
  }

  /// Adds the record that `input` read last. Returns the rows that were refused meanwhile, also earlier
  /// ones.
  func add(_ input: ImportInput) throws -> [DatabaseImport.RefusedRow] {
    switch self {
    case .file(let run):
      guard let refusal = try run.add(input.fields) else { return [] }
      return [DatabaseImport.RefusedRow(line: input.line, raw: input.raw, refusal: refusal)]
    case .database(let run): return try run.add(input.fields, line: input.line, raw: input.raw)
    }
  }

  /// Writes the rows that wait for their batch. Returns those that were refused.
  func flush() throws -> [DatabaseImport.RefusedRow] {
    switch self {
    case .file: []
    case .database(let run): try run.flush()
    }
  }

  /// Commits the import.
  func commit() throws(StoreError) {
    switch self {
    case .file(let run): try run.commit()
    case .database(let run): try run.commit()
    }
  }

  /// Rolls the import back.
  func cancel() {
    switch self {
    case .file(let run): run.cancel()
    case .database(let run): run.cancel()
    }
  }
}
