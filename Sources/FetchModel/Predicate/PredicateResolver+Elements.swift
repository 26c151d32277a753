// `[FIRST]`, `[LAST]`, `[SIZE]` and `[n]` after a to-many key path, and the value that is read from
// the element.
//
//     heroes[FIRST].name == 'x'   heroes.name[2]   SUBQUERY(heroes, $h, $h.age > 5)[LAST] == SELF

extension CollectionIndex {
  /// True if the brackets contain a name other than FIRST, LAST and SIZE.
  fileprivate var isName: Bool {
    if case .position(let position) = self, case .keyPath = position.kind { true } else { false }
  }
}

extension PredicateResolver {
  /// The operand that `expression` is if it is an element, or a key path from one; else nil.
  mutating func element(_ expression: Expression) throws(PredicateError) -> Operand? {
    switch expression.kind {
    case .index(let collection, let index):
      return try element(index, of: collection, after: [], at: expression.range)
    case .keyPath(let base?, let components):
      guard case .index(let collection, let index) = base.kind else { return nil }
      return try element(index, of: collection, after: components, at: expression.range)
    default: return nil
    }
  }

  /// Returns nil if `components` lead to many objects.
  private mutating func element(
    _ index: CollectionIndex, of collection: Expression, after components: [KeyPathComponent],
    at range: SourceRange
  ) throws(PredicateError) -> Operand? {
    let keyPath = try self.collection(collection, before: index)
    if case .size = index {
      guard let component = components.first else {
        return try aggregate(keyPath, .count, at: range)
      }
      throw PredicateError(
        .typeMismatch, at: component.range.lowerBound, found: "a property of a number",
        expected: "nothing after `[SIZE]`")
    }
    guard keyPath.element == nil else {
      throw PredicateError(
        .typeMismatch, at: collection.range.upperBound, found: "a second element by its place",
        expected: "`[SIZE]`, a quantifier or an aggregate for the objects of an element")
    }
    guard let value = try value(after: components, of: keyPath, at: range) else { return nil }
    let place = try place(index, at: range)
    try checkOrder(of: keyPath, at: range)
    let filtered = try filteredCollection(keyPath)
    track(keyPath.scope, filtered.collection.steps, .object)
    track(keyPath.scope, filtered.collection.steps + value.steps, value.target)
    let element = OrderedElement(
      collection: filtered.collection, condition: filtered.condition, place: place,
      value: value.path)
    var operand = operand(.element(element), read: value)
    operand.range = range
    return operand
  }

  /// The key path to many objects or values before the brackets.
  private mutating func collection(
    _ expression: Expression, before index: CollectionIndex
  ) throws(PredicateError) -> ResolvedKeyPath {
    let found = try resolveKeyPath(expression)
    if let found, found.isCollection { return found }
    var (text, advice): (String, String?) = ("a single value", nil)
    if let found, found.aggregate == nil, case .attribute = found.target,
      model.type(of: found.path) == .json
    {
      (text, advice) = ("`\(model.text(of: found.path))`, JSON", "JSON is compared as a whole")
    } else if index.isName {
      advice = "an option like `[c]` follows its operator"
    }
    throw PredicateError(
      .typeMismatch, at: expression.range.lowerBound, found: text,
      expected: "a to-many key path before the brackets", advice: advice)
  }

  private mutating func place(
    _ index: CollectionIndex, at range: SourceRange
  ) throws(PredicateError) -> OrderedElement.Place {
    switch index {
    case .first, .size: return .first
    case .last: return .last
    case .position(let expression):
      let operand = try operand(expression)
      let number = try converted(operand, to: .number(isInteger: true))
      guard case .integer(let position)? = number.constant, position >= 0 else {
        throw PredicateError(
          .typeMismatch, at: expression.range.lowerBound, found: operand.kind.phrase,
          expected: "FIRST, LAST, SIZE or a whole number from 0 in the brackets")
      }
      return .position(position)
    }
  }

  /// Refuses an element of a collection that has no order.
  private func checkOrder(of keyPath: ResolvedKeyPath, at range: SourceRange) throws(PredicateError)
  {
    let last = keyPath.toManyPositions.last ?? 0
    let steps = PropertyPath(
      root: keyPath.rootEntity, steps: Array(keyPath.steps[...last]), target: .object)
    let relationship = model.walk(steps).relationships[last]
    guard relationship.isOrdered, keyPath.toManyPositions.count == 1, keyPath.operators.isEmpty
    else {
      throw PredicateError(
        .unorderedRelationship, at: range.lowerBound, found: "an element by its place",
        expected: "an ordered relationship",
        advice: relationship.isOrdered
          ? "several relationships together have no order"
          : "`\(relationship.name)` has no order")
    }
  }

  /// The value that `components` read from an element, in addition to the value already read from
  /// each; nil if they lead to many objects.
  private func value(
    after components: [KeyPathComponent], of collection: ResolvedKeyPath, at range: SourceRange
  ) throws(PredicateError) -> ResolvedKeyPath? {
    var keyPath = value(ofElements: collection)
    for component in components {
      guard case .name(let name) = component.kind else {
        throw PredicateError(
          .typeMismatch, at: component.range.lowerBound, found: "an aggregate",
          expected: "a property of the element")
      }
      try append(name, to: &keyPath, at: component.range)
      guard keyPath.toManyPositions.isEmpty else { return nil }
    }
    return keyPath
  }
}

// MARK: - Collections of an element

extension PredicateResolver {
  /// That an object of `collection` was reached over the element that brackets pick, as in
  /// `pets[FIRST].toys`: the inverse steps lead back to it.
  mutating func origin(
    of collection: ResolvedCollection, _ keyPath: ResolvedKeyPath
  ) throws(PredicateError) -> Condition {
    guard let element = keyPath.element else { return .constant(true) }
    let way = try inverse(of: collection, from: element.stepCount, at: keyPath.range)
    return try withScope(elements(of: collection)) { resolver throws(PredicateError) in
      guard way.isCollection else { return try resolver.isElement(way, element) }
      return try resolver.exists(way) { (resolver, object) throws(PredicateError) in
        try resolver.isElement(object, element)
      }
    }
  }

  private mutating func isElement(
    _ keyPath: ResolvedKeyPath, _ element: ResolvedKeyPath.Element
  ) throws(PredicateError) -> Condition {
    var object = try operand(keyPath)
    let picked = try operand(element.expression)
    // The inverse may lead to an entity that the element's one inherits from.
    object.kind = picked.kind
    return try compare(object, .equal, picked, [])
  }

  /// The key path from an object of `collection` back to the objects that its steps before `start`
  /// lead to.
  private func inverse(
    of collection: ResolvedCollection, from start: Int, at range: SourceRange
  ) throws(PredicateError) -> ResolvedKeyPath {
    let path = PropertyPath(root: collection.entity, steps: collection.steps, target: .object)
    var way = ResolvedKeyPath(
      scope: collection.elementScope, rootEntity: collection.destination, range: range)
    for relationship in model.walk(path).relationships[start...].reversed() {
      guard let inverse = relationship.inverse else {
        throw PredicateError(
          .typeMismatch, at: range.lowerBound, found: "`\(relationship.name)`",
          expected: "a relationship with an inverse after the brackets")
      }
      let step = model.entities[relationship.destination].relationships[inverse]
      if step.isToMany { way.toManyPositions.append(way.steps.count) }
      way.steps.append(inverse)
      way.endEntity = step.destination
    }
    return way
  }
}
