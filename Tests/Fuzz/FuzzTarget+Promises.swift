// Further promises for a parsed predicate: the evaluator's result for the negation is the opposite, and a
// fetch from a cached plan equals the fetch that its text resolves to.

import Bytes

@testable import FetchModel

#if SWIFT_PACKAGE
  @testable import RequestPlans
#endif

/// An object whose values are all of one stored class, and whose collections hold one like it.
private struct FuzzRow: EvaluatedRow {
  let stored: StoredValue
  var depth = 0

  func value(of slot: Int) -> StoredValue? { slot % 7 == 6 ? nil : slot % 3 == 2 ? .null : stored }

  func elements(of collection: Int) -> [FuzzRow]? {
    depth > 3 ? nil : [FuzzRow(stored: stored, depth: depth + 1)]
  }
}

private struct FuzzColumns: ColumnTraits {
  func comparisonRule(of property: Property, in entity: Int) -> ComparisonRule? {
    switch property {
    case .attribute(1): .column(.integer)
    case .attribute(2): .column(.real)
    case .attribute(5): nil
    case .attribute(7): .column(.numeric)
    case .relationship(0): .calculated
    default: .column(.text)
    }
  }
}

func fuzzEvaluator(_ condition: Condition, _ model: Model) {
  let holds = PredicateEvaluator(condition, model: model, columns: FuzzColumns())
  let fails = PredicateEvaluator(condition.negated, model: model, columns: FuzzColumns())
  let values: [StoredValue] = [
    .null, .integer(.max), .integer(5), .double(-1e308), .text("é 5"), .text(""), .blob([255]),
  ]
  for value in values {
    let row = FuzzRow(stored: value)
    guard let first = holds.evaluate(row), let second = fails.evaluate(row) else { continue }
    demand(first != second, "a condition and its negation are both \(first)")
  }
}

/// Puts the plan of a query into a cache and looks up the same query with other numbers.
func fuzzForms(_ query: String, _ resolver: FetchResolver) {
  let target = "/v1/objects/City?" + query
  let lifted = NormalizedTarget(target)
  guard !lifted.numbers.isEmpty, let first = plan(target, resolver) else { return }
  let cache = PlanCache(resolver: resolver)
  cache.insert(lifted, entity: "City", plan: first)
  cache.insert(lifted, entity: "City", plan: first)
  let numbers = lifted.numbers.indices.map { $0 % 2 == 0 ? "7\($0)" : "0" }
  let other = lifted.target(with: numbers)
  for target in [target, other] {
    let again = NormalizedTarget(target)
    guard again.text == lifted.text, let filled = cache.fetch(again) else { continue }
    demand(filled.plan == plan(target, resolver), "another fetch: \(target)")
  }
}

private func plan(_ target: String, _ resolver: FetchResolver) -> FetchPlan? {
  guard let mark = target.firstIndex(of: "?"),
    let items = try? PercentEncoding.decodeQuery(target[target.index(after: mark)...]),
    let request = try? FetchRequest(entity: "City", query: items)
  else { return nil }
  return try? resolver.resolve(request)
}
