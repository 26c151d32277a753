// Adds change tracking to a file, and removes it.

import FetchModel
import SQLComposer

/// The result of setting up the history of a file.
public enum HistorySetup: Sendable, Hashable {
  /// The file had no history; tables and triggers were added.
  case added
  /// The existing history continues.
  case continued
  /// A new epoch began: the tables or triggers have changed, or changes may be missing.
  case restarted
  /// A new epoch began: the history had an older format.
  case upgraded(from: Int64, to: Int64)
}

extension History {
  /// True if the file is already tracked.
  static func isPresent(on connection: Connection) throws(StoreError) -> Bool {
    try connection.first(
      "SELECT 1 FROM main.sqlite_schema WHERE type = 'table' AND name = 'livefetch_store'"
    ) { _ in true } ?? false
  }

  /// True if all of LiveFetch's tables exist. Without one of them no change can be reported.
  static func isWhole(on connection: Connection) throws(StoreError) -> Bool {
    let names = ["store", "position", "save", "answer"]
    let found = try connection.first(
      """
      SELECT count(*) FROM main.sqlite_schema WHERE type = 'table'
      AND name IN (\(names.map { "'livefetch_\($0)'" }.joined(separator: ", ")))
      """
    ) { Int($0.integer(0)) }
    return found == names.count
  }

  /// Creates the history and the triggers of every tracked table that lacks them. One transaction.
  ///
  /// - Parameter journalMode: The file's journal mode before it was opened, for ``detach(on:)``.
  func setUp(on connection: Connection, journalMode: String) throws(StoreError) -> HistorySetup {
    try connection.transaction { () throws(StoreError) in
      try repair(on: connection, journalMode: journalMode)
    }
  }

  /// The same, unless another program has changed the schema since its tables were read.
  ///
  /// - Parameter version: The version of the schema then.
  /// - Returns: What was done, and the version of the schema afterwards; nil if nothing was done.
  func setUp(
    on connection: Connection, journalMode: String, schemaVersion version: Int64?
  ) throws(StoreError) -> (setup: HistorySetup, schemaVersion: Int64?)? {
    try connection.transaction { () throws(StoreError) in
      guard try Self.schemaVersion(on: connection) == version else { return nil }
      let setup = try repair(on: connection, journalMode: journalMode)
      return (setup, try Self.schemaVersion(on: connection))
    }
  }

  private func repair(
    on connection: Connection, journalMode: String
  ) throws(StoreError) -> HistorySetup {
    guard try Self.isPresent(on: connection) else {
      try begin(on: connection)
      try Self.set("journal_mode", .text(journalMode), on: connection)
      return .added
    }
    let format = try Self.checkFormat(on: connection)
    guard format == Self.format, try Self.isWhole(on: connection), try continues(on: connection)
    else {
      try begin(on: connection)
      return format == Self.format ? .restarted : .upgraded(from: format, to: Self.format)
    }
    // A file that an earlier version has served lacks these.
    try connection.execute(APIKeyTable.tables)
    try SampledColumnForms(schema).store(on: connection)
    return .continued
  }

  /// True if the history has no gap. Replaces the triggers of an earlier release.
  private func continues(on connection: Connection) throws(StoreError) -> Bool {
    if try isIntact(on: connection) { return true }
    guard try isIntact(isFormer: true, on: connection) else { return false }
    try replaceTriggers(on: connection)
    return true
  }

  /// Replaces the triggers of an earlier release, in the order of their creation. The history goes on.
  private func replaceTriggers(on connection: Connection) throws(StoreError) {
    for table in tables {
      let statements = HistoryTriggers(table: table).statements
        .filter { $0.sql.hasPrefix("CREATE TRIGGER") }
      for statement in statements {
        try connection.execute("DROP TRIGGER main.\(quoted(statement.name))")
      }
      for statement in statements { try connection.execute(statement.sql) }
    }
    let version = try Self.schemaVersion(on: connection)
    try Self.set("schema_version", .integer(version ?? 0), on: connection)
  }

  private static let ownTables = """
    CREATE TABLE IF NOT EXISTS livefetch_store(key TEXT PRIMARY KEY, value) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS livefetch_position(position INTEGER PRIMARY KEY, \
    nonce INTEGER NOT NULL, source INTEGER NOT NULL);
    CREATE TABLE IF NOT EXISTS livefetch_save(position INTEGER PRIMARY KEY, at REAL NOT NULL);
    """ + IdempotencyTable.creationSQL + APIKeyTable.tables
  /// Drops the tables that only formats 1 and 2 had.
  private static let removalOfOlderTables =
    "DROP TABLE IF EXISTS livefetch_table; DROP TABLE IF EXISTS livefetch_column;"

  /// Returns the format version of the file's history.
  @discardableResult
  static func checkFormat(on connection: Connection) throws(StoreError) -> Int64 {
    let found = try connection.first(
      "SELECT value FROM main.livefetch_store WHERE key = 'format'"
    ) { $0.integer(0) }
    guard let found, found <= format else {
      throw .unusable(
        "the file's history has format \(found ?? 0); this version knows \(format)")
    }
    return found
  }

  static func set(
    _ key: String, _ value: SQLValue, on connection: Connection
  ) throws(StoreError) {
    try connection.run(
      "INSERT OR REPLACE INTO main.livefetch_store(key, value) VALUES (?, ?)", [.text(key), value])
  }
}

// MARK: - Epochs

extension History {
  /// Begins a new epoch: deletes the history and recreates every trigger.
  ///
  /// Runs in the caller's transaction. Unless `isStrict`, skips tables that no longer exist or that
  /// have changed.
  private func begin(isStrict: Bool = true, on connection: Connection) throws(StoreError) {
    try connection.execute(Self.ownTables + Self.removalOfOlderTables)
    let last =
      try connection.first("SELECT coalesce(max(position), 0) FROM main.livefetch_position") {
        $0.integer(0)
      } ?? 0
    try Self.dropTracking(on: connection)
    try connection.execute(
      """
      DELETE FROM main.livefetch_position; DELETE FROM main.livefetch_save;
      DELETE FROM main.livefetch_store WHERE key IN ('saves_since', 'columns_since')
      """)
    for table in tables { try track(table, isStrict: isStrict, on: connection) }
    try Self.set("format", .integer(Self.format), on: connection)
    try Self.set("schema", .text(SchemaSignature(model, schema).text), on: connection)
    try SampledColumnForms(schema).store(on: connection)
    try Self.set("epoch", .text(Self.randomID()), on: connection)
    let version = try Self.schemaVersion(on: connection)
    try Self.set("schema_version", .integer(version ?? 0), on: connection)
    try connection.run(
      "INSERT INTO main.livefetch_position VALUES (?, random() & 4294967295, 0)",
      [.integer(last &+ 1)])
    try Self.stamp(position: last &+ 1, on: connection)
  }

  /// Creates a table's triggers and its history table.
  private func track(
    _ table: TrackedTable, isStrict: Bool, on connection: Connection
  ) throws(StoreError) {
    try connection.execute("SAVEPOINT livefetch_track")
    do {
      for statement in HistoryTriggers(table: table).statements {
        try connection.execute(statement.sql)
      }
    } catch {
      guard !isStrict, case .failed = error else { throw error }
      try connection.execute("ROLLBACK TO livefetch_track")
    }
    try connection.execute("RELEASE livefetch_track")
  }

  /// Begins a new epoch while the file is being served.
  func restart(on connection: Connection) throws(StoreError) {
    try connection.transaction { () throws(StoreError) in
      try begin(isStrict: false, on: connection)
      if let file = model.file { try ModelOpening.store(file, on: connection) }
    }
  }

  /// Returns six random characters of base 36.
  static func randomID() -> String {
    String(UInt32.random(in: 60_466_176...2_176_782_335), radix: 36)
  }

  private static func dropTracking(on connection: Connection) throws(StoreError) {
    try dropTriggers(on: connection)
    let tables = try connection.all(
      """
      SELECT name FROM main.sqlite_schema
      WHERE type = 'table' AND name LIKE 'livefetch\\_history\\_%' ESCAPE '\\'
      """
    ) { $0.text(0) }
    for table in tables { try connection.execute("DROP TABLE main.\(quoted(table))") }
  }

  /// Drops the triggers of the history, which name the columns of their tables. If triggers are missing,
  /// the next opening of the file, or the server that has it open, begins a new epoch.
  ///
  /// - Returns: the tables that had such triggers.
  @discardableResult
  static func dropTriggers(on connection: Connection) throws(StoreError) -> Set<String> {
    let triggers = try connection.all(
      """
      SELECT name, tbl_name FROM main.sqlite_schema
      WHERE type = 'trigger' AND name LIKE 'livefetch\\_%' ESCAPE '\\'
      """
    ) { (name: $0.text(0), table: $0.text(1)) }
    for trigger in triggers {
      try connection.execute("DROP TRIGGER main.\(quoted(trigger.name))")
    }
    return Set(triggers.map(\.table))
  }

  /// Records that a save ended at `position`.
  static func stamp(position: Int64, on connection: Connection) throws(StoreError) {
    try connection.run(
      "INSERT OR IGNORE INTO main.livefetch_save(position, at) VALUES (?, ?)",
      [.integer(position), .double(currentSeconds())])
  }
}

// MARK: - Detaching

extension History {
  /// Removes all of LiveFetch's tables and triggers from the file, and restores its journal mode;
  /// returns false if there were none. No other process may have the file open.
  static func detach(on connection: Connection) throws(StoreError) -> Bool {
    guard try isPresent(on: connection) else {
      // Keys may have been created before the file was served for the first time.
      let hasKeys = try APIKeyTable.isPresent(on: connection)
      if hasKeys { try connection.execute(APIKeyTable.removal) }
      return hasKeys
    }
    try checkFormat(on: connection)
    let mode = try connection.first(
      "SELECT value FROM main.livefetch_store WHERE key = 'journal_mode'"
    ) { $0.text(0) }
    try connection.transaction { () throws(StoreError) in
      try dropTracking(on: connection)
      try ModelOpening.dropTriggers(on: connection)
      try connection.execute(
        """
        DROP TABLE livefetch_store; DROP TABLE IF EXISTS livefetch_position;
        DROP TABLE IF EXISTS livefetch_save;
        """ + Self.removalOfOlderTables + IdempotencyTable.dropSQL + APIKeyTable.removal)
    }
    try restoreJournal(mode ?? "delete", on: connection)
    return true
  }

  private static func restoreJournal(_ mode: String, on connection: Connection) throws(StoreError) {
    let modes = ["delete", "truncate", "persist", "memory", "off"]
    guard modes.contains(folded(mode)) else { return }
    try connection.execute("PRAGMA journal_mode = \(folded(mode))")
  }
}
