// Collections: quantifiers, SUBQUERY and aggregates.

/// A collection, the condition on its objects, and the value that is read from each. Valid only in
/// the scope in which it was resolved.
struct FilteredCollection {
  let collection: ResolvedCollection
  let condition: Condition
  /// From the elements' scope, to-one steps only.
  let value: Walk
}

extension PredicateResolver {
  /// Splits a walk over many objects into its last collection and the value read from each element.
  mutating func filteredCollection(_ walk: Walk) throws(PredicateError) -> FilteredCollection {
    let value = value(ofElements: walk)
    let collection = collection(
      of: walk, Array(walk.steps.dropLast(value.steps.count)), elementScope: value.scope)
    return FilteredCollection(
      collection: collection,
      condition: .all([try origin(of: collection, walk), try filter(of: collection, walk)]),
      value: value)
  }

  private func collection(of walk: Walk, _ steps: [Int], elementScope: Int) -> ResolvedCollection {
    let end = model.walk(PropertyPath(root: walk.root, steps: steps, target: .object))
    return ResolvedCollection(
      scope: walk.scope, entity: walk.root, steps: steps, destination: end.end,
      elementScope: elementScope,
      toOneSteps: end.relationships.prefix { !$0.isToMany }.count,
      toManySteps: end.relationships.count(where: \.isToMany),
      isManyToMany: end.relationships.contains(where: model.isManyToMany))
  }

  /// The part of `walk` that is read from each element of its collection.
  func value(ofElements walk: Walk) -> Walk {
    let last = walk.toMany.last ?? 0
    let steps = Array(walk.steps[...last])
    let elements = PropertyPath(root: walk.root, steps: steps, target: .object)
    var value = Walk(scope: scopes.count, root: model.walk(elements).end, range: walk.range)
    value.steps = Array(walk.steps[(last + 1)...])
    value.end = walk.end
    value.target = walk.target
    value.isLength = walk.isLength
    value.naming = walk.naming
    return value
  }

  /// The condition of the SUBQUERY at the beginning of `walk`.
  private mutating func filter(
    of collection: ResolvedCollection, _ walk: Walk
  ) throws(PredicateError) -> Condition {
    guard let filter = walk.filter else { return .constant(true) }
    track(collection.scope, collection.steps, .object)
    return try withScope(elements(of: collection, variable: filter.variable)) {
      resolver throws(PredicateError) in try resolver.resolve(filter.predicate)
    }
  }

  /// The scope of a collection's elements.
  func elements(of collection: ResolvedCollection, variable: String? = nil) -> Scope {
    Scope(
      entity: collection.destination, steps: scopes[collection.scope].steps + collection.steps,
      variable: variable)
  }

  /// Returns the condition that some element of the collection of `walk` satisfies the condition that
  /// `body` returns for its value. `body` resolves everything in the elements' scope.
  mutating func exists(
    _ walk: Walk, _ body: (inout Self, Walk) throws(PredicateError) -> Condition
  ) throws(PredicateError) -> Condition {
    let filtered = try filteredCollection(walk)
    let collection = filtered.collection
    track(collection.scope, collection.steps, .object)
    let condition = try withScope(elements(of: collection)) { resolver throws(PredicateError) in
      try body(&resolver, filtered.value)
    }
    if condition == .constant(false) { return .constant(false) }
    return .exists(collection, where: .all([filtered.condition, condition]), isNegated: false)
  }

  /// `ANY path operator right` and similar.
  mutating func resolve(
    _ comparison: ComparisonPredicate, _ quantifier: ComparisonPredicate.Quantifier
  ) throws(PredicateError) -> Condition {
    guard let walk = try walk(comparison.left) else { throw noCollection(comparison.left) }
    let inner = aggregateOfElements(walk)
    guard walk.isCollection || inner != nil else { throw noCollection(comparison.left) }
    let some = try exists(inner?.outer ?? walk) { (resolver, element) throws(PredicateError) in
      let condition = try resolver.condition(.walk(inner?.aggregate ?? element), comparison)
      return quantifier == .all ? condition.negated : condition
    }
    return quantifier == .any ? some : some.negated
  }

  /// Splits `countries.cities.@count` after a quantifier: all collections but the last, and the
  /// aggregate of each of their elements; nil if there is only one collection.
  private func aggregateOfElements(_ walk: Walk) -> (outer: Walk, aggregate: Walk)? {
    let toMany = walk.toMany.filter { $0 >= walk.element?.stepCount ?? 0 }
    guard walk.aggregate != nil, toMany.count > 1, walk.filter == nil else { return nil }
    let split = toMany[toMany.count - 2] + 1
    var outer = Walk(scope: walk.scope, root: walk.root, range: walk.range)
    outer.steps = Array(walk.steps[..<split])
    outer.toMany = walk.toMany.dropLast()
    outer.element = walk.element
    var aggregate = value(ofElements: outer)
    aggregate.steps = Array(walk.steps[split...])
    aggregate.toMany = walk.toMany.suffix(1).map { $0 - split }
    aggregate.end = walk.end
    aggregate.target = walk.target
    aggregate.isLength = walk.isLength
    aggregate.operators = walk.operators.map { applied in
      Walk.Operator(
        name: applied.name, stepCount: applied.stepCount - split, range: applied.range)
    }
    return (outer, aggregate)
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
      expected: "a to-many key path after the quantifier",
      hint: isCalculation
        ? "SUBQUERY(path, $x, $x.name + 1 > 2).@count > 0 calculates with each" : nil)
  }

  /// `SUBQUERY(path, $x, predicate)` as the start of a walk.
  mutating func subquery(
    _ collection: Expression, _ variable: String, _ predicate: Predicate, at range: SourceRange
  ) throws(PredicateError) -> Walk {
    guard var walk = try walk(collection), walk.isCollection, walk.operators.isEmpty,
      walk.target == .object, walk.toMany.last == walk.steps.count - 1, walk.filter == nil
    else {
      throw PredicateError(
        .typeMismatch, at: collection.range.lowerBound, found: "no collection of objects",
        expected: "a to-many key path that ends with its relationship")
    }
    walk.filter = Walk.Filter(variable: variable, predicate: predicate)
    return walk
  }
}

// MARK: - Aggregates

extension PredicateResolver {
  /// The single value that an aggregate computes from a collection.
  mutating func aggregate(_ walk: Walk) throws(PredicateError) -> Operand {
    guard let applied = walk.aggregate else { throw tooMany(walk) }
    return try aggregate(walk, applied.name.function, at: applied.range)
  }

  mutating func aggregate(
    _ walk: Walk, _ function: AggregateFunction, at range: SourceRange
  ) throws(PredicateError) -> Operand {
    guard !walk.isLength else {
      throw PredicateError(
        .typeMismatch, at: range.lowerBound, found: "an aggregate of lengths",
        expected: "an aggregate of attributes",
        hint: "a quantifier compares the length of each: ANY path.name.length > 3")
    }
    let filtered = try filteredCollection(walk)
    track(walk.scope, walk.steps, walk.target)
    track(walk.scope, filtered.collection.steps, .object)
    let valueKind = try kind(of: function, walk, at: range)
    let aggregation = Aggregation(
      function: function, collection: filtered.collection, condition: filtered.condition,
      value: filtered.value.path, objectStepCount: objectStepCount(walk, filtered, function),
      isDistinct: walk.isDistinct)
    var operand = Operand(expression: .aggregate(aggregation), kind: valueKind, range: walk.range)
    operand.isRelationship =
      function != .count && walk.target == .object && walk.naming == .relationship
    return operand
  }

  /// See ``Aggregation/objectStepCount``; 0 for `min`, `max` and distinct values, which do not depend on
  /// how often a value counts.
  private func objectStepCount(
    _ walk: Walk, _ filtered: FilteredCollection, _ function: AggregateFunction
  ) -> Int {
    guard !walk.isDistinct, function != .min, function != .max else { return 0 }
    let stepCount = walk.operators.first?.stepCount ?? walk.steps.count
    return max(0, stepCount - filtered.collection.steps.count)
  }

  private func kind(
    of function: AggregateFunction, _ walk: Walk, at range: SourceRange
  ) throws(PredicateError) -> Operand.Kind {
    let type = model.type(of: walk.path)
    switch function {
    case .count: return .number(isInteger: true)
    case .sum, .average:
      try requireNumbers(
        walk.path, areObjects: walk.target == .object && walk.naming == .relationship, model,
        at: range)
      return .number(isInteger: function == .sum && (type == .integer || type == .boolean))
    case .min, .max: return Operand.kind(of: type)
    }
  }

  /// The error for a collection in place of a single value.
  func tooMany(_ walk: Walk) -> PredicateError {
    PredicateError(
      .toManyWithoutQuantifier, at: walk.range.lowerBound, found: "`\(model.text(of: walk.path))`",
      expected: "one value",
      hint: "put ANY, ALL or NONE before it, or an aggregate like `@count` after it")
  }
}

/// Throws unless the values of `path` can be added. Ids can be added if they are numbers and the path
/// names them; objects, which a relationship names, cannot.
func requireNumbers(
  _ path: PropertyPath, areObjects: Bool, _ model: Model, at range: SourceRange
) throws(PredicateError) {
  let type = model.type(of: path)
  guard !type.isNumeric || areObjects else { return }
  let phrase = areObjects ? "objects" : Operand.kind(of: type).phrase
  let name = model.text(of: path)
  throw PredicateError(
    .typeMismatch, at: range.lowerBound, found: "`\(name)`, \(phrase)", expected: "numbers",
    hint: areObjects && type.isNumeric ? "`\(name).id` is the number of each" : nil)
}
