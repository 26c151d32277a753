// A resolved predicate → the condition of a WHERE clause.
//
//     population >= 1000       t0."population" >= ?
//     NOT (population > 1000)  t0."population" <= ? OR t0."population" IS NULL
//     name BEGINSWITH 'A'      t0."name" >= ? AND t0."name" < ?
//     ANY cities.name == 'x'   EXISTS (SELECT 1 FROM "city" AS t1 WHERE t1."country" = t0."id" AND …)
//
// The SQL is true for exactly the rows for which the predicate is true, and false or NULL for all
// others. Callers never put it under NOT. Every constant is a bound value. Where the predicate
// allows it, a column is the whole of one side of an operator, so that SQLite can use an index.

import FetchModel

package enum PredicateCompiler {
  /// The condition as one term of an AND chain; empty if the predicate is always true.
  package static func condition(
    of predicate: ResolvedPredicate, in scope: inout some SQLScope
  ) -> SQLFragment {
    if case .constant(true) = predicate.condition { return SQLFragment() }
    var writer = ConditionWriter(scope)
    let fragment = writer.write(predicate.condition, between: .ands)
    scope = writer.scopes[0]
    return fragment
  }
}

struct ConditionWriter<Scope: SQLScope> {
  /// The operator that surrounds a condition. It decides whether the condition needs parentheses.
  enum Connective { case ands, ors }

  /// The query's own scope, then the scopes of the subqueries that enclose the current position,
  /// outermost first.
  var scopes: [Scope]
  let dialect: Dialect
  /// True if the condition that is being written reads a generated column.
  var readsGeneratedColumn = false

  init(_ scope: Scope) {
    scopes = [scope]
    dialect = scope.dialect
  }

  /// Writes the condition of the last scope. The parts that calculate are evaluated together, after the
  /// object is known to be readable, so that response times reveal nothing about other objects.
  mutating func write(_ condition: Condition, between place: Connective) -> SQLFragment {
    guard scopes.last?.isRestricted == true else { return compose(condition, between: place) }
    var parts = [condition]
    if case .and(let conditions) = condition { parts = ParserStackBudget.deepestFirst(conditions) }
    var calculated: [SQLFragment] = []
    var others: [SQLFragment] = []
    var readsGenerated = readsGeneratedColumn
    for part in parts {
      readsGeneratedColumn = false
      let sql = compose(part, between: .ands)
      readsGenerated = readsGenerated || readsGeneratedColumn
      if readsGeneratedColumn || sql.isCalculation {
        calculated.append(sql)
      } else {
        others.append(sql)
      }
    }
    if !calculated.isEmpty {
      let readable = Self.chained(calculated, .ands).whereReadable(in: scopes.last)
      others.insert(readable, at: 0)
    }
    // Read by the condition that encloses this one, if this is the condition of a subquery.
    readsGeneratedColumn = readsGenerated
    let fragment = Self.chained(others, .ands)
    return place == .ors ? Self.parenthesised(fragment) : fragment
  }

  mutating func compose(_ condition: Condition, between place: Connective) -> SQLFragment {
    switch condition {
    case .constant(let isTrue): dialect.constant(isTrue)
    case .and(let conditions): join(conditions, .ands, in: place)
    case .or(let conditions): join(conditions, .ors, in: place)
    case .comparison(let comparison): write(comparison).joined(in: place, dialect)
    case .between(let interval): write(interval).joined(in: place, dialect)
    case .membership(let membership): write(membership).joined(in: place, dialect)
    case .exists(let collection, let condition, let isNegated):
      exists(collection, condition, isNegated: isNegated)
    }
  }

  /// Joins conditions with AND or OR. The deepest condition comes first, as ``ParserStackBudget``
  /// assumes. A long chain becomes two levels, because SQLite's expression trees are at most 1,000
  /// levels high.
  private mutating func join(
    _ conditions: [Condition], _ kind: Connective, in place: Connective
  ) -> SQLFragment {
    var parts: [SQLFragment] = []
    parts.reserveCapacity(conditions.count)
    for condition in ParserStackBudget.deepestFirst(conditions) {
      parts.append(compose(condition, between: kind))
    }
    let fragment = Self.chained(parts, kind)
    return kind == .ors && place == .ands ? Self.parenthesised(fragment) : fragment
  }

  private static func chained(_ parts: [SQLFragment], _ kind: Connective) -> SQLFragment {
    var parts = parts
    while parts.count > 200 {
      parts = stride(from: 0, to: parts.count, by: 200).map { start in
        let group = parts[start..<min(start + 200, parts.count)]
        return parenthesised(joined(Array(group), kind))
      }
    }
    return joined(parts, kind)
  }

  private static func joined(_ parts: [SQLFragment], _ kind: Connective) -> SQLFragment {
    var fragment = SQLFragment()
    for (index, part) in parts.enumerated() {
      if index > 0 { fragment.append(kind == .ands ? " AND " : " OR ") }
      fragment.append(part)
    }
    return fragment
  }

  private static func parenthesised(_ fragment: SQLFragment) -> SQLFragment {
    SQLFragment("(\(fragment.text))", bindings: fragment.bindings)
  }

  // MARK: Subqueries

  private mutating func exists(
    _ collection: ResolvedCollection, _ condition: Condition, isNegated: Bool
  ) -> SQLFragment {
    // `NOT` in front of a deep condition would take more of the parser's stack.
    let comparesWithFalse = isNegated && ParserStackBudget.isDeep(condition)
    let prefix = isNegated && !comparesWithFalse ? "NOT " : ""
    var fragment = SQLFragment("\(prefix)EXISTS (SELECT 1")
    fragment.append(source(collection, condition) { _ in })
    fragment.append(comparesWithFalse ? ") = \(dialect.never)" : ")")
    return fragment
  }

  /// ` FROM … WHERE …` over the objects of `collection` that fulfil `condition`. `body` may add
  /// columns of the elements' scope, which is the last scope.
  mutating func source(
    _ collection: ResolvedCollection, _ condition: Condition, _ body: (inout Self) -> Void
  ) -> SQLFragment {
    let opened = scopes[collection.scope].over(collection.steps)
    scopes.append(opened)
    let inner =
      condition == .constant(true)
      ? SQLFragment() : write(condition, between: .ands)
    body(&self)
    let elements = scopes.removeLast()
    var fragment = SQLFragment(" FROM " + elements.from)
    let correlation = SQLFragment(elements.correlation)
    let tests =
      (ParserStackBudget.isDeep(condition) ? [inner, correlation] : [correlation, inner])
      .filter { !$0.text.isEmpty }
    if !tests.isEmpty {
      fragment.append(" WHERE ")
      fragment.append(Self.joined(tests, .ands))
    }
    return fragment
  }
}

/// Conditions at least one of which must hold: `x <= ? OR x IS NULL`.
struct Alternatives {
  var parts: [SQLFragment]
  init(_ parts: [SQLFragment]) { self.parts = parts }

  func joined<Scope>(
    in place: ConditionWriter<Scope>.Connective, _ dialect: Dialect
  ) -> SQLFragment {
    guard parts.count > 1 else { return parts.first ?? dialect.constant(false) }
    var fragment = SQLFragment(place == .ands ? "(" : "")
    for (index, part) in parts.enumerated() {
      if index > 0 { fragment.append(" OR ") }
      fragment.append(part)
    }
    if place == .ands { fragment.append(")") }
    return fragment
  }
}
