// A tracked table → the SQL of its history table and of the triggers that fill it.
//
//     AFTER INSERT     records the new key
//     BEFORE UPDATE    records the old row if a column differs, and the new key if the key differs and no
//                      other row has it. Foreign key actions, and the triggers that they fire, may update
//                      the same row again before AFTER triggers run
//     AFTER DELETE     records the old row
//     BEFORE INSERT    records rows that REPLACE deletes without firing a delete trigger
//     BEFORE UPDATE    the same for the new key
//
// SQLite fires the newest trigger first, so these must be newer than the user's own triggers.
// Otherwise an AFTER INSERT trigger that updates its row would be recorded before the insert.

import FetchModel
import SQLComposer

/// The statements that track one table, in the exact text that the catalog returns.
struct HistoryTriggers {
  let table: TrackedTable
  /// True for the statements of earlier releases, which recorded most updates after them.
  var isFormer = false

  /// The statements, by the names of the objects that they create.
  var statements: [(name: String, sql: String)] {
    [historyTable, insert, rekey, update, delete, replace, collide].compactMap { $0 }
  }

  private var name: String { table.layout.table }
  private var tableInfo: TableInfo { table.tableInfo }
  private var keys: [(table: String, history: String)] { table.layout.keyColumns }
  private var hasRowid: Bool { table.layout.hasRowid }

  // MARK: The table

  private var historyTable: (String, String) {
    let columns = table.layout.declarations.joined(separator: ", ")
    return (
      "livefetch_history_\(name)",
      "CREATE TABLE \(table.layout.quotedName)(\(columns))"
    )
  }

  // MARK: After

  private var insert: (String, String) {
    trigger("insert", "AFTER INSERT", when: nil, [positionInsert, keyInsert])
  }

  private var update: (String, String) {
    let differs =
      tableInfo.columns.filter { !$0.isGenerated }.map { difference(of: $0) }
      + (hasRowid ? keys.map { "OLD.\(quoted($0.table)) IS NOT NEW.\(quoted($0.table))" } : [])
    let refersToItself = table.links.contains { folded($0.key.table) == folded(name) }
    return trigger(
      "update", isFormer && !refersToItself ? "AFTER UPDATE" : "BEFORE UPDATE",
      when: Self.any(of: differs), [positionInsert, oldRowInsert])
  }

  /// SQLite limits the depth of an expression to 1,000, and a chain of ORs is as deep as it is
  /// long. So the terms of a very wide table are grouped.
  private static func any(of terms: [String]) -> String {
    let most = 500
    guard terms.count > most else { return terms.joined(separator: " OR ") }
    return stride(from: 0, to: terms.count, by: most).map { start in
      "(\(terms[start..<min(start + most, terms.count)].joined(separator: " OR ")))"
    }.joined(separator: " OR ")
  }

  private var rekey: (String, String) {
    guard !isFormer else {
      return trigger("rekey", "AFTER UPDATE", when: keyDiffers, [positionInsert, keyInsert])
    }
    // Another row with the key is kept by OR IGNORE, and recorded by `collide` for OR REPLACE.
    // An index finds it by the column's collation.
    let isNew = keys.map { key in
      let isSame = "\(quoted(key.table)) = NEW.\(quoted(key.table))"
      let column = tableInfo.columns.first { $0.name == key.table }
      return column?.isBinaryCollated == false ? "\(isSame) AND \(isSame) COLLATE BINARY" : isSame
    }
    return trigger(
      "rekey", "BEFORE UPDATE",
      when: "(\(keyDiffers)) AND NOT \(exists(isNew.joined(separator: " AND ")))",
      [positionInsert, keyInsert])
  }

  private var delete: (String, String) {
    trigger("delete", "AFTER DELETE", when: nil, [positionInsert, oldRowInsert])
  }

  private func trigger(
    _ kind: String, _ event: String, when condition: String?, _ statements: [String]
  ) -> (String, String) {
    let trigger = "livefetch_\(kind)_\(name)"
    let when = condition.map { " WHEN \($0)" } ?? ""
    let body = statements.map { "\($0); " }.joined()
    return (
      trigger,
      "CREATE TRIGGER \(quoted(trigger)) \(event) ON \(quoted(name))\(when) BEGIN \(body)END"
    )
  }

  private var keyDiffers: String {
    keys.map { key in
      let column = tableInfo.columns.first { $0.name == key.table }
      return column.map { difference(of: $0) }
        ?? "OLD.\(quoted(key.table)) IS NOT NEW.\(quoted(key.table))"
    }.joined(separator: " OR ")
  }

  private func difference(of column: Column) -> String {
    let collation = column.isBinaryCollated ? "" : " COLLATE BINARY"
    return "OLD.\(quoted(column.name)) IS NOT NEW.\(quoted(column.name))\(collation)"
  }

  // MARK: Rows of the history

  private static let nonce = "random() & 4294967295"

  private var positionInsert: String {
    "INSERT INTO livefetch_position(nonce, source) VALUES (\(Self.nonce), \(table.number))"
  }

  private var keyInsert: String {
    let columns = keys.map { quoted($0.history) }.joined(separator: ", ")
    let values = keys.map { "NEW.\(quoted($0.table))" }.joined(separator: ", ")
    return """
      INSERT INTO \(table.layout.quotedName)(\(HistoryLayout.position), \
      \(HistoryLayout.existed), \(columns)) VALUES (last_insert_rowid(), 0, \(values))
      """
  }

  private var rowColumns: String {
    ((hasRowid ? [HistoryLayout.rowid] : []) + tableInfo.columnNames.map(quoted))
      .joined(separator: ", ")
  }

  private func rowValues(_ prefix: String) -> String {
    let rowid = hasRowid ? keys.map { prefix + quoted($0.table) } : []
    return (rowid + tableInfo.columnNames.map { prefix + quoted($0) }).joined(separator: ", ")
  }

  private var oldRowInsert: String {
    """
    INSERT INTO \(table.layout.quotedName)(\(HistoryLayout.position), \(HistoryLayout.existed), \
    \(rowColumns)) VALUES (last_insert_rowid(), 1, \(rowValues("OLD.")))
    """
  }
}

// MARK: - Rows that REPLACE deletes

extension HistoryTriggers {
  /// A uniqueness constraint as conditions over the table's own rows.
  private struct Constraint {
    /// Selects the existing row that the new row conflicts with; at most one.
    let conflictSelection: String
    /// SQL that is true if an update changes the constraint's columns; nil if that is unknown.
    let isChanged: String?
  }

  private var constraints: [Constraint] {
    let key = hasRowid ? [] : [keyConstraint]
    return key + table.uniqueIndexes.map { constraint($0) }
  }

  private var keyConstraint: Constraint {
    Constraint(
      conflictSelection: keys.map { "\(quoted($0.table)) = NEW.\(quoted($0.table))" }
        .joined(separator: " AND "),
      isChanged: keyDiffers)
  }

  private func constraint(_ index: UniqueIndex) -> Constraint {
    let terms = index.parts.map { part in
      let new = part.column.map { "NEW.\(quoted($0))" } ?? newValue(of: part.expression)
      return "\(part.expression) = \(new) COLLATE \(quoted(part.collation))"
    }
    let condition = index.condition.map { ["(\($0))"] } ?? []
    let columns = index.parts.compactMap { part in
      tableInfo.columns.first { $0.name == part.column }
    }
    let isWhole = columns.count == index.parts.count && index.condition == nil
    return Constraint(
      conflictSelection: (terms + condition).joined(separator: " AND "),
      isChanged: isWhole ? columns.map { difference(of: $0) }.joined(separator: " OR ") : nil)
  }

  /// Returns an index's expression over the new row.
  private func newValue(of expression: String) -> String {
    let columns = tableInfo.columnNames.map { "NEW.\(quoted($0)) AS \(quoted($0))" }
    return "(SELECT \(expression) FROM (SELECT \(columns.joined(separator: ", "))))"
  }

  private var replace: (String, String)? {
    let constraints = constraints
    guard !constraints.isEmpty else { return nil }
    return trigger(
      "replace", "BEFORE INSERT",
      when: constraints.map { exists($0.conflictSelection) }.joined(separator: " OR "),
      constraints.flatMap { recording($0.conflictSelection) })
  }

  private var collide: (String, String)? {
    let constraints = constraints
    guard !constraints.isEmpty else { return nil }
    let isOther =
      "NOT (\(keys.map { "\(quoted($0.table)) IS OLD.\(quoted($0.table))" }.joined(separator: " AND ")))"
    return trigger(
      "collide", "BEFORE UPDATE",
      when: constraints.map { constraint in
        let guarded = constraint.isChanged.map { "(\($0)) AND " } ?? ""
        return guarded + exists("\(constraint.conflictSelection) AND \(isOther)")
      }.joined(separator: " OR "),
      constraints.flatMap { recording("\($0.conflictSelection) AND \(isOther)") })
  }

  private func exists(_ condition: String) -> String {
    "EXISTS (SELECT 1 FROM \(source) WHERE \(condition))"
  }

  /// The table in a FROM clause. In a trigger NEW and OLD are rows, so a table with such a name needs
  /// another one.
  private var source: String {
    ["new", "old"].contains(folded(name)) ? "\(quoted(name)) AS livefetch_table" : quoted(name)
  }

  /// Returns the statements that record the row that satisfies `condition`, if there is one.
  private func recording(_ condition: String) -> [String] {
    let rows = "FROM \(source) WHERE \(condition)"
    return [
      """
      INSERT INTO livefetch_position(nonce, source) \
      SELECT \(Self.nonce), \(table.number) \(rows)
      """,
      """
      INSERT INTO \(table.layout.quotedName)(\(HistoryLayout.position), \
      \(HistoryLayout.existed), \(rowColumns)) SELECT last_insert_rowid(), 1, \(rowValues("")) \(rows)
      """,
    ]
  }
}
