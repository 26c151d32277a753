// Parts of values, such as `founded:month`, and the refusal of values that have no meaning in a dictionary of
// a group: a value of a single object is allowed only if it is the same for the whole group.

extension GroupedQueryResolver {
  /// `founded:month` as in `section`: the part of a date, or the initial of a text, at a key path.
  func part(_ text: String) -> Expression? {
    guard let colon = text.utf8.lastIndex(of: UInt8(ascii: ":")),
      let derivation = OrderTerm.Derivation(rawValue: String(text[colon...].dropFirst())),
      derivation != .value, let path = plainPath(String(text[..<colon]))
    else { return nil }
    return Expression(.function(String(text[colon...]), [path]), range: path.range)
  }

  /// `founded:month` for the mistyped `founded.month`; nil if `founded:month` is no part of a value.
  func correctedPart(_ text: String) -> String? {
    guard let dot = text.lastIndex(of: ".") else { return nil }
    let corrected = "\(text[..<dot]):\(text[text.index(after: dot)...])"
    return part(corrected) == nil ? nil : corrected
  }

  /// Refuses values that differ within a group.
  func checkGrouping(_ groupedQuery: GroupedQuery) throws(FetchRequestError) {
    let check = GroupingCheck(groupedQuery: groupedQuery)
    for column in groupedQuery.columns {
      guard let path = check.ungroupedPath(in: column.value) else { continue }
      throw refusal("select", path)
    }
    if let path = check.ungroupedPath(in: groupedQuery.having) { throw refusal("having", path) }
    for term in groupedQuery.order {
      guard let path = check.ungroupedPath(in: term.value) else { continue }
      throw refusal("sort", path)
    }
  }

  private func refusal(_ parameter: String, _ path: PropertyPath) -> FetchRequestError {
    let text = model.text(of: path)
    let advice =
      model.isToMany(path)
      ? "a group has no collections, only aggregates of its objects, like `@count`"
      : "put it into `group`, or take an aggregate of it, like `@max.\(text)`"
    return .badValue(
      parameter: parameter,
      detail: "`\(text)` differs from object to object of a group: \(advice)")
  }

  /// True if an expression of the request contains an aggregate, at any depth.
  func containsAggregate(_ expression: Expression) -> Bool {
    var found = false
    _ = try? expression.rewriting { (part) throws(PredicateError) in
      if let names = part.names, names.count == 1, aggregateNames.contains(names[0]) {
        found = true
      }
      return nil
    }
    return found
  }

  /// True if a column holds the distinct values of a group.
  func isCollection(_ value: ResolvedExpression) -> Bool {
    guard case .path(let path) = value,
      let aggregate = aggregates.represented(
        by: path.path, first: model.entities[entity].attributes.count)
    else { return false }
    return aggregate.function == nil
  }
}

/// Looks for key paths that are neither grouped nor aggregated.
private struct GroupingCheck {
  let groupedQuery: GroupedQuery

  func ungroupedPath(in value: ResolvedExpression) -> PropertyPath? {
    if groupedQuery.groups.contains(value) { return nil }
    switch value {
    case .path(let path): return groupedQuery.aggregate(path.path) == nil ? path.path : nil
    case .aggregate(let aggregation): return path(aggregation.collection)
    case .element(let element): return path(element.collection)
    default: return ungroupedPath(in: value.parts)
    }
  }

  func ungroupedPath(in condition: Condition) -> PropertyPath? {
    if case .exists(let collection, _, _) = condition { return path(collection) }
    return ungroupedPath(in: condition.parts)
  }

  private func ungroupedPath(
    in parts: (conditions: [Condition], values: [ResolvedExpression])
  ) -> PropertyPath? {
    for condition in parts.conditions {
      if let path = ungroupedPath(in: condition) { return path }
    }
    for value in parts.values {
      if let path = ungroupedPath(in: value) { return path }
    }
    return nil
  }

  private func path(_ collection: ResolvedCollection) -> PropertyPath {
    PropertyPath(root: collection.entity, steps: collection.steps, target: .object)
  }
}
