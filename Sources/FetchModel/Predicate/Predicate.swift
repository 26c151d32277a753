// The syntax tree of a predicate. Its names are not resolved yet.

/// The syntax tree of a predicate. Chains of AND and of OR are flat.
public indirect enum Predicate: Sendable, Hashable {
  /// TRUEPREDICATE or FALSEPREDICATE.
  case constant(Bool)
  /// At least two operands, none of them an `and`.
  case and([Predicate])
  /// At least two operands, none of them an `or`.
  case or([Predicate])
  case not(Predicate)
  case comparison(ComparisonPredicate)
}

/// A comparison of two expressions.
public struct ComparisonPredicate: Sendable, Hashable {
  /// The number of values of a to-many key path for which the comparison must hold.
  public enum Quantifier: String, Sendable, Hashable {
    case any = "ANY"
    case all = "ALL"
    case no = "NONE"
  }

  /// The comparison operators of the format language, by their canonical spelling.
  public enum Operator: String, Sendable, Hashable, CaseIterable {
    case equal = "=="
    case notEqual = "!="
    case less = "<"
    case lessOrEqual = "<="
    case greater = ">"
    case greaterOrEqual = ">="
    case between = "BETWEEN"
    case `in` = "IN"
    case beginsWith = "BEGINSWITH"
    case endsWith = "ENDSWITH"
    case contains = "CONTAINS"
    case like = "LIKE"
    case matches = "MATCHES"
  }

  /// The quantifier before a to-many left operand; nil without one.
  public var quantifier: Quantifier?
  /// The left operand.
  public var left: Expression
  /// The operator.
  public var operation: Operator
  /// The options in brackets after the operator.
  public var options: StringOptions
  /// The right operand.
  public var right: Expression
  /// The place of the operator.
  public var range: SourceRange

  /// Makes a comparison predicate.
  public init(
    quantifier: Quantifier? = nil, left: Expression, operation: Operator,
    options: StringOptions = [], right: Expression, range: SourceRange = SourceRange(0..<0)
  ) {
    self.quantifier = quantifier
    self.left = left
    self.operation = operation
    self.options = options
    self.right = right
    self.range = range
  }
}

/// The bytes of the text from which a part of the tree was parsed.
///
/// All ranges are equal to each other, so that trees are compared without their places.
public struct SourceRange: Sendable, Hashable {
  /// The offset of the first byte.
  public let lowerBound: Int
  /// The offset after the last byte.
  public let upperBound: Int

  /// Makes the place of an expression.
  public init(_ range: Range<Int>) {
    lowerBound = range.lowerBound
    upperBound = range.upperBound
  }

  public static func == (left: SourceRange, right: SourceRange) -> Bool { true }
  public func hash(into hasher: inout Hasher) {}
}
