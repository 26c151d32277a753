// Syntax tree → canonical text. The text parses to the same tree; there is one way to write each
// tree: operators spelt as in ``ComparisonPredicate/Operator``, double quotes, one space around
// operators, no parenthesis that is not needed, reserved words and other names after `#`.

/// Canonical predicate text, and the arguments of its placeholders.
public struct PredicateText: Sendable, Hashable {
  /// The predicate in the format language.
  public let text: String
  /// One for each placeholder of ``text``, in its order.
  public let arguments: [PredicateArgument]
}

extension Predicate: CustomStringConvertible {
  /// The predicate as canonical text: `population >= 1000000 AND country.continent == "Europe"`.
  ///
  /// Parsing the text gives an equal tree if text can represent the tree: chains have at least two
  /// operands and no operand of their own kind, placeholders are numbered in order of appearance,
  /// and there is no NaN (which has no spelling and is written `nil`).
  public var description: String { formatted().text }

  /// The predicate as canonical text, with the arguments of its placeholders.
  ///
  /// - Parameter arguments: the arguments of the tree's own placeholders, by ordinal.
  public func formatted(arguments: [PredicateArgument] = []) -> PredicateText {
    var printer = PredicatePrinter(given: arguments)
    printer.write(self, within: .or)
    return PredicateText(text: printer.text, arguments: printer.arguments)
  }
}

extension Expression: CustomStringConvertible {
  /// The expression as canonical text: `population / country.areaKm2`.
  public var description: String {
    var printer = PredicatePrinter(given: [])
    printer.write(self)
    return printer.text
  }
}

struct PredicatePrinter {
  /// Arguments of the tree's placeholders, by ordinal.
  let given: [PredicateArgument]
  var text = ""
  var arguments: [PredicateArgument] = []

  /// Writes `predicate` as an operand of a chain or NOT that binds like `outer`.
  mutating func write(_ predicate: Predicate, within outer: PredicateParser.Precedence) {
    switch predicate {
    case .constant(let value): text += value ? "TRUEPREDICATE" : "FALSEPREDICATE"
    case .and(let operands): write(operands, .and, within: outer)
    case .or(let operands): write(operands, .or, within: outer)
    case .not(let operand):
      text += "NOT "
      write(operand, within: .comparison)
    case .comparison(let comparison): write(comparison)
    }
  }

  private mutating func write(
    _ operands: [Predicate], _ chain: PredicateParser.Precedence,
    within outer: PredicateParser.Precedence
  ) {
    // A chain of fewer than two operands still has a meaning.
    if operands.isEmpty { return write(.constant(chain == .and), within: outer) }
    if operands.count == 1 { return write(operands[0], within: outer) }
    let isBracketed = chain < outer
    if isBracketed { text += "(" }
    for (index, operand) in operands.enumerated() {
      if index > 0 { text += chain == .and ? " AND " : " OR " }
      write(operand, within: chain)
    }
    if isBracketed { text += ")" }
  }

  private mutating func write(_ comparison: ComparisonPredicate) {
    if let quantifier = comparison.quantifier { text += quantifier.rawValue + " " }
    write(comparison.left)
    text += " " + comparison.operation.rawValue + Self.text(comparison.options) + " "
    write(comparison.right)
  }

  private static func text(_ options: StringOptions) -> String {
    var letters = ""
    if options.contains(.caseInsensitive) { letters += "c" }
    if options.contains(.diacriticInsensitive) { letters += "d" }
    if options.contains(.normalized) { letters += "n" }
    return letters.isEmpty ? "" : "[\(letters)]"
  }

  /// Writes a placeholder, and records its argument if there is one.
  mutating func write(_ placeholder: Placeholder) {
    switch placeholder.kind {
    case .value: text += "%@"
    case .keyPath: text += "%K"
    case .integer: text += "%ld"
    case .double: text += "%f"
    case .string: text += "%s"
    }
    if given.indices.contains(placeholder.ordinal) {
      arguments.append(given[placeholder.ordinal])
    }
  }
}
