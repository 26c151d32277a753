// A script that changes tables of a followed file → the file changed, whether it is served or not.
//
// SQLite takes no column away that a trigger names, and the history's triggers name all of them. For
// the script they are put aside, in its transaction; those of tables that it left as they were are
// put back. The others are made anew by whoever serves the file, at once if somebody does: such
// tables begin a history of their own, or go on with it where columns came alone.

import FetchModel

extension SQLiteStore {
  /// Runs `script` on the file at `path`, in one transaction.
  ///
  /// - Returns: the names of the followed tables that it changed or took away.
  /// - Throws: ``StoreError/unusable(_:)`` with the line where a statement cannot be run, and where the
  ///   file has a model of its own; nothing has happened then.
  public static func alter(
    path: String, _ script: MigrationScript
  ) throws(StoreError) -> [String] {
    let connection = try Connection(path: path, access: .write)
    defer { connection.close() }
    guard try History.isPresent(on: connection),
      try ModelOpening.remembered(on: connection) != nil
    else { return try connection.alter(script) }
    throw .unusable("its model says what its tables are: lead it to another one with `migrate`")
  }
}

extension Connection {
  fileprivate func alter(_ script: MigrationScript) throws(StoreError) -> [String] {
    try execute("PRAGMA foreign_keys = OFF; BEGIN IMMEDIATE")
    do {
      let followed = try dropFollowingTriggers()
      let before = try tableStatements()
      try run(script)
      let after = try tableStatements()
      try execute("COMMIT")
      return followed.filter { after[$0] != before[$0] }.sorted()
    } catch {
      if !isInAutocommit { try? execute("ROLLBACK") }
      throw error
    }
  }

  /// Drops the triggers of the history, which name columns. Where they are missing, the next opening
  /// of the file, or the server that has it open, begins a new epoch.
  ///
  /// - Returns: the tables that had some.
  private func dropFollowingTriggers() throws(StoreError) -> Set<String> {
    let triggers = try all(
      """
      SELECT name, tbl_name FROM main.sqlite_schema WHERE type = 'trigger'
      AND name LIKE 'livefetch\\_%' ESCAPE '\\'
      """
    ) { (name: $0.text(0), table: $0.text(1)) }
    for trigger in triggers { try execute("DROP TRIGGER main.\(quoted(trigger.name))") }
    return Set(triggers.map(\.table))
  }

  /// The SQL of each table and of the user's own triggers on it, by the table's name.
  private func tableStatements() throws(StoreError) -> [String: String] {
    let rows = try all(
      """
      SELECT tbl_name, group_concat(sql, ';') FROM (SELECT tbl_name, sql FROM main.sqlite_schema
      WHERE type IN ('table', 'trigger') AND name NOT LIKE 'livefetch\\_%' ESCAPE '\\' ORDER BY rowid)
      GROUP BY tbl_name
      """
    ) { ($0.text(0), $0.text(1)) }
    return Dictionary(rows, uniquingKeysWith: { first, _ in first })
  }
}
