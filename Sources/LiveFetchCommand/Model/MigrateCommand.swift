// `livefetch migrate STORE --model FILE`: a store and the new version of its model → the migrated store, a
// copy of the old file, and a report of the plan's steps, losses and refusals.

import ArgumentParser
import FetchModel
import Foundation
import PostgresStore
import SQLiteStore

struct MigrateCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "migrate", abstract: "Migrate a store to another version of its model.",
    discussion: """
      Names and renaming identifiers determine what changed. The command first copies the file, then \
      migrates it in one transaction. If values would be lost, or columns and other objects outside the \
      model, it refuses and prints the reasons. A PostgreSQL database is not copied: pg_dump does that.

      EXAMPLES
        livefetch migrate shop.sqlite --model shop-2.json --dry-run
        livefetch migrate shop.sqlite --model shop-2.json
        livefetch migrate shop.sqlite --model shop-2.json --sql-before keep.sql --sql split.sql
        livefetch migrate postgres://localhost/shop --model shop-2.json
      """)

  @Argument(help: "The SQLite file, or the URL of a PostgreSQL database.") var store: String
  @Option(help: "The new version of the model.") var model: String
  @Flag(help: "Print the plan and change nothing.") var dryRun = false
  @Flag(
    help: ArgumentHelp(
      "Allow the loss of values that the new version cannot hold, and of columns, indexes, triggers, "
        + "constraints and views outside the model that are dropped with a rebuilt table."))
  var allowLoss = false
  @Option(help: "The path of the copy made first; STORE.before-DATE-TIME by default.")
  var backup: String?
  @Flag(help: "Make no copy.") var noBackup = false
  @Option(
    help: "A file of SQL to run first, on the old tables, in the same transaction (repeatable).")
  var sqlBefore: [String] = []
  @Option(
    help: "A file of SQL to run last, on the new tables, in the same transaction (repeatable).")
  var sql: [String] = []

  func validate() throws {
    if noBackup, backup != nil {
      throw ValidationError("--backup and --no-backup contradict each other.")
    }
  }

  func run() throws {
    let location = StoreLocation(store)
    try location.check()
    if location.database != nil, backup != nil {
      throw failure("--backup concerns SQLite files; pg_dump copies a PostgreSQL database", .usage)
    }
    let model = try ModelFile(anyFormatAtPath: model)
    let options = try options()
    let name = location.name
    var bar = ProgressBar(name)
    var status: ExitStatus?
    if options.backup != nil { TerminationSignal.deletingUnfinishedFiles() }
    let show = { (done: Int, all: Int, step: String) in bar.show(step: step, done: done, of: all) }
    do throws(StoreError) {
      let plan =
        switch location {
        case .file(let path):
          try SQLiteStore.migrate(path: path, to: model, options: options, progress: show)
        case .database(let target):
          try PostgresStore.migrate(target.text, to: model, options: options, progress: show)
        }
      bar.clear()
      report(plan)
      // Without --dry-run the migration itself is refused.
      let losesValues = !allowLoss && !plan.losses.isEmpty
      if dryRun, losesValues { print("refused: the losses need --allow-loss") }
      if dryRun, losesValues || !plan.refusals.isEmpty { status = .unusableStore }
    } catch {
      bar.clear()
      let lines = error.message.split(separator: "\n").map { "\(name): \($0)" }
      throw failure(lines.joined(separator: "\n"), error.exitStatus)
    }
    if let status { throw ExitCode(status.rawValue) }
  }

  private func options() throws -> MigrationOptions {
    var options = MigrationOptions()
    options.isDryRun = dryRun
    options.allowsLoss = allowLoss
    options.backup = noBackup || dryRun || DatabaseTarget(store) != nil ? nil : try backupPath()
    options.before = try sqlBefore.map(Self.script)
    options.after = try sql.map(Self.script)
    return options
  }

  private static func script(_ path: String) throws -> MigrationScript {
    try MigrationScript(path, Data(try contents(ofFile: path)))
  }

  /// Returns the requested path, or the first unused one with the current time.
  private func backupPath() throws -> String {
    let manager = FileManager.default
    if let backup {
      guard !manager.fileExists(atPath: backup) else {
        throw failure("\(backup): already exists and would be overwritten", .unusableStore)
      }
      return backup
    }
    let wanted = "\(store).before-\(Self.stamp)"
    guard manager.fileExists(atPath: wanted) else { return wanted }
    return (2...).lazy.map { "\(wanted)-\($0)" }.first { !manager.fileExists(atPath: $0) } ?? wanted
  }

  /// `20240131-100000`, UTC.
  private static var stamp: String {
    Instant.now.iso8601.prefix(19).filter { $0 != "-" && $0 != ":" }
      .replacing("T", with: "-")
  }

  private func report(_ plan: MigrationPlan) {
    for step in plan.steps { print(step) }
    for loss in plan.losses { print("loses \(loss)") }
    for refusal in plan.refusals { print("refused: \(refusal)") }
    if let backup = plan.backup { print("copy of the file before the migration: \(backup)") }
    if plan.steps.isEmpty { print("no table changes") }
  }
}

extension MigrationScript {
  /// Ends the command if the bytes are not UTF-8.
  init(_ name: String, _ bytes: Data) throws {
    guard let sql = String(bytes: bytes, encoding: .utf8) else {
      throw failure("\(name): is not UTF-8", .unusableStore)
    }
    self.init(name: name, sql: sql)
  }
}
