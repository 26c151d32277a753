// Prints expressions with the necessary parentheses.

extension PredicatePrinter {
  private typealias Precedence = PredicateParser.Precedence

  mutating func write(_ expression: Expression) { write(expression, within: .additive) }

  private mutating func write(_ expression: Expression, within surrounding: Precedence) {
    guard case .arithmetic(let operation, let left, let right) = expression.kind else {
      return write(operand: expression)
    }
    let precedence = operation.precedence
    parenthesized(if: precedence < surrounding) { printer in
      printer.write(left, within: precedence)
      printer.text += " \(operation.rawValue) "
      printer.write(right, within: precedence.next)
    }
  }

  private mutating func parenthesized(
    if isParenthesized: Bool, _ body: (inout Self) -> Void
  ) {
    if isParenthesized { text += "(" }
    body(&self)
    if isParenthesized { text += ")" }
  }

  /// Prints an expression that is not a binary operation.
  private mutating func write(operand: Expression) {
    switch operand.kind {
    case .literal(let literal): text += literal.text
    case .placeholder(let placeholder): write(placeholder)
    case .variable(let name): text += "$" + name
    case .object: text += "SELF"
    case .keyPath(let base, let components): write(base, components)
    case .index(let collection, let index): write(index, of: collection)
    case .list(let elements):
      text += "{"
      write(list: elements)
      text += "}"
    case .function(let name, let arguments): write(call: name, arguments)
    case .arithmetic: write(operand, within: .additive)
    case .negation(let operand): write(negated: operand)
    case .ternary(let condition, let yes, let no):
      text += "TERNARY("
      write(condition, within: .or)
      text += ", "
      write(list: [yes, no])
      text += ")"
    case .subquery(let collection, let variable, let condition):
      text += "SUBQUERY("
      write(collection)
      text += ", $\(variable), "
      write(condition, within: .or)
      text += ")"
    case .cast(let value, let type, _):
      text += "CAST("
      write(value)
      text += ", \(Literal.string(type).text))"
    }
  }

  private mutating func write(list: [Expression]) {
    for (index, element) in list.enumerated() {
      if index > 0 { text += ", " }
      write(element)
    }
  }

  /// `-5` would be read as a literal, so a number is put in parentheses.
  private mutating func write(negated operand: Expression) {
    text += "-"
    var isParenthesized = false
    switch operand.kind {
    case .arithmetic: isParenthesized = true
    case .literal(let literal): isParenthesized = literal.isUnsignedNumber
    default: break
    }
    parenthesized(if: isParenthesized) { $0.write(operand) }
  }

  // MARK: Key paths and brackets

  private mutating func write(_ base: Expression?, _ components: [KeyPathComponent]) {
    if let base { write(base: base) }
    for (index, component) in components.enumerated() {
      let isFirst = base == nil && index == 0
      if !isFirst { text += "." }
      write(component, isFirst: isFirst)
    }
  }

  private mutating func write(_ component: KeyPathComponent, isFirst: Bool) {
    switch component.kind {
    case .collectionOperator(let name): text += "@" + name
    case .placeholder(let placeholder): write(placeholder)
    case .name(let name) where !PredicateLexer.isName(name):
      text += "#" + Literal.string(name).text
    case .name(let name):
      text += isFirst && PredicateKeyword(spelling: name) != nil ? "#" + name : name
    }
  }

  private mutating func write(_ index: CollectionIndex, of collection: Expression) {
    if case .keyPath = collection.kind { write(collection) } else { write(base: collection) }
    switch index {
    case .first: text += "[FIRST]"
    case .last: text += "[LAST]"
    case .size: text += "[SIZE]"
    case .position(let position):
      text += "["
      write(position)
      text += "]"
    }
  }

  /// Prints an expression that a dot or a bracket follows.
  private mutating func write(base: Expression) {
    var isParenthesized = false
    switch base.kind {
    case .arithmetic, .negation, .keyPath: isParenthesized = true
    case .literal(let literal): isParenthesized = literal.isNumber
    default: break
    }
    parenthesized(if: isParenthesized) { $0.write(base) }
  }

  // MARK: Calls

  private mutating func write(call name: String, _ arguments: [Expression]) {
    if PredicateLexer.isCallable(name) {
      text += name + "("
    } else {
      text += "FUNCTION(" + Literal.string(name).text
      if !arguments.isEmpty { text += ", " }
    }
    write(list: arguments)
    text += ")"
  }
}

extension ArithmeticOperator {
  var precedence: PredicateParser.Precedence {
    switch self {
    case .add, .subtract: .additive
    case .multiply, .divide: .multiplicative
    case .power: .power
    }
  }
}

extension Literal {
  /// The literal in the language's syntax: exact numbers, text in double quotes.
  var text: String {
    switch self {
    case .null: return "nil"
    case .boolean(let value): return value ? "TRUE" : "FALSE"
    case .integer(let value): return String(value)
    case .double(let value): return Self.text(value)
    case .string(let value): return Self.text(value)
    }
  }

  /// The text of NaN, which has no literal. It is printed as a cast, which the resolver refuses.
  static let notANumber = "NaN"

  private static func text(_ value: Double) -> String {
    if value.isNaN { return "CAST(\(text(notANumber)), \(text("NSNumber")))" }
    // A literal beyond the largest double is read as infinity.
    if value.isInfinite { return value < 0 ? "-1e999" : "1e999" }
    return value.description
  }

  private static func text(_ value: String) -> String {
    var text = "\""
    for scalar in value.unicodeScalars {
      switch scalar {
      case "\"": text += "\\\""
      case "\\": text += "\\\\"
      case "\n": text += "\\n"
      case "\r": text += "\\r"
      case "\t": text += "\\t"
      case "\u{0}"..."\u{1F}", "\u{7F}":
        let digits = String(scalar.value, radix: 16)
        text += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
      default: text.unicodeScalars.append(scalar)
      }
    }
    return text + "\""
  }

  var isNumber: Bool {
    switch self {
    case .integer, .double: true
    case .null, .boolean, .string: false
    }
  }

  /// True for a number without a minus sign.
  var isUnsignedNumber: Bool {
    switch self {
    case .integer(let value): value >= 0
    case .double(let value): value.sign == .plus && !value.isNaN
    case .null, .boolean, .string: false
    }
  }
}
