// Collections, ranges and text searches of `#Predicate`.

import FetchModel
import Foundation

// MARK: - Ranges

extension PredicateExpressions.Range: PredicateTranslatable {
  func translated(by translator: inout PredicateTranslator) throws(Failure) -> PredicateTerm {
    .range(
      lower: try translator.value(lower), upper: try translator.value(upper), isClosed: false)
  }
}

extension PredicateExpressions.ClosedRange: PredicateTranslatable {
  func translated(by translator: inout PredicateTranslator) throws(Failure) -> PredicateTerm {
    .range(lower: try translator.value(lower), upper: try translator.value(upper), isClosed: true)
  }
}

extension PredicateExpressions.RangeExpressionContains: PredicateTranslatable {
  func translated(by translator: inout PredicateTranslator) throws(Failure) -> PredicateTerm {
    let value = try translator.value(element)
    switch try translator.term(range) {
    case .range(let lower, let upper, let isClosed):
      return .condition(Self.contains(value, lower, upper, isClosed))
    case .constant(let range as any RangeBounds):
      let bounds = range.bounds
      return .condition(
        Self.contains(
          value, try bounds.lower.map(PredicateTranslator.literal),
          try bounds.upper.map(PredicateTranslator.literal), range.isClosed))
    default:
      throw .unsupported(operation: "a range of \(RangeExpression.Output.self)", reason: "unknown")
    }
  }

  private static func contains(
    _ value: FetchModel.Expression, _ lower: FetchModel.Expression?,
    _ upper: FetchModel.Expression?, _ isClosed: Bool
  ) -> FetchModel.Predicate {
    var conditions: [FetchModel.Predicate] = []
    if let lower {
      conditions.append(PredicateTranslator.comparison(value, .greaterOrEqual, lower))
    }
    if let upper {
      conditions.append(
        PredicateTranslator.comparison(value, isClosed ? .lessOrEqual : .less, upper))
    }
    return PredicateTranslator.all(conditions)
  }
}

// MARK: - Collections

extension PredicateExpressions.SequenceContains: PredicateTranslatable {
  func translated(by translator: inout PredicateTranslator) throws(Failure) -> PredicateTerm {
    let value = try translator.value(element)
    switch try translator.term(sequence) {
    case .collection(let collection):
      return .condition(PredicateTranslator.comparison(value, .in, collection))
    case .constant(let range as any RangeBounds):
      throw PredicateTranslator.refused(range)
    case .constant(let constant):
      let elements = try PredicateTranslator.literal(of: constant)
      guard case .list = elements.kind else { throw PredicateTranslator.refused(constant) }
      return .condition(PredicateTranslator.comparison(value, .in, elements))
    default:
      throw .unsupported(operation: "contains(_:)", reason: "only on relationships and constants")
    }
  }
}

extension PredicateTranslator {
  /// A condition on the elements of `sequence`: `test` holds for all of them, or for any.
  fileprivate mutating func quantified(
    _ sequence: Any, _ variable: PredicateExpressions.VariableID, _ test: Any, isAll: Bool
  ) throws(PredicateTranslationError) -> PredicateTerm {
    switch try term(sequence) {
    case .collection(let collection):
      let found = try subquery(collection, variable, test, isNegated: isAll)
      let none = Expression(.literal(.integer(0)))
      return .condition(Self.comparison(Self.count(found), isAll ? .equal : .greater, none))
    case .constant(let constant as any Sequence):
      var conditions: [Tree] = []
      for element in Self.elements(of: constant) {
        bind(variable, to: .constant(element))
        conditions.append(try condition(test))
      }
      return .condition(isAll ? Self.all(conditions) : Self.any(conditions))
    default:
      throw .unsupported(
        operation: isAll ? "allSatisfy" : "contains(where:)",
        reason: "only on relationships and constants")
    }
  }

  fileprivate mutating func subquery(
    _ collection: Expression, _ variable: PredicateExpressions.VariableID, _ test: Any,
    isNegated: Bool
  ) throws(PredicateTranslationError) -> Expression {
    // SUBQUERY takes a relationship: nested filters are combined with AND.
    var (objects, name, conditions) = (collection, String?.none, [Tree]())
    if case .subquery(let inner, let used, let condition) = collection.kind {
      (objects, name, conditions) = (inner, used, [condition])
    }
    let element = name ?? freshVariable()
    bind(variable, to: .value(Expression(.variable(element))))
    let condition = try elementCondition(test)
    conditions.append(isNegated ? Self.not(condition) : condition)
    return Expression(.subquery(objects, variable: element, Self.all(conditions)))
  }
}

extension PredicateExpressions.SequenceContainsWhere: PredicateTranslatable {
  func translated(by translator: inout PredicateTranslator) throws(Failure) -> PredicateTerm {
    try translator.quantified(sequence, variable.key, test, isAll: false)
  }
}

extension PredicateExpressions.SequenceAllSatisfy: PredicateTranslatable {
  func translated(by translator: inout PredicateTranslator) throws(Failure) -> PredicateTerm {
    try translator.quantified(sequence, variable.key, test, isAll: true)
  }
}

extension PredicateExpressions.Filter: PredicateTranslatable {
  func translated(by translator: inout PredicateTranslator) throws(Failure) -> PredicateTerm {
    guard case .collection(let collection) = try translator.term(sequence) else {
      throw .unsupported(operation: "filter", reason: "only on relationships")
    }
    return .collection(
      try translator.subquery(collection, variable.key, filter, isNegated: false))
  }
}

extension PredicateExpressions.CollectionIndexSubscript: PredicateTranslatable {
  func translated(by translator: inout PredicateTranslator) throws(Failure) -> PredicateTerm {
    guard case .collection(let collection) = try translator.term(wrapped) else {
      throw .unsupported(operation: "a subscript", reason: "only on relationships")
    }
    let position = try translator.value(index)
    return .value(FetchModel.Expression(.index(collection, .position(position))))
  }
}

// MARK: - Text

extension PredicateTranslator {
  /// A text search. In Swift every text contains the empty text, in the predicate language none
  /// does.
  mutating func search(
    _ text: Any, _ operation: ComparisonPredicate.Operator, _ searched: Any,
    findsEmpty: Bool, _ options: StringOptions = []
  ) throws(PredicateTranslationError) -> PredicateTerm {
    let (left, right) = (try value(text), try value(searched))
    let found = Self.comparison(left, operation, right, options)
    guard findsEmpty else { return .condition(found) }
    if case .literal(.string(let constant)) = right.kind {
      return .condition(constant.isEmpty ? Self.isPresent(left) : found)
    }
    let empty = Self.comparison(right, .equal, Expression(.literal(.string(""))))
    return .condition(Self.any([empty, found]))
  }
}

extension PredicateExpressions.CollectionContainsCollection: PredicateTranslatable {
  func translated(by translator: inout PredicateTranslator) throws(Failure) -> PredicateTerm {
    guard Base.Output.self is any StringProtocol.Type else {
      throw .unsupported(operation: "contains(_:) of a collection", reason: "only on text")
    }
    return try translator.search(base, .contains, other, findsEmpty: true)
  }
}

extension PredicateExpressions.SequenceStartsWith: PredicateTranslatable {
  func translated(by translator: inout PredicateTranslator) throws(Failure) -> PredicateTerm {
    guard Base.Output.self is any StringProtocol.Type else {
      throw .unsupported(operation: "starts(with:) of a collection", reason: "only on text")
    }
    return try translator.search(base, .beginsWith, prefix, findsEmpty: true)
  }
}

extension PredicateExpressions.StringLocalizedStandardContains: PredicateTranslatable {
  func translated(by translator: inout PredicateTranslator) throws(Failure) -> PredicateTerm {
    try translator.search(
      root, .contains, other, findsEmpty: false, [.caseInsensitive, .diacriticInsensitive])
  }
}

extension PredicateExpressions.StringCaseInsensitiveCompare: PredicateTranslatable {
  func translated(by translator: inout PredicateTranslator) throws(Failure) -> PredicateTerm {
    .ordering(try translator.value(root), try translator.value(other))
  }
}
