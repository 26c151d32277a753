// Comparisons → conditions: operands have types that fit, constants are on the right, and
// comparisons that nil or an empty string decides are already replaced by their result.

import Patterns

extension PredicateResolver {
  mutating func resolve(_ comparison: ComparisonPredicate) throws(PredicateError) -> Condition {
    if let quantifier = comparison.quantifier {
      return try resolve(comparison, quantifier)
    }
    if comparison.operation == .contains, let keyPath = try resolveKeyPath(comparison.left),
      keyPath.isCollection
    {
      return try exists(keyPath) { (resolver, element) throws(PredicateError) in
        let left = try resolver.operand(element)
        return try resolver.compare(
          left, .equal, try resolver.operand(comparison.right), comparison.options)
      }
    }
    return try condition(.expression(comparison.left), comparison)
  }

  /// `side operator right`, whatever the left side came from.
  mutating func condition(
    _ side: ComparisonSide, _ comparison: ComparisonPredicate
  ) throws(PredicateError) -> Condition {
    switch comparison.operation {
    case .in: return try membership(side, comparison)
    case .between: return try interval(try operand(side), comparison)
    default:
      let left = try operand(side)
      let right = try operand(comparison.right)
      return try compare(left, comparison.operation, right, comparison.options)
    }
  }

  /// Compares two operands of one value each.
  func compare(
    _ left: Operand, _ operation: ComparisonPredicate.Operator, _ right: Operand,
    _ options: StringOptions
  ) throws(PredicateError) -> Condition {
    if operation != .equal, operation != .notEqual { try refuseRelationship(left, right) }
    if let relation = Comparison.Relation(text: operation) {
      return try search(left, relation, right, options)
    }
    let (relation, isNegated) = Self.relation(operation)
    let (leftValue, rightValue, kind) = try unified(left, right, options)
    let options = kind == .text ? options.folding : []
    let condition =
      leftValue.isFixed && !rightValue.isFixed
      ? Self.condition(rightValue, relation.mirrored, leftValue, options)
      : Self.condition(leftValue, relation, rightValue, options)
    return isNegated ? condition.negated : condition
  }

  /// Refuses an operand that has no order, is no number and is not a text.
  func refuseRelationship(_ operands: Operand...) throws(PredicateError) {
    guard let operand = operands.first(where: \.isRelationship) else { return }
    var found = "a relationship"
    if case .path(let path) = operand.expression, !path.path.steps.isEmpty {
      found = "\(text(path)), a relationship"
    }
    throw PredicateError(
      .typeMismatch, at: operand.range.lowerBound, found: found,
      expected: "==, != or IN, or a value instead", advice: "`.id` after it is its id as a value")
  }

  private static func relation(
    _ operation: ComparisonPredicate.Operator
  ) -> (Comparison.Relation, isNegated: Bool) {
    switch operation {
    case .notEqual: (.equal, true)
    case .less: (.less, false)
    case .lessOrEqual: (.lessOrEqual, false)
    case .greater: (.greater, false)
    case .greaterOrEqual: (.greaterOrEqual, false)
    default: (.equal, false)
    }
  }

  /// The condition; a constant nil decides it: only nil is `<=` or `>=` nil.
  private static func condition(
    _ left: ResolvedExpression, _ relation: Comparison.Relation, _ right: ResolvedExpression,
    _ options: StringOptions
  ) -> Condition {
    var relation = relation
    if right.constant == .null {
      switch relation {
      case .less, .greater: return .constant(false)
      default: relation = .equal
      }
    }
    if options.isEmpty, let condition = decided(left, relation, right) { return condition }
    return .comparison(Comparison(left, relation, right, options))
  }

  /// The result if it is known without the store: for equal constants, and for counts that only
  /// test whether the collection is empty.
  private static func decided(
    _ left: ResolvedExpression, _ relation: Comparison.Relation, _ right: ResolvedExpression
  ) -> Condition? {
    switch (left, right) {
    case (.constant(.null), .constant), (.constant, .constant(.null)),
      (.constant(.integer), .constant(.integer)), (.constant(.string), .constant(.string)),
      (.constant(.id), .constant(.id)):
      return relation == .equal ? .constant(left == right) : nil
    case (.aggregate(let aggregation), .constant(.integer(let count))):
      guard aggregation.function == .count, !aggregation.isDistinct, aggregation.object == nil
      else { return nil }
      let some = Condition.exists(
        aggregation.collection, where: aggregation.condition, isNegated: false)
      switch (relation, count) {
      case (.greater, 0), (.greaterOrEqual, 1): return some
      case (.equal, 0), (.less, 1), (.lessOrEqual, 0): return some.negated
      default: return nil
      }
    default: return nil
    }
  }

  /// Resolves BEGINSWITH, ENDSWITH, CONTAINS, LIKE and MATCHES.
  private func search(
    _ left: Operand, _ relation: Comparison.Relation, _ right: Operand, _ options: StringOptions
  ) throws(PredicateError) -> Condition {
    let leftValue = try text(left)
    let rightValue = try text(right)
    if leftValue.constant == .null || rightValue.constant == .null { return .constant(false) }
    guard case .string(let searched)? = rightValue.constant else {
      return .comparison(Comparison(leftValue, relation, rightValue, options.folding))
    }
    return try search(leftValue, relation, searched, options.folding, at: right.range)
  }

  private func search(
    _ left: ResolvedExpression, _ relation: Comparison.Relation, _ searched: String,
    _ options: StringOptions, at range: SourceRange
  ) throws(PredicateError) -> Condition {
    var relation = relation
    var searched = searched
    switch relation {
    case .like:
      try checkLength(searched, at: range)
      if let simple = LikePattern.simplified(searched) {
        (relation, searched) = (Comparison.Relation(simple.0), simple.1)
      }
    case .matches:
      try checkLength(searched, at: range)
      try checkPattern(searched, options, at: range)
    default:
      if searched.isEmpty { return .constant(false) }
    }
    return .comparison(Comparison(left, relation, .constant(.string(searched)), options))
  }

  private func checkLength(
    _ pattern: String, at range: SourceRange
  ) throws(PredicateError) {
    guard pattern.utf8.count > TextSearch.maxPatternBytes else { return }
    throw PredicateError(
      .badPattern, at: range.lowerBound, found: "a pattern of \(pattern.utf8.count) bytes",
      expected: "one of at most \(TextSearch.maxPatternBytes) bytes")
  }

  private func checkPattern(
    _ pattern: String, _ options: StringOptions, at range: SourceRange
  ) throws(PredicateError) {
    do {
      _ = try RegularExpression(
        Folding.fold(pattern, options.diacritics),
        ignoresCase: options.contains(.caseInsensitive))
    } catch {
      var refusal = PredicateError(
        .badPattern, at: range.lowerBound, found: error.reason,
        expected: "a regular expression that MATCHES can read",
        advice: "character \(error.position + 1) of the pattern")
      // Without its marks the pattern has other places.
      if options.diacritics.isEmpty { refusal.character = error.position }
      throw refusal
    }
  }

  /// `operand` as text, for the operators that look into it.
  func text(_ operand: Operand) throws(PredicateError) -> ResolvedExpression {
    try converted(operand, to: .text)
  }
}

// MARK: - Types

extension PredicateResolver {
  /// `operand` as something that compares with `kind`.
  func converted(
    _ operand: Operand, to kind: Operand.Kind, because other: Operand? = nil
  ) throws(PredicateError) -> ResolvedExpression {
    if case .string(let text)? = operand.constant, isUUID(other),
      UUIDText.bytes(of: text.utf8) == nil
    {
      throw mismatch(operand, kind, because: other)
    }
    if operand.kind == .untyped, case .string(let text)? = operand.constant {
      if let value = Operand.value(ofText: text, as: kind, entities: model.entities) {
        return .constant(value)
      }
      throw mismatch(operand, kind, because: other)
    }
    guard let expression = operand.converted(to: kind, entities: model.entities) else {
      throw mismatch(operand, kind, because: other)
    }
    return expression
  }

  /// True for an attribute that holds UUIDs.
  private func isUUID(_ operand: Operand?) -> Bool {
    guard case .path(let path)? = operand?.expression, case .attribute = path.path.target else {
      return false
    }
    return model.type(of: path.path) == .uuid
  }

  /// Both operands as values that compare with each other, and their common kind.
  func unified(
    _ left: Operand, _ right: Operand, _ options: StringOptions = []
  ) throws(PredicateError) -> (ResolvedExpression, ResolvedExpression, Operand.Kind) {
    let left = try keyAsText(left.asText(against: right), options)
    let right = try keyAsText(right.asText(against: left), options)
    if isDecisive(left, against: right) {
      return (try typed(left), try converted(right, to: left.kind, because: left), left.kind)
    }
    // Two texts of a query string are texts.
    let kind = right.kind == .untyped ? Operand.Kind.text : right.kind
    return (try converted(left, to: kind, because: right), try typed(right), kind)
  }

  /// A text key as a text if options apply to it: ids are compared exactly.
  private func keyAsText(
    _ operand: Operand, _ options: StringOptions
  ) throws(PredicateError) -> Operand {
    guard !options.folding.isEmpty, case .object(let entity) = operand.kind,
      model.entities[entity].idType == .string
    else { return operand }
    var text = operand
    text.expression = try self.text(operand)
    text.kind = .text
    return text
  }

  /// True if `left`'s type decides: the operand that is not a constant, or the only operand with a
  /// type.
  private func isDecisive(_ left: Operand, against right: Operand) -> Bool {
    if left.kind == .untyped || left.kind == .null { return false }
    if right.kind == .untyped || right.kind == .null { return true }
    if !left.expression.isFixed { return true }
    return right.expression.isFixed && left.kind != .text
  }

  /// The value of an operand; text of a query string becomes a text.
  private func typed(_ operand: Operand) throws(PredicateError) -> ResolvedExpression {
    operand.kind == .untyped ? try converted(operand, to: .text) : operand.expression
  }

  func mismatch(
    _ operand: Operand, _ kind: Operand.Kind, because other: Operand? = nil
  ) -> PredicateError {
    var expected = kind.phrase
    if case .object(let entity) = kind { expected = "the id of an object of \(name(entity))" }
    var found = operand.kind.phrase
    if case .string(let text)? = operand.constant {
      if text == Literal.notANumber, kind.isNumeric { return notANumber(at: operand.range, kind) }
      found = "text `\(text.prefix(40))`"
    }
    if case .path(let path) = operand.expression {
      found = "\(text(path)), \(phrase(path, operand.kind))"
    }
    var advice: String?
    if case .path(let path)? = other?.expression {
      advice = "\(text(path)) is \(phrase(path, kind))"
    }
    if kind == .date, case .string? = operand.constant { expected = "an ISO 8601 date" }
    if isUUID(other) { expected = "a UUID" }
    if let cast = Self.cast(operand, kind) {
      advice = [advice, cast].compactMap { $0 }.joined(separator: "; ")
    }
    return PredicateError(
      .typeMismatch, at: operand.range.lowerBound, found: found, expected: expected, advice: advice)
  }

  func notANumber(
    at range: SourceRange, _ kind: Operand.Kind = .number(isInteger: false)
  ) -> PredicateError {
    PredicateError(
      .typeMismatch, at: range.lowerBound, found: "NaN, which equals nothing",
      expected: kind.phrase, advice: "`== nil` finds what has no value")
  }

  /// Names the conversion of a number to a date, or of a date to a number.
  private static func cast(_ operand: Operand, _ kind: Operand.Kind) -> String? {
    switch (operand.kind, kind) {
    case (.number, .date): "CAST(…, 'NSDate') takes seconds since 2001"
    case (.date, .number): "CAST(…, 'NSNumber') gives seconds since 2001"
    default: nil
    }
  }

  func name(_ entity: Int) -> String { model.entities[entity].name }

  /// Describes the type of a key path's values in the model's words.
  private func phrase(_ path: ScopedPath, _ kind: Operand.Kind) -> String {
    guard case .attribute = path.path.target else { return kind.phrase }
    return switch model.type(of: path.path) {
    case .json: "JSON"
    case .uuid: "a UUID"
    case .uri: "a URI"
    default: kind.phrase
    }
  }

  private func text(_ path: ScopedPath) -> String { "`\(model.text(of: path.path))`" }
}

extension Comparison.Relation {
  init?(text operation: ComparisonPredicate.Operator) {
    switch operation {
    case .beginsWith: self = .beginsWith
    case .endsWith: self = .endsWith
    case .contains: self = .contains
    case .like: self = .like
    case .matches: self = .matches
    default: return nil
    }
  }

  /// The relation that means the same with the operands exchanged.
  var mirrored: Self {
    switch self {
    case .less: .greater
    case .lessOrEqual: .greaterOrEqual
    case .greater: .less
    case .greaterOrEqual: .lessOrEqual
    default: self
    }
  }
}

extension Comparison.Relation {
  fileprivate init(_ relation: LikePattern.Relation) {
    self =
      switch relation {
      case .equal: .equal
      case .beginsWith: .beginsWith
      case .endsWith: .endsWith
      case .contains: .contains
      }
  }
}
