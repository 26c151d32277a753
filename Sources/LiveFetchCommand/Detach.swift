// `livefetch detach FILE`

import ArgumentParser
import FetchModel
import Foundation
import PostgresStore
import SQLiteStore

struct Detach: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Take LiveFetch's history tables and triggers out of a store again.",
    discussion: """
      Tokens from before end with it. Serving the file again begins a new history.

      EXAMPLES
        livefetch detach shop.sqlite
        livefetch detach postgres://localhost/shop
      """)

  @Argument(help: "The SQLite file, or the URL of a PostgreSQL database.")
  var store: String

  func run() throws {
    let database = DatabaseTarget(store)
    if database == nil { try requireFile(store) }
    let name = database?.name ?? store
    let wasAttached = try reportingErrors(of: name) {
      try database.map { try PostgresStore.detach($0.text) } ?? SQLiteStore.detach(path: store)
    }
    print(wasAttached ? "\(name): detached" : "\(name): there was nothing to take out")
  }
}
