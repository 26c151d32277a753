// Expressions of the syntax tree: the operands of comparisons.

/// An expression and its place in the text.
public struct Expression: Sendable, Hashable {
  /// The kinds of expressions, with their operands.
  public indirect enum Kind: Sendable, Hashable {
    case literal(Literal)
    case placeholder(Placeholder)
    /// `$name`.
    case variable(String)
    /// SELF.
    case object
    /// Names joined by dots. Without a base they start at the object.
    case keyPath(base: Expression?, [KeyPathComponent])
    /// `cities[FIRST]`.
    case index(Expression, CollectionIndex)
    /// `{a, b, c}`.
    case aggregate([Expression])
    /// A call by the language's name of the function: `add:to:`, `uppercase`.
    case function(String, [Expression])
    case arithmetic(ArithmeticOperator, Expression, Expression)
    case negation(Expression)
    case ternary(Predicate, Expression, Expression)
    case subquery(Expression, variable: String, Predicate)
    case cast(Expression, type: String)
  }

  /// The kind of expression, with its operands.
  public let kind: Kind
  /// The bytes of the text from which it was parsed.
  public let range: SourceRange

  public init(_ kind: Kind, range: SourceRange = SourceRange(0..<0)) {
    self.kind = kind
    self.range = range
  }
}

/// A literal.
public enum Literal: Sendable, Hashable {
  case null
  case boolean(Bool)
  case integer(Int64)
  case double(Double)
  case string(String)
}

/// A placeholder: `%@`, `%K`, `%ld`, `%f`, `%s`.
public struct Placeholder: Sendable, Hashable {
  /// The kind of argument: `%@`, `%K`, `%ld`, `%f`, `%s`.
  public enum Kind: Sendable, Hashable { case object, keyPath, integer, double, string }

  /// The kind of argument that it requires.
  public let kind: Kind
  /// The index of its argument, from 0.
  public let ordinal: Int

  public init(_ kind: Kind, ordinal: Int) {
    self.kind = kind
    self.ordinal = ordinal
  }
}

/// A component of a key path and its place in the text.
public struct KeyPathComponent: Sendable, Hashable {
  /// The kinds of components.
  public enum Kind: Sendable, Hashable {
    case name(String)
    /// `@count` and similar, without the `@`.
    case collectionOperator(String)
    /// `%K`.
    case placeholder(Placeholder)
  }

  /// The component.
  public let kind: Kind
  /// The bytes of the text from which it was parsed.
  public let range: SourceRange

  public init(_ kind: Kind, range: SourceRange = SourceRange(0..<0)) {
    self.kind = kind
    self.range = range
  }
}

/// The index in brackets after an ordered collection.
public indirect enum CollectionIndex: Sendable, Hashable {
  case first, last, size
  case position(Expression)
}

/// The arithmetic operators, by their spelling.
public enum ArithmeticOperator: String, Sendable, Hashable, CaseIterable {
  case add = "+"
  case subtract = "-"
  case multiply = "*"
  case divide = "/"
  case power = "**"
}
