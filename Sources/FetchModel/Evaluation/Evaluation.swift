// Evaluates a test on rows: true, false or unknown, which is Swift's nil in this file. The nil of a
// value is `.null`.

/// The evaluation of a test on one object.
struct Evaluation<Row: EvaluatedRow> {
  typealias Test = PredicateEvaluator.Test
  typealias Term = PredicateEvaluator.Term

  /// The object of the fetch, then the current element of each enclosing collection.
  var scopes: [Row]

  /// Returns nil if the result is unknown.
  func holds(_ test: Test) -> Bool? {
    switch test {
    case .constant(let value): return value
    case .unknown: return nil
    case .all(let tests): return chain(tests, decidedBy: false)
    case .any(let tests): return chain(tests, decidedBy: true)
    case .comparison(let left, let relation, let right, let affinity, let isNegated):
      return compare(left, relation, right, affinity).map { $0 != isNegated }
    case .interval(let term, let lower, let upper, let affinity, let isNegated):
      guard let value = value(term)?.converted(by: affinity) else { return nil }
      return (value != .null && lower <= value && value <= upper) != isNegated
    case .membership(let term, let elements, let includesNil, let affinity, let isNegated):
      guard let value = value(term)?.converted(by: affinity) else { return nil }
      return (value == .null ? includesNil : elements.contains(value)) != isNegated
    case .search(let term, let search, let isNegated):
      guard let value = value(term) else { return nil }
      return value.isFound(search).map { $0 != isNegated }
    case .dynamicSearch(let term, let relation, let pattern, let options, let isNegated):
      guard let value = value(term), let searched = self.value(pattern) else { return nil }
      guard case .text(let text) = searched else { return isNegated }
      guard text.utf8.count <= StoredValue.maxPatternBytes else { return nil }
      return value.isFound(TextSearch(text, relation, options)).map { $0 != isNegated }
    case .exists(let collection, let scope, let test, let isNegated):
      return exists(collection, scope, test).map { $0 != isNegated }
    }
  }

  /// AND (decided by false) and OR (decided by true).
  private func chain(_ tests: [Test], decidedBy decisive: Bool) -> Bool? {
    var isKnown = true
    for test in tests {
      guard let value = holds(test) else {
        isKnown = false
        continue
      }
      if value == decisive { return decisive }
    }
    return isKnown ? !decisive : nil
  }

  private func compare(
    _ left: Term, _ relation: Comparison.Relation, _ right: Term, _ affinity: Affinity?
  ) -> Bool? {
    guard let left = value(left)?.converted(by: affinity),
      let right = value(right)?.converted(by: affinity)
    else { return nil }
    if left == .null || right == .null {
      return left == .null && right == .null && ![.less, .greater].contains(relation)
    }
    let order = left.compared(to: right)
    return switch relation {
    case .equal: order == 0
    case .less: order < 0
    case .lessOrEqual: order <= 0
    case .greater: order > 0
    case .greaterOrEqual: order >= 0
    case .beginsWith, .endsWith, .contains, .like, .matches: nil
    }
  }

  // MARK: Collections

  private func exists(_ collection: Int, _ scope: Int, _ test: Test) -> Bool? {
    guard let elements = scopes[scope].elements(of: collection) else { return nil }
    var isKnown = true
    for element in elements {
      switch scoped(to: element).holds(test) {
      case true?: return true
      case false?: break
      case nil: isKnown = false
      }
    }
    return isKnown ? false : nil
  }

  private func scoped(to element: Row) -> Evaluation { Evaluation(scopes: scopes + [element]) }

  /// The value of each element that fulfils `test`. With `object`, elements that lead to the same object
  /// give one value, and those without one none.
  private func values(
    of term: Term, in collection: Int, _ scope: Int, where test: Test, distinctBy object: Term?
  ) -> [StoredValue]? {
    guard let elements = scopes[scope].elements(of: collection) else { return nil }
    var values: [StoredValue] = []
    var objects: Set<StoredValue> = []
    for element in elements {
      let inner = scoped(to: element)
      guard let fulfilsTest = inner.holds(test) else { return nil }
      guard fulfilsTest else { continue }
      if let object {
        guard let id = inner.value(object) else { return nil }
        guard id != .null, objects.insert(id).inserted else { continue }
      }
      guard let value = inner.value(term) else { return nil }
      values.append(value)
    }
    return values
  }

  // MARK: Values

  func value(_ term: Term) -> StoredValue? {
    switch term {
    case .constant(let value): return value
    case .unknown: return nil
    case .slot(let slot, let scope): return scopes[scope].value(of: slot)
    case .arithmetic(let operation, let left, let right, let isReal):
      guard let left = value(left), let right = value(right) else { return nil }
      return left.calculated(operation, right, isReal: isReal)
    case .decimal(let operation, let left, let right):
      guard let left = value(left), let right = value(right) else { return nil }
      return left.decimal(operation, right)
    case .decimalNumber(let term): return value(term)?.decimalNumber
    case .remainder(let left, let right):
      guard let left = value(left), let right = value(right) else { return nil }
      return left.remainder(right)
    case .function(let function, let arguments): return call(function, arguments)
    case .folded(let term, let options): return value(term)?.folded(options)
    case .comparisonKey(let term, let encoding): return value(term)?.comparisonKey(encoding)
    case .uuidText(let term): return value(term)?.uuidText
    case .seconds(let term): return value(term)?.seconds
    case .reference(let term): return value(term)?.secondsSinceReference
    case .conditional(let test, let yes, let no):
      guard let isMet = holds(test) else { return nil }
      return value(isMet ? yes : no)
    case .list(let function, let terms):
      var values: [StoredValue] = []
      for term in terms {
        guard let value = value(term) else { return nil }
        values.append(value)
      }
      return values.aggregated(function)
    case .aggregate(
      let function, let collection, let scope, let test, let term, let object, let isDistinct):
      guard
        var values = values(of: term, in: collection, scope, where: test, distinctBy: object)
      else { return nil }
      if isDistinct { values = Array(Set(values.filter { $0 != .null })) }
      return values.aggregated(function)
    }
  }

  private func call(_ function: ResolvedFunction, _ terms: [Term]) -> StoredValue? {
    guard let first = terms.first.flatMap({ value($0) }),
      let second = terms.count > 1 ? value(terms[1]) : first
    else { return nil }
    switch function {
    case .sqrt, .log, .ln, .exp, .floor, .ceiling, .trunc: return first.applied(function)
    case .abs: return first.absolute
    case .modulus: return first.doubleModulus(second)
    case .uppercase: return first.mapText { .text($0.uppercased()) }
    case .lowercase: return first.mapText { .text($0.lowercasedText) }
    case .canonical:
      return first.mapText { .text(Folding.fold($0, [.caseInsensitive, .diacriticInsensitive])) }
    case .length: return first.length
    case .bitwiseAnd: return first.combinedBits(second) { .integer($0 & $1) }
    case .bitwiseOr: return first.combinedBits(second) { .integer($0 | $1) }
    case .bitwiseXor:
      return first.isNumber && second.isNumber
        ? first.combinedBits(second) { .integer($0 ^ $1) } : .null
    case .leftShift: return first.combinedBits(second) { StoredValue.shift($0, left: $1) }
    case .rightShift:
      return first.combinedBits(second) { x, y in
        StoredValue.shift(x, left: y == .min ? .max : -y)
      }
    case .onesComplement: return first.invertedBits
    case .text: return first.writtenNumber
    case .number: return first.parsedNumber
    case .dateText: return first.dateText
    case .date, .secondsSinceReference, .initial, .day, .month, .year: return nil
    }
  }
}

extension StoredValue {
  /// The longest pattern that is read from an object here.
  fileprivate static let maxPatternBytes = 1_024
  /// The number of checks for cancellation after which a search ends. There are some ten thousand steps
  /// between two checks.
  private static let maxPolls = 8

  /// Returns nil if the search takes long: the store then decides, within its time limit.
  fileprivate func isFound(_ search: TextSearch) -> Bool? {
    guard case .text(let text) = self else { return false }
    var polls = 0
    let isFound = search.matches(text) {
      polls += 1
      return polls > Self.maxPolls
    }
    return polls > Self.maxPolls ? nil : isFound
  }
}

extension [StoredValue] {
  /// The aggregate of these values; nil if it depends on the order in which the store adds.
  fileprivate func aggregated(_ function: AggregateFunction) -> StoredValue? {
    switch function {
    case .count: .integer(Int64(count))
    case .min: filter { $0 != .null }.min() ?? .null
    case .max: filter { $0 != .null }.max() ?? .null
    case .sum: sum
    case .average: nil
    }
  }

  private var sum: StoredValue {
    ExactSum.with { sum in
      for value in self {
        if case .integer(let integer) = value {
          sum.add(integer)
        } else if let double = value.double {
          sum.add(double)
        }
      }
      return switch sum.finalTotal() {
      case .integer(let integer)?: .integer(integer)
      case .double(let double)?: .number(double)
      case nil: .null
      }
    }
  }
}
