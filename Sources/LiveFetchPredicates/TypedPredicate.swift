// A predicate on one entity that the compiler has checked: types that fit, and names that exist.
// Its syntax tree is the same as that of parsed text.

import FetchModel

/// A condition on the objects of `Root`.
///
/// ```swift
/// let predicate: TypedPredicate<City> = \.population >= 1_000_000 && !(\.name == nil)
/// print(predicate)  // population >= 1000000 AND NOT name == nil
/// ```
public struct TypedPredicate<Root: Queryable>: Sendable, Hashable, CustomStringConvertible {
  /// The syntax tree.
  public let predicate: FetchModel.Predicate

  init(_ predicate: FetchModel.Predicate) { self.predicate = predicate }

  /// Parses predicate text, for example with functions. Its names are checked when it is resolved.
  public init(parsing text: String) throws(PredicateError) {
    predicate = try FetchModel.Predicate(parsing: text)
  }

  /// Canonical predicate text.
  public var description: String { predicate.description }

  init(
    _ left: FetchModel.Expression, _ operation: ComparisonPredicate.Operator,
    _ right: FetchModel.Expression,
    options: StringOptions = [], quantifier: ComparisonPredicate.Quantifier? = nil
  ) {
    predicate = .comparison(
      ComparisonPredicate(
        quantifier: quantifier, left: left, operation: operation, options: options, right: right))
  }
}

// The compiler tries disfavored overloads last. Otherwise it tries every `&&` of Boolean expressions
// together with all comparisons and calculations that lead to a predicate, which takes seconds.
extension TypedPredicate {
  /// Both. Chains stay flat.
  @_disfavoredOverload
  public static func && (left: Self, right: Self) -> Self {
    Self(.and(left.predicate.operands(ofAnd: true) + right.predicate.operands(ofAnd: true)))
  }

  /// Either, or both.
  @_disfavoredOverload
  public static func || (left: Self, right: Self) -> Self {
    Self(.or(left.predicate.operands(ofAnd: false) + right.predicate.operands(ofAnd: false)))
  }

  /// Every object that `predicate` does not match.
  public static prefix func ! (predicate: Self) -> Self { Self(.not(predicate.predicate)) }
}

extension FetchModel.Predicate {
  /// The operands of a chain, or the predicate itself.
  fileprivate func operands(ofAnd isAnd: Bool) -> [FetchModel.Predicate] {
    switch (self, isAnd) {
    case (.and(let operands), true), (.or(let operands), false): operands
    default: [self]
    }
  }
}
