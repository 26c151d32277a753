// The values of an item → columns of the SELECT and their formats.

import FetchModel

extension FetchQuery {
  mutating func formatID(_ plan: FetchPlan) {
    if plan.integersAsStrings, layout.idFormat == .number { layout.idFormat = .largeNumberAsString }
  }

  /// Adds the values of a plan's items.
  mutating func select(_ plan: FetchPlan) {
    formatID(plan)
    guard plan.shape == .objects else { return }
    for value in plan.selection {
      let (sql, format) = expression(of: value.source)
      layout.addValue(
        key: value.key, column: columns.index(of: sql),
        format: format == .number && plan.integersAsStrings ? .largeNumberAsString : format)
    }
  }

  private mutating func expression(
    of source: SelectedValue.Source
  ) -> (sql: String, format: ValueFormat) {
    switch source {
    case .path(let path):
      let column = scope.column(path)
      return (column.sql, ValueFormat(column))
    case .ids(let path):
      let inner = scope.over(path.steps)
      let id = inner.idExpression
      return ("(\(Self.idList(id, inner)))", .ids)
    case .etag:
      let table = context.schema.entities[definition.entity]
      return (table.etagExpression(scope.alias), .text)
    }
  }

  /// The ids of a subquery's objects as a JSON array, ascending, each once.
  private static func idList(_ id: String, _ inner: TableScope) -> String {
    let tie = inner.correlation.isEmpty ? "" : " WHERE \(inner.correlation)"
    return "SELECT json_group_array(v) FROM (SELECT DISTINCT \(id) AS v FROM \(inner.from)\(tie)"
      + " ORDER BY v COLLATE BINARY)"
  }
}

extension ValueFormat {
  /// The format of a column's values.
  init(_ column: SQLColumn) {
    self =
      switch column.type {
      case .integer, .double, .decimal: .number
      case .boolean: .boolean
      case .string, .uri: .text
      case .date: .date(column.dateFormat ?? .iso8601)
      case .binary: .binary
      case .uuid: .uuid
      case .json: .json
      }
  }
}
