// Tokens → syntax tree. Precedence climbing: predicates and expressions are parsed by one loop and
// told apart where they meet an operator, so `(a + b) > 3` and `(a > b)` need no second look.
// The time is linear in the text, and the stack is bounded by `PredicateLimits.nesting`.

extension Predicate {
  /// The tree of `text`. Throws where it breaks the grammar or a limit.
  public init(parsing text: String) throws(PredicateError) {
    var parser = try PredicateParser(text)
    self = try parser.parseWhole()
  }
}

struct PredicateParser {
  /// What was parsed, with the levels below it.
  struct Node {
    enum Content {
      case predicate(Predicate)
      case expression(Expression)
    }

    var content: Content
    var depth: Int
    var range: Range<Int>
  }

  private var lexer: PredicateLexer
  var token: PredicateToken
  var placeholderCount = 0
  private var nodeCount = 0
  private var valueCount = 0
  private var nesting = 0

  init(_ text: String) throws(PredicateError) {
    guard text.utf8.count <= PredicateLimits.length else {
      throw PredicateError(
        .tooLong, at: PredicateLimits.length, found: "\(text.utf8.count) bytes",
        expected: "at most \(PredicateLimits.length) bytes",
        hint: "long lists can be sent as an argument of `IN %@`")
    }
    lexer = PredicateLexer(text)
    token = try lexer.next()
  }

  mutating func parseWhole() throws(PredicateError) -> Predicate {
    let node = try parse(.or)
    if case .end = token.kind { return try predicate(node) }
    if case .expression = node.content { throw failure("a comparison operator") }
    throw failure("AND, OR or the end")
  }

  mutating func advance() throws(PredicateError) {
    token = try lexer.next()
  }

  func text(_ range: Range<Int>) -> String { lexer.text(range) }

  /// A syntax error at the token that stands here.
  func failure(_ expected: String, hint: String? = nil) -> PredicateError {
    var found = "the end"
    if case .end = token.kind {} else { found = "`\(lexer.text(token.range))`" }
    return PredicateError(
      .syntaxError, at: token.range.lowerBound, found: found, expected: expected, hint: hint)
  }
}

// Operators between two operands.
extension PredicateParser {
  enum Precedence: Int, Comparable {
    case or, and, comparison, additive, multiplicative, power, operand

    static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
    /// What the right operand of a left-associative operator must exceed.
    var next: Precedence { Precedence(rawValue: rawValue + 1) ?? .operand }
  }

  enum Infix {
    case or, and
    case comparison(ComparisonPredicate.Operator)
    case arithmetic(ArithmeticOperator, Precedence)

    var precedence: Precedence {
      switch self {
      case .or: .or
      case .and: .and
      case .comparison: .comparison
      case .arithmetic(_, let precedence): precedence
      }
    }
  }

  /// Parses an operand and every operator behind it that binds at least as tightly as `minimum`.
  mutating func parse(_ minimum: Precedence) throws(PredicateError) -> Node {
    var left = try parsePrefix()
    while let infix, infix.precedence >= minimum {
      switch infix {
      case .or: left = try parseChain(left, .or)
      case .and: left = try parseChain(left, .and)
      case .comparison(let operation): left = try parseComparison(left, operation, nil)
      case .arithmetic(let operation, let precedence):
        left = try parseArithmetic(left, operation, precedence)
      }
    }
    return left
  }

  private var infix: Infix? {
    switch token.kind {
    case .symbol(let symbol): Self.infix(symbol)
    case .word(_, let keyword?): Self.infix(keyword)
    default: nil
    }
  }

  /// The comparison operator that stands here, nil if none does.
  var comparisonOperator: ComparisonPredicate.Operator? {
    if case .comparison(let operation) = infix { operation } else { nil }
  }

  private static func infix(_ symbol: PredicateSymbol) -> Infix? {
    switch symbol {
    case .and: .and
    case .or: .or
    case .equal: .comparison(.equal)
    case .notEqual: .comparison(.notEqual)
    case .less: .comparison(.less)
    case .lessOrEqual: .comparison(.lessOrEqual)
    case .greater: .comparison(.greater)
    case .greaterOrEqual: .comparison(.greaterOrEqual)
    case .plus: .arithmetic(.add, .additive)
    case .minus: .arithmetic(.subtract, .additive)
    case .times: .arithmetic(.multiply, .multiplicative)
    case .divide: .arithmetic(.divide, .multiplicative)
    case .power: .arithmetic(.power, .power)
    default: nil
    }
  }

  private static func infix(_ keyword: PredicateKeyword) -> Infix? {
    switch keyword {
    case .and: .and
    case .or: .or
    case .between: .comparison(.between)
    case .in: .comparison(.in)
    case .beginswith: .comparison(.beginsWith)
    case .endswith: .comparison(.endsWith)
    case .contains: .comparison(.contains)
    case .like: .comparison(.like)
    case .matches: .comparison(.matches)
    default: nil
    }
  }

  /// Parses the rest of an AND or OR chain in a loop: its length costs no stack.
  private mutating func parseChain(
    _ first: Node, _ kind: Precedence
  ) throws(PredicateError) -> Node {
    var operands: [Predicate] = []
    var depth = 0
    var last = first
    try append(first, to: &operands, &depth, kind)
    while let infix, infix.precedence == kind {
      try advance()
      last = try parse(kind.next)
      try append(last, to: &operands, &depth, kind)
    }
    return try node(
      .predicate(kind == .and ? .and(operands) : .or(operands)), above: depth,
      first.range.lowerBound..<last.range.upperBound)
  }

  /// Adds an operand; one that is a chain of the same kind is taken apart, so that it is flat.
  private func append(
    _ node: Node, to operands: inout [Predicate], _ depth: inout Int, _ kind: Precedence
  ) throws(PredicateError) {
    let predicate = try predicate(node)
    switch (predicate, kind) {
    case (.and(let inner), .and), (.or(let inner), .or):
      operands += inner
      depth = max(depth, node.depth - 1)
    default:
      operands.append(predicate)
      depth = max(depth, node.depth)
    }
  }

  private mutating func parseArithmetic(
    _ left: Node, _ operation: ArithmeticOperator, _ precedence: Precedence
  ) throws(PredicateError) -> Node {
    let leftExpression = try expression(left)
    try advance()
    let right = try parse(precedence.next)
    let range = left.range.lowerBound..<right.range.upperBound
    let kind = Expression.Kind.arithmetic(operation, leftExpression, try expression(right))
    return try counted(kind, above: max(left.depth, right.depth), range)
  }

  mutating func parseComparison(
    _ left: Node, _ operation: ComparisonPredicate.Operator,
    _ quantifier: ComparisonPredicate.Quantifier?
  ) throws(PredicateError) -> Node {
    guard case .expression(let leftExpression) = left.content else {
      throw failure("AND, OR or the end", hint: "a comparison cannot be compared")
    }
    let range = token.range
    try advance()
    let options = try parseOptions()
    let right = try parse(.additive)
    try count(at: range.lowerBound)
    let comparison = ComparisonPredicate(
      quantifier: quantifier, left: leftExpression, operation: operation, options: options,
      right: try expression(right), range: SourceRange(range))
    return Node(
      content: .predicate(.comparison(comparison)), depth: max(left.depth, right.depth),
      range: left.range.lowerBound..<right.range.upperBound)
  }

  /// Parses `[cd]`, if it stands here.
  private mutating func parseOptions() throws(PredicateError) -> StringOptions {
    guard case .symbol(.openBracket) = token.kind else { return [] }
    try advance()
    guard case .word(let letters, _) = token.kind else { throw failure("`c`, `d`, `cd` or `n`") }
    var options: StringOptions = []
    for letter in letters.utf8 {
      switch letter | 0x20 {
      case UInt8(ascii: "c"): options.insert(.caseInsensitive)
      case UInt8(ascii: "d"): options.insert(.diacriticInsensitive)
      case UInt8(ascii: "n"): options.insert(.normalized)
      default: throw failure("`c`, `d`, `cd` or `n`")
      }
    }
    try advance()
    try expect(.closeBracket)
    return options
  }
}

// Counting, and telling predicates from expressions.
extension PredicateParser {
  mutating func expect(_ symbol: PredicateSymbol) throws(PredicateError) {
    guard case .symbol(symbol) = token.kind else { throw failure("`\(symbol.rawValue)`") }
    try advance()
  }

  func predicate(_ node: Node) throws(PredicateError) -> Predicate {
    if case .predicate(let predicate) = node.content { return predicate }
    throw failure("a comparison operator")
  }

  func expression(_ node: Node) throws(PredicateError) -> Expression {
    if case .expression(let expression) = node.content { return expression }
    throw PredicateError(
      .syntaxError, at: node.range.lowerBound, found: "`\(text(node.range))`",
      expected: "an expression", hint: "a comparison is no value; TERNARY makes one of it")
  }

  /// A node one level above `depth` that counts towards the limit of nodes.
  mutating func counted(
    _ kind: Expression.Kind, above depth: Int, _ range: Range<Int>
  ) throws(PredicateError) -> Node {
    try count(at: range.lowerBound)
    return try node(
      .expression(Expression(kind, range: SourceRange(range))), above: depth, range)
  }

  func node(
    _ content: Node.Content, above depth: Int, _ range: Range<Int>
  ) throws(PredicateError) -> Node {
    guard depth < PredicateLimits.depth else { throw tooDeep(at: range.lowerBound) }
    return Node(content: content, depth: depth + 1, range: range)
  }

  mutating func count(at offset: Int) throws(PredicateError) {
    nodeCount += 1
    guard nodeCount <= PredicateLimits.nodes else {
      throw PredicateError(
        .tooComplex, at: offset, found: "one comparison or operation too many",
        expected: "at most \(PredicateLimits.nodes)", hint: "IN compares with many values at once")
    }
  }

  mutating func countValue() throws(PredicateError) {
    valueCount += 1
    guard valueCount <= PredicateLimits.values else {
      throw PredicateError(
        .tooComplex, at: token.range.lowerBound, found: "one value too many",
        expected: "at most \(PredicateLimits.values) values")
    }
  }

  /// Opens a bracket or a prefix; ``leave()`` closes it again.
  mutating func enter() throws(PredicateError) {
    nesting += 1
    guard nesting <= PredicateLimits.nesting else { throw tooDeep(at: token.range.lowerBound) }
  }

  mutating func leave() { nesting -= 1 }

  private func tooDeep(at offset: Int) -> PredicateError {
    PredicateError(
      .tooComplex, at: offset, found: "too many nested parts",
      expected: "at most \(PredicateLimits.depth) levels")
  }
}
