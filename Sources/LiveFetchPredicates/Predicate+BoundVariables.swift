// A syntax tree → the variable names that its SUBQUERYs bind, so that a new name does not hide one
// of them.

import FetchModel

extension FetchModel.Predicate {
  /// The highest n of the names `xn` that a SUBQUERY in here gives its elements; 0 without any.
  var boundVariables: Int {
    switch self {
    case .constant: 0
    case .and(let operands), .or(let operands): operands.map(\.boundVariables).max() ?? 0
    case .not(let operand): operand.boundVariables
    case .comparison(let comparison):
      max(comparison.left.boundVariables, comparison.right.boundVariables)
    }
  }
}

extension FetchModel.Expression {
  fileprivate var boundVariables: Int {
    switch kind {
    case .literal, .placeholder, .variable, .object: return 0
    case .keyPath(let base, _): return base?.boundVariables ?? 0
    case .index(let collection, .position(let position)):
      return max(collection.boundVariables, position.boundVariables)
    case .index(let collection, _): return collection.boundVariables
    case .list(let elements), .function(_, let elements):
      return elements.map(\.boundVariables).max() ?? 0
    case .arithmetic(_, let left, let right):
      return max(left.boundVariables, right.boundVariables)
    case .negation(let operand), .cast(let operand, _): return operand.boundVariables
    case .ternary(let condition, let yes, let no):
      return max(condition.boundVariables, yes.boundVariables, no.boundVariables)
    case .subquery(let collection, let variable, let condition):
      let own = variable.first == "x" ? Int(variable.dropFirst()) ?? 0 : 0
      return max(own, collection.boundVariables, condition.boundVariables)
    }
  }
}
