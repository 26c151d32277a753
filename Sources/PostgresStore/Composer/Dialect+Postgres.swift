// PostgreSQL's SQL. Columns have types, so comparison keys depend on the type: text compares by code
// point whatever the column declares, and booleans compare as the numbers 0 and 1.

import FetchModel
import Patterns
import SQLComposer

extension Dialect {
  /// The dialect of a store that serves the tables of the schema `public`.
  ///
  /// - Parameter tracked: the tables whose changes are recorded.
  static func postgres(tracked: [PostgresTrackedTable] = []) -> Dialect {
    let tracked = Dictionary(
      tracked.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
    return Dialect(
      collation: { isText($0) ? " COLLATE \"C\"" : "" },
      comparisonKey: { column in
        // The `null` of JSON is nil. Arrays and composite values are the JSON that items show.
        if column.type == .json {
          return "(nullif((\(column.output ?? column.sql))::text, 'null') COLLATE \"C\")"
        }
        if isText(column.type) { return "((\(column.sql))::text COLLATE \"C\")" }
        return column.type == .boolean ? "((\(column.sql))::int)" : nil
      },
      // Equality is the same in every deterministic collation, and an index has the column's own.
      lookup: { column, affinity in
        switch column.type {
        case .string where affinity == .text: IndexedValue(column.sql)
        case .uuid: IndexedValue(column.sql, conversion: "livefetch_uuid")
        default: nil
        }
      },
      double: double, indexTerm: indexTerm,
      isSame: " IS NOT DISTINCT FROM ", isDifferent: " IS DISTINCT FROM ", always: "TRUE",
      never: "FALSE",
      qualifier: "\(quoted(Catalog.schema)).",
      datePlaceholder: "?::timestamptz", keyDatePlaceholder: "?::timestamptz",
      ascendingNils: .last, hasTypedColumns: true,
      subqueryName: " AS livefetch_rows", orderedJoin: "JOIN",
      // PostgreSQL plans a statement again for each value of a parameter here.
      limit: { SQLFragment($0.map(String.init) ?? "ALL") },
      ids: { type, _ in
        let value = type == .integer ? "value::bigint" : "value"
        return "SELECT \(value) FROM jsonb_array_elements_text(?::jsonb) AS value"
      },
      keyColumns: { key, _ in keyColumns(key) },
      array: { "json_build_array(\($0))::text" },
      idArray: idArray, keyText: keyText, keyPartText: keyPartText, output: output,
      etag: { "substr(md5(ROW(\($0.joined(separator: ", ")))::text), 1, 16)" },
      derivedText: { "((\($0))::text COLLATE \"C\")" },
      arithmetic: arithmetic,
      overlay: { layout, position, _ in
        tracked[layout.table]?.overlay(layout.overlayName, at: position) ?? SQLFragment()
      },
      difference: difference, integer: { "(\($0))::int" }, integerFunction: integerFunction,
      pattern: pattern, distinctValues: distinctValues)
  }

  /// A `real` is the number with its shortest digits, as it is shown.
  private static func double(_ sql: String, _ column: Column) -> String? {
    switch column.type {
    case .double where column.declaredType == "real": "((\(sql))::text::float8)"
    case .decimal: "livefetch_double(\(sql))"
    default: nil
    }
  }

  /// Returns the column as an index must have it: the column itself, not its comparison key. Returns
  /// nil for equality with a decimal, which PostgreSQL may compare as `float8`, and for conditions of
  /// a `real`, which is compared as another number.
  private static func indexTerm(_ column: Column, _ use: IndexUse) -> IndexSuggestion.Term? {
    switch column.type {
    case .double where column.declaredType == "real":
      use.order.map { .init(column: column.name, order: $0) }
    case .decimal: use.order.map { .init(column: column.name, order: $0) }
    case .integer, .double, .date, .binary: .init(column: column.name, order: use.order)
    case .string, .uri:
      column.affinity != .text
        ? nil
        : .init(
          column: column.name,
          collation: use == .equality && column.type == .string ? nil : "\"C\"", order: use.order)
    case .uuid: use == .equality ? .init(column: column.name) : nil
    case .boolean, .json: nil
    }
  }

  /// Translates MATCHES to a regular expression of PostgreSQL. LIKE that ignores case needs one for the
  /// texts in which a character folds to several. Other searches need one to be fast.
  private static func pattern(
    _ text: SQLFragment, _ relation: Comparison.Relation, _ pattern: String,
    _ options: StringOptions
  ) -> SQLFragment? {
    switch relation {
    case .matches: matches(text, pattern, options)
    case .like where options.contains(.caseInsensitive): like(text, pattern, options)
    case .contains, .beginsWith, .endsWith: search(text, relation, pattern, options)
    default: nil
    }
  }

  /// Returns nil if PostgreSQL has no equivalent expression.
  private static func matches(
    _ text: SQLFragment, _ pattern: String, _ options: StringOptions
  ) -> SQLFragment? {
    let diacritics = options.intersection(.diacriticInsensitive)
    guard pattern.utf8.count <= TextSearch.maxPatternBytes else { return SQLFragment("FALSE") }
    let translated = PostgresExpression(
      Folding.fold(pattern, diacritics), ignoresCase: options.contains(.caseInsensitive))
    switch translated {
    case .nothing: return SQLFragment("FALSE")
    case .inexpressible: return nil
    case .expression(let expression):
      return call("livefetch_expression", text, parameter(expression), literal(diacritics))
    }
  }

  private static func like(
    _ text: SQLFragment, _ pattern: String, _ options: StringOptions
  ) -> SQLFragment? {
    guard pattern.utf8.count <= TextSearch.maxPatternBytes else { return SQLFragment("FALSE") }
    switch LikePattern.simplified(Folding.fold(pattern, options)) {
    case (.beginsWith, let part)?: return search(text, .beginsWith, part, options)
    case (.endsWith, let part)?: return search(text, .endsWith, part, options)
    case (.contains, let part)?: return search(text, .contains, part, options)
    case (.equal, _)?, nil: break
    }
    let diacritics = options.intersection(.diacriticInsensitive)
    let plain = Folding.fold(pattern, diacritics).precomposedText
    guard case .expression(let expression) = PostgresExpression(like: plain) else { return nil }
    return call(
      "livefetch_like", text, parameter(pattern), literal(options), parameter(expression),
      literal(diacritics))
  }

  private static func search(
    _ text: SQLFragment, _ relation: Comparison.Relation, _ part: String, _ options: StringOptions
  ) -> SQLFragment {
    let name =
      switch relation {
      case .beginsWith: "livefetch_begins"
      case .endsWith: "livefetch_ends"
      default: "livefetch_contains"
      }
    guard let likeness = SearchPrefilter.expression(of: part, options) else {
      return call(name, text, parameter(part), literal(options))
    }
    return call(name, text, parameter(part), literal(options), parameter(likeness))
  }

  private static func call(_ function: String, _ arguments: SQLFragment...) -> SQLFragment {
    var sql = SQLFragment("\(function)(")
    sql.append(arguments.joined())
    sql.append(")")
    return sql
  }

  private static func parameter(_ text: String) -> SQLFragment {
    var sql = SQLFragment()
    sql.bind(.text(text))
    return sql
  }

  private static func literal(_ options: StringOptions) -> SQLFragment {
    SQLFragment("\(options.rawValue)")
  }

  /// An array of texts for dates, bytes and JSON, in their order.
  private static func distinctValues(_ value: SQLColumn) -> String {
    let element =
      switch value.type {
      case .date:
        // An infinite date has no parts.
        """
        coalesce(to_char((\(value.sql))::timestamptz AT TIME ZONE 'UTC', \
        'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), (\(value.sql))::text)
        """
      case .binary: "encode(\(value.sql), 'hex')"
      default: value.comparable
      }
    let filter = "FILTER (WHERE \(element) IS NOT NULL)"
    return """
      coalesce(to_json(array_agg(DISTINCT \(element) ORDER BY \(element)) \(filter))::text, '[]')
      """
  }

  private static func output(_ sql: String, _ form: OutputForm) -> String {
    switch form {
    case .stored: sql
    case .text: "(\(sql))::text"
    case .json: "to_json(\(sql))"
    }
  }

  /// Some types have no equality, and different texts may be equal by the column's collation: their
  /// texts are compared by code point.
  private static func difference(_ old: String, _ new: String, of column: Column) -> String {
    let isText = column.type == .string || column.type == .uri || column.type == .json
    let cast = column.output != .stored || isText ? "::text COLLATE \"C\"" : ""
    return "((\(old))\(cast) IS DISTINCT FROM (\(new))\(cast))::int::bigint"
  }

  private static func isText(_ type: AttributeType) -> Bool {
    switch type {
    case .string, .uri, .uuid, .json: true
    case .integer, .double, .decimal, .boolean, .date, .binary: false
    }
  }

  /// A text that is no UUID is the id of no row.
  private static func keyColumns(_ key: Key) -> String {
    guard key.kind == .composite else {
      return """
        SELECT CASE WHEN value ~ '^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$' \
        THEN value::uuid END FROM jsonb_array_elements_text(?::jsonb) AS value
        """
    }
    let parts = key.parts.enumerated().map { index, part in
      part.form == .integer ? "(value ->> \(index))::bigint" : "value ->> \(index)"
    }
    return "SELECT \(parts.joined(separator: ", ")) FROM jsonb_array_elements(?::jsonb) AS value"
  }

  /// `json_agg` would write a blank after each comma.
  private static func idArray(_ ids: IDArray, _ type: AttributeType) -> String {
    let id = "v" + (isText(type) ? " COLLATE \"C\"" : "")
    let (columns, order) =
      ids.position.map { ("\(ids.id) AS v, \($0) AS p", "p IS NULL, p, \(id)") }
      ?? ("DISTINCT \(ids.id) AS v", id)
    return """
      SELECT '[' || coalesce(string_agg(to_json(v)::text, ',' ORDER BY \(order)), '') || ']' \
      FROM (SELECT \(columns) FROM \(ids.from)) AS ids
      """
  }

  private static func keyText(_ sql: String, _ form: Key.Form) -> String {
    switch form {
    case .integer, .untypedInteger, .text, .untypedText: sql
    case .binary: "upper(encode(\(sql), 'hex'))"
    case .uuid, .real, .untypedNumber, .other: "(\(sql))::text"
    }
  }

  private static func keyPartText(_ sql: String, _ form: Key.Form) -> String {
    form == .integer ? "(\(sql))::text" : keyText(sql, form)
  }

  private static func integerFunction(_ symbol: String) -> String? {
    switch symbol {
    case "&": "livefetch_and"
    case "|": "livefetch_or"
    case "<<": "livefetch_left"
    case ">>": "livefetch_right"
    case "%": "livefetch_remainder"
    case "~": "livefetch_not"
    default: nil
    }
  }

  /// Calculates with doubles unless both operands and the result are exact. Integers are `numeric`
  /// while they are calculated with, so that nothing overflows. A division by zero is NULL.
  private static func arithmetic(_ calculation: Calculation) -> SQLFragment {
    let isFraction = calculation.operation == .divide || calculation.operation == .power
    guard isFraction ? calculation.isInteger : calculation.isExact else {
      return doubleArithmetic(calculation)
    }
    let (left, right) = (numeric(calculation.left), numeric(calculation.right))
    switch calculation.operation {
    case .power: return call("livefetch_power", left, right)
    case .divide: return call("div", left, call("nullif", right, SQLFragment("0")))
    default:
      var sql = SQLFragment("(")
      sql.append(left)
      sql.append(" \(calculation.operation.rawValue) ")
      sql.append(right)
      sql.append(")")
      return sql
    }
  }

  private static func doubleArithmetic(_ calculation: Calculation) -> SQLFragment {
    let name =
      switch calculation.operation {
      case .add: "plus"
      case .subtract: "minus"
      case .multiply: "times"
      case .divide: "over"
      case .power: "power"
      }
    return call(
      "livefetch_\(name)", call("livefetch_double", calculation.left),
      call("livefetch_double", calculation.right))
  }

  private static func numeric(_ operand: SQLFragment) -> SQLFragment {
    var sql = SQLFragment("(")
    sql.append(operand)
    sql.append(")::numeric")
    return sql
  }
}
