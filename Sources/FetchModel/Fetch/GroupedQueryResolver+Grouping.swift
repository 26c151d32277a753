// Refuses values that have no meaning in a dictionary of a group: a value of a single object is
// allowed only if it is the same for the whole group.

extension GroupedQueryResolver {
  /// Refuses values that differ within a group.
  func checkGrouping(_ groupedQuery: GroupedQuery) throws(FetchRequestError) {
    let check = GroupingCheck(groupedQuery: groupedQuery)
    for column in groupedQuery.columns {
      guard let path = check.stray(in: column.value) else { continue }
      throw refusal("select", path)
    }
    if let path = check.stray(in: groupedQuery.having) { throw refusal("having", path) }
    for term in groupedQuery.order {
      guard let path = check.stray(in: term.value) else { continue }
      throw refusal("sort", path)
    }
  }

  private func refusal(_ parameter: String, _ path: PropertyPath) -> FetchRequestError {
    let text = model.text(of: path)
    return .badValue(
      parameter: parameter,
      detail: "`\(text)` differs from object to object of a group: put it into `group`, or take an "
        + "aggregate of it, like `@max.\(text)`")
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
      let aggregate = Self.aggregate(
        path.path, aggregates, model.entities[entity].attributes.count)
    else { return false }
    return aggregate.function == nil
  }
}

/// Looks for key paths that are neither grouped nor aggregated.
private struct GroupingCheck {
  let groupedQuery: GroupedQuery

  func stray(in value: ResolvedExpression) -> PropertyPath? {
    if groupedQuery.groups.contains(value) { return nil }
    switch value {
    case .constant, .parameter: return nil
    case .path(let path): return groupedQuery.aggregate(path.path) == nil ? path.path : nil
    case .arithmetic(_, let left, let right): return stray(in: left) ?? stray(in: right)
    case .function(_, let arguments): return firstStray(arguments)
    case .listAggregate(_, let elements): return firstStray(elements)
    case .conditional(let condition, let yes, let no):
      return stray(in: condition) ?? stray(in: yes) ?? stray(in: no)
    case .aggregate(let aggregation): return path(aggregation.collection)
    case .element(let element): return path(element.collection)
    }
  }

  private func firstStray(_ values: [ResolvedExpression]) -> PropertyPath? {
    for value in values {
      if let path = stray(in: value) { return path }
    }
    return nil
  }

  func stray(in condition: Condition) -> PropertyPath? {
    switch condition {
    case .constant: return nil
    case .and(let conditions), .or(let conditions):
      for condition in conditions {
        if let path = stray(in: condition) { return path }
      }
      return nil
    case .comparison(let comparison):
      return stray(in: comparison.left) ?? stray(in: comparison.right)
    case .between(let interval): return stray(in: interval.value)
    case .membership(let membership): return stray(in: membership.value)
    case .exists(let collection, _, _): return path(collection)
    }
  }

  private func path(_ collection: ResolvedCollection) -> PropertyPath {
    PropertyPath(root: collection.entity, steps: collection.steps, target: .object)
  }
}
