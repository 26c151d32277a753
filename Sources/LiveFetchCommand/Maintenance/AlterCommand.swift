// `livefetch alter STORE SQL`: runs SQL in one transaction without the history's triggers, and prints the
// tables that changed.

import ArgumentParser
import FetchModel
import Foundation
import SQLiteStore

struct AlterCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "alter",
    abstract: "Change the tables of a file, served or not.",
    discussion: """
      Runs SQL in one transaction in which the history's triggers do not interfere: SQLite cannot drop \
      a column that a trigger names. A new epoch begins: all clients fetch a new snapshot. SQL that would \
      leave rows that refer to rows that do not exist is refused.

      EXAMPLES
        livefetch alter shop.sqlite 'ALTER TABLE Product DROP COLUMN price'
        livefetch alter shop.sqlite - < change.sql
      """)

  @Argument(help: "The SQLite file.")
  var store: String

  @Argument(help: "SQL, or `-` to read it from standard input.")
  var sql: String

  func run() throws {
    try requireFile(store)
    let script = try script()
    guard script.sql.contains(where: { !$0.isWhitespace && $0 != ";" }) else {
      throw failure("\(script.name): no statement", .usage)
    }
    let changed = try reportingErrors(of: store) {
      try SQLiteStore.alter(path: store, script)
    }
    print(
      changed.isEmpty ? "\(store): done" : "\(store): changed \(changed.joined(separator: ", "))")
  }

  private func script() throws -> MigrationScript {
    guard sql == "-" else { return MigrationScript(name: "SQL", sql: sql) }
    return try MigrationScript(
      "SQL", Data(try contents(of: .standardInput, "standard input")))
  }
}
