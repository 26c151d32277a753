// Key paths → steps through the model.

/// A key path, followed up to some step. It contains nothing that was resolved, so that its meaning
/// is the same in every scope inside the scope in which it was followed.
struct Walk {
  struct Operator {
    let name: CollectionOperator
    /// The number of steps before it.
    let stepCount: Int
    let range: SourceRange
  }

  struct Filter {
    let variable: String
    let predicate: Predicate
  }

  struct Element {
    /// The key path with its brackets.
    let expression: Expression
    /// The number of steps that lead to it.
    let stepCount: Int
  }

  /// The kind of name that a key path gives the object at its end.
  enum Naming {
    /// By SELF, `id` or a variable.
    case object
    /// By a relationship.
    case relationship
  }

  /// The scope it starts from.
  let scope: Int
  let root: Int
  var steps: [Int] = []
  /// Which of the steps are to-many.
  var toMany: [Int] = []
  /// The entity reached.
  var end: Int
  var target = PropertyPath.Target.object
  var operators: [Operator] = []
  /// The condition that a SUBQUERY at its beginning puts on the elements.
  var filter: Filter?
  /// The brackets at its beginning, which pick one element of the first to-many step.
  var element: Element?
  /// True if it reads the length of its target.
  var isLength = false
  /// The kind of the target's name, if it is an object.
  var naming = Naming.object
  let range: SourceRange

  init(scope: Int, root: Int, range: SourceRange) {
    self.scope = scope
    self.root = root
    end = root
    self.range = range
  }

  /// True if it represents the objects or values of a collection rather than one value.
  var isCollection: Bool { reachesMany && aggregate == nil }

  /// True if it leads to many objects. A step with brackets leads to one.
  var reachesMany: Bool { (toMany.last ?? -1) >= (element?.stepCount ?? 0) }

  /// The aggregate that makes one value of the collection.
  var aggregate: Operator? {
    operators.last { $0.name != .distinctUnionOfObjects }
  }

  var isDistinct: Bool { operators.contains { $0.name == .distinctUnionOfObjects } }

  var path: PropertyPath { PropertyPath(root: root, steps: steps, target: target) }
}

extension AttributeType {
  /// True if `.length` may follow such an attribute.
  fileprivate var hasLength: Bool { Operand.kind(of: self) == .text && self != .json }
}

enum CollectionOperator: String, CaseIterable {
  case count, sum, avg, min, max, distinctUnionOfObjects

  var function: AggregateFunction {
    switch self {
    case .count, .distinctUnionOfObjects: .count
    case .sum: .sum
    case .avg: .average
    case .min: .min
    case .max: .max
    }
  }
}

extension PredicateResolver {
  /// Walks `expression` if it is a key path, a SUBQUERY, SELF or a SUBQUERY's variable, else nil.
  mutating func walk(_ expression: Expression) throws(PredicateError) -> Walk? {
    switch expression.kind {
    case .object: return start(at: 0, expression.range)
    case .variable(let name):
      return scope(named: name).map { start(at: $0, expression.range) }
    case .subquery(let collection, let variable, let predicate):
      return try subquery(collection, variable, predicate, at: expression.range)
    case .keyPath(let base, let components):
      return try walk(base, components, at: expression.range)
    case .placeholder(let placeholder) where placeholder.kind == .keyPath:
      let component = KeyPathComponent(.placeholder(placeholder), range: expression.range)
      return try walk(nil, [component], at: expression.range)
    default: return nil
    }
  }

  private func start(at scope: Int, _ range: SourceRange) -> Walk {
    Walk(scope: scope, root: scopes[scope].entity, range: range)
  }

  private func scope(named name: String) -> Int? {
    scopes.lastIndex { $0.variable == name }
  }

  private mutating func walk(
    _ base: Expression?, _ components: [KeyPathComponent], at range: SourceRange
  ) throws(PredicateError) -> Walk {
    var walked = start(at: 0, range)
    if let base {
      guard let started = try start(after: base) else { throw try refusal(ofBase: base) }
      walked = started
    }
    for component in components { try step(component, &walked) }
    if !walked.operators.isEmpty, !walked.reachesMany {
      throw PredicateError(
        .typeMismatch, at: range.lowerBound, found: "a key path to one value",
        expected: "a to-many key path before `@\(walked.operators[0].name.rawValue)`")
    }
    return walked
  }

  /// A walk that goes on after `base`, which may be an element of an ordered relationship.
  private mutating func start(after base: Expression) throws(PredicateError) -> Walk? {
    guard case .index(let collection, _) = base.kind else { return try walk(base) }
    guard var walked = try walk(collection), walked.isCollection else { return nil }
    walked.element = Walk.Element(expression: base, stepCount: walked.steps.count)
    // The brackets pick the element among those that the SUBQUERY leaves.
    walked.filter = nil
    return walked
  }

  private mutating func refusal(ofBase base: Expression) throws(PredicateError) -> PredicateError {
    if case .variable(let name) = base.kind {
      _ = try value(ofVariable: name, at: base.range)
    }
    return PredicateError(
      .typeMismatch, at: base.range.lowerBound, found: "a value without properties",
      expected: "a key path")
  }

  private mutating func step(
    _ component: KeyPathComponent, _ walk: inout Walk
  ) throws(PredicateError) {
    switch component.kind {
    case .name(let name): try step(name, &walk, at: component.range)
    case .collectionOperator(let name): try apply(name, &walk, at: component.range)
    case .placeholder(let placeholder):
      var names = try keyPath(placeholder, at: component.range)[...]
      while !names.isEmpty {
        let name = takeName(&names, of: model.entities[walk.end])
        if name.hasPrefix("@") {
          try apply(String(name.dropFirst()), &walk, at: component.range)
        } else {
          try step(name, &walk, at: component.range)
        }
      }
    }
  }

  /// The names in the argument of a `%K`.
  private mutating func keyPath(
    _ placeholder: Placeholder, at range: SourceRange
  ) throws(PredicateError) -> [String] {
    switch try argument(placeholder, at: range) {
    case .text(let text), .json(.string(let text)):
      let names = text.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
      guard names.count <= PredicateLimits.depth else {
        throw PredicateError(
          .tooComplex, at: range.lowerBound, found: "\(names.count) steps",
          expected: "at most \(PredicateLimits.depth)")
      }
      return names
    case .json(let json):
      throw PredicateError(
        .typeMismatch, at: range.lowerBound, found: json.kind, expected: "a key path as a string")
    case .parameter:
      throw PredicateError(
        .typeMismatch, at: range.lowerBound, found: "a number", expected: "a key path as a string")
    }
  }

  /// The first name, or the first few joined by dots if only these are a property's.
  private func takeName(_ names: inout ArraySlice<String>, of entity: Entity) -> String {
    for count in 1...max(1, names.count) {
      let name = names.prefix(count).joined(separator: ".")
      if entity.property(namedOrAliased: name) != nil {
        names = names.dropFirst(count)
        return name
      }
    }
    return names.removeFirst()
  }

  func step(
    _ name: String, _ walk: inout Walk, at range: SourceRange
  ) throws(PredicateError) {
    let entity = model.entities[walk.end]
    if case .attribute(let index) = walk.target {
      let field = "\(entity.attributes[index].name).\(name)"
      if case .attribute(let fieldIndex)? = entity.property(named: field) {
        walk.target = .attribute(fieldIndex)
        return
      }
      if name == "length", !walk.isLength, entity.attributes[index].type.hasLength {
        walk.isLength = true
        return
      }
      throw PredicateError(
        .unknownKeyPath, at: range.lowerBound, found: "`\(name)`",
        expected: "nothing after `\(entity.attributes[index].name)`, which is an attribute")
    }
    walk.naming = .object
    switch entity.property(namedOrAliased: name) {
    case .id?: break
    case .attribute(let index)?: walk.target = .attribute(index)
    case .relationship(let index)?:
      guard walk.steps.count < PredicateLimits.depth else {
        throw PredicateError(
          .tooComplex, at: range.lowerBound, found: "`\(name)`",
          expected: "at most \(PredicateLimits.depth) steps")
      }
      let relationship = entity.relationships[index]
      if relationship.isToMany {
        guard walk.filter == nil else { throw Self.toManyAfterSubquery(name, at: range) }
        walk.toMany.append(walk.steps.count)
      }
      // Another name of it is that of the column that holds the id.
      if relationship.name == name { walk.naming = .relationship }
      walk.steps.append(index)
      walk.end = relationship.destination
    case nil where PredicateKeyword(spelling: name) == .self: break
    case nil: throw unknown(name, of: entity, at: range)
    }
  }

  private static func toManyAfterSubquery(
    _ name: String, at range: SourceRange
  ) -> PredicateError {
    PredicateError(
      .typeMismatch, at: range.lowerBound, found: "`\(name)`, a to-many relationship",
      expected: "an aggregate, an attribute or a to-one relationship after SUBQUERY",
      hint: "its predicate may hold a quantifier: SUBQUERY(path, $x, ANY $x.\(name) …)")
  }

  private func unknown(_ name: String, of entity: Entity, at range: SourceRange) -> PredicateError {
    let isQuoted = name.first.map { "‘’‚“”„«»".contains($0) } ?? false
    return PredicateError(
      .unknownKeyPath, at: range.lowerBound, found: "`\(name)`",
      expected: "a property of \(entity.name)",
      hint: isQuoted ? "text is written in straight quotes: 'x' or \"x\"" : nil,
      nearest: nearestName(to: name, among: entity.propertyNames))
  }

  private func apply(
    _ name: String, _ walk: inout Walk, at range: SourceRange
  ) throws(PredicateError) {
    let known = CollectionOperator.allCases.map(\.rawValue)
    guard let name = CollectionOperator(rawValue: name) else {
      throw PredicateError(
        .unknownKeyPath, at: range.lowerBound, found: "`@\(name)`",
        expected: "a collection operator",
        nearest: nearestName(to: name, among: known).map { "@" + $0 })
    }
    guard walk.aggregate == nil else {
      throw PredicateError(
        .typeMismatch, at: range.lowerBound, found: "`@\(name.rawValue)`",
        expected: "nothing after an aggregate")
    }
    walk.operators.append(
      Walk.Operator(name: name, stepCount: walk.steps.count, range: range))
  }
}
