// Key paths → steps through the model.

/// A key path as far as it was walked.
struct Walk {
  struct Operator {
    let name: CollectionOperator
    let range: SourceRange
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
  /// What a SUBQUERY at its beginning demands of the elements.
  var condition: Condition?
  let range: SourceRange

  init(scope: Int, root: Int, range: SourceRange) {
    self.scope = scope
    self.root = root
    end = root
    self.range = range
  }

  /// Whether it stands for the objects or values of a collection and not for one value.
  var isCollection: Bool {
    (!toMany.isEmpty || condition != nil) && aggregate == nil
  }

  /// The aggregate that makes one value of the collection.
  var aggregate: Operator? {
    operators.last { $0.name != .distinctUnionOfObjects }
  }

  var isDistinct: Bool { operators.contains { $0.name == .distinctUnionOfObjects } }
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
      guard let started = try walk(base) else { throw try refusal(ofBase: base) }
      walked = started
    }
    for component in components { try step(component, &walked) }
    if walked.operators.isEmpty == false, walked.toMany.isEmpty, walked.condition == nil {
      throw PredicateError(
        .typeMismatch, at: range.lowerBound, found: "a key path to one value",
        expected: "a to-many key path before `@\(walked.operators[0].name.rawValue)`")
    }
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
    }
  }

  /// The first name, or the first few joined by dots where only these are a property's.
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
      if case .attribute(let behind)? = entity.property(named: field) {
        walk.target = .attribute(behind)
        return
      }
      throw PredicateError(
        .unknownKeyPath, at: range.lowerBound, found: "`\(name)`",
        expected: "nothing behind `\(entity.attributes[index].name)`, which is an attribute")
    }
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
      if relationship.isToMany { walk.toMany.append(walk.steps.count) }
      walk.steps.append(index)
      walk.end = relationship.destination
    case nil where PredicateKeyword(spelling: name) == .self: break
    case nil: throw unknown(name, of: entity, at: range)
    }
  }

  private func unknown(_ name: String, of entity: Entity, at range: SourceRange) -> PredicateError {
    let isQuoted = name.first.map { "‘’‚“”„«»".contains($0) } ?? false
    return PredicateError(
      .unknownKeyPath, at: range.lowerBound, found: "`\(name)`",
      expected: "a property of \(entity.name)",
      hint: isQuoted ? "text stands in straight quotes: 'x' or \"x\"" : nil,
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
        expected: "nothing behind an aggregate")
    }
    walk.operators.append(Walk.Operator(name: name, range: range))
  }
}
