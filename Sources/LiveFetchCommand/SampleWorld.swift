// The CSV files of the sample `world`, from the program's resource bundle → rows of an SQLite file
// that has the tables of the sample's model.

import Foundation
import SQLiteStore

/// Loads the countries and cities of the sample `world`.
enum SampleWorld {
  /// Imports both files into the SQLite file at `path`, each in one transaction.
  static func load(into path: String) throws {
    try load("countries", into: "Country", of: path)
    try load("cities", into: "City", of: path)
    // Cities are inserted by population, not by id, so a fifth of the file's pages is unused.
    try SQLiteStore.compact(path: path)
  }

  private static func load(_ file: String, into entity: String, of path: String) throws {
    let url = try Sample.resource("\(file).csv", in: "world")
    let records = try DelimitedSource(SlidingBuffer(ByteSource(path: url.path)), delimiter: 0x2C)
    let table = try TableImport(path: path, entity: entity)
    do {
      try table.use(properties: records.names)
      try add(records, to: table)
    } catch {
      table.cancel()
      throw error
    }
    try table.commit()
  }

  private static func add(_ records: DelimitedSource, to table: TableImport) throws {
    while true {
      switch try records.next() {
      case .end: return
      case .bad(let detail): throw Sample.Failure.refused("line \(records.line): \(detail)")
      case .record:
        guard let refusal = try table.add(records.fields) else { continue }
        throw Sample.Failure.refused("line \(records.line): \(refusal.detail)")
      }
    }
  }
}
