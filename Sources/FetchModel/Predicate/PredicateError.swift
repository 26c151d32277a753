// The reason why a predicate was refused: the place, the text found there, the expected text, and
// the nearest name for a misspelt one.

/// A predicate that cannot be parsed or does not fit the model.
public struct PredicateError: Error, Sendable, Hashable {
  /// The kind of error. The raw values are stable and part of the HTTP contract.
  public enum Code: String, Sendable, Hashable, CaseIterable {
    /// Text that the grammar does not allow.
    case syntaxError = "syntax-error"
    /// A key path with a property that its entity does not have.
    case unknownKeyPath = "unknown-key-path"
    /// A function that does not exist.
    case unknownFunction = "unknown-function"
    /// An operand whose type the operator or function does not accept.
    case typeMismatch = "type-mismatch"
    /// A placeholder without an argument.
    case missingArgument = "missing-argument"
    /// An argument without a placeholder.
    case unusedArgument = "unused-argument"
    /// A variable `$name` without a value.
    case missingVariable = "missing-variable"
    /// A value whose variable does not occur.
    case unusedVariable = "unused-variable"
    /// A to-many key path without a quantifier or an aggregate.
    case toManyWithoutQuantifier = "to-many-without-quantifier"
    /// A quantifier before an operand that is not a collection.
    case quantifierWithoutToMany = "quantifier-without-to-many"
    /// An index into a relationship without an order.
    case unorderedRelationship = "unordered-relationship"
    /// An invalid regular expression.
    case badPattern = "bad-pattern"
    /// Longer than ``PredicateLimits/length``.
    case tooLong = "predicate-too-long"
    /// Beyond another one of ``PredicateLimits``, or a limit of the database.
    case tooComplex = "predicate-too-complex"
    /// Valid, but not supported by this store.
    case notImplemented = "not-implemented"
  }

  /// The kind of error.
  public let code: Code
  /// The position of the error: bytes of UTF-8 from the start of the predicate.
  public let offset: Int
  /// The text at that place, shortened; empty if nothing can be quoted.
  public let found: String
  /// The expected text as a phrase: `a comparison operator`.
  public let expected: String
  /// The nearest known name of an unknown one: `population`, `@count`, `BEGINSWITH`.
  public let nearest: String?
  /// An alternative, as a sentence.
  public let advice: String?
  /// The index of the wrong Unicode scalar in the string literal at ``offset``.
  var character: Int?

  /// Makes a predicate error.
  public init(
    _ code: Code, at offset: Int, found: String, expected: String, advice: String? = nil,
    nearest: String? = nil
  ) {
    self.code = code
    self.offset = offset
    let isQuoted = found.hasPrefix("`")
    self.found = found.count <= 62 ? found : found.prefix(60) + (isQuoted ? "…`" : "…")
    self.expected = expected
    self.nearest = nearest
    self.advice = advice
  }

  /// The nearest name, otherwise the advice.
  public var hint: String? { nearest ?? advice }
}

extension PredicateError: CustomStringConvertible {
  /// One sentence:
  ///
  ///     at 0: found `citty`, expected a property of City; did you mean `city`?
  public var description: String { "at \(offset): \(sentence)" }

  /// The description without the place.
  var sentence: String {
    (found.isEmpty ? "" : "found \(found), ") + "expected \(expected)"
      + (nearest.map { "; did you mean `\($0)`?" } ?? advice.map { "; \($0)" } ?? "")
  }
}
