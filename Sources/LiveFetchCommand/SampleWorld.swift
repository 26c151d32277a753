// The sample data: the world's cities and countries, from the files beside the program into a new
// SQLite file.

import Foundation
import GRDB
import SQLiteStore

/// Loads the sample data.
struct SampleWorld {
  /// Why the sample data could not be loaded.
  enum Failure: Error {
    case missingFile(String)
  }

  private static let schema = """
    CREATE TABLE Country (
      id INTEGER PRIMARY KEY, code TEXT NOT NULL UNIQUE, name TEXT NOT NULL, continent TEXT,
      capital TEXT, population INTEGER, areaKm2 REAL, currency TEXT);
    CREATE TABLE City (
      id INTEGER PRIMARY KEY, name TEXT NOT NULL, country INTEGER REFERENCES Country(id),
      population INTEGER, latitude REAL, longitude REAL, timezone TEXT, admin1 TEXT);
    CREATE INDEX City_population ON City(population);
    CREATE INDEX City_country_population ON City(country, population);
    """

  /// Creates the file at `path` with both tables. It appears whole or not at all.
  static func create(at path: String) throws {
    SQLiteStore.prepareLibrary()
    let draft = path + ".loading"
    for suffix in ["", "-wal", "-shm", "-journal"] {
      try? FileManager.default.removeItem(atPath: draft + suffix)
    }
    let queue = try DatabaseQueue(path: draft)
    try queue.write { database in
      try database.execute(sql: schema)
      try load("countries", into: "Country", of: database)
      try load("cities", into: "City", of: database)
    }
    try queue.vacuum()
    try queue.close()
    try FileManager.default.moveItem(atPath: draft, toPath: path)
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
