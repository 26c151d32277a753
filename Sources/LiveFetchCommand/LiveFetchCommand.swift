// The program `livefetch`: reads its arguments and runs one of its commands.

import ArgumentParser

/// `livefetch`
@main
struct LiveFetchCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "livefetch",
    abstract: "Live, sorted, sectioned fetches over any SQLite database, by plain HTTP.",
    version: "0.1.0",
    subcommands: [Serve.self, Demo.self, ImportCommand.self, Detach.self, ConfigCommand.self])
}
