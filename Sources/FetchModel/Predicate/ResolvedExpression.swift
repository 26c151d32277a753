// Values in a resolved predicate, and the collections of its quantifiers and aggregates.

/// A value for one object, nil among them.
public indirect enum ResolvedExpression: Sendable, Hashable {
  case constant(Value)
  /// A value that is bound later: in the plan of several fetches.
  case parameter(PlanParameter)
  case path(ScopedPath)
  /// nil if an operand is nil, or the divisor is 0.
  case arithmetic(ArithmeticOperator, ResolvedExpression, ResolvedExpression)
  /// nil if an argument is nil, or the result is not a number.
  case function(ResolvedFunction, [ResolvedExpression])
  case conditional(Condition, ResolvedExpression, ResolvedExpression)
  case aggregate(Aggregation)
  /// nil if the collection has no object at that position.
  case element(OrderedElement)
  /// An aggregate over expressions of the same object: `max({a, b})`.
  case listAggregate(AggregateFunction, [ResolvedExpression])

  /// True if it is the same for every object, and known when the plan is bound.
  public var isFixed: Bool {
    switch self {
    case .constant, .parameter: true
    default: false
    }
  }

  /// The conditions and values that it is made of.
  var parts: (conditions: [Condition], values: [ResolvedExpression]) {
    switch self {
    case .constant, .parameter, .path: ([], [])
    case .arithmetic(_, let left, let right): ([], [left, right])
    case .function(_, let values), .listAggregate(_, let values): ([], values)
    case .conditional(let condition, let yes, let no): ([condition], [yes, no])
    case .aggregate(let aggregation): ([aggregation.condition], [])
    case .element(let element): ([element.condition], [])
    }
  }

  /// The value of a constant.
  public var constant: Value? {
    if case .constant(let value) = self { value } else { nil }
  }

  /// True for a text, or the text that is an object's id, that is the same for every object.
  package var isFixedText: Bool {
    switch self {
    case .constant(.string), .constant(.id(.text)): true
    case .parameter(let parameter): parameter.kind == .text
    default: false
    }
  }
}

/// A key path from one of the objects that a condition is about; to-one steps only.
public struct ScopedPath: Sendable, Hashable {
  /// 0 is the object of the fetch; n the element of the n-th collection around the condition.
  public let scope: Int
  /// The key path from that object.
  public let path: PropertyPath

  /// Makes a scoped path.
  public init(scope: Int, path: PropertyPath) {
    self.scope = scope
    self.path = path
  }
}

/// The objects that a to-many key path reaches.
public struct ResolvedCollection: Sendable, Hashable {
  /// From the object of which scope, and of which entity.
  public let scope: Int
  /// The index of the entity from which `steps` begin.
  public let entity: Int
  /// Relationship indexes; the last step is to-many.
  public let steps: [Int]
  /// The entity of its elements.
  public let destination: Int
  /// The scope of its elements within the condition about them.
  public let elementScope: Int
  /// The number of to-one steps before the first to-many one.
  let toOneSteps: Int
  let toManySteps: Int
  /// True if a step may lead over a join table.
  let isManyToMany: Bool
}

/// An aggregate over one value of each object that a key path reaches before its operator.
public struct Aggregation: Sendable, Hashable {
  /// The aggregate, for example a sum.
  public let function: AggregateFunction
  /// The objects that the aggregate is computed over.
  public let collection: ResolvedCollection
  /// The condition on the collection's objects.
  public let condition: Condition
  /// The value that is read from each object, in the elements' scope.
  public let value: PropertyPath
  /// The number of steps of ``value`` before the operator, if they may lead from several elements
  /// to one object, which then counts once: 1 in `posts.author.@sum.age`, and 0 in
  /// `posts.@sum.author.age`.
  public let objectStepCount: Int
  /// True if equal values count once (and nil does not count).
  public let isDistinct: Bool

  /// The objects that count once each; nil if these are the elements.
  public var object: PropertyPath? {
    guard objectStepCount > 0 else { return nil }
    return PropertyPath(
      root: value.root, steps: Array(value.steps.prefix(objectStepCount)), target: .object)
  }
}

/// A value of one object of an ordered collection.
public struct OrderedElement: Sendable, Hashable {
  /// The place of an object in an ordered collection.
  public enum Place: Sendable, Hashable {
    case first, last
    /// Counted from 0.
    case position(Int64)
  }

  /// Its one to-many step is the last one.
  public let collection: ResolvedCollection
  /// The condition on the collection's objects.
  public let condition: Condition
  /// The place among the objects that count.
  public let place: Place
  /// The value that is read from the object, in the elements' scope.
  public let value: PropertyPath
}

/// `sum` of nothing is 0, every other but `count` of nothing nil.
public enum AggregateFunction: String, Sendable, Hashable, CaseIterable {
  case count, sum, average, min, max
}

/// The functions of one object's values.
public enum ResolvedFunction: String, Sendable, Hashable, CaseIterable {
  case sqrt, log, ln, exp, floor, ceiling, abs, trunc, modulus
  case uppercase, lowercase, canonical, length
  case bitwiseAnd, bitwiseOr, bitwiseXor, leftShift, rightShift, onesComplement
  /// Seconds since 2001 → a date, and back.
  case date, secondsSinceReference
  /// A number as text, and text as a number.
  case text, number
  /// A date as ISO 8601.
  case dateText
  /// The derivation of a section: the first letter of a text; the day, month or year of a date.
  case initial, day, month, year
}

// Integers divide as integers, also those that are the result of a calculation.

extension ResolvedFunction {
  /// True if the result for an integer is one.
  package var keepsIntegers: Bool { [.floor, .ceiling, .trunc, .abs].contains(self) }
}

extension ArithmeticOperator {
  /// True if the result for two integers is one. A power by a negative exponent is none.
  package func keepsIntegers(_ right: ResolvedExpression) -> Bool {
    guard self == .power else { return true }
    return switch right {
    case .constant(.integer(let exponent)): exponent >= 0
    case .parameter(let parameter): parameter.kind == .integer && !parameter.isNegated
    default: false
    }
  }
}
