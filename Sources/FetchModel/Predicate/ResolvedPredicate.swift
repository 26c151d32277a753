// A predicate after it was looked up in the model and its arguments were filled in: indexes and
// typed constants only. Nothing in it can fail later, and NOT is gone: every condition carries its
// own negation, with the two-valued meaning of nil.

/// Which objects of an entity are meant. Usable as a key of caches.
public struct ResolvedPredicate: Sendable, Hashable {
  public let condition: Condition
  /// Every key path that the condition depends on, from the fetch's entity; to-many steps among
  /// them. Each once.
  public let paths: [PropertyPath]
  /// Whether the time of the request stands in it, so that its result changes without a save.
  public let isVolatile: Bool

  public init(condition: Condition, paths: [PropertyPath] = [], isVolatile: Bool = false) {
    self.condition = condition
    self.paths = paths
    self.isVolatile = isVolatile
  }

  /// Matches every object.
  public static let everything = ResolvedPredicate(condition: .constant(true))

  /// What meets both this and `other`.
  public func within(_ other: ResolvedPredicate) -> ResolvedPredicate {
    guard other != .everything else { return self }
    return ResolvedPredicate(
      condition: .all([other.condition, condition]),
      paths: other.paths + paths.filter { !other.paths.contains($0) },
      isVolatile: isVolatile || other.isVolatile)
  }

  public static func == (left: Self, right: Self) -> Bool {
    left.condition == right.condition && left.isVolatile == right.isVolatile
  }

  public func hash(into hasher: inout Hasher) { hasher.combine(condition) }
}

/// A condition that is true or false for an object, never unknown.
public indirect enum Condition: Sendable, Hashable {
  case constant(Bool)
  /// At least two, none of them an `and` or a constant.
  case and([Condition])
  /// At least two, none of them an `or` or a constant.
  case or([Condition])
  case comparison(Comparison)
  case between(Interval)
  case membership(Membership)
  /// Whether some object of the collection fulfils the condition, or whether none does.
  case exists(ResolvedCollection, where: Condition, isNegated: Bool)

  /// The condition that is true exactly where this one is false.
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

  /// The conjunction, flat and without constants.
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

  /// The disjunction, flat and without constants.
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

/// Two values compared. Nil equals nil; with every other relation but `equal`, and with `<=` and
/// `>=` of two nils, nil gives false (and true where negated).
public struct Comparison: Sendable, Hashable {
  public enum Relation: Sendable, Hashable {
    case equal, less, lessOrEqual, greater, greaterOrEqual
    case beginsWith, endsWith, contains, like, matches
  }

  /// The only constant of the two stands on the right, but for `contains` and kin.
  public var left: ResolvedExpression
  public var relation: Relation
  public var right: ResolvedExpression
  /// Not empty only between texts.
  public var options: StringOptions
  public var isNegated: Bool
}

/// `value BETWEEN {lower, upper}`, both ends in, neither nil.
public struct Interval: Sendable, Hashable {
  public var value: ResolvedExpression
  public var lower: Value
  public var upper: Value
  public var isNegated: Bool
}

/// `value IN {…}` with constants.
public struct Membership: Sendable, Hashable {
  public var value: ResolvedExpression
  /// None of them nil, none twice.
  public var values: [Value]
  /// Whether nil is one of the values too.
  public var includesNil: Bool
  public var options: StringOptions
  public var isNegated: Bool
}
