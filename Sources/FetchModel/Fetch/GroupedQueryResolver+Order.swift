// `sort` of dictionaries → the terms of their order.

extension GroupedQueryResolver {
  /// Returns the terms of `sort`, each a column or, without aggregates, a key path.
  mutating func order(
    of request: FetchRequest, _ columns: [GroupedQuery.Column]
  ) throws(FetchRequestError) -> [GroupedQuery.OrderTerm] {
    var terms: [GroupedQuery.OrderTerm] = []
    let names = drafts.map(\.key) + groups.map(\.name)
    // Names such as `founded:month`.
    let dateParts = names.filter { part($0) != nil }
    let allowsUnselected = groups.isEmpty && aggregates.isEmpty && !request.isDistinct
    for text in request.sort {
      // Where `founded:month` is a column, that text does not mean an option of `founded`.
      let hasPart = dateParts.contains { text.contains($0) }
      let term = try OrderTermText(text, parameter: "sort") { name in
        hasPart
          ? dateParts.contains(name)
          : names.contains(name) || allowsUnselected && plainPath(name) != nil
      }
      let (value, type) = try sortValue(
        term.name, request, columns, allowsUnselected: allowsUnselected)
      guard term.options.isEmpty || [.string, .uri, .uuid].contains(type) else {
        throw .badValue(
          parameter: "sort",
          detail: "`\(term.name)` is not text; string options apply only to text")
      }
      terms.append(
        GroupedQuery.OrderTerm(
          value: value, direction: term.direction,
          nils: term.nils ?? (term.direction == .ascending ? .first : .last),
          options: term.options))
    }
    return terms
  }

  private mutating func sortValue(
    _ name: String, _ request: FetchRequest, _ columns: [GroupedQuery.Column],
    allowsUnselected: Bool
  ) throws(FetchRequestError) -> (ResolvedExpression, AttributeType) {
    if let column = columns.first(where: { $0.key == name }) {
      guard !isCollection(column.value) else {
        throw .badValue(parameter: "sort", detail: "`\(name)` is an array, which has no order")
      }
      return (column.value, column.type)
    }
    let group = groups.first { $0.name == name }?.expression
    if !request.isDistinct, let value = group ?? (allowsUnselected ? plainPath(name) : nil) {
      return try resolved(value, of: "sort")
    }
    guard group != nil || plainPath(name) != nil else { throw unknown(name, in: "sort") }
    throw .badValue(
      parameter: "sort",
      detail: request.isDistinct
        ? "`\(name)` is not selected, and equal dictionaries occur once"
        : "`\(name)` is neither selected nor grouped")
  }
}
