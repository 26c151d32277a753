// The store of an import: a file or a database.

import FetchModel
import PostgresStore
import SQLiteStore

/// A running import.
enum ImportDestination {
  case file(TableImport)
  case database(DatabaseImport)

  /// - Parameter new: The table to create first.
  init(_ command: ImportCommand, creating new: NewTable?) throws(ImportError) {
    if let target = command.database {
      self = .database(
        try DatabaseImport(
          target.text, entity: command.into, key: command.keyNames, creating: new))
    } else {
      self = .file(
        try TableImport(
          path: command.store, entity: command.into, key: command.keyNames,
          isLenient: command.asStored, creating: new))
    }
  }

  var inserted: Int {
    switch self {
    case .file(let run): run.counts.inserted
    case .database(let run): run.inserted
    }
  }

  var updated: Int {
    switch self {
    case .file(let run): run.counts.updated
    case .database(let run): run.updated
    }
  }

  func use(properties: [String]) throws {
    switch self {
    case .file(let run): try run.use(properties: properties)
    case .database(let run): try run.use(properties: properties)
    }
  }

  /// Adds the record that `input` has read. Returns the refused rows, of which some may be earlier.
  func add(_ input: ImportInput) throws -> [DatabaseImport.RefusedRow] {
    switch self {
    case .file(let run):
      guard let refusal = try run.add(input.fields) else { return [] }
      return [DatabaseImport.RefusedRow(line: input.line, raw: input.raw, refusal: refusal)]
    case .database(let run): return try run.add(input.fields, line: input.line, raw: input.raw)
    }
  }

  /// Writes rows that wait for others. Returns the refused ones.
  func flush() throws -> [DatabaseImport.RefusedRow] {
    switch self {
    case .file: []
    case .database(let run): try run.flush()
    }
  }

  func commit() throws(StoreError) {
    switch self {
    case .file(let run): try run.commit()
    case .database(let run): try run.commit()
    }
  }

  func cancel() {
    switch self {
    case .file(let run): run.cancel()
    case .database(let run): run.cancel()
    }
  }
}
