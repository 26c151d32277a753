// `livefetch detach FILE`

import ArgumentParser
import Foundation
import SQLiteStore

struct Detach: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Take LiveFetch's history tables and triggers out of an SQLite file again.",
    discussion: """
      Tokens from before end with it. Serving the file again begins a new history.

      EXAMPLES
        livefetch detach shop.sqlite
      """)

  @Argument(help: "The SQLite file.")
  var store: String

  func run() throws {
    try requireFile(store)
    let wasAttached = try reportingErrors(of: store) { try SQLiteStore.detach(path: store) }
    print(wasAttached ? "\(store): detached" : "\(store): there was nothing to take out")
  }
}
