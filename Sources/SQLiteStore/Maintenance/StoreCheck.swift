// A file → the problems of its pages, its references, its derived values and its history.
//
// Everything is read in one transaction, so a file that is being served can be checked too.

import FetchModel
import ModelStorage
import SQLComposer

/// A problem of a file.
public enum StoreFinding: Sendable, Hashable {
  /// SQLite's message about a page, an index or a constraint.
  case damage(String)
  /// Rows that refer to rows that do not exist. `rows` has the rowids of the first ones; it is empty for
  /// a table WITHOUT ROWID.
  case orphans(table: String, parent: String, count: Int, rows: [Int64])
  /// SQLite cannot check the foreign keys of a table.
  case uncheckedLinks(table: String, reason: String)
  /// Objects whose stored values of a derived attribute are not the derived ones. `ids` has the first ones.
  case derived(attribute: String, count: Int, ids: [Int64])
  /// The history contradicts itself or the tables.
  case history(String)
}

extension SQLiteStore {
  /// Checks the file at `path` without changing it. O(size of the file).
  ///
  /// - Parameter isQuick: true to omit the comparison of indexes with their tables.
  public static func check(
    path: String, isQuick: Bool = false
  ) throws(StoreError) -> [StoreFinding] {
    let (connection, _) = try OpenFile.openForReading(path)
    defer { connection.close() }
    return try StoreCheck(connection: connection, isQuick: isQuick).run()
  }
}

/// The check of one connection's file.
struct StoreCheck {
  let connection: Connection
  var isQuick = false

  func run() throws(StoreError) -> [StoreFinding] {
    try connection.run("BEGIN")
    defer { try? connection.run("ROLLBACK") }
    let damage = try damage()
    // On damaged pages, further checks would prove nothing.
    guard damage.isEmpty else { return damage }
    return try orphans() + derivedValues() + history()
  }

  /// Returns SQLite's messages about pages, indexes and constraints.
  func damage() throws(StoreError) -> [StoreFinding] {
    let pragma = isQuick ? "quick_check" : "integrity_check"
    do {
      let lines = try connection.all("PRAGMA main.\(pragma)(100)") { $0.text(0) }
      return lines.filter { $0 != "ok" }.map { .damage($0) }
    } catch .damaged(let reason) {
      return [.damage(reason)]
    }
  }

  private func orphans() throws(StoreError) -> [StoreFinding] {
    var findings: [StoreFinding] = []
    for table in try connection.tableNames().sorted() { findings += try orphans(of: table) }
    return findings
  }

  private func orphans(of table: String) throws(StoreError) -> [StoreFinding] {
    let found: [BrokenLink]
    do throws(StoreError) {
      found = try connection.brokenLinks(of: table)
    } catch .failed(let reason) {
      return [.uncheckedLinks(table: table, reason: reason)]
    }
    let byParent = Dictionary(grouping: found, by: \.parent).sorted { $0.key < $1.key }
    return byParent.map { parent, links in
      let rows = links.compactMap(\.row).sorted().prefix(5)
      return .orphans(table: table, parent: parent, count: links.count, rows: Array(rows))
    }
  }
}

// MARK: - Derived attributes

extension StoreCheck {
  /// O(objects) of the entities with derived attributes, and of their members.
  private func derivedValues() throws(StoreError) -> [StoreFinding] {
    guard let model = try ModelOpening.storedModel(on: connection) else { return [] }
    let tables = try ModelOpening.tables(of: model, on: connection)
    var findings: [StoreFinding] = []
    for query in ModelTriggers(tables).derivedDifferences(limit: 5) {
      let rows = try connection.all(query.sql) { (count: Int($0.integer(0)), id: $0.integer(1)) }
      guard let count = rows.first?.count else { continue }
      findings.append(.derived(attribute: query.name, count: count, ids: rows.map(\.id)))
    }
    return findings
  }
}

// MARK: - The history

extension StoreCheck {
  private func history() throws(StoreError) -> [StoreFinding] {
    guard try History.isPresent(on: connection) else { return [] }
    try History.checkFormat(on: connection)
    let introspection = try Introspection(of: connection)
    let history = History(model: introspection.model, schema: introspection.schema)
    // Serving a file with another schema begins a new history, and nobody reads this one.
    guard try history.hasSameSchema(on: connection) else { return [] }
    guard try history.isIntact(on: connection) else {
      return [
        .history(
          "its triggers or tables are not as they were made, so changes may be missing; serving the "
            + "file begins a new history")
      ]
    }
    var findings = try positions()
    for table in history.tables { findings += try rows(of: table) }
    return findings
  }

  private func count(_ sql: String) throws(StoreError) -> Int64 {
    try connection.first(sql) { $0.integer(0) } ?? 0
  }

  private func positions() throws(StoreError) -> [StoreFinding] {
    let holes = try count(
      "SELECT max(position) - min(position) + 1 - count(*) FROM main.livefetch_position")
    let orphanedRows = try count(
      """
      SELECT count(*) FROM main.livefetch_save AS s WHERE NOT EXISTS
      (SELECT 1 FROM main.livefetch_position AS p WHERE p.position = s.position)
      """)
    var findings: [StoreFinding] = []
    if holes != 0 { findings.append(.history("\(holes) positions are missing between others")) }
    if orphanedRows != 0 {
      findings.append(.history("\(orphanedRows) saves end at positions that are not there"))
    }
    return findings
  }

  /// The oldest position may lack its row, because the history before it was pruned.
  private func rows(of table: TrackedTable) throws(StoreError) -> [StoreFinding] {
    let (layout, position) = (table.layout, HistoryLayout.position)
    let lost = try count(
      """
      SELECT count(*) FROM main.livefetch_position AS p WHERE p.source = \(table.number)
      AND p.position > (SELECT min(position) FROM main.livefetch_position)
      AND NOT EXISTS (SELECT 1 FROM main.\(layout.quotedName) AS h WHERE h.\(position) = p.position)
      """)
    let ungrouped = try count(
      """
      SELECT count(*) FROM main.\(layout.quotedName) AS h WHERE NOT EXISTS
      (SELECT 1 FROM main.livefetch_position AS p
      WHERE p.position = h.\(position) AND p.source = \(table.number))
      """)
    let gone = try count(vanished(layout))
    return [
      (lost, "changed rows whose old values are missing"),
      (ungrouped, "old values that belong to no position"),
      (gone, "rows that were inserted and are gone without a trace"),
    ].filter { $0.0 != 0 }.map { .history("\(layout.table): \($0.0) \($0.1)") }
  }

  /// Keys whose last entry records an insert, and that do not exist in the table.
  private func vanished(_ layout: HistoryLayout) -> String {
    let keys = layout.keyColumns
    let columns = keys.map { quoted($0.history) }
    let joinCondition = keys.map { "t.\(quoted($0.table)) = h.\(quoted($0.history))" }
      .joined(separator: " AND ")
    let isKeyed = columns.map { "\($0) IS NOT NULL" }.joined(separator: " AND ")
    return """
      SELECT count(*) FROM (SELECT max(\(HistoryLayout.position)), \(HistoryLayout.existed),
      \(columns.joined(separator: ", ")) FROM main.\(layout.quotedName) WHERE \(isKeyed)
      GROUP BY \(columns.map { "\($0) COLLATE BINARY" }.joined(separator: ", "))) AS h
      WHERE h.\(HistoryLayout.existed) = 0
      AND NOT EXISTS (SELECT 1 FROM main.\(quoted(layout.table)) AS t WHERE \(joinCondition))
      """
  }
}
