// Parses tokens into a syntax tree by precedence climbing. Predicates and expressions are parsed by
// the same loop and distinguished at operators, so that `(a + b) > 3` and `(a > b)` need no second
// pass. O(n); the recursion is bounded by `PredicateLimits.nesting`.

extension Predicate {
  /// Parses `text`. Throws on a syntax error or an exceeded limit.
  public init(parsing text: String) throws(PredicateError) {
    var parser = try PredicateParser(text)
    self = try parser.parseWhole()
  }
}

struct PredicateParser {
  /// A parsed part with the number of levels below it.
  struct Node {
    enum Content {
      case predicate(Predicate)
      case expression(Expression)
    }

    var content: Content
    var depth: Depth
    var range: Range<Int>
  }

  /// The number of levels below a node, and the place of the deepest one.
  struct Depth: Comparable {
    var levels: Int
    var place: Int

    static func leaf(at place: Int) -> Depth { Depth(levels: 0, place: place) }
    static func < (left: Depth, right: Depth) -> Bool { left.levels < right.levels }
  }

  private var lexer: PredicateLexer
  var token: PredicateToken
  var placeholderCount = 0
  var nodeCount = 0
  var valueCount = 0
  var nesting = 0

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
    if case .expression = node.content {
      throw misspeltTruth(node) ?? operatorFailure("a comparison operator")
    }
    throw operatorFailure("AND, OR or the end")
  }

  mutating func advance() throws(PredicateError) {
    token = try lexer.next()
  }

  func text(_ range: Range<Int>) -> String { lexer.text(range) }

  /// A syntax error at the current token.
  func failure(_ expected: String, hint: String? = nil) -> PredicateError {
    var found = "the end"
    if case .end = token.kind {} else { found = "`\(lexer.text(token.range))`" }
    return PredicateError(
      .syntaxError, at: token.range.lowerBound, found: found, expected: expected, hint: hint)
  }
}
