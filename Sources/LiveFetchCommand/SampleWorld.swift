// The world's cities and countries, from the files beside the program into an SQLite file that has
// their tables.

import Foundation
import GRDB
import SQLiteStore

/// Loads the sample data.
struct SampleWorld {
  /// Loads the rows into the tables of the sample's model at `path`.
  static func load(into path: String) throws {
    SQLiteStore.prepareLibrary()
    let queue = try DatabaseQueue(path: path)
    try queue.write { database in
      try load("countries", into: "Country", of: database)
      try load("cities", into: "City", of: database)
    }
    try queue.vacuum()
    try queue.close()
  }

  private static func load(_ file: String, into table: String, of database: Database) throws {
    guard
      let url = Bundle.module.url(
        forResource: file, withExtension: "csv", subdirectory: "world")
    else { throw Sample.Failure.missingResource("\(file).csv") }
    let rows = try DelimitedSource(SlidingBuffer(ByteSource(path: url.path)), delimiter: 0x2C)
    let names = rows.names.map { "\"\($0)\"" }.joined(separator: ", ")
    let places = rows.names.map { _ in "?" }.joined(separator: ", ")
    let statement = try database.makeStatement(
      sql: "INSERT INTO \(table) (\(names)) VALUES (\(places))")
    while case .record = try rows.next() {
      // The columns' types make numbers of the texts.
      try statement.execute(arguments: StatementArguments(rows.fields.map(Self.value)))
    }
  }

  private static func value(_ field: ImportedField) -> (any DatabaseValueConvertible)? {
    guard case .text(let utf8) = field else { return nil }
    return String(decoding: utf8, as: UTF8.self)
  }
}
