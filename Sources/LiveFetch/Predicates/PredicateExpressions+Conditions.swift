// Logic and comparisons of `#Predicate`, and the operations that are refused.

import FetchModel
import Foundation

extension PredicateExpressions.Conjunction: PredicateTranslatable {
  func translated(by translator: inout PredicateTranslator) throws(Failure) -> PredicateTerm {
    let left = try translator.condition(lhs)
    let right = try translator.condition(rhs, where: left)
    return .condition(PredicateTranslator.all([left, right]))
  }
}

extension PredicateExpressions.Disjunction: PredicateTranslatable {
  func translated(by translator: inout PredicateTranslator) throws(Failure) -> PredicateTerm {
    let left = try translator.condition(lhs)
    let right = try translator.condition(rhs, where: PredicateTranslator.not(left))
    return .condition(PredicateTranslator.any([left, right]))
  }
}

extension PredicateExpressions.Negation: PredicateTranslatable {
  func translated(by translator: inout PredicateTranslator) throws(Failure) -> PredicateTerm {
    let operand = try translator.negatable(wrapped)
    return .condition(PredicateTranslator.not(try translator.condition(of: operand)))
  }
}

extension PredicateExpressions.Equal: PredicateTranslatable {
  func translated(by translator: inout PredicateTranslator) throws(Failure) -> PredicateTerm {
    let (left, right) = (try translator.negatable(lhs), try translator.negatable(rhs))
    return .condition(try translator.equality(left, right))
  }
}

extension PredicateExpressions.NotEqual: PredicateTranslatable {
  func translated(by translator: inout PredicateTranslator) throws(Failure) -> PredicateTerm {
    let (left, right) = (try translator.negatable(lhs), try translator.negatable(rhs))
    let equal = try translator.equality(left, right)
    if case .comparison(var comparison) = equal, comparison.operation == .equal {
      comparison.operation = .notEqual
      return .condition(.comparison(comparison))
    }
    return .condition(PredicateTranslator.not(equal))
  }
}

extension PredicateTranslator {
  fileprivate func equality(
    _ left: PredicateTerm, _ right: PredicateTerm
  ) throws(PredicateTranslationError) -> Tree {
    switch (left, right) {
    case (.ordering(let one, let other), .constant(let result)),
      (.constant(let result), .ordering(let one, let other)):
      return try Self.ordered(one, result, other)
    case (.optional(let present, let condition), let other),
      (let other, .optional(let present, let condition)):
      return try equality(present, condition, other)
    case (.condition(let condition), let other), (let other, .condition(let condition)):
      let other = try self.condition(of: other)
      return Self.either(condition, other, Self.not(other))
    default:
      return Self.comparison(try value(of: left), .equal, try value(of: right))
    }
  }

  /// Compares an optional condition with nil, true or false.
  private func equality(
    _ present: Tree, _ condition: Tree, _ other: PredicateTerm
  ) throws(PredicateTranslationError) -> Tree {
    if case .value(let value) = other, value.kind == .literal(.null) { return Self.not(present) }
    guard case .constant(let constant) = other else {
      throw .unsupported(
        operation: "== of two optional conditions", reason: "compare with ?? first")
    }
    guard let isTrue = Self.unwrapped(constant) else { return Self.not(present) }
    guard let isTrue = isTrue as? Bool else { throw Self.refused(constant) }
    return Self.all([present, isTrue ? condition : Self.not(condition)])
  }

  private static func ordered(
    _ left: Expression, _ result: Any, _ right: Expression
  ) throws(PredicateTranslationError) -> Tree {
    switch result as? ComparisonResult {
    case .orderedSame: return comparison(left, .equal, right, .caseInsensitive)
    case .orderedAscending: return comparison(left, .less, right, .caseInsensitive)
    case .orderedDescending: return comparison(left, .greater, right, .caseInsensitive)
    case nil: throw refused(result)
    }
  }
}

extension PredicateExpressions.Comparison: PredicateTranslatable {
  func translated(by translator: inout PredicateTranslator) throws(Failure) -> PredicateTerm {
    let operation: ComparisonPredicate.Operator
    switch op {
    case .lessThan: operation = .less
    case .lessThanOrEqual: operation = .lessOrEqual
    case .greaterThan: operation = .greater
    case .greaterThanOrEqual: operation = .greaterOrEqual
    @unknown default:
      throw .unsupported(operation: "\(op)", reason: "this version does not know the operator")
    }
    let (left, right) = (try translator.value(lhs), try translator.value(rhs))
    return .condition(PredicateTranslator.comparison(left, operation, right))
  }
}

// MARK: - Refusals that explain themselves

extension PredicateExpressions.TypeCheck: PredicateTranslatable {
  func translated(by translator: inout PredicateTranslator) throws(Failure) -> PredicateTerm {
    throw .unsupported(operation: "is \(Desired.self)", reason: "fetch the subentity instead")
  }
}

extension PredicateExpressions.ConditionalCast: PredicateTranslatable {
  func translated(by translator: inout PredicateTranslator) throws(Failure) -> PredicateTerm {
    throw .unsupported(operation: "as? \(Desired.self)", reason: "fetch the subentity instead")
  }
}

extension PredicateExpressions.ForceCast: PredicateTranslatable {
  func translated(by translator: inout PredicateTranslator) throws(Failure) -> PredicateTerm {
    throw .unsupported(operation: "as! \(Desired.self)", reason: "fetch the subentity instead")
  }
}

extension PredicateExpressions.StringContainsRegex: PredicateTranslatable {
  func translated(by translator: inout PredicateTranslator) throws(Failure) -> PredicateTerm {
    throw .unsupported(
      operation: "contains(Regex)", reason: "use MATCHES in a FetchPredicate, over the whole text")
  }
}
