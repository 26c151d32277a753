// The program `livefetch`: reads its arguments and runs one of its commands.

import ArgumentParser
import Foundation
import LiveFetchThreads
import Service

/// `livefetch`
@main
struct LiveFetchCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "livefetch",
    abstract:
      "Live, sorted, sectioned fetches over an SQLite file or a PostgreSQL database, over HTTP.",
    discussion: """
      EXAMPLES
        livefetch demo
        livefetch import world.sqlite cities.csv --into City
        livefetch serve world.sqlite
        livefetch fetch http://127.0.0.1:8080 City --sort -population --limit 20 --watch

      EXIT STATUS
        0   done
        64  wrong arguments, environment or configuration; an unknown name, an invalid predicate
        65  the data or the store cannot be used: bad rows, a refused save, damage, a served file
        66  a file is missing, may not be read, or is a directory
        69  the address cannot be listened on, or the server cannot be reached or is not ready
        74  reading or writing failed, a database cannot be reached or a file is locked at the start,
            or a server had to end before every request was answered

      Shell completion: `livefetch --generate-completion-script bash|zsh|fish` prints a script.
      """,
    version: LiveFetchVersion.description,
    subcommands: [
      Serve.self, Demo.self, FetchCommand.self, SaveCommand.self, ImportCommand.self,
      ExportCommand.self, CopyCommand.self, BackupCommand.self, RestoreCommand.self,
      CheckCommand.self, StatusCommand.self, ModelCommand.self, MigrateCommand.self,
      AlterCommand.self, Detach.self,
      KeyCommand.self, AccessCommand.self, ConfigCommand.self,
    ])

  /// Runs the program.
  static func main() {
    setMmapThreshold(1 << 20)
    // A file that is opened later would take the place of a closed standard stream. Reading and writing fail as
    // they do on a closed one.
    for descriptor in STDIN_FILENO...STDERR_FILENO where fcntl(descriptor, F_GETFD) < 0 {
      _ = open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY)
    }
    let arguments = Array(CommandLine.arguments.dropFirst())
    if arguments.first == "help", let unknown = unknownTopic(arguments.dropFirst()) {
      exit(withError: ValidationError("There is no command '\(unknown)' to help with."))
    }
    if arguments.first == "--generate-completion-script", arguments.count == 2,
      let shell = CompletionShell(rawValue: arguments[1])
    {
      print(CompletionScript(of: Self.self, for: shell).text)
    } else {
      main(arguments)
    }
    // The standard output of a server may be closed; it ends with 0 nevertheless.
    if !["serve", "demo"].contains(arguments.first), fflush(nil) != 0 {
      exit(withError: Terminal.unwritable())
    }
  }

  /// The first of `topics` that names no subcommand of the one before it.
  private static func unknownTopic(_ topics: ArraySlice<String>) -> String? {
    var command: any ParsableCommand.Type = Self.self
    for topic in topics.prefix(while: { !$0.hasPrefix("-") }) where topic != "help" {
      let known = command.configuration.subcommands.first { $0._commandName == topic }
      guard let known else { return topic }
      command = known
    }
    return nil
  }
}
