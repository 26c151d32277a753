// A position in an order → the condition of the rows after it.
//
//     ORDER BY a DESC, id   after (5, 7)
//     (a <= 5 OR a IS NULL) AND (a < 5 OR a IS NULL OR (a = 5 AND id > 7))

import FetchModel

struct Keyset {
  let columns: [FetchQuery.OrderColumn]
  let key: OrderKey
  let dialect: Dialect

  /// The objects strictly after the position.
  var condition: SQLFragment {
    let terms = Array(zip(columns, values))
    guard let first = terms.first, let last = terms.last else { return dialect.constant(false) }
    guard terms.count > 1 else { return strictlyBeyond(first.0, first.1) }
    var condition = SQLFragment()
    // A weaker bound on the first column alone, which SQLite can search in an index.
    if let bound = beyond(first.0, first.1, isStrict: false) {
      condition.append(bound)
      condition.append(" AND ")
    }
    condition.append("CASE")
    for (column, value) in terms.dropLast() {
      condition.append(" WHEN ")
      condition.append(
        SQLFragment(
          sql(column) + dialect.isDifferent + value.placeholder, bindings: [value.stored]))
      condition.append(" THEN ")
      condition.append(strictlyBeyond(column, value))
    }
    condition.append(" ELSE ")
    condition.append(strictlyBeyond(last.0, last.1))
    condition.append(" END")
    return condition
  }

  /// A value of the position, and the SQL to which it is bound.
  private struct Bound {
    let stored: SQLValue
    let placeholder: String
  }

  private var values: [Bound] {
    var decoder = OrderKeyDecoder(bytes: key.bytes)
    return columns.map { column in
      let component = decoder.decode()
      // A String would change the bytes of a text in a file that is not UTF-8, and with them its place.
      if case .text(let utf8)? = component, !dialect.hasTypedColumns,
        String(validating: utf8, as: UTF8.self) == nil
      {
        return Bound(stored: .blob(utf8), placeholder: "CAST(? AS TEXT)")
      }
      return Bound(stored: stored(component, column), placeholder: placeholder(column))
    }
  }

  private func stored(
    _ component: OrderKeyDecoder.Component?, _ column: FetchQuery.OrderColumn
  ) -> SQLValue {
    switch component {
    case .integer(let integer): .integer(integer)
    case .double(let double): .double(double)
    case .text(let utf8): text(utf8, column).map { .text($0) } ?? .null
    case .binary(let bytes): .blob(bytes)
    case .null, nil: .null
    }
  }

  /// A dialect with types does not read the comparison key of a date or the key of a decimal. Returns nil
  /// for a text that it would refuse, which is in no cursor of its own.
  private func text(_ utf8: [UInt8], _ column: FetchQuery.OrderColumn) -> String? {
    if column.type == .decimal, dialect.hasTypedColumns { return DecimalKey.decimal(of: utf8) }
    let text = String(decoding: utf8, as: UTF8.self)
    guard column.type == .date, dialect.datePlaceholder != "?" else { return text }
    if let date = utf8.withUnsafeBufferPointer({ Instant(comparable: $0) }) { return date.iso8601 }
    return ["infinity", " -infinity"].contains(text) ? text : nil
  }

  private func sql(_ column: FetchQuery.OrderColumn) -> String {
    column.isBinaryCollated ? column.sql : column.sql + dialect.collation(column.type)
  }

  private func placeholder(_ column: FetchQuery.OrderColumn) -> String {
    switch column.type {
    case .date: dialect.keyDatePlaceholder
    case .decimal where dialect.hasTypedColumns: "?::decimal"
    default: "?"
    }
  }

  private func strictlyBeyond(
    _ column: FetchQuery.OrderColumn, _ value: Bound
  ) -> SQLFragment {
    beyond(column, value, isStrict: true) ?? dialect.constant(false)
  }

  /// Returns the condition for the values after `value`, including `value` if not strict. Returns
  /// nil for the empty set (strict) or for all values (not strict).
  private func beyond(
    _ column: FetchQuery.OrderColumn, _ value: Bound, isStrict: Bool
  ) -> SQLFragment? {
    if value.stored == .null {
      return isStrict && column.nils == .first
        ? SQLFragment("\(column.sql) IS NOT NULL") : nil
    }
    let comparison = (column.direction == .ascending ? ">" : "<") + (isStrict ? "" : "=")
    var fragment = SQLFragment(
      "\(sql(column)) \(comparison) \(value.placeholder)", bindings: [value.stored])
    if column.nils == .last, column.mayBeNull {
      fragment = SQLFragment(
        "(\(fragment.text) OR \(column.sql) IS NULL)", bindings: fragment.bindings)
    }
    return fragment
  }
}
