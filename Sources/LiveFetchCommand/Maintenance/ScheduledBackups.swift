// A served file → a checked copy of it at every interval, of which the newest are kept.

import Dispatch
import FetchModel
import Foundation
import SQLiteStore
import Service

/// Makes backups of a served store on a thread of its own.
///
/// The copies are named `NAME-ID-20261123T140500Z.sqlite` after the store's id, which no other store has,
/// and their time. A copy has its name only when it is complete and checked. Other files in the directory
/// are left alone: also copies of other stores with the same name, and those of a later time, which a
/// clock that was ahead has left.
final class ScheduledBackups: Sendable {
  /// The path of the served file.
  let path: String
  let directory: String
  /// Seconds between two backups.
  let interval: Double
  /// How many copies are kept.
  let kept: Int
  private let metrics: ServiceMetrics
  private let end = DispatchSemaphore(value: 0)

  /// The longest wait, in seconds, before a failed backup is tried again.
  private static let retryDelay = 60.0

  init(
    of path: String, to directory: String?, every interval: Double, keeping kept: Int,
    _ metrics: ServiceMetrics
  ) {
    self.path = path
    self.directory = directory ?? "\(path).backups"
    self.interval = interval
    self.kept = kept
    self.metrics = metrics
  }

  /// Makes the directory and starts. A copy of an earlier run counts: the next is due one interval after
  /// it.
  ///
  /// - Throws: the exit status if the directory cannot be made or written, or the store has no id.
  func begin() throws {
    let files = FileManager.default
    let id = try reportingErrors(of: path) { try SQLiteStore.backupID(of: path) }
    guard let id else {
      throw failure(
        """
        \(path): was never served for writing here, so its backups cannot be distinguished from those of other \
        stores; serve it once without --read-only, or without --backup-every
        """, .failed)
    }
    do {
      try files.createDirectory(atPath: directory, withIntermediateDirectories: true)
    } catch {
      throw failure("\(directory): cannot be made; backups need it", .failed)
    }
    guard files.isWritableFile(atPath: directory) else {
      throw failure("\(directory): may not be written; backups need it", .failed)
    }
    for ending in [Self.partial, Self.partial + "-journal"] {
      for name in names(of: id, ending: ending) {
        try? files.removeItem(atPath: "\(directory)/\(name)")
      }
    }
    let newest = newest(of: id)
    metrics.scheduleBackups(every: interval, last: newest?.timeIntervalSince1970)
    Thread.detachNewThread { self.run(id, since: newest) }
  }

  /// Starts no further backup.
  func stop() { end.signal() }

  /// - Parameter newest: the time of the newest copy; nil without one.
  private func run(_ id: String, since newest: Date?) {
    var id = id
    var due = newest?.addingTimeInterval(interval) ?? Date()
    while end.wait(timeout: .now() + max(0, due.timeIntervalSinceNow)) == .timedOut {
      let began = Date()
      // Another file may have taken the place of the first one.
      if let found = try? SQLiteStore.backupID(of: path) { id = found }
      let isMade = make(of: id, at: began)
      metrics.countBackup(isMade ? began.timeIntervalSince1970 : nil)
      if isMade { removeOldest(of: id) }
      due = began.addingTimeInterval(isMade ? interval : min(interval, Self.retryDelay))
    }
  }

  /// True if the copy was made.
  private func make(of id: String, at time: Date) -> Bool {
    let copy = "\(directory)/\(start(id))\(Self.text(time))\(Self.ending)"
    // Somebody may have removed it.
    try? FileManager.default.createDirectory(
      atPath: directory, withIntermediateDirectories: true)
    do {
      _ = try SQLiteStore.backUp(path: path, to: copy)
      return true
    } catch {
      printError("\(copy): the backup failed: \(error.message)")
      return false
    }
  }

  private func removeOldest(of id: String) {
    for name in names(of: id, ending: Self.ending).dropLast(kept) {
      do {
        try FileManager.default.removeItem(atPath: "\(directory)/\(name)")
      } catch {
        printError("\(directory)/\(name): cannot be removed: \(error.localizedDescription)")
      }
    }
  }
}

// MARK: - Names

extension ScheduledBackups {
  private static let ending = ".sqlite"
  private static let partial = ".sqlite.partial"

  /// The start of each copy's name: the file's name without its extension, and the store's id.
  private func start(_ id: String) -> String {
    "\(URL(fileURLWithPath: path).deletingPathExtension().lastPathComponent)-\(id)-"
  }

  /// The time of the newest copy; nil without one.
  private func newest(of id: String) -> Date? {
    names(of: id, ending: Self.ending).last.flatMap {
      Self.date($0.dropFirst(start(id).count).prefix(16))
    }
  }

  /// The copies of the store with this id up to now, oldest first.
  private func names(of id: String, ending: String) -> [String] {
    let start = start(id)
    let names = (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
    let now = Date()
    return names.filter { name in
      guard name.hasPrefix(start), name.hasSuffix(ending) else { return false }
      let date = Self.date(name.dropFirst(start.count).dropLast(ending.count))
      return date.map { $0 <= now } ?? false
    }.sorted()
  }

  /// `20261123T140500Z`.
  private static func text(_ time: Date) -> String { time.formatted(style) }

  private static func date(_ text: Substring) -> Date? {
    text.count == 16 ? try? Date(String(text), strategy: style) : nil
  }

  private static let style = Date.ISO8601FormatStyle(
    dateSeparator: .omitted, timeSeparator: .omitted)
}

extension CopyError {
  fileprivate var message: String {
    switch self {
    case .source(let error), .destination(let error): error.message
    }
  }
}
