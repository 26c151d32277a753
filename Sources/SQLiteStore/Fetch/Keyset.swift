// A position in an order → the condition of the rows after it.
//
//     ORDER BY a DESC, id   after (5, 7)
//     (a <= 5 OR a IS NULL) AND (a < 5 OR a IS NULL OR (a = 5 AND id > 7))

import FetchModel

struct Keyset {
  let columns: [FetchQuery.OrderColumn]
  let key: OrderKey

  /// The objects strictly after the position.
  var condition: SQLFragment {
    let values = values
    var branches: [SQLFragment] = []
    var prefix = SQLFragment()
    for (column, value) in zip(columns, values) {
      if let beyond = Self.beyond(column, value, isStrict: true) {
        var branch = prefix
        branch.append(beyond)
        branches.append(branch)
      }
      prefix.append(Self.same(column, value))
      prefix.append(" AND ")
    }
    return Self.anyOf(branches, bound: bound(values))
  }

  private var values: [SQLValue] {
    var decoder = OrderKeyDecoder(bytes: key.bytes)
    return columns.map { _ in
      switch decoder.decode() {
      case .integer(let integer): .integer(integer)
      case .double(let double): .double(double)
      case .text(let utf8): .text(String(decoding: utf8, as: UTF8.self))
      case .binary(let bytes): .blob(bytes)
      case .null, nil: .null
      }
    }
  }

  /// Returns a weaker bound on only the first column, which an index can serve.
  private func bound(_ values: [SQLValue]) -> SQLFragment? {
    guard let column = columns.first, let value = values.first else { return nil }
    return Self.beyond(column, value, isStrict: false)
  }

  private static func anyOf(_ branches: [SQLFragment], bound: SQLFragment?) -> SQLFragment {
    var condition = SQLFragment()
    if let bound {
      condition.append("(")
      condition.append(bound)
      condition.append(") AND ")
    }
    condition.append("(")
    for (index, branch) in branches.enumerated() {
      if index > 0 { condition.append(" OR ") }
      condition.append(branch)
    }
    condition.append(branches.isEmpty ? "FALSE)" : ")")
    return condition
  }

  private static func sql(_ column: FetchQuery.OrderColumn) -> String {
    column.isBinary ? column.sql : "\(column.sql) COLLATE BINARY"
  }

  private static func same(_ column: FetchQuery.OrderColumn, _ value: SQLValue) -> SQLFragment {
    SQLFragment("\(sql(column)) IS ?", bindings: [value])
  }

  /// Returns the values after `value`, including it if not strict. Returns nil for the empty set
  /// (strict) or for all values (not strict).
  private static func beyond(
    _ column: FetchQuery.OrderColumn, _ value: SQLValue, isStrict: Bool
  ) -> SQLFragment? {
    if value == .null {
      return isStrict && column.nils == .first
        ? SQLFragment("\(column.sql) IS NOT NULL") : nil
    }
    let comparison = (column.direction == .ascending ? ">" : "<") + (isStrict ? "" : "=")
    var fragment = SQLFragment("\(sql(column)) \(comparison) ?", bindings: [value])
    if column.nils == .last, column.mayBeNull {
      fragment = SQLFragment(
        "(\(fragment.text) OR \(column.sql) IS NULL)", bindings: fragment.bindings)
    }
    return fragment
  }
}
