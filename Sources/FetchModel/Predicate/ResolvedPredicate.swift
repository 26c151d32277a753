// A predicate resolved against the model, with its arguments: indexes and typed constants only. It
// cannot fail later. There is no NOT: every condition carries its own negation with the two-valued
// meaning of nil.

/// Selects objects of an entity. Usable as a cache key.
public struct ResolvedPredicate: Sendable, Hashable {
  /// The condition that the objects satisfy.
  public let condition: Condition
  /// The distinct key paths that the condition depends on, including to-many ones, from the fetch's
  /// entity.
  public let paths: [PropertyPath]
  /// True if it depends on the time of the request, so that its result changes without a save.
  public let isNondeterministic: Bool

  /// Makes a resolved predicate.
  public init(condition: Condition, paths: [PropertyPath] = [], isNondeterministic: Bool = false) {
    self.condition = condition
    self.paths = paths
    self.isNondeterministic = isNondeterministic
  }

  /// Matches every object.
  public static let everything = ResolvedPredicate(condition: .constant(true))

  /// The conjunction of this predicate and `other`.
  public func and(_ other: ResolvedPredicate) -> ResolvedPredicate {
    guard other != .everything else { return self }
    return ResolvedPredicate(
      condition: .all([other.condition, condition]),
      paths: other.paths + paths.filter { !other.paths.contains($0) },
      isNondeterministic: isNondeterministic || other.isNondeterministic)
  }

  /// Compares without the paths, which follow from the condition.
  public static func == (left: Self, right: Self) -> Bool {
    left.condition == right.condition && left.isNondeterministic == right.isNondeterministic
  }

  public func hash(into hasher: inout Hasher) { hasher.combine(condition) }
}

/// A condition that is true or false for an object, never unknown.
public indirect enum Condition: Sendable, Hashable {
  /// True for every object, or for none.
  case constant(Bool)
  /// At least two operands, none of them an `and` or a constant.
  case and([Condition])
  /// At least two operands, none of them an `or` or a constant.
  case or([Condition])
  /// An operator between two operands, as in `population >= 5`.
  case comparison(Comparison)
  /// `BETWEEN`.
  case between(Interval)
  /// `IN` a list of constants.
  case membership(Membership)
  /// True if an object of the collection satisfies the condition; negated, if none does.
  case exists(ResolvedCollection, where: Condition, isNegated: Bool)

  /// The negation.
  public var negated: Condition {
    switch self {
    case .constant(let value): return .constant(!value)
    case .and(let conditions): return .or(conditions.map(\.negated))
    case .or(let conditions): return .and(conditions.map(\.negated))
    case .comparison(var comparison):
      comparison.isNegated.toggle()
      return .comparison(comparison)
    case .between(var interval):
      interval.isNegated.toggle()
      return .between(interval)
    case .membership(var membership):
      membership.isNegated.toggle()
      return .membership(membership)
    case .exists(let collection, let condition, let isNegated):
      return .exists(collection, where: condition, isNegated: !isNegated)
    }
  }

  /// The conditions and values that it is made of, without the values that it compares with.
  var parts: (conditions: [Condition], values: [ResolvedExpression]) {
    switch self {
    case .constant: ([], [])
    case .and(let conditions), .or(let conditions): (conditions, [])
    case .comparison(let comparison): ([], [comparison.left, comparison.right])
    case .between(let interval): ([], [interval.value])
    case .membership(let membership): ([], [membership.value])
    case .exists(_, let condition, _): ([condition], [])
    }
  }

  /// The conjunction, flattened, without constants.
  static func all(_ conditions: [Condition]) -> Condition {
    var flat: [Condition] = []
    for condition in conditions {
      switch condition {
      case .constant(true): continue
      case .constant(false): return .constant(false)
      case .and(let inner): flat += inner
      default: flat.append(condition)
      }
    }
    return flat.isEmpty ? .constant(true) : flat.count == 1 ? flat[0] : .and(flat)
  }

  /// The disjunction, flattened, without constants.
  static func any(_ conditions: [Condition]) -> Condition {
    var flat: [Condition] = []
    for condition in conditions {
      switch condition {
      case .constant(false): continue
      case .constant(true): return .constant(true)
      case .or(let inner): flat += inner
      default: flat.append(condition)
      }
    }
    return flat.isEmpty ? .constant(false) : flat.count == 1 ? flat[0] : .or(flat)
  }
}

/// A comparison of two values. Nil equals nil, and `<=` and `>=` hold for two nils; any other
/// relation with nil is false (true if negated).
public struct Comparison: Sendable, Hashable {
  /// The relation between two values.
  public enum Relation: Sendable, Hashable {
    case equal, less, lessOrEqual, greater, greaterOrEqual
    case beginsWith, endsWith, contains, like, matches
  }

  /// A single constant operand is on the right, except for `contains` and similar.
  public var left: ResolvedExpression
  /// The relation that must hold.
  public var relation: Relation
  /// The right operand.
  public var right: ResolvedExpression
  /// Empty unless both operands are text.
  public var options: StringOptions
  /// True if the relation must not hold.
  public var isNegated: Bool
}

extension Comparison {
  /// Makes a comparison that is not negated.
  init(
    _ left: ResolvedExpression, _ relation: Relation, _ right: ResolvedExpression,
    _ options: StringOptions = []
  ) {
    self.init(left: left, relation: relation, right: right, options: options, isNegated: false)
  }
}

/// `value BETWEEN {lower, upper}`: inclusive bounds that are not nil.
public struct Interval: Sendable, Hashable {
  /// The tested value.
  public var value: ResolvedExpression
  /// The least included value.
  public var lower: Value
  /// The greatest included value.
  public var upper: Value
  /// True if the value must be outside the interval.
  public var isNegated: Bool
}

/// `value IN {…}` with constants.
public struct Membership: Sendable, Hashable {
  /// The tested value.
  public var value: ResolvedExpression
  /// Distinct values without nil.
  public var values: [Value]
  /// True if nil is one of the values.
  public var includesNil: Bool
  /// The differences between texts that are ignored; empty unless the values are texts.
  public var options: StringOptions
  /// True if the value must not be in the list.
  public var isNegated: Bool
}
