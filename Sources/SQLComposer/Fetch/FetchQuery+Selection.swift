// The values of an item → columns of the SELECT and their formats.

import FetchModel

extension FetchQuery {
  mutating func formatID(_ plan: FetchPlan) {
    if plan.integersAsStrings { layout.idFormat = layout.idFormat.withLargeIntegersAsStrings }
  }

  /// Adds the values of a plan's items. If items are only ids, adds the values that their updates
  /// compare.
  mutating func select(_ plan: FetchPlan) {
    formatID(plan)
    for value in plan.selection {
      let (sql, format) = expression(of: value.source)
      layout.addValue(
        key: value.key, column: columns.index(of: sql),
        format: plan.integersAsStrings ? format.withLargeIntegersAsStrings : format)
    }
  }

  /// Selects one value as the first column.
  ///
  /// - Parameter asArray: True to return it in a JSON array.
  mutating func selectOnly(_ value: SelectedValue, asArray: Bool) {
    let (sql, _) = expression(of: value.source)
    columns = ResultColumns()
    _ = columns.index(of: asArray ? context.schema.dialect.array(sql) : sql)
  }

  private mutating func expression(
    of source: SelectedValue.Source
  ) -> (sql: String, format: ValueFormat) {
    switch source {
    case .path(let path):
      let column = scope.column(path)
      let format = path.target == .object ? .id : transformableFormat(path) ?? ValueFormat(column)
      return (column.output ?? column.sql, format)
    case .ids(let path):
      return ("(\(idList(path)))", .ids)
    case .etag:
      let table = context.schema.entities[definition.entity]
      let rules = definition.access
      let hidden = context.schema.hiddenColumns(of: definition.entity, in: context.model) {
        rules?.hidden[$0] ?? []
      }
      return (table.etagExpression(scope.alias, hiding: hidden), .text)
    }
  }

  /// The format of a transformable attribute's values; nil for other values.
  private mutating func transformableFormat(_ path: PropertyPath) -> ValueFormat? {
    guard case .attribute(let index) = path.target else { return nil }
    let attribute = context.model.entities[context.model.walk(path).end].attributes[index]
    return TransformableReader(attribute, in: context.model).map { layout.addReader($0) }
  }

  /// SQL for the ids at the end of a path with to-many steps, as a JSON array: ascending without
  /// duplicates, or for a single ordered relationship in its own order.
  private mutating func idList(_ path: PropertyPath) -> String {
    let relationships = context.model.walk(path).relationships
    let last = relationships.lastIndex(where: \.isToMany) ?? 0
    var inner = scope.over(Array(path.steps[...last]))
    let rest = PropertyPath(
      root: inner.entity, steps: Array(path.steps[(last + 1)...]), target: .object)
    let id = inner.column(rest).sql
    var conditions = rest.steps.isEmpty ? [] : ["\(id) IS NOT NULL"]
    if !inner.correlation.isEmpty { conditions.append(inner.correlation) }
    let condition = conditions.isEmpty ? "" : " WHERE " + conditions.joined(separator: " AND ")
    let isOrdered = rest.steps.isEmpty && !inner.mayRepeat
    let ids = Dialect.IDArray(
      id: id, from: inner.from + condition, position: isOrdered ? inner.position : nil)
    let idType = context.schema.entities[context.model.walk(path).end].key.idType
    return context.schema.dialect.idArray(ids, idType)
  }
}

extension ValueFormat {
  /// The same format with integers beyond ±2^53 as strings.
  var withLargeIntegersAsStrings: ValueFormat {
    switch self {
    case .number: .largeNumberAsString
    case .id: .largeIDAsString
    case .ids: .largeIDsAsStrings
    default: self
    }
  }

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
