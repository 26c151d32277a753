// `livefetch check STORE`

import ArgumentParser
import FetchModel
import Foundation
import PostgresStore
import SQLiteStore

struct CheckCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "check",
    abstract: "Check for damage, orphaned references, wrong derived values and history gaps.",
    discussion: """
      Changes nothing, and may be run while the store is served. For a PostgreSQL database it checks \
      the constraints that are not valid and LiveFetch's history; PostgreSQL's own pg_amcheck looks \
      for damage.

      EXAMPLES
        livefetch check shop.sqlite && echo sound
        livefetch check postgres://localhost/shop

      EXIT STATUS
        0 if nothing is wrong, otherwise 65.
      """)

  @Argument(
    help: "The SQLite file, or the URL of a PostgreSQL database.",
    completion: .file(extensions: ["sqlite", "db"]))
  var store: String

  @Flag(help: "Do not compare indexes with their tables.")
  var quick = false

  func run() throws {
    if let target = DatabaseTarget(store) {
      return try report(
        try reportingErrors(of: target.name) { try PostgresStore.check(target.text) }, target.name)
    }
    try requireFile(store)
    let findings = try reportingErrors(of: store) {
      try SQLiteStore.check(path: store, isQuick: quick)
    }
    let path = realPath(store) ?? store
    guard let size = try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int, size > 0
    else { throw failure("\(store): is empty: it contains no tables", .unusableStore) }
    try report(findings.map(Self.line), store)
  }

  private func report(_ lines: [String], _ name: String) throws {
    guard lines.isEmpty else {
      for line in lines { print(line) }
      throw ExitCode(ExitStatus.unusableStore.rawValue)
    }
    print("\(name): nothing is wrong")
  }

  private static func line(_ finding: StoreFinding) -> String {
    switch finding {
    case .damage(let what): return "damage: \(what)"
    case .history(let what): return "history: \(what)"
    case .uncheckedLinks(let table, let reason):
      return "foreign keys: those of \(table) cannot be checked (\(reason))"
    case .orphans(let table, let parent, let count, let rows):
      let named = rows.isEmpty ? "" : " (row \(list(rows, of: count)))"
      return
        "orphans: \(count) rows of \(table) refer to a \(parent) that does not exist\(named)"
    case .derived(let attribute, let count, let ids):
      let named = "(id \(list(ids, of: count)))"
      return "derived: \(count) values of \(attribute) are not the derived ones \(named)"
    }
  }

  private static func list(_ first: [Int64], of count: Int) -> String {
    first.map(String.init).joined(separator: ", ") + (count > first.count ? ", …" : "")
  }
}
