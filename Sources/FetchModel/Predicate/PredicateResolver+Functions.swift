// Resolves functions and casts: checks names, numbers of arguments and types.

extension PredicateResolver {
  mutating func call(
    _ name: String, _ arguments: [Expression], at range: SourceRange
  ) throws(PredicateError) -> Operand {
    let name = Self.canonical(name)
    if name == "now" {
      try expect(0, arguments.count, name, at: range)
      return Operand(.date(now()), .date, at: range)
    }
    if let function = Self.aggregates[name] { return try call(function, arguments, at: range) }
    if let operation = Self.operators[name] {
      try expect(2, arguments.count, name, at: range)
      let left = try operand(arguments[0])
      return try arithmetic(operation, left, try operand(arguments[1]), at: range)
    }
    guard let signature = Self.functions[name] ?? Self.parts[name] else {
      throw Self.unknownFunction(name, at: range)
    }
    try expect(signature.count, arguments.count, name, at: range)
    return try call(signature, arguments, at: range)
  }

  /// The canonical name of a function: with colons, or without them for a single argument.
  private static func canonical(_ name: String) -> String {
    let count = name.utf8.count { $0 == UInt8(ascii: ":") }
    return count == 1 && name.hasSuffix(":") ? String(name.dropLast()) : name
  }

  private func expect(
    _ expected: Int, _ count: Int, _ name: String, at range: SourceRange
  ) throws(PredicateError) {
    guard count == expected else {
      throw PredicateError(
        .syntaxError, at: range.lowerBound,
        found: "`\(name)` with \(count) argument\(count == 1 ? "" : "s")",
        expected: expected == 1 ? "one argument" : "\(expected) arguments")
    }
  }

  private static func unknownFunction(_ name: String, at range: SourceRange) -> PredicateError {
    let known =
      ["now"] + aggregates.keys.sorted() + operators.keys.sorted() + functions.keys.sorted()
    return PredicateError(
      .unknownFunction, at: range.lowerBound, found: "`\(name)`", expected: "a function",
      nearest: nearestName(to: name, among: known))
  }

  // MARK: Functions of values

  private struct Signature {
    let function: ResolvedFunction
    var count = 1
    var argument = Operand.Kind.number(isInteger: false)
    var result = Operand.Kind.number(isInteger: false)
  }

  private static let aggregates: [String: AggregateFunction] = [
    "sum": .sum, "count": .count, "min": .min, "max": .max, "average": .average,
  ]

  private static let operators: [String: ArithmeticOperator] = [
    "add:to:": .add, "from:subtract:": .subtract, "multiply:by:": .multiply,
    "divide:by:": .divide, "raise:toPower:": .power,
  ]

  private static let functions: [String: Signature] = {
    let integer = Operand.Kind.number(isInteger: true)
    var known: [String: Signature] = [
      "uppercase": Signature(function: .uppercase, argument: .text, result: .text),
      "lowercase": Signature(function: .lowercase, argument: .text, result: .text),
      "canonical": Signature(function: .canonical, argument: .text, result: .text),
      "length": Signature(function: .length, argument: .text, result: integer),
      "modulus:by:": Signature(function: .modulus, count: 2),
      "bitwiseAnd:with:": Signature(function: .bitwiseAnd, count: 2, result: integer),
      "bitwiseOr:with:": Signature(function: .bitwiseOr, count: 2, result: integer),
      "bitwiseXor:with:": Signature(function: .bitwiseXor, count: 2, result: integer),
      "leftshift:by:": Signature(function: .leftShift, count: 2, result: integer),
      "rightshift:by:": Signature(function: .rightShift, count: 2, result: integer),
      "onesComplement": Signature(function: .onesComplement, result: integer),
      "abs": Signature(function: .abs),
    ]
    for function in [ResolvedFunction.sqrt, .log, .ln, .exp, .floor, .ceiling, .trunc] {
      known[function.rawValue] = Signature(function: function)
    }
    return known
  }()

  /// The derivations of `section`, also for `group` and `select`. No text of a predicate has these names,
  /// so the evaluator does not know them.
  private static let parts: [String: Signature] = [
    ":initial": Signature(function: .initial, argument: .text, result: .text),
    ":day": Signature(function: .day, argument: .date, result: .text),
    ":month": Signature(function: .month, argument: .date, result: .text),
    ":year": Signature(function: .year, argument: .date, result: .text),
  ]

  private mutating func call(
    _ signature: Signature, _ arguments: [Expression], at range: SourceRange
  ) throws(PredicateError) -> Operand {
    var values: [ResolvedExpression] = []
    var areIntegers = true
    for argument in arguments {
      let operand = try operand(argument)
      try refuseRelationship(operand)
      let value = try converted(operand, to: signature.argument)
      if value.constant == .null { return Operand(.null, .null, at: range) }
      areIntegers = areIntegers && isInteger(operand, value)
      values.append(value)
    }
    var result = signature.result
    if areIntegers, signature.function == .modulus || signature.function.keepsIntegers {
      result = .number(isInteger: true)
    }
    return Operand(expression: .function(signature.function, values), kind: result, range: range)
  }

  // MARK: Aggregates as functions

  /// `sum({a, b})`, `count(cities)`, `max(cities.population)`.
  private mutating func call(
    _ function: AggregateFunction, _ arguments: [Expression], at range: SourceRange
  ) throws(PredicateError) -> Operand {
    if arguments.count == 1, let keyPath = try resolveKeyPath(arguments[0]), keyPath.isCollection {
      return try aggregate(keyPath, function, at: range)
    }
    var operands: [Operand] = []
    if arguments.count == 1, let elements = try list(arguments[0]) {
      operands = elements
    } else {
      for argument in arguments { operands.append(try operand(argument)) }
    }
    guard operands.count <= PredicateLimits.nodes else {
      throw PredicateError(
        .tooComplex, at: range.lowerBound, found: "\(operands.count) values",
        expected: "at most \(PredicateLimits.nodes)")
    }
    return try listAggregate(function, operands, at: range)
  }

  private func listAggregate(
    _ function: AggregateFunction, _ operands: [Operand], at range: SourceRange
  ) throws(PredicateError) -> Operand {
    if function == .count {
      return Operand(.integer(Int64(operands.count)), .number(isInteger: true), at: range)
    }
    guard let value = operands.first(where: { $0.kind != .null }) else {
      if function == .sum { return Operand(Literal.integer(0), at: range) }
      return Operand(.null, .null, at: range)
    }
    let first = operands.first { ![.null, .untyped].contains($0.kind) } ?? value
    let isComparison = function == .min || function == .max
    // Texts of a query string alone are texts.
    let ownKind = first.kind == .untyped ? Operand.Kind.text : first.kind
    let kind = isComparison ? ownKind : Operand.Kind.number(isInteger: false)
    var values: [ResolvedExpression] = []
    var areIntegers = function != .average
    for operand in operands {
      try refuseRelationship(operand)
      let value = try converted(operand, to: kind, because: first)
      areIntegers = areIntegers && isInteger(operand, value)
      values.append(value)
    }
    if case .number = kind {
      return Operand(
        expression: .listAggregate(function, values), kind: .number(isInteger: areIntegers),
        range: range)
    }
    return Operand(expression: .listAggregate(function, values), kind: kind, range: range)
  }
}

// MARK: - CAST

extension PredicateResolver {
  mutating func cast(
    _ value: Expression, to type: String, at place: SourceRange, _ range: SourceRange
  ) throws(PredicateError) -> Operand {
    let operand = try operand(value)
    if operand.kind == .null { return operand }
    try refuseRelationship(operand)
    switch type {
    case "NSDate", "Date": return try date(operand, at: range)
    case "NSNumber", "NSDecimalNumber", "Double", "Int": return try number(operand, at: range)
    case "NSString", "String": return try string(operand, at: range)
    default:
      var refusal = PredicateError(
        .typeMismatch, at: place.lowerBound, found: "`\(type)`",
        expected: "NSDate, NSNumber, NSDecimalNumber or NSString",
        nearest: nearestName(
          to: type, among: ["NSDate", "NSNumber", "NSDecimalNumber", "NSString"]))
      refusal.character = 0
      throw refusal
    }
  }

  private func date(_ operand: Operand, at range: SourceRange) throws(PredicateError) -> Operand {
    if operand.kind == .date || operand.kind == .text {
      return Operand(
        expression: try converted(operand, to: .date), kind: .date, range: range)
    }
    // An argument of a query string.
    if operand.kind == .untyped, let date = try? converted(operand, to: .date) {
      return Operand(expression: date, kind: .date, range: range)
    }
    let seconds = try converted(operand, to: .number(isInteger: false))
    let since2001: Double
    switch seconds.constant {
    case .integer(let value)?: since2001 = Double(value)
    case .double(let value)?: since2001 = value
    default:
      return Operand(expression: .function(.date, [seconds]), kind: .date, range: range)
    }
    guard let instant = Instant(secondsSince1970: since2001 + Instant.referenceDate) else {
      throw PredicateError(
        .typeMismatch, at: operand.range.lowerBound, found: "a number beyond every date",
        expected: "seconds since 2001-01-01")
    }
    return Operand(.date(instant), .date, at: range)
  }

  private func number(_ operand: Operand, at range: SourceRange) throws(PredicateError) -> Operand {
    let kind = Operand.Kind.number(isInteger: false)
    switch (operand.kind, operand.constant) {
    case (.date, .date(let instant)?):
      return Operand(.double(instant.secondsSince1970 - Instant.referenceDate), kind, at: range)
    case (.date, _):
      return Operand(
        expression: .function(.secondsSinceReference, [operand.expression]), kind: kind,
        range: range)
    case (.text, .string(Literal.notANumber)?): throw notANumber(at: operand.range)
    case (.text, .string(let text)?):
      return Operand(Operand.number(text) ?? .null, kind, at: range)
    case (.text, _):
      return Operand(
        expression: .function(.number, [operand.expression]), kind: kind, range: range)
    default:
      return Operand(expression: try converted(operand, to: kind), kind: kind, range: range)
    }
  }

  private func string(_ operand: Operand, at range: SourceRange) throws(PredicateError) -> Operand {
    switch (operand.kind, operand.constant) {
    case (.text, _), (.untyped, _):
      return Operand(expression: try text(operand), kind: .text, range: range)
    case (.date, .date(let instant)?): return Operand(.string(instant.iso8601), .text, at: range)
    case (.date, _):
      return Operand(
        expression: .function(.dateText, [operand.expression]), kind: .text, range: range)
    case (_, .integer(let value)?): return Operand(.string(String(value)), .text, at: range)
    default:
      let value = try converted(operand, to: .number(isInteger: false))
      return Operand(expression: .function(.text, [value]), kind: .text, range: range)
    }
  }
}
