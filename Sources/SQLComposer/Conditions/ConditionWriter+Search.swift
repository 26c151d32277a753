// BEGINSWITH, ENDSWITH, CONTAINS, LIKE and MATCHES → a range condition that an index serves, or a
// call of an SQL function. The functions return 0 or 1, never NULL, so they may follow NOT.

import FetchModel

extension ConditionWriter {
  mutating func search(_ comparison: Comparison) -> Alternatives {
    if comparison.relation == .beginsWith, comparison.options.isEmpty,
      !ParserStackBudget.isDeep(comparison.left),
      case .string(let prefix)? = comparison.right.constant,
      let successor = TextPrefix.successor(of: prefix)
    {
      return range(comparison, from: prefix, to: successor)
    }
    let text = operand(comparison.left).text
    if case .string(let pattern)? = comparison.right.constant,
      let test = dialect.pattern(text.sql, comparison.relation, pattern, comparison.options)
    {
      return Alternatives([SQLFragment(comparison.isNegated ? "NOT " : "") + test])
    }
    let searched = operand(comparison.right).text
    var call = SQLFragment(
      (comparison.isNegated ? "NOT " : "") + Self.function(comparison.relation))
    call.append("(")
    call.append(text.sql)
    call.append(", ")
    call.append(searched.sql)
    call.append(", \(comparison.options.rawValue))")
    return Alternatives([call])
  }

  private static func function(_ relation: Comparison.Relation) -> String {
    switch relation {
    case .beginsWith: "livefetch_begins"
    case .endsWith: "livefetch_ends"
    case .like: "livefetch_like"
    case .matches: "livefetch_matches"
    default: "livefetch_contains"
    }
  }

  /// `text >= 'A' AND text < 'B'`, which an index serves.
  private mutating func range(
    _ comparison: Comparison, from prefix: String, to successor: String
  ) -> Alternatives {
    let text = operand(comparison.left).text
    let lower = ordered(.bound(.text(prefix)), .string(prefix))
    let upper = ordered(.bound(.text(successor)), .string(successor))
    guard comparison.isNegated else {
      return Alternatives([text.collated + " >= " + lower + " AND " + text.collated + " < " + upper]
      )
    }
    var parts = [text.collated + " < " + lower, text.collated + " >= " + upper]
    if text.mayBeNull { parts.append(text.isNull) }
    return Alternatives(parts)
  }
}
