// What a file remembers of each column of the tables that it follows: since when it is there and
// means what it means.
//
//     livefetch_column(name, part, since, added, meaning)
//
// A table that gets a column keeps its history, and so does one of which a column means something
// else now, as the foreign key to a table that is gone: what was recorded of its other columns is
// true as before. A fetch that looks at such a column cannot be continued from before; one that
// only shows a column that came is told its values once, see ``TokenStanding/widened(_:)``.

import FetchModel

/// The record of one column, or of what a table is but for its columns.
struct ColumnRecord: Equatable {
  static let table = """
    CREATE TABLE IF NOT EXISTS livefetch_column(name TEXT NOT NULL, part TEXT NOT NULL, \
    since INTEGER NOT NULL, added INTEGER NOT NULL, meaning TEXT NOT NULL, \
    PRIMARY KEY(name, part)) WITHOUT ROWID;
    """
  static let removal = "DROP TABLE IF EXISTS livefetch_column;"
  /// The part that stands for the table.
  static let whole = ""

  /// The position since which it means this.
  let since: Int64
  /// Whether it was not there before.
  let isAdded: Bool
  let meaning: String
}

/// The name of a column with that of its table.
struct TableColumn: Hashable {
  let table: String
  let column: String
}

extension History {
  /// By table and column; empty where nothing is remembered.
  static func columnRecords(
    on connection: Connection
  ) throws(StoreError) -> [String: [String: ColumnRecord]] {
    let isThere = try connection.first(
      "SELECT 1 FROM main.sqlite_schema WHERE type = 'table' AND name = 'livefetch_column'"
    ) { _ in true }
    guard isThere == true else { return [:] }
    let rows = try connection.all(
      "SELECT name, part, since, added, meaning FROM main.livefetch_column"
    ) { row in
      let record = ColumnRecord(
        since: row.integer(2), isAdded: row.integer(3) != 0, meaning: row.text(4))
      return (name: row.text(0), part: row.text(1), record: record)
    }
    var records: [String: [String: ColumnRecord]] = [:]
    for row in rows { records[row.name, default: [:]][row.part] = row.record }
    return records
  }

  /// Remembers what `table`'s columns are.
  ///
  /// - Parameter known: what was remembered of it and goes on; what differs is so since `since`.
  func rememberColumns(
    of table: FollowedTable, since: Int64, _ known: [String: ColumnRecord] = [:],
    on connection: Connection
  ) throws(StoreError) {
    let name = SQLValue.text(table.layout.table)
    try connection.run("DELETE FROM main.livefetch_column WHERE name = ?", [name])
    let signature = TableSignature(table, schema, model)
    let meanings = signature.columns.merging([ColumnRecord.whole: signature.whole]) { $1 }
    for (part, meaning) in meanings {
      var record = ColumnRecord(
        since: since, isAdded: !known.isEmpty && known[part] == nil, meaning: meaning)
      if let old = known[part], old.meaning == meaning { record = old }
      try connection.run(
        "INSERT INTO main.livefetch_column VALUES (?, ?, ?, ?, ?)",
        [
          name, .text(part), .integer(record.since), .integer(record.isAdded ? 1 : 0),
          .text(record.meaning),
        ])
    }
  }

  /// The columns that came, or came to mean something else, after `position`: whether they came.
  func columns(
    changedAfter position: Int64, on connection: Connection
  ) throws(StoreError) -> [TableColumn: Bool] {
    let rows = try connection.all(
      """
      SELECT name, part, added FROM main.livefetch_column WHERE since > ?1 AND part <> '' AND
      ?1 < coalesce((SELECT value FROM main.livefetch_store WHERE key = 'columns_since'), 0)
      """, [.integer(position)]
    ) { (TableColumn(table: $0.text(0), column: $0.text(1)), $0.integer(2) != 0) }
    return Dictionary(rows, uniquingKeysWith: { first, _ in first })
  }
}

// MARK: - Tables that go on

/// A table whose history goes on although it is not as it was.
struct ContinuedTable {
  let table: FollowedTable
  /// The columns that came.
  let added: [Column]
  /// What is remembered of its columns.
  let known: [String: ColumnRecord]
}

extension History {
  /// Whether what was recorded of a table is right for all that it was and still is: it got columns,
  /// or some mean something else, and every write has met the triggers as they were made.
  ///
  /// - Parameter sqlByName: the triggers and history tables of the file.
  func continuation(
    of table: FollowedTable, _ record: TableRecord?, _ known: [String: ColumnRecord]?,
    _ sqlByName: [String: String]
  ) -> ContinuedTable? {
    let signature = TableSignature(table, schema, model)
    guard let record, record.number == table.number, record.hasKept(signature),
      let known, known[ColumnRecord.whole]?.meaning == signature.whole
    else { return nil }
    let columns = table.shape.columns
    let kept = columns.filter { known[$0.name] != nil }
    guard kept.count == known.count - 1,
      kept.allSatisfy({
        known[$0.name]?.meaning == signature.columns[$0.name] || signature.isShown($0)
      }),
      HistoryTriggers(table: table.with(columns: kept)).statements
        .allSatisfy({ sqlByName[$0.name] == $0.sql })
    else { return nil }
    return ContinuedTable(
      table: table, added: columns.filter { known[$0.name] == nil }, known: known)
  }

  /// Goes on with the history of a table; with triggers that know the columns that came.
  func goOn(
    with continued: ContinuedTable, since: Int64, _ record: TableRecord,
    on connection: Connection
  ) throws(StoreError) {
    let table = continued.table
    if !continued.added.isEmpty {
      let triggers = HistoryTriggers(table: table)
      for column in continued.added { try connection.execute(triggers.addition(of: column)) }
      for trigger in triggers.statements.dropFirst() {
        try connection.execute("DROP TRIGGER IF EXISTS main.\(quoted(trigger.name))")
      }
      for trigger in triggers.statements.dropFirst() { try connection.execute(trigger.sql) }
    }
    try Self.set("columns_since", .integer(since), on: connection)
    try remember(table, since: record.since, record, on: connection)
    try rememberColumns(of: table, since: since, continued.known, on: connection)
  }
}

extension FollowedTable {
  /// The same with other columns.
  fileprivate func with(columns: [Column]) -> FollowedTable {
    FollowedTable(
      number: number,
      layout: HistoryLayout(of: TableShape(name: shape.name, key: shape.key, columns: columns)),
      uniqueIndexes: uniqueIndexes, entity: entity, entities: entities, kinds: kinds, links: links)
  }
}
