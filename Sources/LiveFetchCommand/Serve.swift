// `livefetch serve STORE`

import ArgumentParser
import Foundation

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
    guard FileManager.default.fileExists(atPath: store) else {
      throw failure("\(store): there is no such file", .noInput)
    }
    try Server(path: store, options: options.resolved()).run()
  }
}
