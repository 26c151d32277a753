// `livefetch detach FILE`

import ArgumentParser
import FetchModel
import Foundation
import PostgresStore
import SQLiteStore

struct Detach: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Remove what LiveFetch added to a store: history, model, access rules, API keys.",
    discussion: """
      Your own tables and rows stay. Earlier tokens expire, the API keys are gone, and the stored model \
      with its access rules too: `livefetch model export STORE` keeps a copy. The next `serve` begins a \
      new history, without rules.

      EXAMPLES
        livefetch detach shop.sqlite
        livefetch detach postgres://localhost/shop
      """)

  @Argument(help: "The SQLite file, or the URL of a PostgreSQL database.")
  var store: String

  func run() throws {
    let store = StoreLocation(store)
    try store.check()
    let wasAttached = try reportingErrors(of: store.name) {
      switch store {
      case .file(let path): try SQLiteStore.detach(path: path)
      case .database(let target): try PostgresStore.detach(target.text)
      }
    }
    print("\(store.name): \(wasAttached ? "detached" : "there was nothing to take out")")
  }
}
