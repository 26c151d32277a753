// `livefetch backup` and `livefetch restore`

import ArgumentParser
import FetchModel
import Foundation
import SQLiteStore

struct BackupCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "backup",
    abstract: "Copy a consistent snapshot of a store, served or not.",
    discussion: """
      The copy is checked (pages, indexes, history) before it gets its name. It is a single file \
      without a log, and can be served directly. Tokens that the store issued before the copy are \
      valid for it.

      EXAMPLES
        livefetch backup shop.sqlite shop-2026-11-21.sqlite
      """)

  @Argument(help: "The SQLite file.", completion: .file(extensions: ["sqlite", "db"]))
  var store: String

  @Argument(help: "The copy to create; it must not exist.", completion: .file())
  var copy: String

  @Flag(help: "Replace an existing file.")
  var force = false

  @Flag(help: "Print nothing.")
  var quiet = false

  func run() throws {
    try refuseDatabase(store)
    guard !store.hasPrefix("http://"), !store.hasPrefix("https://") else {
      throw failure(
        "\(withoutCredentials(store)): give the path of the SQLite file; a server cannot be backed up over HTTP",
        .usage
      )
    }
    try requireFile(store)
    let folder = URL(fileURLWithPath: copy).deletingLastPathComponent().path
    guard FileManager.default.fileExists(atPath: folder) else {
      throw failure("\(copy): its folder does not exist", .failed)
    }
    guard try !isFile(copy) || force else {
      throw failure("\(copy): already exists; --force replaces it", .usage)
    }
    try OutputFile(path: copy).checkIsNotServed(apartFrom: [store])
    TerminationSignal.deletingUnfinishedFiles()
    let report = try copying("backup", from: store, to: copy, isShown: !quiet) {
      report throws(CopyError) in
      try SQLiteStore.backUp(path: store, to: copy, progress: report)
    }
    guard !quiet else { return }
    let token = report.token.map { ", at token \($0)" } ?? ""
    print("\(copy): \(report.bytes.asBytes)\(token); checked")
  }
}

struct RestoreCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "restore",
    abstract: "Replace the contents of a store by a backup.",
    discussion: """
      The backup is checked first. The store changes in one transaction, which other programs see; \
      it must not be served meanwhile. Its history begins a new epoch: earlier tokens get status \
      410, and clients fetch a new snapshot.

      EXAMPLES
        livefetch restore shop-2026-11-21.sqlite shop.sqlite
      """)

  @Argument(help: "The backup.", completion: .file())
  var backup: String

  @Argument(help: "The store to replace or create.", completion: .file())
  var store: String

  @Flag(help: "Print nothing.")
  var quiet = false

  func run() throws {
    try refuseDatabase(backup)
    try refuseDatabase(store)
    try requireFile(backup)
    _ = try isFile(store)
    guard !OutputFile(path: store).isSame(as: backup) else {
      throw failure("\(store): is the backup itself; name the store that it replaces", .usage)
    }
    TerminationSignal.deletingUnfinishedFiles()
    let report = try copying("restore", from: backup, to: store, isShown: !quiet) {
      report throws(CopyError) in
      try SQLiteStore.restore(backup, to: store, progress: report)
    }
    guard !quiet else { return }
    let token = report.token.map { ", new epoch begins at token \($0)" } ?? ""
    print("\(store): \(report.bytes.asBytes)\(token)")
  }
}

/// Copies a file and shows a progress bar.
///
/// - Parameter copy: Receives a callback for the numbers of completed and of all pages.
private func copying(
  _ name: String, from source: String, to destination: String, isShown: Bool,
  _ copy: ((Int, Int) -> Void) throws(CopyError) -> BackupReport
) throws -> BackupReport {
  var bar = ProgressBar(name)
  defer { bar.clear() }
  do throws(CopyError) {
    return try copy { done, total in
      if isShown {
        bar.show(total == 0 ? nil : Double(done) / Double(total), count: done, unit: "pages")
      }
    }
  } catch {
    bar.clear()
    throw error.failure(source: source, destination: destination)
  }
}

extension CopyError {
  /// Prints the error with the name of the file that it concerns.
  fileprivate func failure(source: String, destination: String) -> ExitCode {
    switch self {
    case .source(let error): error.failure(source)
    case .destination(let error): error.failure(destination)
    }
  }
}

extension Int {
  /// `18.3 MB`, in powers of 1,000.
  var asBytes: String {
    var value = Double(self)
    guard self >= 1000 else { return "\(self) bytes" }
    var units = ["kB", "MB", "GB", "TB"]
    value /= 1000
    // 999.95 would be written as 1000.0.
    while value >= 999.95, units.count > 1 {
      value /= 1000
      units.removeFirst()
    }
    return String(format: "%.1f %@", value, units[0])
  }
}

/// Ends the command if `store` names a database, which PostgreSQL's own tools copy.
private func refuseDatabase(_ store: String) throws {
  guard let target = DatabaseTarget(store) else { return }
  throw failure(
    """
    \(target.name): use pg_dump and pg_restore, or your provider's backups. The copy contains the \
    schema livefetch: its API keys stay valid; tokens are expired after a restore, and clients fetch \
    again.
    """, .usage)
}
