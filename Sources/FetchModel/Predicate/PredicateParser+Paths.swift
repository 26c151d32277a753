// The tokens of a key path, of the index of a collection, or of a call → the node of the syntax tree. Throws a
// ``PredicateError`` with the offset in the text.

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

  /// Parses names separated by dots.
  ///
  /// - Parameters:
  ///   - base: The operand before the first name; nil for the object.
  ///   - first: The first name, if it was read already. Without it, the first name is the current token.
  ///   - start: The offset at which `base` begins.
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
    if let keyword = indexKeyword {
      index = keyword
      try advance()
    } else {
      let position = try parse(.additive)
      depth = max(depth, position.depth)
      index = .position(try expression(position))
    }
    let range = operand.range.lowerBound..<token.range.upperBound
    try expect(.closeBracket)
    return try counted(.index(collection, index), above: depth, range)
  }

  /// `FIRST`, `LAST` or `SIZE`; nil if the current token is another one.
  private var indexKeyword: CollectionIndex? {
    switch token.kind {
    case .word(_, .first): .first
    case .word(_, .last): .last
    case .word(_, .size): .size
    default: nil
    }
  }

  /// Parses the arguments of a function, in parentheses after its name.
  ///
  /// - Parameters:
  ///   - keyword: The name, if it is one of the language.
  ///   - nameRange: The range of the name in the text.
  mutating func parseCall(
    _ name: String, _ keyword: PredicateKeyword? = nil, at nameRange: Range<Int>
  ) throws(PredicateError) -> Node {
    try expect(.openParenthesis)
    switch keyword {
    case .cast: return try parseCast(from: nameRange.lowerBound)
    case .subquery: return try parseSubquery(from: nameRange.lowerBound)
    case .ternary: return try parseTernary(from: nameRange.lowerBound)
    default: break
    }
    let (arguments, depth) = try parseList(until: .closeParenthesis)
    let range = nameRange.lowerBound..<token.range.upperBound
    try advance()
    try count(at: range.lowerBound)
    let call =
      keyword == .function
      ? try namedCall(arguments, in: range)
      : Expression(.function(name, arguments), range: SourceRange(range))
    return try node(.expression(call), above: depth, range)
  }

  /// Returns the call of the function that is named in the arguments of FUNCTION: `FUNCTION('add:to:', a, b)`
  /// and `FUNCTION(a, 'add:to:', b)` are `add:to:(a, b)`. It begins at the name, where the resolver reports its
  /// errors.
  private func namedCall(
    _ arguments: [Expression], in range: Range<Int>
  ) throws(PredicateError) -> Expression {
    for (index, argument) in arguments.prefix(2).enumerated() {
      guard case .literal(.string(let name)) = argument.kind else { continue }
      let place = argument.range.lowerBound
      // Names such as `:year` are functions of `group` and `select`, not of predicates.
      guard !name.hasPrefix(":") else {
        throw PredicateError(
          .unknownFunction, at: place, found: "`\(name)`", expected: "a function")
      }
      var arguments = arguments
      arguments.remove(at: index)
      return Expression(
        .function(name, arguments), range: SourceRange(place..<range.upperBound))
    }
    throw PredicateError(
      .syntaxError, at: range.lowerBound, found: "`FUNCTION`",
      expected: "the function's name as a string among its first two arguments",
      advice: "as in FUNCTION('length', name)")
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
    let condition = try parse(.or)
    let predicate = try predicate(condition)
    try expect(.comma)
    let yes = try parse(.additive)
    try expect(.comma)
    let no = try parse(.additive)
    let range = start..<token.range.upperBound
    try expect(.closeParenthesis)
    return try counted(
      .ternary(predicate, try expression(yes), try expression(no)),
      above: max(condition.depth, max(yes.depth, no.depth)), range)
  }
}
