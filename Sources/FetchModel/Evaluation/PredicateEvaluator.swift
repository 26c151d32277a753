// Condition → a test of one object's values in memory. It answers exactly what the store's SQL
// answers, or that it does not know.
//
// What is covered is decided when the evaluator is compiled. Parts that are not covered are unknown
// in every row; AND, OR and TERNARY are decided without them where the other parts suffice. In a
// row something can be unknown besides: a value that the row does not know, and text or binary
// stored where a number is calculated with.

/// A second evaluator of conditions, beside SQL.
public struct PredicateEvaluator: Sendable {
  /// How much of a condition an evaluator understands.
  public enum Coverage: Sendable, Hashable {
    /// Every part of it.
    case whole
    /// Some rows can be decided, for others the store has to be asked.
    case partial
    /// Nothing.
    case none
  }

  /// What rows are asked for by number.
  public let paths: [ScopedPath]
  /// The collections that rows are asked for by number.
  public let collections: [ResolvedCollection]
  public let coverage: Coverage
  let test: Test

  /// Compiles `condition`, which is about objects of `model`.
  public init(_ condition: Condition, model: Model, columns: some ColumnTraits) {
    var compiler = EvaluatorCompiler(model: model, columns: columns)
    test = compiler.test(condition)
    paths = compiler.paths
    collections = compiler.collections
    coverage = test.isUnknown ? .none : compiler.isComplete ? .whole : .partial
  }

  /// Whether the condition holds for `row`; nil where that is not known.
  public func evaluate(_ row: some EvaluatedRow) -> Bool? {
    Evaluation(scopes: [row]).holds(test)
  }
}

extension PredicateEvaluator {
  /// A condition, ready to be tested. No negation stands before an `all` or `any`.
  indirect enum Test: Sendable {
    case constant(Bool)
    case unknown
    case all([Test])
    case any([Test])
    /// Both sides are converted by the affinity first.
    case comparison(Term, Comparison.Relation, Term, Affinity?, isNegated: Bool)
    case interval(Term, StoredValue, StoredValue, Affinity?, isNegated: Bool)
    case membership(Term, Set<StoredValue>, includesNil: Bool, Affinity?, isNegated: Bool)
    case search(Term, TextSearch, isNegated: Bool)
    /// What is searched for differs from row to row.
    case dynamicSearch(Term, Comparison.Relation, Term, StringOptions, isNegated: Bool)
    case exists(collection: Int, scope: Int, Test, isNegated: Bool)

    var isUnknown: Bool {
      if case .unknown = self { true } else { false }
    }
  }

  /// A value, ready to be taken of a row.
  indirect enum Term: Sendable {
    case constant(StoredValue)
    case unknown
    case slot(Int, scope: Int)
    case arithmetic(ArithmeticOperator, Term, Term, isReal: Bool)
    /// The same in decimal digits, as another such calculation takes it.
    case decimal(ArithmeticOperator, Term, Term)
    /// The result of such calculations as it is compared.
    case decimalNumber(Term)
    case function(ResolvedFunction, [Term])
    /// The remainder of integers, which `modulus` is where both sides are integers.
    case remainder(Term, Term)
    case folded(Term, StringOptions)
    /// What stands for a stored value where values are compared.
    case standIn(Term, ColumnEncoding)
    /// A UUID as items show it.
    case uuidText(Term)
    /// A stored date as seconds since 1970.
    case seconds(Term)
    /// A stored date as seconds since 2001, to calculate with.
    case reference(Term)
    case conditional(Test, Term, Term)
    case list(AggregateFunction, [Term])
    /// Elements with the same `object` count once, and where it is nil not at all.
    case aggregate(
      AggregateFunction, collection: Int, scope: Int, Test, Term, object: Term?, isDistinct: Bool)

    var isUnknown: Bool {
      if case .unknown = self { true } else { false }
    }
  }
}
