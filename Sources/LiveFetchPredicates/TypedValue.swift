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

  init(_ expression: FetchModel.Expression) { self.expression = expression }

  init(_ kind: FetchModel.Expression.Kind) { expression = FetchModel.Expression(kind) }
}

extension FetchModel.Expression {
  /// `value` written out; nil is `nil`.
  init(_ value: (some PredicateValue)?) { self.init(.literal(value?.literal ?? .null)) }
}

extension TypedValue where Value: NumericPredicateValue {
  /// The same number as a double, to compare and calculate with numbers that have fractions.
  public var asDouble: Calculated<Root, Double> { Calculated(expression) }
}
