// Key paths of the syntax tree → steps through the model.

/// A key path, resolved to steps of the model. Its filter and its brackets remain syntax, because they
/// are resolved again in the scope in which the path is used.
struct ResolvedKeyPath {
  /// A collection operator in the path, such as `@count`.
  struct Operator {
    let name: CollectionOperator
    /// The number of steps before it.
    let stepCount: Int
    let range: SourceRange
  }

  /// The variable and the predicate of a SUBQUERY.
  struct Filter {
    let variable: String
    let predicate: Predicate
    /// The steps of its key path after the last to-many one.
    let toOneSteps: [Int]
  }

  /// An element of an ordered collection, which brackets pick.
  struct Element {
    /// The key path with its brackets.
    let expression: Expression
    /// The number of steps that lead to it.
    let stepCount: Int
  }

  /// How a key path names the object at its end. An id can be computed with and compared with
  /// numbers and texts, a relationship only with objects.
  enum ObjectReference {
    /// By SELF, `id`, a variable or a column that holds the id.
    case id
    /// By the name of a relationship.
    case relationship
  }

  /// The index of the scope in which it starts.
  let scope: Int
  /// The index of the entity at which it starts.
  let rootEntity: Int
  /// The index of the entity at which it ends.
  var endEntity: Int
  /// The indexes of the relationships, each into the `relationships` of the entity before it.
  var steps: [Int] = []
  /// The positions in `steps` of the to-many relationships, ascending.
  var toManyPositions: [Int] = []
  var target = PropertyPath.Target.object
  var operators: [Operator] = []
  /// The SUBQUERY that the key path begins with.
  var filter: Filter?
  /// The brackets at its beginning, which pick one element of the first to-many step.
  var element: Element?
  /// True if it reads the length of its target.
  var isLength = false
  /// How it names its target, if that is an object.
  var reference = ObjectReference.id
  let range: SourceRange

  init(scope: Int, rootEntity: Int, range: SourceRange) {
    self.scope = scope
    self.rootEntity = rootEntity
    endEntity = rootEntity
    self.range = range
  }

  /// True if it represents the objects or values of a collection rather than one value.
  var isCollection: Bool { reachesMany && aggregate == nil }

  /// True if it leads to many objects. To-many steps before brackets do not count, because the brackets
  /// pick one element.
  var reachesMany: Bool {
    guard let last = toManyPositions.last else { return false }
    return last >= element?.stepCount ?? 0
  }

  /// The operator that computes one value from the collection.
  var aggregate: Operator? {
    operators.last { $0.name != .distinctUnionOfObjects }
  }

  var isDistinct: Bool { operators.contains { $0.name == .distinctUnionOfObjects } }

  var path: PropertyPath { PropertyPath(root: rootEntity, steps: steps, target: target) }
}

extension AttributeType {
  /// True if `.length` may follow such an attribute.
  fileprivate var hasLength: Bool { Operand.kind(of: self) == .text && self != .json }
}

/// The collection operators, by their spelling after `@`.
enum CollectionOperator: String, CaseIterable {
  case count, sum, avg, min, max, distinctUnionOfObjects

  /// The aggregate function; nil for `distinctUnionOfObjects`, which makes the aggregate after it
  /// distinct.
  var function: AggregateFunction? {
    switch self {
    case .distinctUnionOfObjects: nil
    case .count: .count
    case .sum: .sum
    case .avg: .average
    case .min: .min
    case .max: .max
    }
  }
}

extension PredicateResolver {
  /// Resolves `expression` if it is a key path, a SUBQUERY, SELF or a SUBQUERY's variable. Returns nil
  /// for other expressions.
  mutating func resolveKeyPath(_ expression: Expression) throws(PredicateError) -> ResolvedKeyPath?
  {
    switch expression.kind {
    case .object: return start(at: 0, expression.range)
    case .variable(let name):
      return scope(named: name).map { start(at: $0, expression.range) }
    case .subquery(let collection, let variable, let predicate):
      return try subquery(collection, variable, predicate, at: expression.range)
    case .keyPath(let base, let components):
      return try resolveKeyPath(base, components, at: expression.range)
    case .placeholder(let placeholder) where placeholder.kind == .keyPath:
      let component = KeyPathComponent(.placeholder(placeholder), range: expression.range)
      return try resolveKeyPath(nil, [component], at: expression.range)
    default: return nil
    }
  }

  /// The key path to the object of a scope, or to the one that the scope's variable names.
  func start(at scope: Int, _ range: SourceRange) -> ResolvedKeyPath {
    var keyPath = ResolvedKeyPath(scope: scope, rootEntity: scopes[scope].entity, range: range)
    keyPath.steps = scopes[scope].toOneSteps
    keyPath.endEntity = model.walk(keyPath.path).end
    return keyPath
  }

  private func scope(named name: String) -> Int? {
    scopes.lastIndex { $0.variable == name }
  }

  private mutating func resolveKeyPath(
    _ base: Expression?, _ components: [KeyPathComponent], at range: SourceRange
  ) throws(PredicateError) -> ResolvedKeyPath {
    var keyPath = start(at: 0, range)
    if let base {
      guard let started = try start(after: base) else { throw try invalidBaseError(base) }
      keyPath = started
    }
    for component in components { try append(component, to: &keyPath) }
    if !keyPath.operators.isEmpty, !keyPath.reachesMany {
      throw PredicateError(
        .typeMismatch, at: range.lowerBound, found: "a key path to one value",
        expected: "a to-many key path before `@\(keyPath.operators[0].name.rawValue)`")
    }
    return keyPath
  }

  /// Returns the key path `base`, which may be an element of an ordered relationship, for further
  /// components; nil if `base` is no key path.
  private mutating func start(after base: Expression) throws(PredicateError) -> ResolvedKeyPath? {
    guard case .index(let collection, _) = base.kind else { return try resolveKeyPath(base) }
    guard var keyPath = try resolveKeyPath(collection), keyPath.isCollection else { return nil }
    keyPath.element = ResolvedKeyPath.Element(expression: base, stepCount: keyPath.steps.count)
    // The expression contains the SUBQUERY with its filter, which must not be applied twice.
    keyPath.filter = nil
    return keyPath
  }

  /// The error for a base without properties. Throws a more exact error if it is an unknown variable.
  private mutating func invalidBaseError(
    _ base: Expression
  ) throws(PredicateError) -> PredicateError {
    if case .variable(let name) = base.kind {
      _ = try value(ofVariable: name, at: base.range)
    }
    return PredicateError(
      .typeMismatch, at: base.range.lowerBound, found: "a value without properties",
      expected: "a key path")
  }

  private mutating func append(
    _ component: KeyPathComponent, to keyPath: inout ResolvedKeyPath
  ) throws(PredicateError) {
    switch component.kind {
    case .name(let name) where isKeyPath(name, after: keyPath):
      try append(try names(in: name, at: component.range), to: &keyPath, at: component.range)
    case .name(let name): try append(name, to: &keyPath, at: component.range)
    case .collectionOperator(let name):
      try append(operator: name, to: &keyPath, at: component.range)
    case .placeholder(let placeholder):
      let names = try names(in: placeholder, at: component.range)
      try append(names, to: &keyPath, at: component.range)
    }
  }

  /// True if an escaped name is to be split like the argument of `%K`: `#"country.full name"` and
  /// `#"@max.population"` are, unless an attribute is called `@max.population`.
  private func isKeyPath(_ name: String, after keyPath: ResolvedKeyPath) -> Bool {
    if name.hasPrefix("@") { return !isProperty(name, after: keyPath) }
    return name.utf8.contains(UInt8(ascii: "."))
  }

  private mutating func append(
    _ names: [String], to keyPath: inout ResolvedKeyPath, at range: SourceRange
  ) throws(PredicateError) {
    var names = names[...]
    while !names.isEmpty {
      let name = popPropertyName(&names, of: model.entities[keyPath.endEntity])
      if name.hasPrefix("@"), !isProperty(name, after: keyPath) {
        try append(operator: String(name.dropFirst()), to: &keyPath, at: range)
      } else {
        try append(name, to: &keyPath, at: range)
      }
    }
  }

  /// True if the object at the end of a key path has a property with this name, such as a column called
  /// `@count`.
  private func isProperty(_ name: String, after keyPath: ResolvedKeyPath) -> Bool {
    keyPath.target == .object
      && model.entities[keyPath.endEntity].property(namedOrAliased: name) != nil
  }

  /// Returns the names in the argument of a `%K`.
  private mutating func names(
    in placeholder: Placeholder, at range: SourceRange
  ) throws(PredicateError) -> [String] {
    switch try argument(placeholder, at: range) {
    case .text(let text), .json(.string(let text)): return try names(in: text, at: range)
    case .json(let json):
      throw PredicateError(
        .typeMismatch, at: range.lowerBound, found: json.kind, expected: "a key path as a string")
    case .parameter:
      throw PredicateError(
        .typeMismatch, at: range.lowerBound, found: "a value", expected: "a key path as a string")
    }
  }

  /// Returns the names in a key path's text.
  private func names(in text: String, at range: SourceRange) throws(PredicateError) -> [String] {
    let names = text.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    guard names.count <= PredicateLimits.depth else {
      throw PredicateError(
        .tooComplex, at: range.lowerBound, found: "\(names.count) steps",
        expected: "at most \(PredicateLimits.depth)")
    }
    return names
  }

  /// Removes and returns the fewest first names that, joined by dots, are the name of a property;
  /// without such a property, the first name. O(n²) for n names, of which there are at most
  /// `PredicateLimits.depth`.
  private func popPropertyName(_ names: inout ArraySlice<String>, of entity: Entity) -> String {
    for count in 1...max(1, names.count) {
      let name = names.prefix(count).joined(separator: ".")
      if entity.property(namedOrAliased: name) != nil {
        names = names.dropFirst(count)
        return name
      }
    }
    return names.removeFirst()
  }

  /// Appends a name to a key path.
  func append(
    _ name: String, to keyPath: inout ResolvedKeyPath, at range: SourceRange
  ) throws(PredicateError) {
    if case .attribute(let index) = keyPath.target {
      try append(name, toAttribute: index, of: &keyPath, at: range)
    } else {
      try append(name, toObjectOf: &keyPath, at: range)
    }
  }

  /// Appends the field of a composite attribute, or `length`.
  private func append(
    _ name: String, toAttribute index: Int, of keyPath: inout ResolvedKeyPath, at range: SourceRange
  ) throws(PredicateError) {
    let entity = model.entities[keyPath.endEntity]
    let attribute = entity.attributes[index]
    if case .attribute(let field)? = entity.property(named: "\(attribute.name).\(name)") {
      keyPath.target = .attribute(field)
    } else if name == "length", !keyPath.isLength, attribute.type.hasLength {
      keyPath.isLength = true
    } else {
      throw PredicateError(
        .unknownKeyPath, at: range.lowerBound, found: "`\(name)`",
        expected: "nothing after `\(attribute.name)`, which is an attribute")
    }
  }

  /// Appends a property of the object at the end, or SELF.
  private func append(
    _ name: String, toObjectOf keyPath: inout ResolvedKeyPath, at range: SourceRange
  ) throws(PredicateError) {
    let entity = model.entities[keyPath.endEntity]
    keyPath.reference = .id
    switch entity.property(namedOrAliased: name) {
    case .id?: break
    case .attribute(let index)?: keyPath.target = .attribute(index)
    case .relationship(let index)?:
      guard keyPath.steps.count < PredicateLimits.depth else {
        throw PredicateError(
          .tooComplex, at: range.lowerBound, found: "`\(name)`",
          expected: "at most \(PredicateLimits.depth) steps")
      }
      let relationship = entity.relationships[index]
      if relationship.isToMany {
        guard keyPath.filter == nil else { throw Self.toManyAfterSubquery(name, at: range) }
        keyPath.toManyPositions.append(keyPath.steps.count)
      }
      // An alias of the relationship is the name of its foreign-key column, which holds the id.
      let isAlias = relationship.name != name
      keyPath.reference = isAlias ? .id : .relationship
      keyPath.steps.append(index)
      keyPath.endEntity = relationship.destination
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
      advice: "its predicate may hold a quantifier: SUBQUERY(path, $x, ANY $x.\(name) …)")
  }

  private func unknown(_ name: String, of entity: Entity, at range: SourceRange) -> PredicateError {
    let isQuoted = name.first.map { "‘’‚“”„«»".contains($0) } ?? false
    return PredicateError(
      .unknownKeyPath, at: range.lowerBound, found: "`\(name)`",
      expected: "a property of \(entity.name)",
      advice: isQuoted ? "text is written in straight quotes: 'x' or \"x\"" : nil,
      nearest: nearestName(to: name, among: entity.propertyNames))
  }

  private func append(
    operator name: String, to keyPath: inout ResolvedKeyPath, at range: SourceRange
  ) throws(PredicateError) {
    let known = CollectionOperator.allCases.map(\.rawValue)
    guard let name = CollectionOperator(rawValue: name) else {
      throw PredicateError(
        .unknownKeyPath, at: range.lowerBound, found: "`@\(name)`",
        expected: "a collection operator",
        nearest: nearestName(to: name, among: known).map { "@" + $0 })
    }
    guard keyPath.aggregate == nil else {
      throw PredicateError(
        .typeMismatch, at: range.lowerBound, found: "`@\(name.rawValue)`",
        expected: "nothing after an aggregate")
    }
    keyPath.operators.append(
      ResolvedKeyPath.Operator(name: name, stepCount: keyPath.steps.count, range: range))
  }
}
