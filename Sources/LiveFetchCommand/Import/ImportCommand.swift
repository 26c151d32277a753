// `livefetch import STORE FILE…`

import ArgumentParser
import FetchModel
import Foundation
import SQLiteStore

extension RecordFormat: ExpressibleByArgument {}

struct ImportCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "import",
    abstract: "Load CSV, TSV, JSON or NDJSON files into one entity of an SQLite file.",
    discussion: """
      All of it is one save: a file appears whole or not at all, and whoever follows the store sees \
      it as one diff. Files are UTF-8 and begin with a line of names that differ. Rows that do not fit are reported with their line and left out. The table is \
      made where it is not there, with types that fit the first 10,000 rows; so is STORE. Files may \
      be compressed with gzip; '-' is standard input. A store that is being served is refused: stop \
      the server, or save through it.

      EXAMPLES
        livefetch import world.sqlite cities.csv.gz --into City
        livefetch import shop.sqlite orders.ndjson --into Order --map customer_no=customer
        livefetch import shop.sqlite prices.csv --into Product --key sku --rejects bad.csv
        curl -s https://example.org/data.json | livefetch import new.sqlite - --into Thing

      EXIT STATUS
        65 where a row was refused, or the store cannot be used.
      """)

  @Argument(help: "The SQLite file.", completion: .file(extensions: ["sqlite", "db"]))
  var store: String

  @Argument(help: "The files to load; '-' is standard input.", completion: .file())
  var files: [String]

  @Option(help: "The entity that the rows are of.")
  var into: String

  @Option(help: "What the files are written in; found out where it is not said.")
  var format: RecordFormat?

  @Option(
    name: .customLong("map"), parsing: .singleValue,
    help: ArgumentHelp(
      "Which property a column of the file is; nothing behind '=' leaves it out.",
      valueName: "header=property"))
  var mapping: [String] = []

  @Option(
    name: .customLong("type"), parsing: .singleValue,
    help: ArgumentHelp(
      "The type of a property of a new table: integer, double, string, boolean, date, ….",
      valueName: "property=type"))
  var types: [String] = []

  @Option(
    help: ArgumentHelp(
      "Properties by which rows that are there are found, and updated.", valueName: "a,b"))
  var key: String?

  @Option(help: "Where to keep the rows that are refused, as they stood.", completion: .file())
  var rejects: String?

  @Flag(
    help: """
      Take values that their column's type does not have as they stand, as SQLite does. A model \
      file's rules hold all the same.
      """)
  var asStored = false

  @Flag(help: "Import nothing where a single row is refused.")
  var strict = false

  @Flag(help: "Say nothing but of refused rows.")
  var quiet = false

  func validate() throws {
    guard !files.isEmpty else { throw ValidationError("Name a file to import, or '-'.") }
    guard !into.isEmpty else { throw ValidationError("--into takes the name of an entity.") }
    guard mapping.allSatisfy({ $0.contains("=") }) else {
      throw ValidationError("--map takes HEADER=PROPERTY.")
    }
    for type in types {
      let word = type.split(separator: "=", maxSplits: 1).dropFirst().first.map(String.init)
      guard let word, AttributeType(rawValue: word) != nil else {
        let names = AttributeType.allCases.map(\.rawValue).joined(separator: ", ")
        throw ValidationError("--type takes PROPERTY=TYPE; types are \(names).")
      }
    }
    guard files.filter({ $0 == "-" }).count < 2 else {
      throw ValidationError("Standard input can be read once.")
    }
  }

  func run() throws {
    if let rejects { try OutputFile(path: rejects).check(apartFrom: files + [store]) }
    var run = try ImportRun(self)
    try run.load()
    try run.finish()
  }

  var keyNames: [String] {
    key?.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) } ?? []
  }

  /// The property of each column, by header; nil omits the column.
  var map: [String: String?] {
    var map: [String: String?] = [:]
    for entry in mapping {
      let parts = entry.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      map[String(parts[0])] = .some(parts[1].isEmpty ? nil : String(parts[1]))
    }
    return map
  }

  /// The given types, by property.
  var typesByProperty: [String: AttributeType] {
    var result: [String: AttributeType] = [:]
    for entry in types {
      let parts = entry.split(separator: "=", maxSplits: 1).map(String.init)
      result[parts[0]] = parts.count > 1 ? AttributeType(rawValue: parts[1]) : nil
    }
    return result
  }
}
