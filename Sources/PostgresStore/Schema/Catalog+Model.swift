// A catalog → the model, by the naming rules that both stores share.

import FetchModel
import SQLComposer

extension Catalog {
  /// Returns the tables in the form in which both stores read them.
  ///
  /// - Parameters:
  ///   - tracked: the tables whose changes are recorded.
  ///   - locked: the tables whose changes cannot be recorded yet.
  func composed(tracked: Set<OID>, locked: Set<OID> = []) -> [TableDescription] {
    tables.map { table in
      var description = composed(table, isObservable: tracked.contains(table.oid))
      description.isLocked = locked.contains(table.oid)
      return description
    }
  }

  private func composed(
    _ table: CatalogTable, isObservable: Bool
  ) -> TableDescription {
    TableDescription(
      name: table.name, isView: table.kind == .view || table.kind == .materializedView,
      isWithoutRowid: true, columns: table.columns.map(\.composed), primaryKey: table.key ?? [],
      isRowidAlias: false, foreignKeys: table.foreignKeys.compactMap { composed($0, of: table) },
      uniqueIndexes: Self.uniqueIndexes(of: table), sql: "",
      isObservable: isObservable)
  }

  private func composed(
    _ key: CatalogForeignKey, of table: CatalogTable
  ) -> TableDescription.RawForeignKey? {
    guard let target = self.table(key.targetTable) else { return nil }
    let isExact = zip(key.columns, key.targetColumns).allSatisfy { column, referenced in
      guard let column = table.column(column), let other = target.column(referenced)
      else { return true }
      return column.refersExactly(to: other)
    }
    return TableDescription.RawForeignKey(
      columns: key.columns, table: target.name, referenced: key.targetColumns,
      onDelete: key.deleteAction.sql, isExact: isExact)
  }

  private static func uniqueIndexes(of table: CatalogTable) -> [UniqueIndex] {
    let keys = table.uniqueKeys.map { ($0, nil as String?) }
    let partial = table.partialUniqueIndexes.map { ($0.columns, $0.condition as String?) }
    return (keys + partial).enumerated().map { number, index in
      UniqueIndex(
        name: "unique \(number)",
        parts: index.0.map { UniqueIndex.Part(expression: quoted($0), column: $0, collation: "") },
        condition: index.1)
    }
  }
}

extension CatalogForeignKey.Action {
  /// The action as in SQLite's catalog, without RESTRICT.
  fileprivate var sql: String {
    switch self {
    case .noAction, .restrict: "NO ACTION"
    case .cascade: "CASCADE"
    case .setNull: "SET NULL"
    case .setDefault: "SET DEFAULT"
    }
  }
}

extension CatalogColumn {
  /// True if a value of this column equals only the value of `referenced` with the same text.
  fileprivate func refersExactly(to referenced: CatalogColumn) -> Bool {
    let both = [self, referenced]
    let inexact = [TypeID.float4, TypeID.float8, TypeID.interval]
    if both.contains(where: { $0.ignoresCase || inexact.contains($0.type) }) { return false }
    let scaled = [TypeID.numeric, TypeID.bpchar]
    guard both.contains(where: { scaled.contains($0.type) }) else { return true }
    return typeName == referenced.typeName && typeName.contains("(")
  }

  fileprivate var composed: Column {
    // In parentheses, because a default that is one word is a function here: CURRENT_USER.
    let expression = defaultExpression.map { "(\($0))" } ?? "DEFAULT"
    return Column(
      name: name, declaredType: typeName, affinity: affinity, isNotNull: !isNullable,
      defaultSQL: hasDefault ? expression : nil, isGenerated: !isWritable,
      type: attributeType, dateFormat: attributeType == .date ? .iso8601 : nil,
      encoding: attributeType == .uuid ? .uuid(.lower) : nil, output: output,
      input: input)
  }

  private var input: InputForm {
    if elementType == TypeID.json || elementType == TypeID.jsonb { return .jsonArray }
    if elementType != nil { return .array }
    switch type {
    case TypeID.date: return .days
    case TypeID.numeric: return .digits
    case TypeID.oid: return .unsigned
    case TypeID.name: return .short
    case TypeID.char: return .byte
    default: return .any
    }
  }

  /// Types that the client does not decode are returned as text, arrays and composite values as JSON.
  private var output: OutputForm {
    if elementType != nil || typeKind == .composite { return .json }
    return PostgresValue.decodedTypes.contains(type) ? .stored : .text
  }

  /// Text that compares with a text parameter has the affinity of text. Two columns that refer to each
  /// other have types that PostgreSQL compares.
  private var affinity: Affinity {
    switch type {
    case TypeID.text, TypeID.varchar: ignoresCase ? .blob : .text
    case TypeID.float4, TypeID.float8: .real
    case TypeID.int2, TypeID.int4, TypeID.int8: .integer
    case TypeID.numeric: .numeric
    default: .blob
    }
  }
}
