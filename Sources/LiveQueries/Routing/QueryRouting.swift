// The data that the query index stores about one live query.

import FetchModel

/// The index entries and the condition evaluator of a live query.
struct QueryRouting {
  let readSet: ReadSet
  /// The alternatives that it can be indexed by; see ``IndexableConjunctFinder``.
  let alternatives: [[IndexableConjunct]]
  /// Evaluates its condition on values; nil if only the store can evaluate it. Made when the query
  /// enters the index, because a condition may have thousands of constants.
  private(set) lazy var evaluator = makeEvaluator()
  private let makeEvaluator: () -> PredicateEvaluator?
  /// The conjuncts by which it is indexed; nil if there are none, or while it is not in the index.
  var conjuncts: [IndexableConjunct]?
  /// For each path of the evaluator, its number in the entity's path table; nil if the paths are
  /// not in the table, or while the query is not in the index.
  var slots: [Int]?

  /// - Parameter only: the only object that is followed; nil for the whole fetch.
  init(of plan: FetchPlan, only: ObjectID?, model: Model, columns: (any ColumnTraits)?) {
    readSet = ReadSet(of: plan, in: model)
    let condition = plan.definition.predicate.condition
    let finder = IndexableConjunctFinder(model: model, columns: columns)
    var found = finder.alternatives(condition)
    let access = plan.definition.access
    if let access {
      // Through a relationship the fetch may read nil although the store has an object.
      found.removeAll { $0.contains { !$0.path.propertyPath.steps.isEmpty } }
      found +=
        access.conditions[plan.definition.entity].map { finder.alternatives($0.condition) }
        ?? []
    }
    alternatives = only.map { [[Self.conjunct($0, plan, model)]] } ?? found
    makeEvaluator = {
      guard access == nil, let columns else { return nil }
      let evaluator = PredicateEvaluator(condition, model: model, columns: columns)
      return evaluator.coverage == .none || evaluator.paths.isEmpty ? nil : evaluator
    }
  }

  private static func conjunct(
    _ id: ObjectID, _ plan: FetchPlan, _ model: Model
  ) -> IndexableConjunct {
    let path = ConjunctPath(
      propertyPath: PropertyPath(root: plan.definition.entity, target: .object), options: [])
    // Normalised like the values of rows, so that a UUID that PostgreSQL writes in lower case is found.
    let value = RoutingDomain(path, in: model).constant(.id(id)) ?? StoredValue(.id(id), nil)
    return IndexableConjunct(path: path, requirement: .values([value]))
  }

  /// True if every conjunct's path begins with `steps`, so that the objects at their end can be
  /// looked up.
  func isIndexed(at steps: [Int]) -> Bool {
    conjuncts?.allSatisfy { $0.path.propertyPath.steps.starts(with: steps) } ?? false
  }

  /// True if an object with the values of `row` may be in the result.
  mutating func mayMatch(_ row: [StoredValue?]) -> Bool {
    guard let evaluator, let slots else { return true }
    return evaluator.evaluate(NumberedRow(values: row, slots: slots)) ?? true
  }
}

/// A row whose values are indexed by path number.
private struct NumberedRow: EvaluatedRow {
  let values: [StoredValue?]
  let slots: [Int]

  func value(of slot: Int) -> StoredValue? { values[slots[slot]] }
}
