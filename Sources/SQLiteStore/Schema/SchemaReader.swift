// An open file → its tables and views as SQLite's catalog describes them. Names and relationships
// of the model come later.

import FetchModel
import LiveFetchCSQLite
import SQLComposer

/// Reads the catalog of a connection.
struct SchemaReader {
  let connection: Connection

  /// The time for which the rows of a view are looked at, in nanoseconds. Those of a view that takes longer
  /// decide nothing.
  private static let viewLimit: UInt64 = 2_000_000_000

  /// Returns every table and view that can be served, in the order of their creation.
  ///
  /// Leaves out SQLite's own tables, LiveFetch's tables, virtual tables and their shadow tables,
  /// and views that SQLite cannot read.
  ///
  /// - Throws: ``StoreError/unusable(_:)`` if two names are canonically equivalent in Unicode, so that
  ///   one would be taken for the other, or if a name hides a function that fetches use.
  func tables() throws(StoreError) -> [TableDescription] {
    let rows = try connection.all(
      """
      SELECT s.name, l.type, l.wr, l.strict, coalesce(s.sql, '')
      FROM main.sqlite_schema AS s JOIN pragma_table_list AS l
      ON l.schema = 'main' AND l.name = s.name
      WHERE s.type IN ('table', 'view') AND l.type IN ('table', 'view')
      ORDER BY s.rowid
      """
    ) { row in
      Entry(
        name: row.text(0), isView: row.text(1) == "view", isWithoutRowid: row.integer(2) != 0,
        isStrict: row.integer(3) != 0, sql: row.text(4))
    }
    let entries = rows.filter { !isReserved($0.name) }
    try checkNames(entries.map(\.name), of: "tables or views")
    guard !entries.contains(where: { folded($0.name) == "json_each" }) else {
      throw .unusable(
        "a table or view `json_each` hides SQLite's function of that name (rename it)")
    }
    let forms = try SampledColumnForms(storedOn: connection)
    var tables: [TableDescription] = []
    for entry in entries {
      let description: TableDescription? =
        if entry.isView {
          try connection.withDeadline(after: Self.viewLimit) { () throws(StoreError) in
            try table(entry, forms)
          }
        } else {
          try table(entry, forms)
        }
      if let description { tables.append(description) }
    }
    return tables
  }

  private struct Entry {
    let name: String
    let isView: Bool
    let isWithoutRowid: Bool
    let isStrict: Bool
    let sql: String
  }

  private func isReserved(_ name: String) -> Bool {
    folded(name).hasPrefix("sqlite_") || folded(name).hasPrefix("livefetch_")
  }

  /// SQLite compares names by their bytes, apart from the case of ASCII letters; a String does not.
  private func checkNames(_ names: [String], of kind: String) throws(StoreError) {
    var seen: Set<String> = []
    for name in names where !seen.insert(folded(name)).inserted {
      throw .unusable(
        "two \(kind) have the name `\(name)`, in different Unicode forms (rename one of them)")
    }
  }

  private func table(
    _ entry: Entry, _ forms: SampledColumnForms
  ) throws(StoreError) -> TableDescription? {
    let raw: [RawColumn]
    do {
      raw = try rawColumns(of: entry)
    } catch {
      if entry.isView, case .failed = error { return nil }
      throw error
    }
    try checkNames(raw.map(\.name), of: "columns of `\(entry.name)`")
    let indexes = try uniqueIndexes(of: entry.name)
    let primaryKey = raw.filter { $0.keyPlace > 0 }.sorted { $0.keyPlace < $1.keyPlace }
    var table = TableDescription(
      name: entry.name, isView: entry.isView, isWithoutRowid: entry.isWithoutRowid,
      columns: try columns(raw, of: entry, forms), primaryKey: primaryKey.map(\.name),
      isRowidAlias: !entry.isWithoutRowid && primaryKey.count == 1 && !indexes.hasKey,
      foreignKeys: try foreignKeys(of: entry.name), uniqueIndexes: indexes.others,
      sql: entry.sql, isObservable: !raw.contains { Self.isLostInSubqueries($0.name) })
    if let id = table.viewID { table.isIdentifiedByID = try isUnique(id.name, in: entry.name) }
    return table
  }

  /// True if the column of a view has another value in each of the first rows, all of one storage class.
  private func isUnique(_ column: String, in view: String) throws(StoreError) -> Bool {
    do {
      return try connection.first(
        """
        SELECT count(*) = count(DISTINCT value) AND count(DISTINCT typeof(value)) < 2
        FROM (SELECT \(quoted(column)) AS value FROM main.\(quoted(view)) LIMIT \(TableDescription.lookedAtRows))
        """
      ) { $0.integer(0) == 1 } ?? true
    } catch {
      switch error {
      // The view cannot be read, or takes too long.
      case .failed, .queryTimeout: return true
      default: throw error
      }
    }
  }

  /// True for a column that SQLite gives another name in the result of a subquery or of a common table
  /// expression, so that past rows cannot be read by its name.
  private static func isLostInSubqueries(_ name: String) -> Bool {
    ["true", "false"].contains(folded(name))
  }
}

// MARK: - Columns

extension SchemaReader {
  private struct RawColumn {
    let name: String
    let declaredType: String
    let isNotNull: Bool
    let defaultSQL: String?
    let keyPlace: Int64
    let isGenerated: Bool
  }

  private func rawColumns(of entry: Entry) throws(StoreError) -> [RawColumn] {
    try connection.all(
      """
      SELECT name, type, "notnull", dflt_value, pk, hidden FROM pragma_table_xinfo(?)
      WHERE hidden <> 1 ORDER BY cid
      """, [.text(entry.name)]
    ) { row in
      RawColumn(
        name: row.text(0), declaredType: row.text(1), isNotNull: row.integer(2) != 0,
        defaultSQL: row.isNull(3) ? nil : row.text(3), keyPlace: row.integer(4),
        isGenerated: row.integer(5) > 1)
    }
  }

  private func columns(
    _ raw: [RawColumn], of entry: Entry, _ forms: SampledColumnForms
  ) throws(StoreError) -> [Column] {
    var columns: [Column] = []
    for column in raw {
      var sample = ColumnSample(
        connection: connection, table: entry.name, isView: entry.isView, column: column.name,
        declaredType: column.declaredType,
        formerForm: forms.form(of: column.name, in: entry.name))
      let (type, dateFormat) = try sample.type(defaultSQL: column.defaultSQL)
      let isAny = entry.isStrict && folded(column.declaredType) == "any"
      columns.append(
        Column(
          name: column.name, declaredType: column.declaredType,
          affinity: isAny ? .blob : Affinity(declaredType: column.declaredType),
          collation: entry.isView ? "" : collation(of: column.name, in: entry.name),
          isNotNull: column.isNotNull || (column.keyPlace > 0 && entry.isWithoutRowid),
          defaultSQL: column.defaultSQL, isGenerated: column.isGenerated, type: type,
          dateFormat: dateFormat, encoding: try sample.encoding(of: type, dateFormat)))
    }
    return columns
  }

  private func collation(of column: String, in table: String) -> String {
    var name: UnsafePointer<CChar>?
    let code = sqlite3_table_column_metadata(
      connection.handle, "main", table, column, nil, &name, nil, nil, nil)
    guard code == SQLITE_OK, let name else { return "BINARY" }
    return String(cString: name)
  }
}

// MARK: - Keys

extension SchemaReader {
  private func foreignKeys(
    of table: String
  ) throws(StoreError) -> [TableDescription.RawForeignKey] {
    let rows = try connection.all(
      """
      SELECT id, "table", "from", "to", on_delete FROM pragma_foreign_key_list(?) ORDER BY id DESC, seq
      """, [.text(table)]
    ) { row in
      (
        id: row.integer(0), table: row.text(1), from: row.text(2),
        to: row.isNull(3) ? nil : row.text(3), onDelete: row.text(4)
      )
    }
    var ids: [Int64] = []
    for row in rows where ids.last != row.id { ids.append(row.id) }
    return ids.map { id in
      let parts = rows.filter { $0.id == id }
      let referenced = parts.compactMap(\.to)
      return TableDescription.RawForeignKey(
        columns: parts.map(\.from), table: parts[0].table,
        referenced: referenced.count == parts.count ? referenced : nil,
        onDelete: parts[0].onDelete)
    }
  }

  /// Returns the unique indexes other than the primary key's, and whether the primary key has one.
  private func uniqueIndexes(
    of table: String
  ) throws(StoreError) -> (others: [UniqueIndex], hasKey: Bool) {
    let rows = try connection.all(
      """
      SELECT l.name, l.origin, coalesce(s.sql, '') FROM pragma_index_list(?1) AS l
      LEFT JOIN main.sqlite_schema AS s ON s.type = 'index' AND s.name = l.name
      WHERE l."unique" ORDER BY l.seq DESC
      """, [.text(table)]
    ) { row in (name: row.text(0), origin: row.text(1), sql: row.text(2)) }
    var indexes: [UniqueIndex] = []
    for row in rows where row.origin != "pk" {
      indexes.append(try uniqueIndex(row.name, sql: row.sql))
    }
    return (indexes, rows.contains { $0.origin == "pk" })
  }

  private func uniqueIndex(_ name: String, sql: String) throws(StoreError) -> UniqueIndex {
    let text = IndexText(sql)
    let columns = try connection.all(
      "SELECT name, coll FROM pragma_index_xinfo(?) WHERE key ORDER BY seqno", [.text(name)]
    ) { row in (name: row.isNull(0) ? nil : row.text(0), collation: row.text(1)) }
    let parts = columns.enumerated().map { index, column in
      UniqueIndex.Part(
        expression: column.name.map(quoted) ?? text.expression(at: index) ?? "NULL",
        column: column.name, collation: column.collation)
    }
    return UniqueIndex(name: name, parts: parts, condition: text.condition)
  }
}
