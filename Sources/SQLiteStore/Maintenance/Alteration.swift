// A script that changes tables of a tracked file → the changed file, whether it is being served or
// not.
//
// SQLite does not drop a column that a trigger names, and the history's triggers name all columns.
// The script's transaction therefore drops these triggers first. The server of the file creates them
// again, at once if it is running, and begins a new epoch.
//
// The script runs with foreign keys off, so that it may replace tables to which other tables refer. The
// transaction is committed only if no row refers to a missing row that did not before.

import FetchModel
import SQLComposer

extension SQLiteStore {
  /// Runs `script` on the file at `path`, in one transaction.
  ///
  /// - Returns: the names of the tracked tables that it changed or dropped.
  /// - Throws: ``StoreError/unusable(_:)`` with the line if a statement cannot be run, if the file
  ///   has a model of its own or a history of a later version, or with the rows that would refer to
  ///   missing rows; the file is unchanged then.
  public static func alter(
    path: String, _ script: MigrationScript
  ) throws(StoreError) -> [String] {
    let connection = try Connection(path: path, access: .write)
    defer { connection.close() }
    guard try History.isPresent(on: connection) else { return try connection.alter(script) }
    try History.checkFormat(on: connection)
    guard try ModelOpening.storedModel(on: connection) != nil else {
      return try connection.alter(script)
    }
    throw .unusable("the file has a model; use `livefetch migrate` to change its tables")
  }
}

extension Connection {
  fileprivate func alter(_ script: MigrationScript) throws(StoreError) -> [String] {
    try execute("PRAGMA foreign_keys = OFF")
    return try transaction { () throws(StoreError) in
      let tracked = try History.dropTriggers(on: self)
      let before = try tableStatements()
      let broken = try brokenLinks()
      try run(script)
      let after = try tableStatements()
      try refuseMore(than: broken)
      return tracked.filter { after[$0] != before[$0] }.sorted()
    }
  }

  /// Returns how many rows of each table refer to missing rows of each parent, and the tables of which
  /// SQLite cannot check the references: a key refers to columns that are not unique.
  private func brokenLinks() throws(StoreError) -> (counts: [[String]: Int], unknown: Set<String>) {
    var counts: [[String]: Int] = [:]
    var unknown: Set<String> = []
    for table in try tableNames() {
      do throws(StoreError) {
        for link in try brokenLinks(of: table) { counts[[table, link.parent], default: 0] += 1 }
      } catch .failed {
        unknown.insert(table)
      }
    }
    return (counts, unknown)
  }

  /// Requires that no more rows than before refer to missing rows. The script may have renamed tables, so
  /// the sums are compared.
  private func refuseMore(
    than before: (counts: [[String]: Int], unknown: Set<String>)
  ) throws(StoreError) {
    let after = try brokenLinks().counts.filter { !before.unknown.contains($0.key[0]) }
    guard after.values.reduce(0, +) > before.counts.values.reduce(0, +) else { return }
    let lines = after.filter { $0.value > before.counts[$0.key, default: 0] }.map { names, count in
      "\(count) rows of \(names[0]) would refer to a \(names[1]) that does not exist"
    }
    throw .unusable(lines.sorted().joined(separator: "\n"))
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
