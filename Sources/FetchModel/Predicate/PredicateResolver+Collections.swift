// Collections: quantifiers, SUBQUERY and aggregates.

/// A collection, the condition on its objects, and the value that is read from each. Valid only in
/// the scope in which it was resolved.
struct FilteredCollection {
  let collection: ResolvedCollection
  let condition: Condition
  /// From the elements' scope, to-one steps only.
  let value: ResolvedKeyPath
}

extension PredicateResolver {
  /// Splits a key path to many objects into its last collection and the value read from each element.
  mutating func filteredCollection(_ keyPath: ResolvedKeyPath) throws(PredicateError)
    -> FilteredCollection
  {
    let value = value(ofElements: keyPath)
    let collection = collection(
      of: keyPath, Array(keyPath.steps.dropLast(value.steps.count)), elementScope: value.scope)
    return FilteredCollection(
      collection: collection,
      condition: .all([try origin(of: collection, keyPath), try filter(of: collection, keyPath)]),
      value: value)
  }

  private func collection(of keyPath: ResolvedKeyPath, _ steps: [Int], elementScope: Int)
    -> ResolvedCollection
  {
    let end = model.walk(PropertyPath(root: keyPath.rootEntity, steps: steps, target: .object))
    return ResolvedCollection(
      scope: keyPath.scope, entity: keyPath.rootEntity, steps: steps, destination: end.end,
      elementScope: elementScope,
      toOneSteps: end.relationships.prefix { !$0.isToMany }.count,
      toManySteps: end.relationships.count(where: \.isToMany),
      isManyToMany: end.relationships.contains(where: model.isManyToMany))
  }

  /// The part of `keyPath` that is read from each element of its collection.
  func value(ofElements keyPath: ResolvedKeyPath) -> ResolvedKeyPath {
    let last = keyPath.toManyPositions.last ?? 0
    let steps = Array(keyPath.steps[...last])
    let elements = PropertyPath(root: keyPath.rootEntity, steps: steps, target: .object)
    var value = ResolvedKeyPath(
      scope: scopes.count, rootEntity: model.walk(elements).end, range: keyPath.range)
    value.steps = Array(keyPath.steps[(last + 1)...])
    value.endEntity = keyPath.endEntity
    value.target = keyPath.target
    value.isLength = keyPath.isLength
    value.reference = keyPath.reference
    return value
  }

  /// The condition of the SUBQUERY at the beginning of `keyPath`.
  private mutating func filter(
    of collection: ResolvedCollection, _ keyPath: ResolvedKeyPath
  ) throws(PredicateError) -> Condition {
    guard let filter = keyPath.filter else { return .constant(true) }
    track(collection.scope, collection.steps, .object)
    var scope = elements(of: collection, variable: filter.variable)
    scope.toOneSteps = filter.toOneSteps
    return try withScope(scope) { resolver throws(PredicateError) in
      let condition = try resolver.resolve(filter.predicate)
      guard !filter.toOneSteps.isEmpty else { return condition }
      let object = try resolver.operand(
        resolver.start(at: resolver.scopes.count - 1, keyPath.range))
      let null = Operand(.null, .null, at: keyPath.range)
      return .all([try resolver.compare(object, .notEqual, null, []), condition])
    }
  }

  /// The scope of a collection's elements.
  func elements(of collection: ResolvedCollection, variable: String? = nil) -> Scope {
    Scope(
      entity: collection.destination, steps: scopes[collection.scope].steps + collection.steps,
      variable: variable)
  }

  /// Returns the condition that some element of the collection of `keyPath` satisfies the condition that
  /// `body` returns for its value. `body` resolves everything in the elements' scope.
  mutating func exists(
    _ keyPath: ResolvedKeyPath,
    _ body: (inout Self, ResolvedKeyPath) throws(PredicateError) -> Condition
  ) throws(PredicateError) -> Condition {
    let filtered = try filteredCollection(keyPath)
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
    guard let keyPath = try resolveKeyPath(comparison.left) else {
      throw try noCollection(comparison.left)
    }
    let inner = aggregateOfElements(keyPath)
    guard keyPath.isCollection || inner != nil else { throw try noCollection(comparison.left) }
    let some = try exists(inner?.outer ?? keyPath) { (resolver, element) throws(PredicateError) in
      let condition = try resolver.condition(.keyPath(inner?.aggregate ?? element), comparison)
      return quantifier == .all ? condition.negated : condition
    }
    return quantifier == .any ? some : some.negated
  }

  /// Splits `countries.cities.@count` after a quantifier: all collections but the last, and the
  /// aggregate of each of their elements; nil if there is only one collection.
  private func aggregateOfElements(_ keyPath: ResolvedKeyPath) -> (
    outer: ResolvedKeyPath, aggregate: ResolvedKeyPath
  )? {
    let toMany = keyPath.toManyPositions.filter { $0 >= keyPath.element?.stepCount ?? 0 }
    guard keyPath.aggregate != nil, toMany.count > 1, keyPath.filter == nil else { return nil }
    let split = toMany[toMany.count - 2] + 1
    var outer = ResolvedKeyPath(
      scope: keyPath.scope, rootEntity: keyPath.rootEntity, range: keyPath.range)
    outer.steps = Array(keyPath.steps[..<split])
    outer.toManyPositions = keyPath.toManyPositions.dropLast()
    outer.element = keyPath.element
    var aggregate = value(ofElements: outer)
    aggregate.steps = Array(keyPath.steps[split...])
    aggregate.toManyPositions = keyPath.toManyPositions.suffix(1).map { $0 - split }
    aggregate.endEntity = keyPath.endEntity
    aggregate.target = keyPath.target
    aggregate.isLength = keyPath.isLength
    aggregate.operators = keyPath.operators.map { applied in
      ResolvedKeyPath.Operator(
        name: applied.name, stepCount: applied.stepCount - split, range: applied.range)
    }
    return (outer, aggregate)
  }

  /// The error for one value after a quantifier. Throws a more exact error if brackets are wrong.
  private mutating func noCollection(
    _ expression: Expression
  ) throws(PredicateError) -> PredicateError {
    _ = try element(expression)
    let isCalculation: Bool
    switch expression.kind {
    case .arithmetic, .negation, .function, .ternary, .cast: isCalculation = true
    default: isCalculation = false
    }
    return PredicateError(
      .quantifierWithoutToMany, at: expression.range.lowerBound,
      found: isCalculation ? "a calculation" : "a single value",
      expected: "a to-many key path after the quantifier",
      advice: isCalculation
        ? "SUBQUERY(path, $x, $x.name + 1 > 2).@count > 0 calculates with each" : nil)
  }

  /// `SUBQUERY(path, $x, predicate)` as the start of a key path.
  mutating func subquery(
    _ collection: Expression, _ variable: String, _ predicate: Predicate, at range: SourceRange
  ) throws(PredicateError) -> ResolvedKeyPath {
    guard var keyPath = try resolveKeyPath(collection), keyPath.isCollection,
      let last = keyPath.toManyPositions.last, keyPath.operators.isEmpty,
      keyPath.target == .object, keyPath.filter == nil
    else {
      throw PredicateError(
        .typeMismatch, at: collection.range.lowerBound, found: "no collection of objects",
        expected: "a to-many key path that ends with a relationship")
    }
    keyPath.filter = ResolvedKeyPath.Filter(
      variable: variable, predicate: predicate, toOneSteps: Array(keyPath.steps[(last + 1)...]))
    return keyPath
  }
}

// MARK: - Aggregates

extension PredicateResolver {
  /// The single value that an aggregate computes from a collection.
  mutating func aggregate(_ keyPath: ResolvedKeyPath) throws(PredicateError) -> Operand {
    guard let applied = keyPath.aggregate, let function = applied.name.function else {
      throw tooMany(keyPath)
    }
    return try aggregate(keyPath, function, at: applied.range)
  }

  mutating func aggregate(
    _ keyPath: ResolvedKeyPath, _ function: AggregateFunction, at range: SourceRange
  ) throws(PredicateError) -> Operand {
    guard !keyPath.isLength else {
      throw PredicateError(
        .typeMismatch, at: range.lowerBound, found: "an aggregate of lengths",
        expected: "an aggregate of attributes",
        advice: "a quantifier compares the length of each: ANY path.name.length > 3")
    }
    let filtered = try filteredCollection(keyPath)
    track(keyPath.scope, keyPath.steps, keyPath.target)
    track(keyPath.scope, filtered.collection.steps, .object)
    let valueKind = try kind(of: function, keyPath, at: range)
    let aggregation = Aggregation(
      function: function, collection: filtered.collection, condition: filtered.condition,
      value: filtered.value.path, objectStepCount: objectStepCount(keyPath, filtered, function),
      isDistinct: keyPath.isDistinct)
    var operand = Operand(
      expression: .aggregate(aggregation), kind: valueKind, range: keyPath.range)
    operand.isRelationship =
      function != .count && keyPath.target == .object && keyPath.reference == .relationship
    return operand
  }

  /// See ``Aggregation/objectStepCount``; 0 for `min`, `max` and distinct values, which do not depend on
  /// how often a value counts.
  private func objectStepCount(
    _ keyPath: ResolvedKeyPath, _ filtered: FilteredCollection, _ function: AggregateFunction
  ) -> Int {
    guard !keyPath.isDistinct, function != .min, function != .max else { return 0 }
    let stepCount = keyPath.operators.first?.stepCount ?? keyPath.steps.count
    return max(0, stepCount - filtered.collection.steps.count)
  }

  private func kind(
    of function: AggregateFunction, _ keyPath: ResolvedKeyPath, at range: SourceRange
  ) throws(PredicateError) -> Operand.Kind {
    let type = model.type(of: keyPath.path)
    switch function {
    case .count: return .number(isInteger: true)
    case .sum, .average:
      try requireNumbers(
        keyPath.path, areObjects: keyPath.target == .object && keyPath.reference == .relationship,
        model,
        at: range)
      return .number(isInteger: function == .sum && (type == .integer || type == .boolean))
    case .min, .max: return Operand.kind(of: type)
    }
  }

  /// The error for a collection in place of a single value.
  func tooMany(_ keyPath: ResolvedKeyPath) -> PredicateError {
    PredicateError(
      .toManyWithoutQuantifier, at: keyPath.range.lowerBound,
      found: "`\(model.text(of: keyPath.path))`",
      expected: "one value",
      advice: "put ANY, ALL or NONE before it, or an aggregate like `@count` after it")
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
    advice: areObjects && type.isNumeric ? "`\(name).id` is the number of each" : nil)
}
