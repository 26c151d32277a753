// Values of an object with a static type: attributes, calculations, aggregates.

import FetchModel

/// The left side of a comparison: one value, or a quantified collection of them.
public protocol PredicateSubject<Root, Value>: Sendable {
  /// The entity of the object that has the value.
  associatedtype Root: Queryable
  /// The type of the value.
  associatedtype Value: PredicateValue

  /// The value as a part of a predicate's syntax tree.
  var expression: FetchModel.Expression { get }
  /// ANY, ALL or NONE before it.
  var quantifier: ComparisonPredicate.Quantifier? { get }
}

/// One value of an object of `Root`, nil among the values.
public protocol TypedValue<Root, Value>: PredicateSubject {}

extension TypedValue {
  public var quantifier: ComparisonPredicate.Quantifier? { nil }
}

/// The result of a calculation, a function or an aggregate.
public struct Calculated<Root: Queryable, Value: PredicateValue>: TypedValue {
  /// The calculation as a part of a predicate's syntax tree.
  public let expression: FetchModel.Expression

  /// Takes `expression` to be a `Value` of an object of `Root`.
  public init(_ expression: FetchModel.Expression) { self.expression = expression }

  init(_ kind: FetchModel.Expression.Kind) { expression = FetchModel.Expression(kind) }

  /// `$name`: a value that is given where the predicate is used.
  public static func variable(_ name: String) -> Self { Self(.variable(name)) }

  /// A value that is the same for every object, as an operand of a calculation.
  public static func value(_ value: Value) -> Self { Self(.literal(value.literal)) }
}

extension Calculated where Value == Instant {
  /// `now()`: the time of the request.
  public static var now: Self { Self(.function("now", [])) }
}

/// `TERNARY(condition, value, other)`: one of two values.
public func ternary<Root, Value>(
  _ condition: TypedPredicate<Root>, _ value: some TypedValue<Root, Value>,
  _ other: some TypedValue<Root, Value>
) -> Calculated<Root, Value> {
  Calculated(.ternary(condition.predicate, value.expression, other.expression))
}

/// `TERNARY(condition, value, other)` of two constants.
public func ternary<Root, Value>(
  _ condition: TypedPredicate<Root>, _ value: Value, _ other: Value
) -> Calculated<Root, Value> {
  Calculated(
    .ternary(
      condition.predicate, FetchModel.Expression(.literal(value.literal)),
      FetchModel.Expression(.literal(other.literal)))
  )
}

extension FetchModel.Expression {
  /// `value` written out; nil is `nil`.
  init(_ value: (some PredicateValue)?) { self.init(.literal(value?.literal ?? .null)) }
}

// MARK: - Casts

extension TypedValue {
  /// `CAST(…, "NSString")`.
  public var asText: Calculated<Root, String> { Calculated(.cast(expression, type: "NSString")) }
  /// `CAST(…, "NSNumber")`: of a date the seconds since 2001.
  public var asNumber: Calculated<Root, Double> { Calculated(.cast(expression, type: "NSNumber")) }
  /// `CAST(…, "NSDate")`: of a number, that many seconds after 2001.
  public var asDate: Calculated<Root, Instant> { Calculated(.cast(expression, type: "NSDate")) }
}

extension TypedValue where Value: NumericPredicateValue {
  /// The same number as a double, to compare and calculate with numbers that have fractions.
  public var asDouble: Calculated<Root, Double> { Calculated(expression) }
}
