// Syntax tree + model + arguments → resolved predicate. The last stage that can refuse a predicate:
// names, types, arguments and quantifiers are checked here, so that making SQL cannot fail.

extension ResolvedPredicate {
  /// Parses `text` and looks it up in `model`, as a predicate about the entity at index `entity`.
  ///
  /// - Parameters:
  ///   - now: what `now()` means; nil is the time of the call.
  ///   - integersAsStrings: True if a JSON string with the digits of an integer may be that integer.
  public init(
    parsing text: String, arguments: [PredicateArgument] = [],
    variables: [String: PredicateArgument] = [:], entity: Int, model: Model, now: Instant? = nil,
    integersAsStrings: Bool = false
  ) throws(PredicateError) {
    do {
      self = try Predicate(parsing: text).resolved(
        in: model, entity: entity, arguments: arguments, variables: variables, now: now,
        integersAsStrings: integersAsStrings)
    } catch {
      throw error.located(in: text)
    }
  }
}

extension Predicate {
  /// Looks the predicate up in `model` and fills in its arguments.
  ///
  /// - Parameters:
  ///   - now: what `now()` means; nil is the time of the call.
  ///   - integersAsStrings: True if a JSON string with the digits of an integer may be that integer.
  public func resolved(
    in model: Model, entity: Int, arguments: [PredicateArgument] = [],
    variables: [String: PredicateArgument] = [:], now: Instant? = nil,
    integersAsStrings: Bool = false
  ) throws(PredicateError) -> ResolvedPredicate {
    var resolver = PredicateResolver(
      model: model, entity: entity, arguments: arguments, variables: variables, now: now,
      integersAsStrings: integersAsStrings)
    let condition = try resolver.resolve(self)
    try resolver.refuseUnused()
    try ParserStackBudget.check(ParserStackBudget.entries(condition))
    return ResolvedPredicate(
      condition: condition, paths: resolver.paths, isNondeterministic: resolver.isNondeterministic)
  }
}

struct PredicateResolver {
  /// An object that key paths can start from.
  struct Scope {
    let entity: Int
    /// The relationship steps from the fetch's entity to it.
    let steps: [Int]
    /// The name that SUBQUERY gave it, or the object at the end of ``toOneSteps``.
    let variable: String?
    /// The steps from it to the object that ``variable`` names: `author` in `SUBQUERY(posts.author, $a, …)`.
    var toOneSteps: [Int] = []
  }

  let model: Model
  let arguments: [PredicateArgument]
  let variables: [String: PredicateArgument]
  private let givenNow: Instant?
  /// True if a JSON string with the digits of an integer takes the type that it is compared with, as
  /// `int64=string` sends large integers.
  let integersAsStrings: Bool
  /// The fetch's object, then the elements of the collections around the current place.
  private(set) var scopes: [Scope]
  private(set) var paths: [PropertyPath] = []
  private var pathSet: Set<PropertyPath> = []
  private var usedArguments = 0
  private var usedVariables: Set<String> = []
  private var valueCount = 0
  private var copyCount = 0
  private(set) var isNondeterministic = false

  init(
    model: Model, entity: Int, arguments: [PredicateArgument],
    variables: [String: PredicateArgument], now: Instant?, integersAsStrings: Bool
  ) {
    self.model = model
    self.integersAsStrings = integersAsStrings
    self.arguments = arguments
    self.variables = variables
    givenNow = now
    scopes = [Scope(entity: entity, steps: [], variable: nil)]
  }

  mutating func resolve(_ predicate: Predicate) throws(PredicateError) -> Condition {
    switch predicate {
    case .constant(let value): return .constant(value)
    case .and(let operands): return .all(try resolve(operands))
    case .or(let operands): return .any(try resolve(operands))
    case .not(let operand): return try resolve(operand).negated
    case .comparison(let comparison): return try resolve(comparison)
    }
  }

  private mutating func resolve(
    _ predicates: [Predicate]
  ) throws(PredicateError) -> [Condition] {
    var conditions: [Condition] = []
    conditions.reserveCapacity(predicates.count)
    for predicate in predicates { conditions.append(try resolve(predicate)) }
    return conditions
  }

  /// Runs `body` with the elements of a collection as the innermost scope.
  mutating func withScope<Result>(
    _ scope: Scope, _ body: (inout Self) throws(PredicateError) -> Result
  ) throws(PredicateError) -> Result {
    scopes.append(scope)
    defer { scopes.removeLast() }
    return try body(&self)
  }

  /// Remembers that the condition depends on a path from the object of `scope`.
  mutating func track(_ scope: Int, _ steps: [Int], _ target: PropertyPath.Target) {
    let path = PropertyPath(
      root: scopes[0].entity, steps: scopes[scope].steps + steps, target: target)
    if pathSet.insert(path).inserted { paths.append(path) }
  }

  /// The time of the request. Using it makes the predicate nondeterministic.
  mutating func now() -> Instant {
    isNondeterministic = true
    return givenNow ?? .now
  }
}

// MARK: - Arguments

extension PredicateResolver {
  mutating func argument(
    _ placeholder: Placeholder, at range: SourceRange
  ) throws(PredicateError) -> PredicateArgument {
    usedArguments = max(usedArguments, placeholder.ordinal + 1)
    guard placeholder.ordinal < arguments.count else {
      throw PredicateError(
        .missingArgument, at: range.lowerBound, found: "placeholder \(placeholder.ordinal + 1)",
        expected: "as many arguments; \(arguments.count) given")
    }
    return arguments[placeholder.ordinal]
  }

  mutating func value(
    ofVariable name: String, at range: SourceRange
  ) throws(PredicateError) -> PredicateArgument {
    usedVariables.insert(name)
    guard let value = variables[name] else {
      let known = Array(variables.keys) + scopes.compactMap(\.variable)
      throw PredicateError(
        .missingVariable, at: range.lowerBound, found: "`$\(name)`",
        expected: "a variable that is given a value",
        nearest: nearestName(to: "$" + name, among: known.map { "$" + $0 }))
    }
    return value
  }

  /// Counts `count` values of an array argument towards the limit.
  mutating func countValues(_ count: Int, at range: SourceRange) throws(PredicateError) {
    valueCount += count
    guard valueCount <= PredicateLimits.values else {
      throw PredicateError(
        .tooComplex, at: range.lowerBound, found: "\(valueCount) values",
        expected: "at most \(PredicateLimits.values) values")
    }
  }

  /// Counts the size of `value` once more, because it occurs in several conditions: nested in each
  /// other, they would double with each level.
  mutating func countCopy(
    of value: ResolvedExpression, at range: SourceRange
  ) throws(PredicateError) {
    copyCount += value.size(upTo: PredicateLimits.copies)
    guard copyCount <= PredicateLimits.copies else {
      throw PredicateError(
        .tooComplex, at: range.lowerBound, found: "a calculation compared with many values",
        expected: "constants, or fewer of them within each other")
    }
  }

  func refuseUnused() throws(PredicateError) {
    guard usedArguments == arguments.count else {
      throw PredicateError(
        .unusedArgument, at: 0, found: "\(arguments.count) arguments",
        expected: "\(usedArguments), one for each placeholder")
    }
    if let name = variables.keys.filter({ !usedVariables.contains($0) }).min() {
      throw PredicateError(
        .unusedVariable, at: 0, found: "a value for `$\(name)`",
        expected: "variables that occur in the predicate",
        nearest: nearestName(to: "$" + name, among: usedVariables.map { "$" + $0 }))
    }
  }
}
