// Why a predicate was refused, so that a person can act on it: where, what stood there, what was
// expected, and the nearest name for a misspelt one.

/// A predicate that cannot be parsed or does not fit the model.
public struct PredicateError: Error, Sendable, Hashable {
  /// What kind of mistake it is. The raw values are stable and part of the HTTP contract.
  public enum Code: String, Sendable, Hashable, CaseIterable {
    case syntaxError = "syntax-error"
    case unknownKeyPath = "unknown-key-path"
    case unknownFunction = "unknown-function"
    case typeMismatch = "type-mismatch"
    case missingArgument = "missing-argument"
    case unusedArgument = "unused-argument"
    case missingVariable = "missing-variable"
    case unusedVariable = "unused-variable"
    /// A to-many key path that neither a quantifier nor an aggregate reduces to one value.
    case toManyWithoutQuantifier = "to-many-without-quantifier"
    /// A quantifier before something that is not a collection.
    case quantifierWithoutToMany = "quantifier-without-to-many"
    /// A place among the objects of a relationship that has no order.
    case unorderedRelationship = "unordered-relationship"
    /// A regular expression that MATCHES cannot read.
    case badPattern = "bad-pattern"
    case tooLong = "predicate-too-long"
    case tooComplex = "predicate-too-complex"
    /// Understood, but this store cannot run it yet.
    case notImplemented = "not-implemented"
  }

  public let code: Code
  /// Where it stands: bytes of UTF-8 from the start of the predicate.
  public let offset: Int
  /// What stood there, shortened; empty where nothing can be quoted.
  public let found: String
  /// What should have stood there, as a phrase: `a comparison operator`.
  public let expected: String
  /// The known name nearest to one that is not known: `population`, `@count`, `BEGINSWITH`.
  public let nearest: String?
  /// Another way to write it, as a sentence.
  public let advice: String?
  /// The character, from 0, of the text at ``offset`` at which what is wrong begins.
  var character: Int?

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

  /// What may have been meant: the bare nearest name, or else a sentence.
  public var hint: String? { nearest ?? advice }
}

extension PredicateError: CustomStringConvertible {
  /// One sentence: `at 3: found `citty`, expected a property of City; did you mean `city`?`
  public var description: String { "at \(offset): \(sentence)" }

  /// The same without the place.
  var sentence: String {
    (found.isEmpty ? "" : "found \(found), ") + "expected \(expected)" + suggestion
  }
}

extension PredicateError {
  private var suggestion: String {
    nearest.map { "; did you mean `\($0)`?" } ?? advice.map { "; \($0)" } ?? ""
  }
}

/// The limits of a predicate. Beyond them it is refused before any work is spent on it.
public enum PredicateLimits {
  /// Bytes of text.
  public static let length = 65_536
  /// Levels of nesting, AND and OR chains counting as one.
  public static let depth = 64
  /// Comparisons, negations, operations and calls; operands that are constants or key paths and
  /// the chains themselves do not count.
  public static let nodes = 1_000
  /// Values in aggregates and array arguments, all of a predicate together.
  public static let values = 10_000
  /// Brackets and prefixes open at once: what bounds the parser's own stack.
  static let nesting = 160
  /// Parts of calculations that are compared with several values which are no constants, counted
  /// for each of them.
  static let copies = 5_000
}
