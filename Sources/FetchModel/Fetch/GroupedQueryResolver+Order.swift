// `sort` of dictionaries → the terms of their order.

extension GroupedQueryResolver {
  /// Returns the terms of `sort`, each a column or, without aggregates, a key path.
  mutating func order(
    of request: FetchRequest, _ columns: [GroupedQuery.Column], _ groupValues: [ResolvedExpression]
  ) throws(FetchRequestError) -> [GroupedQuery.OrderTerm] {
    var terms: [GroupedQuery.OrderTerm] = []
    for text in request.sort {
      let term = try OrderTermText(text, parameter: "sort") { name in
        part(name) != nil
          && (drafts.contains { $0.key == name } || groups.contains { $0.name == name })
      }
      let (value, type) = try sorted(by: term.name, request, columns, groupValues)
      guard term.options.isEmpty || [.string, .uri, .uuid].contains(type) else {
        throw .badValue(
          parameter: "sort", detail: "`\(term.name)` is no text, which could be folded")
      }
      terms.append(
        GroupedQuery.OrderTerm(
          value: value, direction: term.direction,
          nils: term.nils ?? (term.direction == .ascending ? .first : .last),
          options: term.options))
    }
    return terms
  }

  private mutating func sorted(
    by name: String, _ request: FetchRequest, _ columns: [GroupedQuery.Column],
    _ groupValues: [ResolvedExpression]
  ) throws(FetchRequestError) -> (ResolvedExpression, AttributeType) {
    if let column = columns.first(where: { $0.key == name }) {
      guard !isCollection(column.value) else {
        throw .badValue(parameter: "sort", detail: "`\(name)` is an array, which has no order")
      }
      return (column.value, column.type)
    }
    let isFree = groups.isEmpty && aggregates.isEmpty && !request.isDistinct
    let group = groups.first { $0.name == name }?.expression
    if !request.isDistinct, let value = group ?? (isFree ? plainPath(name) : nil) {
      return try resolved(value, of: "sort")
    }
    guard plainPath(name) != nil else { throw unknown(name, in: "sort") }
    throw .badValue(
      parameter: "sort",
      detail: request.isDistinct
        ? "`\(name)` is not selected, and equal dictionaries occur once"
        : "`\(name)` is neither selected nor grouped")
  }
}
