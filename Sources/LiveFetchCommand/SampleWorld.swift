// The world's cities and countries, from the files beside the program into an SQLite file that has
// their tables.

import Foundation
import GRDB
import SQLiteStore

/// Loads the sample data.
struct SampleWorld {
  /// Why the sample data could not be loaded.
  enum Failure: Error {
    case missingFile(String)
  }

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
    else { throw Failure.missingFile("\(file).csv") }
    var reader = CSVReader([UInt8](try Data(contentsOf: url)))
    let columns = reader.next() ?? []
    let names = columns.map { "\"\($0)\"" }.joined(separator: ", ")
    let places = columns.map { _ in "?" }.joined(separator: ", ")
    let statement = try database.makeStatement(
      sql: "INSERT INTO \(table) (\(names)) VALUES (\(places))")
    for row in reader {
      // An empty field is nil; the columns' types make numbers of the others.
      let values = row.map { $0.isEmpty ? nil : $0 as any DatabaseValueConvertible }
      try statement.execute(arguments: StatementArguments(values))
    }
  }
}
