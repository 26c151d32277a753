// The tables and rows of an SQLite file → a script that creates them in a PostgreSQL database, so that
// the same tests run over both.

import Foundation

/// The script for a file.
public struct PostgresCopy {
  private struct Column: Decodable {
    let name: String
    let type: String
    let notnull: Int
    let dflt: String?
    let pk: Int
    let hidden: Int

    var isGenerated: Bool { hidden > 1 }
  }

  private struct Reference: Decodable {
    let id: Int
    let seq: Int
    let table: String
    let from: String
    let to: String?
    let rule: String
  }

  private struct Table: Decodable {
    let name: String
    let sql: String
  }

  private let path: String

  /// Creates the tables, then the rows, then the foreign keys, the sequences and the views.
  public static func script(ofFile path: String) throws -> String {
    let copy = PostgresCopy(path: path)
    let tables: [Table] = try copy.rows(
      """
      SELECT json_object('name', name, 'sql', sql) FROM sqlite_schema
      WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY rowid
      """)
    var script = try tables.map { try copy.creation(of: $0) }
    script += try tables.flatMap { try copy.insertions(into: $0) }
    script += try tables.flatMap { try copy.references(of: $0) }
    script += try copy.texts(
      "SELECT sql FROM sqlite_schema WHERE type = 'view' ORDER BY rowid"
    )
    return script.joined(separator: ";\n")
  }

  // MARK: Reading

  private func texts(_ sql: String) throws -> [String] { try sqlite(path, sql) }

  private func rows<Row: Decodable>(_ sql: String) throws -> [Row] {
    try texts(sql).map { try JSONDecoder().decode(Row.self, from: Data($0.utf8)) }
  }

  private func columns(of table: String) throws -> [Column] {
    try rows(
      """
      SELECT json_object('name', name, 'type', type, 'notnull', "notnull", 'dflt', dflt_value,
        'pk', pk, 'hidden', hidden) FROM pragma_table_xinfo(\(Self.literal(table))) ORDER BY cid
      """)
  }

  private func references(from table: String) throws -> [[Reference]] {
    let all: [Reference] = try rows(
      """
      SELECT json_object('id', id, 'seq', seq, 'table', "table", 'from', "from", 'to', "to",
        'rule', on_delete) FROM pragma_foreign_key_list(\(Self.literal(table))) ORDER BY id, seq
      """)
    return Dictionary(grouping: all, by: \.id).sorted { $0.key < $1.key }.map(\.value)
  }

  // MARK: Text

  private static func literal(_ text: String) -> String {
    "'\(text.replacingOccurrences(of: "'", with: "''"))'"
  }

  private static func quoted(_ name: String) -> String {
    "\"\(name.replacingOccurrences(of: "\"", with: "\"\""))\""
  }

  private static func list(_ names: [String]) -> String {
    names.map(quoted).joined(separator: ", ")
  }

  private static func type(_ declared: String) -> String {
    let type = declared.uppercased()
    func has(_ words: String...) -> Bool { words.contains { type.contains($0) } }
    if has("BOOL") { return "boolean" }
    if has("DATE", "TIMESTAMP") { return "timestamptz" }
    if has("UUID") { return "uuid" }
    if has("JSON") { return "json" }
    if has("INT") { return "bigint" }
    if has("CHAR(") { return declared }
    if has("REAL", "DOUB", "FLOA") { return "double precision" }
    if has("DECIMAL", "NUMERIC") { return "numeric" }
    return has("BLOB") ? "bytea" : "text"
  }

  /// SQL that makes a literal of PostgreSQL. A value that is not of the column's type becomes NULL.
  private static func value(_ column: Column) -> String {
    let name = quoted(column.name)
    let value =
      switch type(column.type) {
      case "boolean": "CASE \(name) WHEN 0 THEN 'FALSE' WHEN 1 THEN 'TRUE' ELSE 'NULL' END"
      case "bigint": "CASE typeof(\(name)) WHEN 'integer' THEN \(name) ELSE 'NULL' END"
      case "json": "CASE json_valid(\(name)) WHEN 1 THEN quote(\(name)) ELSE 'NULL' END"
      case "bytea": "'''\\x' || hex(\(name)) || ''''"
      case "uuid":
        "CASE typeof(\(name)) WHEN 'blob' THEN '''' || hex(\(name)) || '''' "
          + "ELSE quote(\(name)) END"
      case "double precision":
        "CASE \(name) WHEN 9e999 THEN '''Infinity''' WHEN -9e999 THEN '''-Infinity''' "
          + "ELSE CASE typeof(\(name)) WHEN 'text' THEN 'NULL' ELSE quote(\(name)) END END"
      case "timestamptz":
        "CASE typeof(\(name)) WHEN 'text' THEN CASE WHEN \(name) GLOB '[0-9]*' THEN quote(\(name)) "
          + "ELSE 'NULL' END ELSE 'to_timestamp(' || \(name) || ')' END"
      default: "quote(\(name))"
      }
    return "CASE WHEN \(name) IS NULL THEN 'NULL' ELSE \(value) END"
  }

  // MARK: Statements

  private func creation(of table: Table) throws -> String {
    let columns = try columns(of: table.name)
    let references = try references(from: table.name)
    let key = columns.filter { $0.pk > 0 }.sorted { $0.pk < $1.pk }
    var parts = columns.map { column -> String in
      let isNumbered = key.count == 1 && column.pk == 1 && column.type.uppercased() == "INTEGER"
      let type = Self.type(column.type)
      let notNull = column.notnull != 0 ? " NOT NULL" : ""
      if column.isGenerated {
        let value = Self.generation(of: column.name, in: table.sql)
        return Self.quoted(column.name) + " \(type) GENERATED ALWAYS AS \(value) STORED"
      }
      let value = column.dflt.map { dflt in
        " DEFAULT " + (type == "boolean" ? ["0": "FALSE", "1": "TRUE"][dflt] ?? dflt : dflt)
      }
      return Self.quoted(column.name) + " \(type)\(notNull)\(value ?? "")"
        + (isNumbered ? " GENERATED BY DEFAULT AS IDENTITY" : "")
    }
    let linked = references.flatMap { $0.map(\.from) }
    if !key.isEmpty {
      parts.append("PRIMARY KEY (\(Self.list(key.map(\.name))))")
    } else if references.count == 2, Set(linked) == Set(columns.map(\.name)) {
      // SQLite knows the rows of a join table by their numbers.
      parts.append("PRIMARY KEY (\(Self.list(linked)))")
    }
    let unique = try texts(
      """
      SELECT name FROM pragma_index_list(\(Self.literal(table.name)))
      WHERE "unique" AND origin <> 'pk' AND NOT partial ORDER BY seq
      """)
    for index in unique {
      let names = try texts(
        "SELECT name FROM pragma_index_info(\(Self.literal(index))) ORDER BY seqno")
      parts.append("UNIQUE (\(Self.list(names)))")
    }
    parts += Self.checks(in: table.sql)
    return "CREATE TABLE \(Self.quoted(table.name)) (\(parts.joined(separator: ", ")))"
  }

  private static func checks(in sql: String) -> [String] {
    var checks: [String] = []
    var rest = sql[...]
    while let found = rest.range(of: #"CHECK\s*\("#, options: .regularExpression) {
      let end = closing(found.upperBound, rest)
      checks.append(String(rest[found.lowerBound..<end]))
      rest = rest[end...]
    }
    return checks
  }

  /// Returns the index after the parenthesis that closes the one before `start`.
  private static func closing(_ start: String.Index, _ sql: Substring) -> String.Index {
    var depth = 1
    var end = start
    while depth > 0, end < sql.endIndex {
      depth += sql[end] == "(" ? 1 : sql[end] == ")" ? -1 : 0
      end = sql.index(after: end)
    }
    return end
  }

  /// Returns the expression of a generated column, in parentheses.
  private static func generation(of column: String, in sql: String) -> String {
    let name = NSRegularExpression.escapedPattern(for: column)
    let pattern = #"\b\#(name)"?\s[^,]*?\bAS\s*\("#
    guard let found = sql.range(of: pattern, options: [.regularExpression, .caseInsensitive])
    else { return "(NULL)" }
    let start = sql.index(before: found.upperBound)
    return String(sql[start..<closing(found.upperBound, sql[...])])
  }

  private func insertions(into table: Table) throws -> [String] {
    let columns = try columns(of: table.name).filter { !$0.isGenerated }
    let key = columns.filter { $0.pk > 0 }.map { "\(Self.quoted($0.name)) IS NOT NULL" }
    let values = columns.map(Self.value).joined(separator: " || ', ' || ")
    // PostgreSQL's keys are not NULL.
    let condition = key.isEmpty ? "" : " WHERE \(key.joined(separator: " AND "))"
    let rows = try texts("SELECT \(values) FROM \(Self.quoted(table.name))\(condition)")
    let names = Self.list(columns.map(\.name))
    var script = stride(from: 0, to: rows.count, by: 1_000).map { start in
      let some = rows[start..<min(start + 1_000, rows.count)].map { "(\($0))" }
      return
        "INSERT INTO \(Self.quoted(table.name)) (\(names)) VALUES \(some.joined(separator: ", "))"
    }
    if let key = columns.first(where: { $0.pk > 0 && $0.type.uppercased() == "INTEGER" }),
      columns.count(where: { $0.pk > 0 }) == 1
    {
      script.append(
        """
        SELECT setval(pg_get_serial_sequence(\(Self.literal(Self.quoted(table.name))), \
        \(Self.literal(key.name))), max(\(Self.quoted(key.name)))) FROM \(Self.quoted(table.name))
        """)
    }
    return script
  }

  /// The rows may refer to missing ones, as in SQLite.
  private func references(of table: Table) throws -> [String] {
    try references(from: table.name).map { columns in
      let targets = columns.compactMap(\.to)
      let list = targets.count == columns.count ? " (\(Self.list(targets)))" : ""
      let isDeferred = table.sql.uppercased().contains("INITIALLY DEFERRED")
      return """
        ALTER TABLE \(Self.quoted(table.name)) ADD FOREIGN KEY (\(Self.list(columns.map(\.from)))) \
        REFERENCES \(Self.quoted(columns[0].table))\(list) ON DELETE \(columns[0].rule)\
        \(isDeferred ? " DEFERRABLE INITIALLY DEFERRED" : "") NOT VALID
        """
    }
  }
}
