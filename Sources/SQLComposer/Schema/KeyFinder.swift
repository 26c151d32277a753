// A table's declaration → the key of its rows.

/// Finds the key of a table or view.
package struct KeyFinder {
  package let table: TableDescription
  package let dialect: Dialect

  package init(table: TableDescription, dialect: Dialect = .sqlite) {
    self.table = table
    self.dialect = dialect
  }

  /// The key of an entity.
  package var key: Key {
    if !table.primaryKey.isEmpty { return declaredKey }
    if table.isView { return viewKey }
    return rowNumber ?? wholeRow
  }

  /// The key of a join table. A unique index is preferred to the rowid, because VACUUM may change
  /// rowids.
  package var joinKey: Key {
    if !table.primaryKey.isEmpty { return declaredKey }
    for index in table.uniqueIndexes where index.condition == nil {
      let columns = index.parts.compactMap { $0.column.flatMap(table.column(named:)) }
      if columns.count == index.parts.count, columns.allSatisfy(\.isNotNull) {
        return Key(kind: .composite, parts: columns.map { part($0) }, dialect: dialect)
      }
    }
    return rowNumber ?? wholeRow
  }

  private var declaredKey: Key {
    let parts = table.primaryKey.compactMap { table.column(named: $0).map { part($0) } }
    let kind: Key.Kind = parts.count > 1 ? .composite : table.isRowidAlias ? .rowidAlias : .column
    return Key(kind: kind, parts: parts, isWithoutRowid: table.isWithoutRowid, dialect: dialect)
  }

  /// The view's column called `id`, if it identifies the rows, or their hash.
  private var viewKey: Key {
    if let id = table.viewID, table.isIdentifiedByID {
      return Key(kind: .column, parts: [part(id)], dialect: dialect)
    }
    return wholeRow
  }

  private var wholeRow: Key {
    Key(kind: .hash, parts: table.columns.map { part($0) }, dialect: dialect)
  }

  /// The rowid, under a name that no column has.
  private var rowNumber: Key? {
    guard !table.isWithoutRowid else { return nil }
    let name = ["rowid", "_rowid_", "oid"].first { table.column(named: $0) == nil }
    return name.map { name in
      Key(
        kind: .rowid(name), parts: [Key.Part(column: name, form: .integer, isNotNull: true)],
        dialect: dialect)
    }
  }

  private func part(_ column: Column) -> Key.Part {
    let isAlias = table.isRowidAlias && table.primaryKey == [column.name]
    return Key.Part(
      column: column.name, form: form(column), isNotNull: column.isNotNull || isAlias,
      isBinaryCollated: isAlias || column.isBinaryCollated && !isLooselyCompared(column))
  }

  /// True for a text of a database with types that equals other texts: its collation is not deterministic.
  private func isLooselyCompared(_ column: Column) -> Bool {
    dialect.hasTypedColumns && column.type == .string && column.affinity != .text
  }

  private func form(_ column: Column) -> Key.Form {
    dialect.hasTypedColumns && Self.hasNoForm(column) ? .other : storedForm(column)
  }

  private func storedForm(_ column: Column) -> Key.Form {
    switch column.type {
    case .integer where isUntyped(column): .untypedInteger
    case .double where isUntyped(column): .untypedNumber
    case .integer, .boolean, .decimal: .integer
    case .double: .real
    case .date: column.dateFormat == .unixSeconds ? .integer : .text
    case .binary: .binary
    case .uuid where column.encoding == .uuid(.bytes) || dialect.hasTypedColumns: .uuid
    case .string, .uuid, .uri, .json: textForm(column)
    }
  }

  private func textForm(_ column: Column) -> Key.Form {
    switch column.affinity {
    case .integer: .integer
    case .blob where isUntyped(column): .untypedText
    case .blob, .text, .real, .numeric: .text
    }
  }

  private func isUntyped(_ column: Column) -> Bool {
    column.affinity == .blob && !dialect.hasTypedColumns
  }

  /// True for a column of a database with types whose values are no texts and integers.
  private static func hasNoForm(_ column: Column) -> Bool {
    switch column.type {
    case .decimal, .boolean, .date, .json: true
    // PostgreSQL drops the blanks at the end of `character(n)` and `bpchar` where they become text.
    case .string:
      column.output != .stored
        || ["character(", "bpchar", "\"char\""].contains { column.declaredType.hasPrefix($0) }
    // The shortest text of a `real` is another number as a double.
    case .double: column.declaredType == "real"
    case .integer, .binary, .uuid, .uri: false
    }
  }
}
