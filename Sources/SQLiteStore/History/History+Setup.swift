// A file as it is → a file that is followed, and back.

import FetchModel

extension History {
  /// How a file was found.
  enum Setup: Sendable, Hashable {
    /// It had no history: tables and triggers were added.
    case added
    /// It goes on where it was.
    case continued
    /// History may have a hole; a new epoch began.
    case restarted
  }

  /// Whether the file is followed already.
  static func isPresent(on connection: Connection) throws(StoreError) -> Bool {
    try connection.first(
      "SELECT 1 FROM main.sqlite_schema WHERE type = 'table' AND name = 'livefetch_store'"
    ) { _ in true } ?? false
  }

  /// Makes sure that every followed table has its history and its triggers. One transaction.
  ///
  /// - Parameter journalMode: the file's before it was opened, for ``detach(on:)``.
  func setUp(on connection: Connection, journalMode: String) throws(StoreError) -> Setup {
    try connection.execute("BEGIN IMMEDIATE")
    do {
      let setup = try repair(on: connection, journalMode: journalMode)
      try connection.execute("COMMIT")
      return setup
    } catch {
      if !connection.isInAutocommit { try? connection.execute("ROLLBACK") }
      throw error
    }
  }

  private func repair(
    on connection: Connection, journalMode: String
  ) throws(StoreError) -> Setup {
    let isPresent = try Self.isPresent(on: connection)
    try connection.execute(KeptAnswers.tables)
    guard isPresent else {
      try connection.execute(Self.ownTables)
      try Self.set("format", .integer(Self.format), on: connection)
      try Self.set("journal_mode", .text(journalMode), on: connection)
      try begin(on: connection)
      return .added
    }
    try Self.checkFormat(on: connection)
    if try isIntact(on: connection) { return .continued }
    try begin(on: connection)
    return .restarted
  }

  private static let ownTables = """
    CREATE TABLE livefetch_store(key TEXT PRIMARY KEY, value) WITHOUT ROWID;
    CREATE TABLE livefetch_position(position INTEGER PRIMARY KEY, nonce INTEGER NOT NULL, \
    source INTEGER NOT NULL);
    CREATE TABLE livefetch_save(position INTEGER PRIMARY KEY, at REAL NOT NULL);
    """

  static func checkFormat(on connection: Connection) throws(StoreError) {
    let found = try connection.first(
      "SELECT value FROM main.livefetch_store WHERE key = 'format'"
    ) { $0.integer(0) }
    guard let found, found <= format else {
      throw .unusable(
        "the file's history has format \(found ?? 0); this version knows \(format)")
    }
  }

  private static func set(
    _ key: String, _ value: SQLValue, on connection: Connection
  ) throws(StoreError) {
    try connection.run(
      "INSERT OR REPLACE INTO main.livefetch_store(key, value) VALUES (?, ?)", [.text(key), value])
  }
}

// MARK: - Epochs

extension History {
  /// Whether every trigger and history table is as it was made, and younger than the user's own.
  func isIntact(on connection: Connection) throws(StoreError) -> Bool {
    let stored = try connection.first(
      "SELECT value FROM main.livefetch_store WHERE key = 'fingerprint'"
    ) { $0.text(0) }
    guard stored == fingerprint, try hasKeptRowNumbers(on: connection) else { return false }
    let found = try connection.all(
      """
      SELECT name, sql FROM main.sqlite_schema WHERE type = 'trigger' AND
      name LIKE 'livefetch\\_%' ESCAPE '\\' OR
      type = 'table' AND name LIKE 'livefetch\\_history\\_%' ESCAPE '\\'
      """
    ) { (name: $0.text(0), sql: $0.text(1)) }
    let expected = tables.flatMap { HistoryTriggers(table: $0).statements }
    let sqlByName = Dictionary(
      found.map { ($0.name, $0.sql) }, uniquingKeysWith: { first, _ in first })
    guard found.count == expected.count,
      expected.allSatisfy({ sqlByName[$0.name] == $0.sql })
    else { return false }
    return try !hasYoungerTrigger(on: connection)
  }

  /// VACUUM may renumber rows that have no key, and moves the schema's version. Where such rows are
  /// followed, every move of it counts as a hole.
  private func hasKeptRowNumbers(on connection: Connection) throws(StoreError) -> Bool {
    let isNumbered = tables.contains { table in
      if case .rowid = table.shape.key.kind { true } else { false }
    }
    guard isNumbered else { return true }
    let known = try connection.first(
      "SELECT value FROM main.livefetch_store WHERE key = 'schema_version'"
    ) { $0.integer(0) }
    return try known == Self.schemaVersion(on: connection)
  }

  private static func schemaVersion(on connection: Connection) throws(StoreError) -> Int64? {
    try connection.first("PRAGMA main.schema_version") { $0.integer(0) }
  }

  private func hasYoungerTrigger(on connection: Connection) throws(StoreError) -> Bool {
    try connection.first(
      """
      SELECT 1 FROM main.sqlite_schema AS own JOIN main.sqlite_schema AS other
      ON other.type = 'trigger' AND other.tbl_name = own.tbl_name AND other.rowid > own.rowid
      WHERE own.type = 'trigger' AND own.name LIKE 'livefetch\\_insert\\_%' ESCAPE '\\'
      AND other.name NOT LIKE 'livefetch\\_%' ESCAPE '\\' LIMIT 1
      """
    ) { _ in true } ?? false
  }

  /// Begins a new epoch: what was remembered is forgotten, every trigger is made anew.
  ///
  /// In a transaction of the caller's. Unless `isStrict`, a table that is not there any more, or not
  /// as it was, is left out.
  private func begin(isStrict: Bool = true, on connection: Connection) throws(StoreError) {
    let last =
      try connection.first("SELECT coalesce(max(position), 0) FROM main.livefetch_position") {
        $0.integer(0)
      } ?? 0
    try Self.dropFollowing(on: connection)
    try connection.execute("DELETE FROM main.livefetch_position; DELETE FROM main.livefetch_save")
    for table in tables { try follow(table, isStrict, on: connection) }
    try Self.set("epoch", .text(Self.newEpoch()), on: connection)
    try Self.set("fingerprint", .text(fingerprint), on: connection)
    let version = try Self.schemaVersion(on: connection)
    try Self.set("schema_version", .integer(version ?? 0), on: connection)
    try connection.run(
      "INSERT INTO main.livefetch_position VALUES (?, random() & 4294967295, 0)",
      [.integer(last &+ 1)])
    try Self.stamp(position: last &+ 1, on: connection)
  }

  private func follow(
    _ table: FollowedTable, _ isStrict: Bool, on connection: Connection
  ) throws(StoreError) {
    try connection.execute("SAVEPOINT livefetch_follow")
    do {
      for statement in HistoryTriggers(table: table).statements {
        try connection.execute(statement.sql)
      }
    } catch {
      guard !isStrict, case .failed = error else { throw error }
      try connection.execute("ROLLBACK TO livefetch_follow")
    }
    try connection.execute("RELEASE livefetch_follow")
  }

  /// Begins a new epoch while the file is being served.
  func restart(on connection: Connection) throws(StoreError) {
    try connection.execute("BEGIN IMMEDIATE")
    do {
      try begin(isStrict: false, on: connection)
      try connection.execute("COMMIT")
    } catch {
      if !connection.isInAutocommit { try? connection.execute("ROLLBACK") }
      throw error
    }
  }

  /// Six characters of base 36.
  private static func newEpoch() -> String {
    let text = String(UInt32.random(in: 60_466_176...2_176_782_335), radix: 36)
    return text
  }

  private static func dropFollowing(on connection: Connection) throws(StoreError) {
    let names = try connection.all(
      """
      SELECT type, name FROM main.sqlite_schema WHERE type = 'trigger' AND
      name LIKE 'livefetch\\_%' ESCAPE '\\' OR
      type = 'table' AND name LIKE 'livefetch\\_history\\_%' ESCAPE '\\' ORDER BY type DESC
      """
    ) { (type: $0.text(0), name: $0.text(1)) }
    for (type, name) in names {
      try connection.execute("DROP \(type == "table" ? "TABLE" : "TRIGGER") main.\(quoted(name))")
    }
  }

  /// Says that a save ended at `position`.
  static func stamp(position: Int64, on connection: Connection) throws(StoreError) {
    try connection.run(
      "INSERT OR IGNORE INTO main.livefetch_save(position, at) VALUES (?, ?)",
      [.integer(position), .double(currentSeconds())])
  }
}

// MARK: - Detaching

extension History {
  /// Takes every table and trigger of this house out of the file again, and gives it the journal
  /// mode back that it had; false if there were none. Nobody else may have it open.
  static func detach(on connection: Connection) throws(StoreError) -> Bool {
    guard try isPresent(on: connection) else { return false }
    try checkFormat(on: connection)
    let mode = try connection.first(
      "SELECT value FROM main.livefetch_store WHERE key = 'journal_mode'"
    ) { $0.text(0) }
    try connection.execute("BEGIN IMMEDIATE")
    do {
      try dropFollowing(on: connection)
      try connection.execute(
        "DROP TABLE livefetch_store; DROP TABLE livefetch_position; DROP TABLE livefetch_save;"
          + KeptAnswers.removal)
      try connection.execute("COMMIT")
    } catch {
      if !connection.isInAutocommit { try? connection.execute("ROLLBACK") }
      throw error
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
