// Parses tokens into a syntax tree by precedence climbing. Predicates and expressions are parsed by
// the same loop and distinguished at operators, so that `(a + b) > 3` and `(a > b)` need no second
// pass. O(n); the recursion is bounded by `PredicateLimits.nesting`.

extension Predicate {
  /// Parses `text`. O(length).
  ///
  /// - Throws: ``PredicateError`` for a syntax error or an exceeded limit.
  public init(parsing text: String) throws(PredicateError) {
    var parser = try PredicateParser(text)
    self = try parser.parseWhole()
  }
}

/// The parser of one predicate or expression.
struct PredicateParser {
  /// A parsed predicate or expression, with its depth and its bytes in the text.
  struct Node {
    enum Content {
      case predicate(Predicate)
      case expression(Expression)
    }

    var content: Content
    var depth: Depth
    var range: Range<Int>
  }

  /// The number of levels below a node, and the offset of the deepest one in bytes.
  struct Depth: Comparable {
    var levels: Int
    var offset: Int

    static func leaf(at offset: Int) -> Depth { Depth(levels: 0, offset: offset) }
    static func < (left: Depth, right: Depth) -> Bool { left.levels < right.levels }
  }

  private var lexer: PredicateLexer
  var token: PredicateToken
  // Counts of the parsed part, which `PredicateLimits` bounds.
  var placeholderCount = 0
  var nodeCount = 0
  var valueCount = 0
  var nesting = 0

  init(_ text: String) throws(PredicateError) {
    guard text.utf8.count <= PredicateLimits.length else {
      throw PredicateError(
        .tooLong, at: PredicateLimits.length, found: "\(text.utf8.count) bytes",
        expected: "at most \(PredicateLimits.length) bytes",
        advice: "long lists can be sent as an argument of `IN %@`")
    }
    lexer = PredicateLexer(text)
    token = try lexer.next()
  }

  /// Parses the whole text as a predicate.
  mutating func parseWhole() throws(PredicateError) -> Predicate {
    let node = try parse(.or)
    if case .end = token.kind { return try predicate(node) }
    if case .expression = node.content {
      throw misspeltTruePredicate(node) ?? operatorFailure("a comparison operator")
    }
    throw operatorFailure("AND, OR or the end")
  }

  /// Reads the next token.
  mutating func advance() throws(PredicateError) {
    token = try lexer.next()
  }

  /// The text of a range of bytes.
  func text(_ range: Range<Int>) -> String { lexer.text(range) }

  /// Returns a syntax error at the current token.
  func failure(_ expected: String, advice: String? = nil) -> PredicateError {
    let found = if case .end = token.kind { "the end" } else { "`\(lexer.text(token.range))`" }
    return PredicateError(
      .syntaxError, at: token.range.lowerBound, found: found, expected: expected, advice: advice)
  }
}

extension Predicate {
  /// Parses `text` and counts the arguments of its placeholders.
  static func parse(_ text: String) throws(PredicateError) -> (Predicate, placeholders: Int) {
    var parser = try PredicateParser(text)
    let predicate = try parser.parseWhole()
    return (predicate, parser.placeholderCount)
  }
}
