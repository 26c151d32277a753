// `sort` of dictionaries → the terms of their order.

extension GroupedQueryResolver {
  /// Returns the terms of `sort`, each a column or, without aggregates, a key path.
  mutating func order(
    of request: FetchRequest, _ columns: [GroupedQuery.Column]
  ) throws(FetchRequestError) -> [GroupedQuery.OrderTerm] {
    var terms: [GroupedQuery.OrderTerm] = []
    let names = drafts.map(\.key) + groups.map(\.name)
    let parts = names.filter { part($0) != nil }
    let isFree = isFree(request)
    for text in request.sort {
      // Where `founded:month` is a column, that text does not mean an option of `founded`.
      let hasPart = parts.contains { text.contains($0) }
      let term = try OrderTermText(text, parameter: "sort") { name in
        hasPart
          ? parts.contains(name) : names.contains(name) || isFree && plainPath(name) != nil
      }
      let (value, type) = try sorted(by: term.name, request, columns)
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

  /// True if values that are not selected may be sorted by.
  private func isFree(_ request: FetchRequest) -> Bool {
    groups.isEmpty && aggregates.isEmpty && !request.isDistinct
  }

  private mutating func sorted(
    by name: String, _ request: FetchRequest, _ columns: [GroupedQuery.Column]
  ) throws(FetchRequestError) -> (ResolvedExpression, AttributeType) {
    if let column = columns.first(where: { $0.key == name }) {
      guard !isCollection(column.value) else {
        throw .badValue(parameter: "sort", detail: "`\(name)` is an array, which has no order")
      }
      return (column.value, column.type)
    }
    let isFree = isFree(request)
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
