// `livefetch serve STORE`

import ArgumentParser
import FetchModel
import Foundation
import SQLiteStore

struct Serve: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Serve an SQLite file or a PostgreSQL database over HTTP.",
    discussion: """
      EXAMPLES
        livefetch serve shop.sqlite
        livefetch serve shop.sqlite --port 0
        livefetch serve new.sqlite --model shop.json
        livefetch serve postgres://localhost/shop
        LIVEFETCH_TOKEN=secret livefetch serve shop.sqlite --host 0.0.0.0
      """)

  @Argument(help: "The SQLite file, or the URL of a PostgreSQL database.")
  var store: String

  @OptionGroup var options: ServeOptions

  func run() throws {
    if let target = DatabaseTarget(store) { return try serve(target) }
    let given = options
    let options = try given.resolved()
    let isThere = try isFile(store)
    let name = withoutCredentials(store)
    try options.checkAccess(to: store)
    guard isThere || !options.isReadOnly else {
      throw failure("\(name): there is no such file, and --read-only creates none", .noInput)
    }
    // A model makes the tables of a new file.
    guard isThere || options.model != nil || options.createsFile else {
      throw failure("\(name): there is no such file; --create or --model creates it", .noInput)
    }
    if !isThere { try create(hasModel: options.model != nil) }
    do {
      var server = Server(source: .file(path: store), options: options, reloaded: given.reloaded)
      try server.run()
    } catch {
      // It was never served, unless another process opened it first.
      if !isThere, SQLiteStore.server(of: store) == nil { SQLiteStore.remove(path: store) }
      throw error
    }
  }

  private func serve(_ target: DatabaseTarget) throws {
    let given = options
    let options = try given.resolved()
    try options.checkDatabase()
    try options.checkAccess(to: target.text)
    var server = Server(source: .database(target), options: options) { running in
      let newer = try given.reloaded(running)
      try newer.checkDatabase()
      return newer
    }
    try server.run()
  }

  private func create(hasModel: Bool) throws {
    try reportingErrors(of: store) { try SQLiteStore.create(path: store) }
    guard !hasModel else { return }
    printError(
      """
      \(store): there was no such file, so an empty one was made. Make tables: \
      livefetch alter \(store) 'CREATE TABLE …'. Or stop the server, run \
      livefetch restore YOURS.sqlite \(store), and start it again. Do not copy a file over it: SQLite \
      would mix the old store's log into the file.
      """)
  }
}
