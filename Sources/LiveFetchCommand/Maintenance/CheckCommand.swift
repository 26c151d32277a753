// `livefetch check STORE`

import ArgumentParser
import FetchModel
import SQLiteStore

struct CheckCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "check",
    abstract: "Check for damage, orphaned references and gaps in the history.",
    discussion: """
      Changes nothing, and may be run while the store is served.

      EXAMPLES
        livefetch check shop.sqlite && echo sound

      EXIT STATUS
        0 where nothing is wrong, 65 where something is.
      """)

  @Argument(help: "The SQLite file.", completion: .file(extensions: ["sqlite", "db"]))
  var store: String

  @Flag(help: "Do not compare indexes with their tables.")
  var quick = false

  func run() throws {
    try requireFile(store)
    let findings = try reportingErrors(of: store) {
      try SQLiteStore.check(path: store, isQuick: quick)
    }
    guard findings.isEmpty else {
      for finding in findings { print(Self.line(finding)) }
      throw ExitCode(ExitStatus.unusableStore.rawValue)
    }
    print("\(store): nothing is wrong")
  }

  private static func line(_ finding: StoreFinding) -> String {
    switch finding {
    case .damage(let what): return "damage: \(what)"
    case .history(let what): return "history: \(what)"
    case .orphans(let table, let parent, let count, let rows):
      let some = rows.map(String.init).joined(separator: ", ")
      let more = count > rows.count ? ", …" : ""
      return
        "orphans: \(count) rows of \(table) refer to a \(parent) that does not exist "
        + "(row \(some)\(more))"
    }
  }
}
