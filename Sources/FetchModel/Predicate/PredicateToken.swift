// The tokens of the predicate language.

/// A token and its bytes in the text.
struct PredicateToken: Equatable {
  enum Kind: Equatable {
    case end
    /// A name or a reserved word, as written.
    case word(String, PredicateKeyword?)
    /// `#word`: a name, even if reserved. `#"two words"`: a key path of names with any characters.
    case escapedWord(String)
    /// A function's name with colons: `add:to:`.
    case selector(String)
    case integer(Int64)
    case double(Double)
    case string(String)
    case placeholder(Placeholder.Kind)
    /// `$name`.
    case variable(String)
    /// `@name`, without the `@`.
    case collectionOperator(String)
    case symbol(PredicateSymbol)
  }

  let kind: Kind
  let range: Range<Int>
}

/// Reserved words. A property with such a name is written `#word`, or after a dot.
enum PredicateKeyword: String {
  case and, or, not
  case any, some, all, none
  case between, `in`, beginswith, endswith, contains, like, matches
  case truepredicate, falsepredicate
  case `true`, yes, `false`, no, null, `nil`
  case `self`
  // Reserved only before a parenthesis or within brackets.
  case cast, function, subquery, ternary, first, last, size

  /// The keyword spelt `word`, ignoring case.
  init?(spelling word: String) {
    guard word.utf8.count <= 14 else { return nil }
    self.init(rawValue: word.lowercased())
  }

  /// True if a word of this spelling can be a property's name.
  var canBeName: Bool {
    switch self {
    case .cast, .function, .subquery, .ternary, .first, .last, .size: true
    default: false
    }
  }
}

enum PredicateSymbol: String {
  case openParenthesis = "("
  case closeParenthesis = ")"
  case openBrace = "{"
  case closeBrace = "}"
  case openBracket = "["
  case closeBracket = "]"
  case comma = ","
  case dot = "."
  case plus = "+"
  case minus = "-"
  case times = "*"
  case divide = "/"
  case power = "**"
  case equal = "=="
  case notEqual = "!="
  case less = "<"
  case lessOrEqual = "<="
  case greater = ">"
  case greaterOrEqual = ">="
  case and = "&&"
  case or = "||"
  case not = "!"
}
