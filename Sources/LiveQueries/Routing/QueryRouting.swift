// What routing knows of one live query.

import FetchModel

/// How a live query is found by what saves touch.
struct QueryRouting {
  let footprint: Footprint
  /// The demands it could be looked up by; see ``AnchorFinder``.
  let alternatives: [[Anchor]]
  /// Tests its condition over values; nil where the store alone can.
  let evaluator: PredicateEvaluator?
  /// The demands it is looked up by while it is in the index; nil where it has none.
  var anchors: [Anchor]?
  /// For each path of the evaluator its number in the entity's table of paths, while the query is
  /// in the index; nil where these are not read.
  var slots: [Int]?

  init(of plan: FetchPlan, only: ObjectID?, model: Model, columns: (any ColumnTraits)?) {
    footprint = Footprint(of: plan, in: model)
    let condition = plan.definition.predicate.condition
    let found = AnchorFinder(model: model, columns: columns).alternatives(condition)
    alternatives = only.map { [[Self.anchor($0, plan)]] } ?? found
    evaluator = columns.flatMap { columns in
      let evaluator = PredicateEvaluator(condition, model: model, columns: columns)
      return evaluator.coverage == .none || evaluator.paths.isEmpty ? nil : evaluator
    }
  }

  private static func anchor(_ id: ObjectID, _ plan: FetchPlan) -> Anchor {
    let path = PropertyPath(root: plan.definition.entity, target: .object)
    return Anchor(
      place: AnchorPlace(path: path, options: []),
      demand: .values([StoredValue(.id(id), nil)]))
  }

  /// Whether every anchor's path goes over `steps`, so that the query can be looked up by the
  /// objects at their end.
  func isGuarded(at steps: [Int]) -> Bool {
    anchors?.allSatisfy { $0.place.path.steps.starts(with: steps) } ?? false
  }

  /// Whether an object whose values are those of `row` may be in the result.
  func mayMatch(_ row: [StoredValue?]) -> Bool {
    guard let evaluator, let slots else { return true }
    return evaluator.evaluate(NumberedRow(values: row, slots: slots)) ?? true
  }
}

/// Values by the numbers of a table of paths.
private struct NumberedRow: EvaluatedRow {
  let values: [StoredValue?]
  let slots: [Int]

  func value(of slot: Int) -> StoredValue? { values[slots[slot]] }
}
