// `livefetch demo`

import ArgumentParser
import Foundation

struct Demo: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Load the sample cities and countries of the world, and serve them.")

  @Option(help: "The file to keep the sample data in; made if it is not there.")
  var data = "livefetch-demo.sqlite"

  @OptionGroup var options: ServeOptions

  func run() throws {
    if !FileManager.default.fileExists(atPath: data) {
      do {
        try SampleWorld.create(at: data)
      } catch {
        throw failure("\(data): the sample data could not be loaded: \(error)", .failed)
      }
    }
    try Server(path: data, options: options.resolved(), greeting: Self.greeting).run()
  }

  private static func greeting(_ address: String) -> String {
    """


    Try it:
      curl '\(address)/v1/objects/City?where=population%3E1000000&sort=-population&limit=5'
      curl '\(address)/v1/objects/City?where=country.name==%22Japan%22&section=admin1&since=now'
      curl -X PATCH --json '{"population":9800000}' \(address)/v1/objects/City/1850147
    The second one waits for a change: run the third in another terminal.
    """
  }
}
