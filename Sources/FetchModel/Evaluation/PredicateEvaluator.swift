// A condition → a test of one object's values in memory. The test gives the same result as the
// store's SQL, or "unknown".
//
// The parts that the evaluator covers are determined when it is compiled. Other parts are unknown
// in every row; AND, OR and TERNARY are still decided if the covered parts suffice. In a single row
// two more things are unknown: a value that the row does not have, and arithmetic on text or binary
// stored in a numeric column.

/// Evaluates conditions in memory, with the same results as SQL.
public struct PredicateEvaluator: Sendable {
  /// The part of a condition that an evaluator can decide.
  public enum Coverage: Sendable, Hashable {
    /// The evaluator decides every row.
    case whole
    /// The evaluator decides some rows; only the store can decide the others.
    case partial
    /// The evaluator decides no row.
    case none
  }

  /// The key paths whose values rows provide, by index.
  public let paths: [ScopedPath]
  /// The collections whose elements rows provide, by index.
  public let collections: [ResolvedCollection]
  /// The part of the condition that this evaluator can decide.
  public let coverage: Coverage
  let test: Test

  /// Compiles `condition`, a condition on objects of `model`.
  public init(_ condition: Condition, model: Model, columns: some ColumnTraits) {
    var compiler = EvaluatorCompiler(model: model, columns: columns)
    test = compiler.test(condition)
    paths = compiler.paths
    collections = compiler.collections
    coverage = test.isUnknown ? .none : compiler.isComplete ? .whole : .partial
  }

  /// True if the condition holds for `row`; nil if the evaluator cannot decide it.
  public func evaluate(_ row: some EvaluatedRow) -> Bool? {
    Evaluation(scopes: [row]).holds(test)
  }
}

extension PredicateEvaluator {
  /// A condition in the form that is evaluated. No negation precedes an `all` or `any`.
  indirect enum Test: Sendable {
    case constant(Bool)
    case unknown
    case all([Test])
    case any([Test])
    /// The affinity is applied to both sides before the comparison.
    case comparison(Term, Comparison.Relation, Term, Affinity?, isNegated: Bool)
    case interval(Term, StoredValue, StoredValue, Affinity?, isNegated: Bool)
    case membership(Term, Set<StoredValue>, includesNil: Bool, Affinity?, isNegated: Bool)
    case search(Term, TextSearch, isNegated: Bool)
    /// A search whose pattern differs from row to row.
    case dynamicSearch(Term, Comparison.Relation, Term, StringOptions, isNegated: Bool)
    case exists(collection: Int, scope: Int, Test, isNegated: Bool)

    var isUnknown: Bool {
      if case .unknown = self { true } else { false }
    }
  }

  /// A value that is computed from a row.
  indirect enum Term: Sendable {
    case constant(StoredValue)
    case unknown
    case slot(Int, scope: Int)
    case arithmetic(ArithmeticOperator, Term, Term, isReal: Bool)
    /// The same in decimal digits, as an operand of another decimal calculation.
    case decimal(ArithmeticOperator, Term, Term)
    /// The result of decimal calculations, as a value that compares.
    case decimalNumber(Term)
    case function(ResolvedFunction, [Term])
    /// The remainder of integers: `modulus` if both sides are integers.
    case remainder(Term, Term)
    case folded(Term, StringOptions)
    /// The comparison key of a stored value.
    case comparisonKey(Term, ColumnEncoding)
    /// A UUID as items show it.
    case uuidText(Term)
    /// A stored date as seconds since 1970.
    case seconds(Term)
    /// A stored date as seconds since 2001, for calculations.
    case reference(Term)
    case conditional(Test, Term, Term)
    case list(AggregateFunction, [Term])
    /// Elements with the same `object` count once; elements without an object do not count.
    case aggregate(
      AggregateFunction, collection: Int, scope: Int, Test, Term, object: Term?, isDistinct: Bool)

    var isUnknown: Bool {
      if case .unknown = self { true } else { false }
    }
  }
}
