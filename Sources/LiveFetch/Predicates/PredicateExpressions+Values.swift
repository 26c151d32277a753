// Variables, key paths, constants, optionals and calculations of `#Predicate`.

import FetchModel
import Foundation

extension PredicateExpressions.Variable: PredicateTranslatable {
  func translated(by translator: inout PredicateTranslator) throws(Failure) -> PredicateTerm {
    try translator.term(of: key)
  }
}

extension PredicateExpressions.Value: PredicateTranslatable {
  func translated(by translator: inout PredicateTranslator) throws(Failure) -> PredicateTerm {
    .constant(value)
  }
}

extension PredicateExpressions.NilLiteral: PredicateTranslatable {
  func translated(by translator: inout PredicateTranslator) throws(Failure) -> PredicateTerm {
    .value(.null)
  }
}

extension PredicateExpressions.KeyPath: PredicateTranslatable {
  func translated(by translator: inout PredicateTranslator) throws(Failure) -> PredicateTerm {
    switch try translator.term(root) {
    case .constant(let constant):
      guard let constant = constant as? Root.Output else {
        throw PredicateTranslator.refused(constant)
      }
      return .constant(constant[keyPath: keyPath])
    case .collection(let collection): return try member(ofCollection: collection)
    case .value(let value):
      if Root.Output.self is any StringProtocol.Type { return try member(ofText: value) }
      let name = KeyPathComponent(.name(try name()))
      let path = PredicateTranslator.path(value, appending: name)
      return Output.self is any ManyValued.Type ? .collection(path) : .value(path)
    case .condition, .optional, .range, .ordering: throw .unknownKeyPath("\(keyPath)")
    }
  }

  private func name() throws(PredicateTranslationError) -> String {
    guard let type = Root.Output.self as? any PredicateKeyPathProviding.Type,
      let name = type.predicateKeyPaths[keyPath]
    else { throw .unknownKeyPath("\(keyPath)") }
    return name
  }

  private func member(
    ofCollection collection: FetchModel.Expression
  ) throws(PredicateTranslationError) -> PredicateTerm {
    switch kind {
    case .collectionCount: return .value(PredicateTranslator.count(collection))
    case .collectionIsEmpty:
      let none = FetchModel.Expression(.literal(.integer(0)))
      return .condition(
        PredicateTranslator.comparison(PredicateTranslator.count(collection), .equal, none))
    case .collectionFirst: return .value(FetchModel.Expression(.index(collection, .first)))
    case .bidirectionalCollectionLast:
      return .value(FetchModel.Expression(.index(collection, .last)))
    default: throw .unknownKeyPath("\(keyPath)")
    }
  }

  private func member(
    ofText text: FetchModel.Expression
  ) throws(PredicateTranslationError) -> PredicateTerm {
    switch kind {
    case .collectionIsEmpty:
      let empty = FetchModel.Expression(.literal(.string("")))
      return .condition(PredicateTranslator.comparison(text, .equal, empty))
    case .collectionCount:
      throw .unsupported(
        operation: "String.count", reason: "it counts characters; `length(…)` counts UTF-16 units")
    default:
      throw .unsupported(
        operation: "\(keyPath)", reason: "predicates have no such property of text")
    }
  }
}

/// The types of to-many relationships. Text and data are single values.
private protocol ManyValued {}
extension Array: ManyValued {}
extension Set: ManyValued {}
extension Optional: ManyValued where Wrapped: ManyValued {}

// MARK: - Optionals

extension PredicateExpressions.ForcedUnwrap: PredicateTranslatable {
  func translated(by translator: inout PredicateTranslator) throws(Failure) -> PredicateTerm {
    let term = try translator.term(inner)
    switch term {
    case .value(let value): translator.require(value)
    case .optional(let present, let condition):
      translator.require(present)
      return .condition(condition)
    case .condition, .collection, .constant, .range, .ordering: break
    }
    return term
  }
}

extension PredicateExpressions.NilCoalesce: PredicateTranslatable {
  func translated(by translator: inout PredicateTranslator) throws(Failure) -> PredicateTerm {
    let optional = try translator.term(lhs)
    if case .constant(let constant) = optional {
      guard let held = PredicateTranslator.unwrapped(constant) else {
        return try translator.term(rhs)
      }
      return .constant(held)
    }
    // A to-many relationship is never nil, so the default is never used.
    if case .collection = optional { return optional }
    if Output.self == Bool.self, case .optional(let present, let condition) = optional {
      let other = try translator.term(rhs, where: PredicateTranslator.not(present))
      return .condition(
        PredicateTranslator.either(present, condition, try translator.condition(of: other)))
    }
    let value = try translator.value(of: optional)
    let present = PredicateTranslator.isPresent(value)
    let other = try translator.term(rhs, where: PredicateTranslator.not(present))
    guard Output.self == Bool.self else {
      return .value(
        FetchModel.Expression(.ternary(present, value, try translator.value(of: other))))
    }
    return .condition(
      PredicateTranslator.either(
        present, try translator.condition(of: optional), try translator.condition(of: other)))
  }
}

extension PredicateExpressions.OptionalFlatMap: PredicateTranslatable {
  func translated(by translator: inout PredicateTranslator) throws(Failure) -> PredicateTerm {
    let outer = try translator.term(wrapped)
    if case .constant(let constant) = outer {
      guard let held = PredicateTranslator.unwrapped(constant) else {
        return .value(.null)
      }
      translator.bind(variable.key, to: .constant(held))
      return try translator.term(transform)
    }
    translator.bind(variable.key, to: outer)
    var present = FetchModel.Predicate.constant(true)
    if case .value(let value) = outer { present = PredicateTranslator.isPresent(value) }
    let result = try translator.term(transform, where: present)
    switch (outer, result) {
    // A key path through nil is nil.
    case (.value(let start), .value(let path)) where path.continues(start): return result
    default: return try optional(result, where: present, translator)
    }
  }

  /// The value of `result`; nil unless `present` holds.
  private func optional(
    _ result: PredicateTerm, where present: FetchModel.Predicate, _ translator: PredicateTranslator
  ) throws(PredicateTranslationError) -> PredicateTerm {
    switch result {
    case .condition(let condition): return .optional(present: present, condition)
    case .optional(let inner, let condition):
      return .optional(present: PredicateTranslator.all([present, inner]), condition)
    case .value, .constant:
      let value = try translator.value(of: result)
      return .value(FetchModel.Expression(.ternary(present, value, .null)))
    case .collection, .range, .ordering: return result
    }
  }
}

// MARK: - Calculations

extension PredicateTranslator {
  fileprivate mutating func calculation(
    _ operation: FetchModel.ArithmeticOperator, _ left: Any, _ right: Any
  ) throws(PredicateTranslationError) -> PredicateTerm {
    .value(Expression(.arithmetic(operation, try value(left), try value(right))))
  }
}

extension PredicateExpressions.Arithmetic: PredicateTranslatable {
  func translated(by translator: inout PredicateTranslator) throws(Failure) -> PredicateTerm {
    switch op {
    case .add: return try translator.calculation(.add, lhs, rhs)
    case .subtract: return try translator.calculation(.subtract, lhs, rhs)
    case .multiply: return try translator.calculation(.multiply, lhs, rhs)
    @unknown default:
      throw .unsupported(operation: "\(op)", reason: "this version does not know the operator")
    }
  }
}

extension PredicateExpressions.UnaryMinus: PredicateTranslatable {
  func translated(by translator: inout PredicateTranslator) throws(Failure) -> PredicateTerm {
    .value(FetchModel.Expression(.negation(try translator.value(wrapped))))
  }
}

extension PredicateExpressions.IntDivision: PredicateTranslatable {
  func translated(by translator: inout PredicateTranslator) throws(Failure) -> PredicateTerm {
    try translator.calculation(.divide, lhs, rhs)
  }
}

extension PredicateExpressions.IntRemainder: PredicateTranslatable {
  func translated(by translator: inout PredicateTranslator) throws(Failure) -> PredicateTerm {
    let operands = [try translator.value(lhs), try translator.value(rhs)]
    return .value(FetchModel.Expression(.function("modulus:by:", operands)))
  }
}

extension PredicateExpressions.FloatDivision: PredicateTranslatable {
  func translated(by translator: inout PredicateTranslator) throws(Failure) -> PredicateTerm {
    var (left, right) = (try translator.value(lhs), try translator.value(rhs))
    // SQL truncates the quotient of two integers: make one operand a double.
    if !left.isDouble, !right.isDouble {
      let one = FetchModel.Expression(.literal(.double(1)))
      left = FetchModel.Expression(.arithmetic(.multiply, left, one))
    }
    return .value(FetchModel.Expression(.arithmetic(.divide, left, right)))
  }
}

extension FetchModel.Expression {
  fileprivate static var null: Self { Self(.literal(.null)) }

  /// True if this is a key path that begins with the key path `start`.
  fileprivate func continues(_ start: FetchModel.Expression) -> Bool {
    guard case .keyPath(let base, let names) = kind,
      case .keyPath(let startBase, let startNames) = start.kind
    else { return false }
    return base == startBase && names.map(\.kind).starts(with: startNames.map(\.kind))
  }

  fileprivate var isDouble: Bool { if case .literal(.double) = kind { true } else { false } }
}

extension PredicateExpressions.Conditional: PredicateTranslatable {
  func translated(by translator: inout PredicateTranslator) throws(Failure) -> PredicateTerm {
    let tested = try translator.negatable(test)
    let condition = try translator.condition(of: tested)
    let yes = try translator.term(trueBranch, where: condition)
    let no = try translator.term(falseBranch, where: PredicateTranslator.not(condition))
    if Output.self == Bool.self {
      return .condition(
        PredicateTranslator.either(
          condition, try translator.condition(of: yes), try translator.condition(of: no)))
    }
    return .value(
      FetchModel.Expression(
        .ternary(condition, try translator.value(of: yes), try translator.value(of: no))))
  }
}
