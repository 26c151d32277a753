// The reason why a predicate was refused: the place, the text found there, the expected text, and
// the nearest name for a misspelt one.

/// A predicate that cannot be parsed or does not fit the model.
public struct PredicateError: Error, Sendable, Hashable {
  /// The kind of error. The raw values are stable and part of the HTTP contract.
  public enum Code: String, Sendable, Hashable, CaseIterable {
    case syntaxError = "syntax-error"
    case unknownKeyPath = "unknown-key-path"
    case unknownFunction = "unknown-function"
    case typeMismatch = "type-mismatch"
    case missingArgument = "missing-argument"
    case unusedArgument = "unused-argument"
    case missingVariable = "missing-variable"
    case unusedVariable = "unused-variable"
    /// A to-many key path without a quantifier or an aggregate.
    case toManyWithoutQuantifier = "to-many-without-quantifier"
    /// A quantifier before an operand that is not a collection.
    case quantifierWithoutToMany = "quantifier-without-to-many"
    /// An index into a relationship without an order.
    case unorderedRelationship = "unordered-relationship"
    /// An invalid regular expression.
    case badPattern = "bad-pattern"
    case tooLong = "predicate-too-long"
    case tooComplex = "predicate-too-complex"
    /// Valid, but not supported by this store.
    case notImplemented = "not-implemented"
  }

  /// The kind of error.
  public let code: Code
  /// The place: bytes of UTF-8 from the start of the predicate.
  public let offset: Int
  /// The text at that place, shortened; empty if nothing can be quoted.
  public let found: String
  /// The expected text as a phrase: `a comparison operator`.
  public let expected: String
  /// The nearest known name of an unknown one: `population`, `@count`, `BEGINSWITH`.
  public let nearest: String?
  /// An alternative, as a sentence.
  public let advice: String?
  /// The index of the wrong character in the string at ``offset``.
  var character: Int?

  /// Makes a predicate error.
  public init(
    _ code: Code, at offset: Int, found: String, expected: String, hint: String? = nil,
    nearest: String? = nil
  ) {
    self.code = code
    self.offset = offset
    let isQuoted = found.hasPrefix("`")
    self.found = found.count <= 62 ? found : found.prefix(60) + (isQuoted ? "…`" : "…")
    self.expected = expected
    self.nearest = nearest
    advice = hint
  }

  /// The nearest name, otherwise the advice.
  public var hint: String? { nearest ?? advice }
}

extension PredicateError: CustomStringConvertible {
  /// One sentence: `at 3: found `citty`, expected a property of City; did you mean `city`?`
  public var description: String { "at \(offset): \(sentence)" }

  /// The description without the place.
  var sentence: String {
    (found.isEmpty ? "" : "found \(found), ") + "expected \(expected)" + suggestion
  }
}

extension PredicateError {
  private var suggestion: String {
    nearest.map { "; did you mean `\($0)`?" } ?? advice.map { "; \($0)" } ?? ""
  }
}

/// The limits of a predicate, checked before it is resolved.
public enum PredicateLimits {
  /// Bytes of text.
  public static let length = 65_536
  /// Levels of nesting, AND and OR chains counting as one.
  public static let depth = 64
  /// Comparisons, negations, operations and calls. Constants, key paths and the chains of AND and
  /// OR do not count.
  public static let nodes = 1_000
  /// Values in lists and array arguments of the whole predicate.
  public static let values = 10_000
  /// Open brackets and prefixes; bounds the parser's recursion.
  static let nesting = 160
  /// Operations that are repeated because a calculation is compared with several non-constant
  /// values.
  static let copies = 5_000
}
