// A tracked file whose tables were altered → the tables whose history cannot continue. Their
// history begins again; everything else stays unchanged.

import FetchModel

/// The state of a file's change tracking.
struct FollowingState {
  /// The stored record of each table, by the table's name.
  let records: [String: TableRecord]
  /// Tables whose triggers, history or record are not as required.
  let broken: [FollowedTable]
  /// Tables that are not as they were, but their history goes on.
  let continued: [ContinuedTable]
  /// Orphaned triggers and history tables, which belong to no table that is tracked.
  let strangers: [(type: String, name: String)]

  /// True if every table is tracked as before.
  var isWhole: Bool { broken.isEmpty && continued.isEmpty && strangers.isEmpty }
  /// Every table that is not followed as it was.
  var changed: [FollowedTable] { broken + continued.map(\.table) }
}

extension History {
  func isIntact(on connection: Connection) throws(StoreError) -> Bool {
    try state(on: connection).isWhole
  }

  /// Checks every trigger, history table and record.
  func state(on connection: Connection) throws(StoreError) -> FollowingState {
    let records = try Self.records(on: connection)
    let found = try connection.all(
      """
      SELECT type, name, sql FROM main.sqlite_schema WHERE type = 'trigger' AND
      name LIKE 'livefetch\\_%' ESCAPE '\\' OR
      type = 'table' AND name LIKE 'livefetch\\_history\\_%' ESCAPE '\\' ORDER BY type DESC
      """
    ) { (type: $0.text(0), name: $0.text(1), sql: $0.text(2)) }
    let sqlByName = Dictionary(
      found.map { ($0.name, $0.sql) }, uniquingKeysWith: { first, _ in first })
    let overtaken = try tablesWithYoungerTriggers(on: connection)
    let isRenumbered = try !hasKeptSchemaVersion(on: connection)
    let columns = try Self.columnRecords(on: connection)
    var expected: Set<String> = []
    var broken: [FollowedTable] = []
    var continued: [ContinuedTable] = []
    for table in tables {
      let (name, statements) = (table.layout.table, HistoryTriggers(table: table).statements)
      let isMissed = overtaken.contains(name) || isRenumbered && table.isNumbered
      let isWhole =
        isRemembered(table, records) && statements.allSatisfy { sqlByName[$0.name] == $0.sql }
      if isWhole, !isMissed {
        expected.formUnion(statements.map(\.name))
      } else if !isMissed,
        let goesOn = continuation(of: table, records[name], columns[name], sqlByName)
      {
        expected.formUnion(statements.map(\.name))
        continued.append(goesOn)
      } else {
        broken.append(table)
      }
    }
    let strangers = found.filter { !expected.contains($0.name) }.map { ($0.type, $0.name) }
    return FollowingState(
      records: records, broken: broken, continued: continued, strangers: strangers)
  }

  private func isRemembered(_ table: FollowedTable, _ records: [String: TableRecord]) -> Bool {
    guard let record = records[table.layout.table], record.number == table.number else {
      return false
    }
    return record.isContinued(by: TableSignature(table, schema, model))
  }

  /// Returns the tables with a user's trigger that SQLite fires before LiveFetch's own.
  private func tablesWithYoungerTriggers(
    on connection: Connection
  ) throws(StoreError) -> Set<String> {
    let names = try connection.all(
      """
      SELECT DISTINCT own.name FROM main.sqlite_schema AS own JOIN main.sqlite_schema AS other
      ON other.type = 'trigger' AND other.tbl_name = own.tbl_name AND other.rowid > own.rowid
      WHERE own.type = 'trigger' AND own.name LIKE 'livefetch\\_insert\\_%' ESCAPE '\\'
      AND other.name NOT LIKE 'livefetch\\_%' ESCAPE '\\'
      """
    ) { $0.text(0) }
    return Set(names.map { String($0.dropFirst("livefetch_insert_".count)) })
  }

  /// VACUUM may change the rowids of tables without a key, and it changes the schema version. If
  /// such a table is tracked, every change of the version counts as a gap in the history.
  private func hasKeptSchemaVersion(on connection: Connection) throws(StoreError) -> Bool {
    guard tables.contains(where: \.isNumbered) else { return true }
    let known = try connection.first(
      "SELECT value FROM main.livefetch_store WHERE key = 'schema_version'"
    ) { $0.integer(0) }
    return try known == Self.schemaVersion(on: connection)
  }

  static func schemaVersion(on connection: Connection) throws(StoreError) -> Int64? {
    try connection.first("PRAGMA main.schema_version") { $0.integer(0) }
  }
}

extension FollowedTable {
  /// True if the rowid is the key of the table's rows.
  fileprivate var isNumbered: Bool {
    if case .rowid = shape.key.kind { true } else { false }
  }
}

// MARK: - Repairing

extension History {
  /// Begins the history of broken tables anew, and goes on with that of the others. In a transaction of
  /// the caller's.
  func mend(_ state: FollowingState, on connection: Connection) throws(StoreError) {
    let last = try connection.first(
      "SELECT coalesce(max(position), 0) FROM main.livefetch_position"
    ) { $0.integer(0) }
    let since = (last ?? 0) &+ 1
    for (type, name) in state.strangers {
      try connection.execute("DROP \(type == "table" ? "TABLE" : "TRIGGER") main.\(quoted(name))")
    }
    for table in state.broken {
      try follow(table, since: since, state.records[table.layout.table], on: connection)
    }
    for continued in state.continued {
      guard let record = state.records[continued.table.layout.table] else { continue }
      try goOn(with: continued, since: since, record, on: connection)
    }
    try rememberRelationships(state, on: connection)
    // What is new has no saves of before; what was followed has lost them.
    let isSeam =
      !state.strangers.isEmpty || !state.continued.isEmpty
      || state.broken.contains { state.records[$0.layout.table] != nil }
    try beginPosition(since, isSeam: isSeam, on: connection)
  }

  /// Remembers the to-many relationships that tables got from others, which may be new.
  func rememberRelationships(
    _ state: FollowingState, on connection: Connection
  ) throws(StoreError) {
    let changed = Set(state.changed.map(\.number))
    let columns = try Self.columnRecords(on: connection)
    for table in tables where !changed.contains(table.number) {
      // A file of a version that did not remember columns.
      if columns[table.layout.table] == nil, let record = state.records[table.layout.table] {
        try rememberColumns(of: table, since: record.since, on: connection)
      }
      guard let record = state.records[table.layout.table],
        !record.knows(TableSignature(table, schema, model))
      else { continue }
      try remember(table, since: record.since, record, on: connection)
    }
  }
}
