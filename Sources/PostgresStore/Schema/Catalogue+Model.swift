// A catalogue → the model, by the naming rules that both stores share.

import FetchModel
import SQLComposer

extension Catalogue {
  /// Returns the model of the tables, which must be in one schema.
  ///
  /// - Parameter observable: the tables whose changes are recorded.
  func introspection(_ dialect: Dialect, observable: Set<UInt32>) -> Introspection {
    Introspection(tables: composed(observable: observable), dialect: dialect)
  }

  /// Returns the tables in the form in which both stores read them.
  func composed(observable: Set<UInt32>) -> [SQLComposer.CatalogueTable] {
    tables.map { composed($0, isObservable: observable.contains($0.id)) }
  }

  private func composed(
    _ table: CatalogueTable, isObservable: Bool
  ) -> SQLComposer.CatalogueTable {
    SQLComposer.CatalogueTable(
      name: table.name, isView: table.kind == .view || table.kind == .materializedView,
      isWithoutRowid: true, columns: table.columns.map(\.composed), primaryKey: table.key ?? [],
      isRowidAlias: false, foreignKeys: table.foreignKeys.compactMap(composed),
      uniqueIndexes: (table.uniqueKeys.map { UniqueKey(columns: $0) } + table.partialKeys)
        .enumerated().map { Self.index($0, $1) }, sql: "",
      isObservable: isObservable)
  }

  private func composed(_ key: CatalogueForeignKey) -> SQLComposer.CatalogueTable.RawForeignKey? {
    guard let target = table(key.target) else { return nil }
    return SQLComposer.CatalogueTable.RawForeignKey(
      columns: key.columns, table: target.name, referenced: key.targetColumns,
      onDelete: ["c": "CASCADE", "n": "SET NULL", "d": "SET DEFAULT"][key.deleteAction]
        ?? "NO ACTION")
  }

  private static func index(_ number: Int, _ key: UniqueKey) -> UniqueIndex {
    UniqueIndex(
      name: "unique \(number)",
      parts: key.columns.map {
        UniqueIndex.Part(expression: quoted($0), column: $0, collation: "")
      }, condition: key.condition)
  }
}

extension CatalogueColumn {
  fileprivate var composed: Column {
    Column(
      name: name, declaredType: typeName, affinity: affinity, isNotNull: !isNullable,
      defaultSQL: hasDefault ? defaultExpression ?? "DEFAULT" : nil, isGenerated: !isWritable,
      type: attributeType, dateFormat: attributeType == .date ? .iso8601 : nil,
      encoding: attributeType == .uuid ? .uuid(.lower) : nil, output: output,
      input: input)
  }

  private var input: InputForm {
    if elementType != nil { return .array }
    switch type {
    case TypeID.date: return .days
    case TypeID.numeric: return .digits
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
    case TypeID.text, TypeID.varchar: .text
    case TypeID.float4, TypeID.float8: .real
    case TypeID.int2, TypeID.int4, TypeID.int8: .integer
    case TypeID.numeric: .numeric
    default: .blob
    }
  }
}
