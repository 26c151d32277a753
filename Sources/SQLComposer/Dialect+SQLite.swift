// SQLite's SQL. Columns may hold values of any type, so comparison keys depend on a column's encoding
// and not on the dialect.

import FetchModel

extension Dialect {
  package static let sqlite = Dialect(
    collation: { _ in " COLLATE BINARY" },
    comparisonKey: { _ in nil },
    lookup: { _, _ in nil },
    indexTerm: { column, use in
      // CREATE INDEX has no NULLS clause.
      let order = use.order.map { IndexSuggestion.Order(isDescending: $0.isDescending, nulls: "") }
      let isBinary = column.isBinaryCollated || column.type.isNumeric
      return .init(column: column.name, collation: isBinary ? nil : "BINARY", order: order)
    },
    isSame: " IS ", isDifferent: " IS NOT ", always: "1", never: "0", qualifier: "main.",
    datePlaceholder: "?", keyDatePlaceholder: "?",
    ascendingNils: .first, hasTypedColumns: false, subqueryName: "", orderedJoin: "CROSS JOIN",
    limit: { SQLFragment("?", bindings: [.integer(Int64($0 ?? -1))]) },
    ids: { _, isEscaped in
      "SELECT \(isEscaped ? unescaped("value") : "value") FROM json_each(?)"
    },
    keyColumns: { key, isEscaped in
      guard key.kind == .composite else {
        let encoding = ColumnEncoding.uuid(.bytes)
        return "SELECT livefetch_value(value, \(encoding.code)) FROM json_each(?)"
      }
      let parts = key.columns.indices.map { index in
        let part = "json_extract(value, '$[\(index)]')"
        return isEscaped ? unescaped(part) : part
      }
      return "SELECT \(parts.joined(separator: ", ")) FROM json_each(?)"
    },
    // Binary is no id.
    array: { "CASE WHEN typeof(\($0)) <> 'blob' THEN json_array(\($0)) ELSE '[]' END" },
    idArray: { ids, _ in
      if let position = ids.position {
        return "SELECT \(arrayOfIDs) FROM (SELECT \(ids.id) AS v FROM \(ids.from)"
          + " ORDER BY \(position) IS NULL, \(position), v COLLATE BINARY) WHERE \(isID)"
      }
      return "SELECT \(arrayOfIDs) FROM (SELECT DISTINCT \(ids.id) AS v FROM \(ids.from)"
        + " ORDER BY v COLLATE BINARY) WHERE \(isID)"
    },
    keyText: keyText, keyPartText: keyPartText, output: { sql, _ in sql }, etag: etag,
    derivedText: { $0 }, arithmetic: nil,
    overlay: { $0.numberedOverlay(at: $1, where: $2) }, difference: difference, integer: { $0 })

  /// SQL for a text without the escapes of ``IDRestriction``.
  private static func unescaped(_ sql: String) -> String {
    """
    CASE typeof(\(sql)) WHEN 'text' THEN \
    replace(replace(\(sql), char(1) || '0', char(0)), char(1) || '1', char(1)) ELSE \(sql) END
    """
  }

  /// The JSON array of the ids `v`. An id that is a fraction is text.
  private static let arrayOfIDs =
    "json_group_array(CASE typeof(v) WHEN 'real' THEN CAST(v AS TEXT) ELSE v END)"
  /// Binary is no id, and no JSON.
  private static let isID = "typeof(v) <> 'blob'"

  /// In a column without a type, 1 and 1.0 are equal but not identical, so their storage classes are
  /// compared too.
  private static func difference(_ old: String, _ new: String, of column: Column) -> String {
    let collation = column.isBinaryCollated ? "" : " COLLATE BINARY"
    let test = "\(old) IS NOT \(new)\(collation)"
    return column.affinity == .blob
      ? "(\(test) OR typeof(\(old)) <> typeof(\(new)))" : "(\(test))"
  }

  private static func keyText(_ sql: String, _ form: Key.Form) -> String {
    switch form {
    case .integer, .untypedInteger, .text, .other: sql
    case .untypedText: "CASE WHEN typeof(\(sql)) = 'text' THEN \(sql) END"
    case .binary: "CASE WHEN \(sql) IS NOT NULL THEN HEX(\(sql)) END"
    case .uuid:
      """
      CASE WHEN typeof(\(sql)) = 'blob' AND length(\(sql)) = 16 THEN substr(hex(\(sql)), 1, 8) \
      || '-' || substr(hex(\(sql)), 9, 4) || '-' || substr(hex(\(sql)), 13, 4) || '-' || \
      substr(hex(\(sql)), 17, 4) || '-' || substr(hex(\(sql)), 21) ELSE \(sql) END
      """
    case .real, .untypedNumber:
      "CASE typeof(\(sql)) WHEN 'real' THEN PRINTF('%!.17g', \(sql)) ELSE \(sql) END"
    }
  }

  private static func keyPartText(_ sql: String, _ form: Key.Form) -> String {
    switch form {
    case .integer, .untypedInteger, .text, .other:
      "CASE WHEN typeof(\(sql)) <> 'blob' THEN \(sql) END"
    case .untypedText, .binary, .uuid, .real, .untypedNumber: keyText(sql, form)
    }
  }

  /// A function takes at most 127 arguments; for more values the result is a hash of hashes.
  private static func etag(_ values: [String]) -> String {
    let most = 127
    guard values.count > most else { return "livefetch_etag(\(values.joined(separator: ", ")))" }
    return etag(
      stride(from: 0, to: values.count, by: most).map { start in
        etag(Array(values[start..<min(start + most, values.count)]))
      })
  }
}
