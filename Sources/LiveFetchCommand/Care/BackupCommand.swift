// `livefetch backup` and `livefetch restore`

import ArgumentParser
import FetchModel
import Foundation
import SQLiteStore

struct BackupCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "backup",
    abstract: "Copy a store as it is at one moment, served or not.",
    discussion: """
      The copy is looked through (pages, indexes, history) before it gets its name; it is one file \
      without a log beside it, and can be served as it is. Tokens of the store go on with it up to \
      the moment of the copy.

      EXAMPLES
        livefetch backup shop.sqlite shop-2026-11-21.sqlite
      """)

  @Argument(help: "The SQLite file.", completion: .file(extensions: ["sqlite", "db"]))
  var store: String

  @Argument(help: "The copy to make; must not be there.", completion: .file())
  var copy: String

  @Flag(help: "Replace a file that is there.")
  var force = false

  @Flag(help: "Say nothing.")
  var quiet = false

  func run() throws {
    try requireFile(store)
    guard try !isFile(copy) || force else {
      throw failure("\(copy): is there already; --force replaces it", .usage)
    }
    try OutputFile(path: copy).checkIsNotServed(apartFrom: [store])
    var bar = ProgressBar("backup")
    do throws(CopyError) {
      let report = try SQLiteStore.backUp(path: store, to: copy) { done, total in
        if !quiet { bar.show(total == 0 ? nil : Double(done) / Double(total), done, "pages") }
      }
      bar.clear()
      guard !quiet else { return }
      let token = report.token.map { ", at token \($0)" } ?? ""
      print("\(copy): \(report.bytes.asBytes)\(token); checked")
    } catch {
      bar.clear()
      throw error.failure(source: store, destination: copy)
    }
  }
}

struct RestoreCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "restore",
    abstract: "Make a store what a backup is.",
    discussion: """
      The backup is looked through first. The store changes as one transaction, which other \
      programs see; it must not be served meanwhile. Its history begins a new epoch: tokens from \
      before are answered with 410, and clients fetch a new snapshot.

      EXAMPLES
        livefetch restore shop-2026-11-21.sqlite shop.sqlite
      """)

  @Argument(help: "The backup.", completion: .file())
  var backup: String

  @Argument(help: "The store to replace, or to make.", completion: .file())
  var store: String

  @Flag(help: "Say nothing.")
  var quiet = false

  func run() throws {
    try requireFile(backup)
    _ = try isFile(store)
    var bar = ProgressBar("restore")
    do throws(CopyError) {
      let report = try SQLiteStore.restore(backup, to: store) { done, total in
        if !quiet { bar.show(total == 0 ? nil : Double(done) / Double(total), done, "pages") }
      }
      bar.clear()
      guard !quiet else { return }
      let token = report.token.map { ", begins anew at token \($0)" } ?? ""
      print("\(store): \(report.bytes.asBytes)\(token)")
    } catch {
      bar.clear()
      throw error.failure(source: backup, destination: store)
    }
  }
}

extension CopyError {
  /// Says it with the name of the file that it is about.
  fileprivate func failure(source: String, destination: String) -> ExitCode {
    switch self {
    case .source(let error): refuse("\(source): \(error.message)", error.exitStatus)
    case .destination(let error): refuse("\(destination): \(error.message)", error.exitStatus)
    }
  }
}

extension Int {
  /// `18.3 MB`, in powers of a thousand.
  var asBytes: String {
    var value = Double(self)
    for unit in ["bytes", "kB", "MB", "GB"] {
      if value < 1000 || unit == "GB" {
        return unit == "bytes" ? "\(self) bytes" : String(format: "%.1f %@", value, unit)
      }
      value /= 1000
    }
    return "\(self) bytes"
  }
}
