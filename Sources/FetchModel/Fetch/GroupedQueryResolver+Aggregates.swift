// The aggregates of a group (`@count`, `@sum.population`,
// `@distinctUnionOfObjects.continent.@count`) → attributes of the extended model, and the rules for
// combining them with other expressions.

extension GroupedQueryResolver {
  /// The expression with every aggregate replaced by the attribute that represents it.
  mutating func replacingAggregates(
    in expression: Expression
  ) throws(PredicateError) -> Expression {
    if let aggregate = try namedAggregate(expression) {
      return attribute(for: aggregate, at: expression.range)
    }
    return try expression.rewriting { (part) throws(PredicateError) in try nested(part) }
  }

  mutating func replacingAggregates(in predicate: Predicate) throws(PredicateError) -> Predicate {
    try predicate.rewriting { (part) throws(PredicateError) in try nested(part) }
  }

  /// An aggregate within something else, which has to be one value.
  private mutating func nested(_ part: Expression) throws(PredicateError) -> Expression? {
    guard let aggregate = try namedAggregate(part) else { return nil }
    guard aggregate.value.function != nil else {
      throw PredicateError(
        .typeMismatch, at: part.range.lowerBound, found: "`\(aggregate.name)`, several values",
        expected: "one value", advice: "put an aggregate like `.@count` after it")
    }
    return attribute(for: aggregate, at: part.range)
  }

  private mutating func attribute(for aggregate: NamedAggregate, at range: SourceRange)
    -> Expression
  {
    if !aggregateNames.contains(aggregate.name) {
      aggregateNames.append(aggregate.name)
      aggregates.append(aggregate.value)
    }
    let component = KeyPathComponent(.name(aggregate.name), range: range)
    return Expression(.keyPath(base: nil, [component]), range: range)
  }

  /// An aggregate and its text, which is the name of its attribute: it begins with `@`, as no property's does.
  private struct NamedAggregate {
    let name: String
    let value: GroupedQuery.Aggregate
  }

  /// The aggregate that `expression` is; nil if it is none.
  private func namedAggregate(_ expression: Expression) throws(PredicateError) -> NamedAggregate? {
    guard case .keyPath(nil, let components) = expression.kind,
      case .collectionOperator? = components.first?.kind
    else { return nil }
    var operators: [CollectionOperator] = []
    var names: [String] = []
    for component in components {
      switch component.kind {
      case .name(let name): names.append(name)
      case .collectionOperator(let name):
        operators.append(try self.operator(name, at: component.range))
      case .placeholder:
        throw PredicateError(
          .syntaxError, at: component.range.lowerBound, found: "`%K`",
          expected: "a property's name in an aggregate")
      }
    }
    let value = try resolved(operators, names, at: expression.range)
    let name = operators.reversed().map { "@\($0.rawValue)." }.joined()
    return NamedAggregate(name: name + names.joined(separator: "."), value: value)
  }

  private func `operator`(
    _ name: String, at range: SourceRange
  ) throws(PredicateError) -> CollectionOperator {
    if let known = CollectionOperator(rawValue: name) { return known }
    let names = CollectionOperator.allCases.map(\.rawValue)
    throw PredicateError(
      .unknownKeyPath, at: range.lowerBound, found: "`@\(name)`", expected: "an aggregate",
      advice: nearestName(to: name, among: names).map { "did you mean `@\($0)`?" })
  }

  /// The aggregate that the operators make of a key path.
  private func resolved(
    _ operators: [CollectionOperator], _ names: [String], at range: SourceRange
  ) throws(PredicateError) -> GroupedQuery.Aggregate {
    let functions = operators.filter { $0 != .distinctUnionOfObjects }
    let isDistinct = functions.count < operators.count
    guard functions.count <= 1, operators.count - functions.count <= 1 else {
      throw PredicateError(
        .typeMismatch, at: range.lowerBound, found: "aggregates of aggregates", expected: "one")
    }
    if names.isEmpty, !isDistinct, functions == [.count] {
      return GroupedQuery.Aggregate(
        function: .count, value: nil, isDistinct: false, type: .integer)
    }
    let path = try path(names, at: range)
    let type = model.type(of: path)
    if functions == [.sum] || functions == [.avg] {
      let areObjects = path.target == .object && path.steps.count == names.count
      try requireNumbers(path, areObjects: areObjects, model, at: range)
    }
    return GroupedQuery.Aggregate(
      function: functions.first?.function, value: path, isDistinct: isDistinct, type: type)
  }

  /// The path of the values that an aggregate reads.
  private func path(
    _ names: [String], at range: SourceRange
  ) throws(PredicateError) -> PropertyPath {
    guard !names.isEmpty else {
      throw PredicateError(
        .syntaxError, at: range.lowerBound, found: "an aggregate of nothing",
        expected: "a key path after it", advice: "as in `@sum.population`")
    }
    let path: PropertyPath
    do {
      path = try model.path(names.joined(separator: "."), from: entity)
    } catch {
      throw PredicateError(
        .unknownKeyPath, at: range.lowerBound, found: "`\(error.name)`",
        expected: "a property of \(error.entity)",
        advice: error.hint.map { "did you mean `\($0)`?" })
    }
    guard !model.isToMany(path) else {
      throw PredicateError(
        .toManyWithoutQuantifier, at: range.lowerBound, found: "`\(model.text(of: path))`",
        expected: "one value of each object",
        advice: "an aggregate here is over the objects fetched")
    }
    return path
  }
}

// MARK: - Types

extension GroupedQueryResolver {
  func resultType(of aggregate: GroupedQuery.Aggregate) -> AttributeType {
    switch aggregate.function {
    case .count: .integer
    case .sum: aggregate.type == .boolean ? .integer : aggregate.type
    case .average: .double
    case .min, .max, nil: aggregate.type
    }
  }

  func dateFormat(of aggregate: GroupedQuery.Aggregate) -> DateFormat? {
    guard aggregate.function != .count, let path = aggregate.value,
      case .attribute(let index) = path.target
    else { return nil }
    return model.entities[model.walk(path).end].attributes[index].dateFormat
  }
}
