// A resolved comparison → SQL alternatives, joined by OR. Where nil compares differently from SQL's
// NULL, the nil case is written out.

import FetchModel

extension ConditionWriter {
  /// The test after a condition in parentheses that holds if it is false or NULL.
  private var isNotTrue: String { dialect.isDifferent + dialect.always }

  mutating func write(_ comparison: Comparison) -> Alternatives {
    if isFalse(comparison) {
      return Alternatives([dialect.constant(comparison.isNegated)])
    }
    return switch comparison.relation {
    case .equal: equal(comparison)
    case .less, .lessOrEqual, .greater, .greaterOrEqual: order(comparison)
    case .beginsWith, .endsWith, .contains, .like, .matches: search(comparison)
    }
  }

  /// True if no text of the database fulfils the relation, because none contains U+0000.
  private func isFalse(_ comparison: Comparison) -> Bool {
    guard dialect.hasTypedColumns, comparison.right.constant?.containsZero == true,
      comparison.left.constant == nil
    else { return false }
    return switch comparison.relation {
    case .equal, .beginsWith, .endsWith, .contains, .like: true
    case .less, .lessOrEqual, .greater, .greaterOrEqual, .matches: false
    }
  }

  /// `=` for which nil equals nil.
  private mutating func equal(_ comparison: Comparison) -> Alternatives {
    if comparison.right.constant == .null {
      let left = operand(comparison.left)
      guard left.mayBeNull else {
        return Alternatives([dialect.constant(comparison.isNegated)])
      }
      return Alternatives([comparison.isNegated ? left.isNotNull : left.isNull])
    }
    let (left, right) = operands(comparison)
    let isNegated = comparison.isNegated
    if left.mayBeNull, right.mayBeNull {
      return Alternatives([
        left.collated + (isNegated ? dialect.isDifferent : dialect.isSame) + right.sql
      ])
    }
    var (compared, constant) = (left.collated, right.sql)
    if comparison.right.isFixed, comparison.options.isEmpty,
      let lookup = left.lookup(ofText: comparison.right.isFixedText, isNegated: isNegated)
    {
      compared = SQLFragment(lookup.sql)
      constant.text = lookup.constant(constant.text)
    }
    guard isNegated else { return Alternatives([compared + " = " + constant]) }
    if comparison.isDeep { return Alternatives([compared + dialect.isDifferent + constant]) }
    return Alternatives([compared + " <> " + constant] + nulls(left, right))
  }

  /// `<`, `<=`, `>`, `>=`: false if one side is nil; `<=` and `>=` are true if both sides are nil.
  private mutating func order(_ comparison: Comparison) -> Alternatives {
    let (left, right) = operands(comparison)
    let symbols = Self.symbols(comparison.relation)
    let symbol = comparison.isNegated ? symbols.inverse : symbols.direct
    let compared = ordered(right.sql, comparison.right.constant)
    let value = ordered(left.collated, comparison.left.constant)
    let test = value + " \(symbol) " + compared
    let isEqualIn = comparison.relation == .lessOrEqual || comparison.relation == .greaterOrEqual
    guard left.mayBeNull, right.mayBeNull, isEqualIn else {
      if comparison.isNegated, comparison.isDeep {
        let direct = value + " \(symbols.direct) " + compared
        return Alternatives([SQLFragment("(") + direct + ")\(isNotTrue)"])
      }
      return Alternatives(comparison.isNegated ? [test] + nulls(left, right) : [test])
    }
    if comparison.isNegated {
      return Alternatives([
        test, SQLFragment("(") + left.isNull + ") <> (" + right.isNull + ")",
      ])
    }
    return Alternatives([test, SQLFragment("(") + left.isNull + " AND " + right.isNull + ")"])
  }

  /// An operand that compares by code point if it is a constant text: beside other constants PostgreSQL
  /// would take the database's collation.
  func ordered(_ sql: SQLFragment, _ constant: Value?) -> SQLFragment {
    guard dialect.hasTypedColumns, case .string? = constant else { return sql }
    return SQLFragment("(") + sql + dialect.collation(.string) + ")"
  }

  private static func symbols(
    _ relation: Comparison.Relation
  ) -> (direct: String, inverse: String) {
    switch relation {
    case .less: ("<", ">=")
    case .lessOrEqual: ("<=", ">")
    case .greater: (">", "<=")
    default: (">=", "<")
    }
  }

  private func nulls(_ operands: SQLOperand...) -> [SQLFragment] {
    operands.filter(\.mayBeNull).map(\.isNull)
  }

  /// Both sides, folded according to the comparison's string options, with dates in one format.
  private mutating func operands(_ comparison: Comparison) -> (SQLOperand, SQLOperand) {
    var left = operand(comparison.left)
    var right = operand(comparison.right, dateFormat: left.dateFormat)
    if left.dateFormat == nil || comparison.left.constant != nil, let format = right.dateFormat {
      left = operand(comparison.left, dateFormat: format)
    }
    if let leftFormat = left.dateFormat, let rightFormat = right.dateFormat,
      leftFormat != rightFormat
    {
      (left, right) = (inSeconds(left), inSeconds(right))
    }
    (left, right) =
      comparison.options.isEmpty ? aligned(left, right) : (left.text, right.text)
    if !comparison.options.isEmpty {
      left = folded(left, comparison.left, comparison.options)
      right = folded(right, comparison.right, comparison.options)
    }
    // The left operand's collation applies unless the left operand has none of its own.
    if !right.isBinaryCollated { left.isBinaryCollated = false }
    return (left, right)
  }

  /// Both sides in the same column encoding, if one of them has an encoding.
  func aligned(_ left: SQLOperand, _ right: SQLOperand) -> (SQLOperand, SQLOperand) {
    let encoding = [left, right].lazy.compactMap { $0.encoding }.first {
      $0.hasSeveralRepresentations
    }
    return (left.put(in: encoding), right.put(in: encoding))
  }

  /// A date operand as seconds since 1970.
  func inSeconds(_ operand: SQLOperand) -> SQLOperand {
    if operand.dateFormat == .unixSeconds { return operand }
    var seconds = operand.asStored.wrapped(in: "livefetch_seconds")
    seconds.dateFormat = .unixSeconds
    // A stored value need not be a valid date, and then its seconds are NULL.
    seconds.mayBeNull = true
    return seconds
  }

  /// `operand` folded so that the differences which `options` ignore (case, diacritics) are gone.
  /// Constants are folded here rather than by the database.
  func folded(
    _ operand: SQLOperand, _ expression: ResolvedExpression, _ options: StringOptions
  ) -> SQLOperand {
    if options.isEmpty { return operand }
    if case .string(let text)? = expression.constant {
      return SQLOperand(sql: .bound(.text(Folding.fold(text, options))), mayBeNull: false)
    }
    return operand.wrapped(in: "livefetch_fold", ", \(options.rawValue)")
  }

  // MARK: Lists

  mutating func write(_ interval: Interval) -> Alternatives {
    let value = operand(interval.value)
    let lower = ordered(bound(interval.lower, beside: value), interval.lower)
    let upper = ordered(bound(interval.upper, beside: value), interval.upper)
    let test = value.collated + " BETWEEN " + lower + " AND " + upper
    guard interval.isNegated else { return Alternatives([test]) }
    if ParserStackBudget.isDeep(interval.value) {
      return Alternatives([SQLFragment("(") + test + ")\(isNotTrue)"])
    }
    return Alternatives(
      [value.collated + " < " + lower, value.collated + " > " + upper] + nulls(value))
  }

  mutating func write(_ membership: Membership) -> Alternatives {
    let isNegated = membership.isNegated
    var membership = membership
    if dialect.hasTypedColumns, membership.value.constant == nil,
      membership.values.contains(where: \.containsZero)
    {
      membership.values.removeAll(where: \.containsZero)
      guard !membership.values.isEmpty || membership.includesNil else {
        return Alternatives([dialect.constant(isNegated)])
      }
    }
    let value = operand(membership.value)
    var parts: [SQLFragment] = []
    if !membership.values.isEmpty {
      let folded =
        membership.options.isEmpty
        ? value : folded(value.text, membership.value, membership.options)
      let isNilMatch = membership.includesNil != isNegated
      if isNilMatch, value.mayBeNull, ParserStackBudget.isDeep(membership.value) {
        let test =
          SQLFragment("coalesce(") + list(folded, membership, original: value)
          + ", \(dialect.always))"
        return Alternatives([test])
      }
      parts.append(list(folded, membership, original: value))
    }
    if membership.includesNil, !isNegated, value.mayBeNull { parts.append(value.isNull) }
    if membership.includesNil, isNegated, parts.isEmpty {
      parts.append(value.mayBeNull ? value.isNotNull : dialect.constant(true))
    }
    if !membership.includesNil, isNegated, value.mayBeNull { parts.append(value.isNull) }
    return Alternatives(parts)
  }

  /// `value IN (?, ?, ?)`; for a list of one value, `value = ?`.
  private func list(
    _ value: SQLOperand, _ membership: Membership, original: SQLOperand
  ) -> SQLFragment {
    let isNegated = membership.isNegated
    let values = membership.values.map { element -> SQLValue in
      if !membership.options.isEmpty, case .string(let text) = element {
        return .text(Folding.fold(text, membership.options))
      }
      return SQLValue(element, original.dateFormat)
    }
    var mark =
      membership.options.isEmpty ? mark(membership.values.first, beside: original) : "?"
    var compared = value.collated
    if membership.options.isEmpty,
      let first = membership.values.first,
      let lookup = value.lookup(
        ofText: ResolvedExpression.constant(first).isFixedText, isNegated: isNegated)
    {
      compared = SQLFragment(lookup.sql)
      mark = lookup.constant(mark)
    }
    if values.count == 1 {
      return compared + (isNegated ? " <> \(mark)" : " = \(mark)")
        + SQLFragment("", bindings: values)
    }
    let marks = mark + String(repeating: ", \(mark)", count: values.count - 1)
    return compared + (isNegated ? " NOT IN (" : " IN (")
      + SQLFragment("\(marks))", bindings: values)
  }

  /// A constant bound in the encoding of `operand`, so that both compare.
  private func bound(_ value: Value, beside operand: SQLOperand) -> SQLFragment {
    SQLFragment(
      mark(value, beside: operand), bindings: [SQLValue(value, operand.dateFormat)])
  }

  /// The placeholder of a parameter, with the conversion into the encoding of `operand`.
  private func mark(_ value: Value?, beside operand: SQLOperand) -> String {
    guard let encoding = operand.encoding, encoding.hasSeveralRepresentations else {
      return value.map { placeholder($0, operand.dateFormat) } ?? "?"
    }
    return "livefetch_value(?, \(encoding.code))"
  }
}

extension Value {
  /// True for a text with the character U+0000, which PostgreSQL does not store.
  fileprivate var containsZero: Bool {
    switch self {
    case .string(let text), .id(.text(let text)): text.utf8.contains(0)
    default: false
    }
  }
}

extension SQLOperand {
  /// Returns the form in which an index serves an equality with a constant; nil if there is none.
  ///
  /// - Parameter isText: True if the constant is a text.
  fileprivate func lookup(ofText isText: Bool, isNegated: Bool) -> IndexedValue? {
    guard let lookup, lookup.conversion != nil else { return lookup }
    // The NULL of a text that converts to nothing is not the opposite of false.
    return isText && !isNegated ? lookup : nil
  }
}

extension Comparison {
  /// True if a side is so deep that it is written only once. No index serves such a comparison, so
  /// the second, index-friendly spelling would be of no use.
  fileprivate var isDeep: Bool {
    ParserStackBudget.isDeep(left) || ParserStackBudget.isDeep(right)
  }
}
