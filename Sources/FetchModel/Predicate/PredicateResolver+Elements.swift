// `[FIRST]`, `[LAST]`, `[SIZE]` and `[n]` behind a to-many key path, and what is read of the element:
//
//     heroes[FIRST].name == 'x'   heroes.name[2]   SUBQUERY(heroes, $h, $h.age > 5)[LAST] == SELF

extension CollectionIndex {
  /// Whether a name stands in the brackets that is none of the places.
  fileprivate var isName: Bool {
    if case .position(let position) = self, case .keyPath = position.kind { true } else { false }
  }
}

extension PredicateResolver {
  /// The operand that `expression` is if it is an element, or a key path from one; else nil.
  mutating func element(_ expression: Expression) throws(PredicateError) -> Operand? {
    switch expression.kind {
    case .index(let collection, let index):
      return try element(index, of: collection, behind: [], at: expression.range)
    case .keyPath(let base?, let components):
      guard case .index(let collection, let index) = base.kind else { return nil }
      return try element(index, of: collection, behind: components, at: expression.range)
    default: return nil
    }
  }

  private mutating func element(
    _ index: CollectionIndex, of collection: Expression, behind components: [KeyPathComponent],
    at range: SourceRange
  ) throws(PredicateError) -> Operand {
    let found = try walk(collection)
    if let found, !found.isCollection, found.aggregate == nil, case .attribute = found.target {
      let path = PropertyPath(root: found.root, steps: found.steps, target: found.target)
      if model.type(of: path) == .json {
        throw PredicateError(
          .typeMismatch, at: collection.range.lowerBound, found: "`\(model.text(of: path))`, JSON",
          expected: "a to-many key path before the brackets", hint: "JSON is compared as a whole")
      }
    }
    guard let walk = found, walk.isCollection else {
      throw PredicateError(
        .typeMismatch, at: collection.range.lowerBound, found: "a single value",
        expected: "a to-many key path before the brackets",
        hint: index.isName ? "an option like `[c]` stands behind its operator" : nil)
    }
    if case .size = index {
      guard let component = components.first else { return try aggregate(walk, .count, at: range) }
      throw PredicateError(
        .typeMismatch, at: component.range.lowerBound, found: "a property of a number",
        expected: "nothing behind `[SIZE]`")
    }
    let place = try place(index, at: range)
    try checkOrder(of: walk, at: range)
    let reach = try reach(walk)
    let value = try value(behind: components, from: reach.value, at: range)
    track(walk.scope, reach.collection.steps, .object)
    track(walk.scope, reach.collection.steps + value.steps, value.target)
    let element = OrderedElement(
      collection: reach.collection, condition: reach.condition, place: place, value: value)
    var kind = Operand.kind(of: model.type(of: value))
    if value.target == .object { kind = .object(model.walk(value).end) }
    return Operand(expression: .element(element), kind: kind, range: range)
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

  /// Refuses a place where no order says what stands there.
  private func checkOrder(of walk: Walk, at range: SourceRange) throws(PredicateError) {
    let last = walk.toMany.last ?? 0
    let steps = PropertyPath(root: walk.root, steps: Array(walk.steps[...last]), target: .object)
    let relationship = model.walk(steps).relationships[last]
    guard relationship.isOrdered, walk.toMany.count == 1, walk.operators.isEmpty else {
      throw PredicateError(
        .unorderedRelationship, at: range.lowerBound, found: "an element by its place",
        expected: "an ordered relationship",
        hint: relationship.isOrdered
          ? "several relationships together have no order"
          : "`\(relationship.name)` has no order")
    }
  }

  /// What `components` read of an element, behind what is taken of each already.
  private func value(
    behind components: [KeyPathComponent], from taken: PropertyPath, at range: SourceRange
  ) throws(PredicateError) -> PropertyPath {
    var walk = Walk(scope: 0, root: taken.root, range: range)
    walk.steps = taken.steps
    walk.target = taken.target
    walk.end = model.walk(taken).end
    for component in components {
      guard case .name(let name) = component.kind else {
        throw PredicateError(
          .typeMismatch, at: component.range.lowerBound, found: "an aggregate",
          expected: "a property of the element")
      }
      try step(name, &walk, at: component.range)
    }
    guard walk.toMany.isEmpty else { throw tooMany(walk) }
    return PropertyPath(root: taken.root, steps: walk.steps, target: walk.target)
  }
}
