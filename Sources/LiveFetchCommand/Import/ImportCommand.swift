// `livefetch import STORE FILE…`

import ArgumentParser
import FetchModel
import Foundation
import SQLiteStore

extension RecordFormat: ExpressibleByArgument {}

struct ImportCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "import",
    abstract: "Load CSV, TSV, JSON or NDJSON files into one entity of a store.",
    discussion: """
      The import is one save: all files are imported or none, and subscribers receive one diff. \
      Files are UTF-8 and begin with a line of distinct names. Invalid rows are reported with their \
      line and skipped. A missing table is created, with types inferred from the first 10,000 rows; \
      so is a missing SQLite file. Files may be compressed with gzip; '-' is standard input. An \
      SQLite file that is being served is refused: stop the server, or save through it.

      EXAMPLES
        livefetch import world.sqlite cities.csv.gz --into City
        livefetch import shop.sqlite orders.ndjson --into Order --map customer_no=customer
        livefetch import shop.sqlite prices.csv --into Product --key sku --rejects bad.csv
        livefetch import postgres://localhost/shop prices.csv --into product --key sku
        curl -s https://example.org/data.json | livefetch import new.sqlite - --into Thing

      EXIT STATUS
        65 if a row was refused, or if the store cannot be used.
      """)

  @Argument(
    help: "The SQLite file, or the URL of a PostgreSQL database.",
    completion: .file(extensions: ["sqlite", "db"]))
  var store: String

  @Argument(help: "The files to load; '-' is standard input.", completion: .file())
  var files: [String]

  @Option(help: "The entity of the rows.")
  var into: String

  @Option(help: "The format of the files; detected by default.")
  var format: RecordFormat?

  @Option(
    name: .customLong("map"), parsing: .singleValue,
    help: ArgumentHelp(
      "The property of a column of the file; without one after '=' the column is skipped.",
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
      "The properties that identify existing rows, which are updated.", valueName: "a,b"))
  var key: String?

  @Option(help: "The file for refused rows, in their original form.", completion: .file())
  var rejects: String?

  @Flag(
    help: """
      Store values that are invalid for their column's type unchanged, as SQLite does. A model \
      file's rules apply regardless.
      """)
  var asStored = false

  @Flag(help: "Import nothing if any row is refused.")
  var strict = false

  @Flag(help: "Print only refused rows.")
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
    guard !keyNames.contains("") else {
      throw ValidationError("--key takes names of properties.")
    }
    guard files.filter({ $0 == "-" }).count < 2 else {
      throw ValidationError("Standard input can be read once.")
    }
  }

  func run() throws {
    if asStored, location.database != nil {
      throw failure("\(location.name): --as-stored concerns SQLite files", .usage)
    }
    if let rejects { try OutputFile(path: rejects).check(apartFrom: files + [store]) }
    TerminationSignal.deletingUnfinishedFiles()
    var run = try ImportRun(self)
    try run.load()
    try run.finish()
  }

  var location: StoreLocation { StoreLocation(store) }

  var keyNames: [String] {
    let names = key?.split(separator: ",", omittingEmptySubsequences: false) ?? []
    return names.map { $0.trimmingCharacters(in: .whitespaces) }
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
