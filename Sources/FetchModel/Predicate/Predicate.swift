// A predicate as it was written: the syntax tree. Nothing in it was looked up yet.

/// The syntax tree of a predicate. Chains of AND and of OR are flat.
public indirect enum Predicate: Sendable, Hashable {
  /// TRUEPREDICATE or FALSEPREDICATE.
  case constant(Bool)
  /// At least two, none of them itself an `and`.
  case and([Predicate])
  /// At least two, none of them itself an `or`.
  case or([Predicate])
  case not(Predicate)
  case comparison(ComparisonPredicate)
}

/// Two expressions and what stands between them.
public struct ComparisonPredicate: Sendable, Hashable {
  public enum Quantifier: String, Sendable, Hashable {
    case any = "ANY"
    case all = "ALL"
    case no = "NONE"
  }

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

  public var quantifier: Quantifier?
  public var left: Expression
  public var operation: Operator
  /// What `[cd]` behind the operator says.
  public var options: StringOptions
  public var right: Expression
  /// Where the operator stands.
  public var range: SourceRange

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

/// The bytes of the text that a part of the tree was made of.
///
/// Places never tell two trees apart: all ranges are equal to each other.
public struct SourceRange: Sendable, Hashable {
  public let lowerBound: Int
  public let upperBound: Int

  public init(_ range: Range<Int>) {
    lowerBound = range.lowerBound
    upperBound = range.upperBound
  }

  public static func == (left: SourceRange, right: SourceRange) -> Bool { true }
  public func hash(into hasher: inout Hasher) {}

  func upTo(_ other: SourceRange) -> SourceRange {
    SourceRange(min(lowerBound, other.lowerBound)..<max(upperBound, other.upperBound))
  }
}
