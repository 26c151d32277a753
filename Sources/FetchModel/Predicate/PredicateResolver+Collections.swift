// Collections: quantifiers, SUBQUERY and aggregates.

/// A collection, which of its objects are meant, and the value taken of each.
struct Reach {
  let collection: ResolvedCollection
  let condition: Condition
  /// From the elements' entity, to-one steps only.
  let value: PropertyPath
  let isDistinct: Bool
  let range: SourceRange
}

extension PredicateResolver {
  /// The collection that `expression` stands for; nil if it is a single value.
  mutating func reach(_ expression: Expression) throws(PredicateError) -> Reach? {
    guard let walk = try walk(expression), walk.isCollection else { return nil }
    return try reach(walk)
  }

  func reach(_ walk: Walk) throws(PredicateError) -> Reach {
    let last = walk.toMany.last ?? 0
    let steps = Array(walk.steps[...last])
    let root = PropertyPath(root: walk.root, steps: steps, target: .object)
    let (destination, relationships) = (model.walk(root).end, model.walk(root).relationships)
    return Reach(
      collection: ResolvedCollection(
        scope: walk.scope, entity: walk.root, steps: steps, destination: destination,
        elementScope: scopes.count, toOneSteps: relationships.prefix { !$0.isToMany }.count,
        toManySteps: relationships.count(where: \.isToMany),
        isManyToMany: relationships.contains(where: model.isManyToMany)),
      condition: walk.condition ?? .constant(true),
      value: PropertyPath(
        root: destination, steps: Array(walk.steps[(last + 1)...]), target: walk.target),
      isDistinct: walk.isDistinct, range: walk.range)
  }

  /// The scope of a collection's elements.
  private func elements(of collection: ResolvedCollection, variable: String? = nil) -> Scope {
    Scope(
      entity: collection.destination, steps: scopes[collection.scope].steps + collection.steps,
      variable: variable)
  }

  /// That some object of `reach` has a value that fulfils what `body` says of it.
  mutating func exists(
    _ reach: Reach,
    _ body: (inout Self, Operand) throws(PredicateError) -> Condition
  ) throws(PredicateError) -> Condition {
    let collection = reach.collection
    track(collection.scope, collection.steps, .object)
    let condition = try within(elements(of: collection)) { resolver throws(PredicateError) in
      let element = resolver.operand(reach.value, in: collection.elementScope, at: reach.range)
      return try body(&resolver, element)
    }
    if condition == .constant(false) { return .constant(false) }
    return .exists(collection, where: .all([reach.condition, condition]), isNegated: false)
  }

  /// `ANY path operator right` and kin.
  mutating func resolve(
    _ comparison: ComparisonPredicate, _ quantifier: ComparisonPredicate.Quantifier
  ) throws(PredicateError) -> Condition {
    guard let walk = try walk(comparison.left) else { throw noCollection(comparison.left) }
    let some: Condition
    if walk.aggregate != nil, walk.toMany.count > 1, walk.condition == nil {
      some = try existsAggregate(walk, comparison, isNegated: quantifier == .all)
    } else {
      guard walk.isCollection else { throw noCollection(comparison.left) }
      some = try exists(try reach(walk)) { (resolver, element) throws(PredicateError) in
        let condition = try resolver.condition(element, comparison)
        return quantifier == .all ? condition.negated : condition
      }
    }
    return quantifier == .any ? some : some.negated
  }

  /// `ANY countries.cities.@count > 3`: an aggregate of each object of all but the last collection.
  private mutating func existsAggregate(
    _ walk: Walk, _ comparison: ComparisonPredicate, isNegated: Bool
  ) throws(PredicateError) -> Condition {
    let split = walk.toMany[walk.toMany.count - 2] + 1
    var outer = Walk(scope: walk.scope, root: walk.root, range: walk.range)
    outer.steps = Array(walk.steps[..<split])
    outer.toMany = walk.toMany.dropLast()
    let reach = try reach(outer)
    var inner = Walk(
      scope: reach.collection.elementScope, root: reach.collection.destination, range: walk.range)
    inner.steps = Array(walk.steps[split...])
    inner.toMany = walk.toMany.suffix(1).map { $0 - split }
    inner.end = walk.end
    inner.target = walk.target
    inner.operators = walk.operators
    return try exists(reach) { (resolver, _) throws(PredicateError) in
      let condition = try resolver.condition(try resolver.aggregate(inner), comparison)
      return isNegated ? condition.negated : condition
    }
  }

  private func noCollection(_ expression: Expression) -> PredicateError {
    let isCalculation: Bool
    switch expression.kind {
    case .arithmetic, .negation, .function, .ternary, .cast: isCalculation = true
    default: isCalculation = false
    }
    return PredicateError(
      .quantifierWithoutToMany, at: expression.range.lowerBound,
      found: isCalculation ? "a calculation" : "a single value",
      expected: "a to-many key path behind the quantifier",
      hint: isCalculation
        ? "SUBQUERY(path, $x, $x.name + 1 > 2).@count > 0 calculates with each" : nil)
  }

  /// `SUBQUERY(path, $x, predicate)` as the start of a walk.
  mutating func subquery(
    _ collection: Expression, _ variable: String, _ predicate: Predicate, at range: SourceRange
  ) throws(PredicateError) -> Walk {
    guard var walk = try walk(collection), walk.isCollection, walk.operators.isEmpty,
      walk.target == .object, walk.toMany.last == walk.steps.count - 1, walk.condition == nil
    else {
      throw PredicateError(
        .typeMismatch, at: collection.range.lowerBound, found: "no collection of objects",
        expected: "a to-many key path that ends with its relationship")
    }
    let reach = try reach(walk)
    track(walk.scope, walk.steps, .object)
    walk.condition = try within(elements(of: reach.collection, variable: variable)) {
      resolver throws(PredicateError) in try resolver.resolve(predicate)
    }
    // The variable's scope is closed; the walk goes on from the elements.
    return walk
  }
}

// MARK: - Aggregates

extension PredicateResolver {
  /// The one value that an aggregate makes of a collection.
  mutating func aggregate(_ walk: Walk) throws(PredicateError) -> Operand {
    guard let applied = walk.aggregate else { throw tooMany(walk) }
    return try aggregate(walk, applied.name.function, at: applied.range)
  }

  mutating func aggregate(
    _ walk: Walk, _ function: AggregateFunction, at range: SourceRange
  ) throws(PredicateError) -> Operand {
    let reach = try reach(walk)
    let path = PropertyPath(root: walk.root, steps: walk.steps, target: walk.target)
    track(walk.scope, walk.steps, walk.target)
    track(walk.scope, reach.collection.steps, .object)
    let valueKind = try kind(of: function, path, at: range)
    let aggregation = Aggregation(
      function: function, collection: reach.collection, condition: reach.condition,
      value: reach.value, isDistinct: reach.isDistinct)
    return Operand(expression: .aggregate(aggregation), kind: valueKind, range: walk.range)
  }

  private func kind(
    of function: AggregateFunction, _ path: PropertyPath, at range: SourceRange
  ) throws(PredicateError) -> Operand.Kind {
    let type = model.type(of: path)
    switch function {
    case .count: return .number(isInteger: true)
    case .sum, .average:
      guard type.isNumeric, path.target != .object else {
        throw PredicateError(
          .typeMismatch, at: range.lowerBound,
          found: "`\(model.text(of: path))`, \(Operand.kind(of: type).phrase)", expected: "numbers")
      }
      return .number(isInteger: function == .sum && (type == .integer || type == .boolean))
    case .min, .max: return Operand.kind(of: type)
    }
  }

  /// The refusal of a collection where one value is needed.
  func tooMany(_ walk: Walk) -> PredicateError {
    let path = PropertyPath(root: walk.root, steps: walk.steps, target: walk.target)
    return PredicateError(
      .toManyWithoutQuantifier, at: walk.range.lowerBound, found: "`\(model.text(of: path))`",
      expected: "one value",
      hint: "put ANY, ALL or NONE before it, or an aggregate like `@count` behind it")
  }

  /// The value of a to-one path from the object of `scope`.
  mutating func operand(
    _ path: PropertyPath, in scope: Int, at range: SourceRange
  ) -> Operand {
    track(scope, path.steps, path.target)
    var kind = Operand.kind(of: model.type(of: path))
    if path.target == .object { kind = .object(model.walk(path).end) }
    return Operand(
      expression: .path(ScopedPath(scope: scope, path: path)), kind: kind, range: range)
  }
}
