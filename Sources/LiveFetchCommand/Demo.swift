// `livefetch demo`

import ArgumentParser
import FetchModel
import Foundation
import SQLiteStore

struct Demo: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Load a sample with its model, and serve it.",
    discussion: """
      SAMPLES
        world    cities, countries and mayors
        heroes   inheritance, transformable values, derived attributes
        todo     lists whose items have an order
        blog     posts, comments and tags

      EXAMPLES
        livefetch demo
        livefetch demo heroes --port 0 --data /tmp/heroes.sqlite
      """)

  @Argument(help: "Which sample.")
  var sample = Sample.world

  @Option(help: "The file to keep the sample data in; made if it is not there.")
  var data: String?

  @OptionGroup var options: ServeOptions

  func run() throws {
    let given = options
    var options = try given.resolved()
    options.servesSample = true
    let path = data ?? sample.defaultPath
    guard !path.isEmpty else { throw failure("--data: the path is empty", .usage) }
    try options.checkAccess(to: path)
    if try isFile(path) {
      try sample.check(path)
    } else {
      try reportingErrors(of: path) { try SQLiteStore.requireNoOrphanedLog(at: path) }
      do {
        TerminationSignal.block(hangUp: true)
        try TerminationSignal.exitingOnSignal { try self.sample.create(at: path) }
      } catch let error as StoreError {
        throw error.failure(path)
      } catch ImportError.store(let error) {
        throw error.failure(path)
      } catch {
        throw failure("\(path): the sample could not be loaded: \(error)", .failed)
      }
    }
    let sample = sample
    let needsToken = options.needsToken
    var server = Server(
      source: .file(path: path), options: options, reloaded: given.reloaded
    ) { address in Self.greeting(sample, at: address, needsToken: needsToken) }
    try server.run()
  }

  /// Returns examples to try, with an address to which clients of this machine can connect.
  static func greeting(_ sample: Sample, at listening: String, needsToken: Bool) -> String {
    let address = listening.replacing("//0.0.0.0:", with: "//127.0.0.1:")
      .replacing("//[::]:", with: "//[::1]:")
    let curl = needsToken ? #"curl -H "Authorization: Bearer $LIVEFETCH_TOKEN""# : "curl"
    let start = "\n\nOpen \(address)/ in two browser windows.\n\n"
    guard sample == .world else { return start + "Try it: \(curl) \(address)/v1/model" }
    return start + """
      Try it:
        \(curl) '\(address)/v1/objects/City?where=population%3E1000000&sort=-population&limit=5'
        \(curl) '\(address)/v1/objects/City?where=country.name==%22Japan%22&section=admin1&since=now'
        \(curl) -X PATCH --json '{"population":9800000}' \(address)/v1/objects/City/1850147
      The second one waits for a change: run the third in another terminal.
      """
  }
}
