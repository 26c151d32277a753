// `livefetch migrate STORE --model FILE`

import ArgumentParser
import FetchModel
import Foundation
import SQLiteStore

struct MigrateCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "migrate", abstract: "Lead a store to another version of its model.",
    discussion: """
      What changed is found by names and renaming identifiers. It all happens in one transaction,
      after a copy of the file was made; where values would be lost, it is refused with the reasons.

      EXAMPLES
        livefetch migrate shop.sqlite --model shop-2.json --dry-run
        livefetch migrate shop.sqlite --model shop-2.json
      """)

  @Argument(help: "The SQLite file.") var store: String
  @Option(help: "The new version of the model.") var model: String
  @Flag(help: "Print the plan and change nothing.") var dryRun = false
  @Flag(help: "Let go what the new version has no place for.") var allowLoss = false
  @Option(help: "Where to copy the file before; STORE.before if left out.") var backup: String?
  @Flag(help: "Make no copy.") var noBackup = false
  @Option(help: "A file of SQL to run in the same transaction, on the new tables.")
  var sql: String?

  func run() throws {
    try requireFile(store)
    let model = try modelAnywhere(model)
    var options = MigrationOptions()
    options.isDryRun = dryRun
    options.allowsLoss = allowLoss
    options.backup = noBackup ? nil : backup ?? store + ".before"
    options.sql = try sql.map { path in
      guard let data = FileManager.default.contents(atPath: path) else {
        throw failure("\(path): there is no such file", .noInput)
      }
      return String(decoding: data, as: UTF8.self)
    }
    do throws(StoreError) {
      let plan = try SQLiteStore.migrate(
        path: store, to: model, options: options, progress: Self.show)
      report(plan)
    } catch {
      let lines = error.message.split(separator: "\n").map { "\(store): \($0)" }
      throw failure(lines.joined(separator: "\n"), error.exitStatus)
    }
  }

  private func report(_ plan: MigrationPlan) {
    for step in plan.steps { print(step) }
    for loss in plan.losses { print("loses \(loss)") }
    for refusal in plan.refusals { print("impossible: \(refusal)") }
    if let backup = plan.backup { print("the file as it was: \(backup)") }
    if plan.steps.isEmpty { print("the tables stay as they are") }
  }

  /// A bar on a terminal.
  private static func show(_ done: Int, _ all: Int, _ step: String) {
    guard isatty(2) != 0, all > 0 else { return }
    let width = 30
    let filled = width * done / all
    let bar = String(repeating: "#", count: filled) + String(repeating: ".", count: width - filled)
    let end = done == all ? "\n" : ""
    FileHandle.standardError.write(Data("\r\u{1B}[K[\(bar)] \(step)\(end)".utf8))
  }
}
