// Parses key paths, indexes of collections, and calls.

extension PredicateParser {
  /// Parses the dots and brackets after an operand.
  mutating func parsePostfix(_ operand: Node) throws(PredicateError) -> Node {
    var node = operand
    while true {
      switch token.kind {
      case .symbol(.dot):
        try advance()
        let base = try expression(node)
        let depth = node.depth
        node = try parseKeyPath(base: base, from: node.range.lowerBound)
        node.depth = depth
      case .symbol(.openBracket): node = try parseIndex(of: node)
      default: return node
      }
    }
  }

  /// Parses names separated by dots. The first one is the current token or was read already.
  mutating func parseKeyPath(
    base: Expression?, first: (String, Range<Int>)? = nil, from start: Int? = nil
  ) throws(PredicateError) -> Node {
    let begin = start ?? first?.1.lowerBound ?? token.range.lowerBound
    var components: [KeyPathComponent] = []
    if let (name, range) = first {
      components.append(KeyPathComponent(.name(name), range: SourceRange(range)))
    } else {
      components.append(try parseComponent())
    }
    while case .symbol(.dot) = token.kind {
      try advance()
      components.append(try parseComponent())
    }
    let end = components.last?.range.upperBound ?? begin
    return leaf(.keyPath(base: base, components), begin..<end)
  }

  private mutating func parseComponent() throws(PredicateError) -> KeyPathComponent {
    let range = SourceRange(token.range)
    let kind: KeyPathComponent.Kind
    switch token.kind {
    case .word(let name, _), .escapedWord(let name): kind = .name(name)
    case .collectionOperator(let name): kind = .collectionOperator(name)
    case .placeholder(.keyPath): kind = .placeholder(placeholder(.keyPath))
    default: throw failure("a property's name")
    }
    try advance()
    return KeyPathComponent(kind, range: range)
  }

  private mutating func parseIndex(of operand: Node) throws(PredicateError) -> Node {
    let collection = try expression(operand)
    try advance()
    var depth = operand.depth
    let index: CollectionIndex
    switch token.kind {
    case .word(_, .first): index = .first
    case .word(_, .last): index = .last
    case .word(_, .size): index = .size
    default:
      let position = try parse(.additive)
      depth = max(depth, position.depth)
      index = .position(try expression(position))
    }
    switch index {
    case .position: break
    default: try advance()
    }
    let range = operand.range.lowerBound..<token.range.upperBound
    try expect(.closeBracket)
    return try counted(.index(collection, index), above: depth, range)
  }

  /// Parses the parenthesis after `name`.
  mutating func parseCall(
    _ name: String, _ keyword: PredicateKeyword? = nil, from start: Range<Int>
  ) throws(PredicateError) -> Node {
    try expect(.openParenthesis)
    switch keyword {
    case .cast: return try parseCast(from: start.lowerBound)
    case .subquery: return try parseSubquery(from: start.lowerBound)
    case .ternary: return try parseTernary(from: start.lowerBound)
    default: break
    }
    let (arguments, depth) = try parseList(until: .closeParenthesis)
    let range = start.lowerBound..<token.range.upperBound
    try advance()
    var node = try counted(
      try call(name, keyword, arguments, at: start), above: depth, range)
    // Report an error of FUNCTION at its name argument.
    if keyword == .function, let place = Self.place(ofName: arguments),
      case .expression(let call) = node.content
    {
      node.content = .expression(
        Expression(call.kind, range: SourceRange(place..<range.upperBound)))
    }
    return node
  }

  /// The index of the name among the arguments of FUNCTION.
  private static func place(ofName arguments: [Expression]) -> Int? {
    arguments.prefix(2).first {
      if case .literal(.string) = $0.kind { true } else { false }
    }?.range.lowerBound
  }

  /// A direct call, or the call that `FUNCTION('add:to:', a, b)` or `FUNCTION(a, 'add:to:', b)`
  /// expresses.
  private func call(
    _ name: String, _ keyword: PredicateKeyword?, _ arguments: [Expression], at range: Range<Int>
  ) throws(PredicateError) -> Expression.Kind {
    guard keyword == .function else { return .function(name, arguments) }
    if case .literal(.string(let name))? = arguments.first?.kind {
      return .function(try Self.function(named: name, arguments[0]), Array(arguments.dropFirst()))
    }
    guard arguments.count >= 2, case .literal(.string(let name)) = arguments[1].kind else {
      throw PredicateError(
        .syntaxError, at: range.lowerBound, found: "`FUNCTION`",
        expected: "the function's name as a string among its first two arguments",
        advice: "as in FUNCTION('length', name)")
    }
    return .function(
      try Self.function(named: name, arguments[1]), [arguments[0]] + arguments.dropFirst(2))
  }

  /// Refuses the names of the parts that `group` and `select` derive: predicates have no such functions.
  private static func function(
    named name: String, _ argument: Expression
  ) throws(PredicateError) -> String {
    guard !name.hasPrefix(":") else {
      throw PredicateError(
        .unknownFunction, at: argument.range.lowerBound, found: "`\(name)`", expected: "a function")
    }
    return name
  }

  private mutating func parseCast(from start: Int) throws(PredicateError) -> Node {
    let value = try parse(.additive)
    try expect(.comma)
    guard case .string(let type) = token.kind else { throw failure("a type's name as a string") }
    let place = SourceRange(token.range)
    try advance()
    let range = start..<token.range.upperBound
    try expect(.closeParenthesis)
    return try counted(.cast(try expression(value), type: type, place), above: value.depth, range)
  }

  private mutating func parseSubquery(from start: Int) throws(PredicateError) -> Node {
    let collection = try parse(.additive)
    try expect(.comma)
    guard case .variable(let variable) = token.kind else { throw failure("a variable: `$x`") }
    try advance()
    try expect(.comma)
    let condition = try parse(.or)
    let predicate = try predicate(condition)
    let range = start..<token.range.upperBound
    try expect(.closeParenthesis)
    return try counted(
      .subquery(try expression(collection), variable: variable, predicate),
      above: max(collection.depth, condition.depth), range)
  }

  private mutating func parseTernary(from start: Int) throws(PredicateError) -> Node {
    let condition = try predicateArgument()
    let yes = try parse(.additive)
    try expect(.comma)
    let no = try parse(.additive)
    let range = start..<token.range.upperBound
    try expect(.closeParenthesis)
    return try counted(
      .ternary(condition.0, try expression(yes), try expression(no)),
      above: max(condition.depth, max(yes.depth, no.depth)), range)
  }

  private mutating func predicateArgument() throws(PredicateError) -> (Predicate, depth: Depth) {
    let node = try parse(.or)
    let predicate = try predicate(node)
    try expect(.comma)
    return (predicate, node.depth)
  }
}
