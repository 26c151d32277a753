// `livefetch serve STORE`

import ArgumentParser
import FetchModel
import Foundation
import SQLiteStore

struct Serve: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Serve an SQLite file over HTTP.",
    discussion: """
      EXAMPLES
        livefetch serve shop.sqlite
        livefetch serve shop.sqlite --port 0 --public Public
        LIVEFETCH_TOKEN=secret livefetch serve shop.sqlite --host 0.0.0.0
      """)

  @Argument(help: "The SQLite file.")
  var store: String

  @OptionGroup var options: ServeOptions

  func run() throws {
    let isThere = try isFile(store)
    let options = try options.resolved()
    let model = try options.modelPath.map { try modelAnywhere($0) }
    // A model makes the tables of a new file.
    guard
      isThere || model != nil && FileManager.default.createFile(atPath: store, contents: nil)
    else {
      throw failure("\(store): there is no such file", .noInput)
    }
    do {
      try Server(path: store, options: options).run()
    } catch {
      if !isThere { removeIfEmpty() }
      throw error
    }
  }

  /// A model that cannot be served leaves no file of no bytes behind.
  private func removeIfEmpty() {
    let size = try? FileManager.default.attributesOfItem(atPath: store)[.size] as? Int
    if size == 0 { SQLiteStore.remove(path: store) }
  }
}
