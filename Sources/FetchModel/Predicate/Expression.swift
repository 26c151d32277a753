// Expressions of the syntax tree: the operands of comparisons.

/// An expression and its place in the text.
public struct Expression: Sendable, Hashable {
  /// The kinds of expressions, with their operands.
  public indirect enum Kind: Sendable, Hashable {
    /// A number, a text, TRUE, FALSE or NULL.
    case literal(Literal)
    /// `%@` and similar: an argument.
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
    case list([Expression])
    /// The call of a function. The name is that of the predicate language: `add:to:`, `uppercase`.
    case function(String, [Expression])
    /// `a + b` and similar.
    case arithmetic(ArithmeticOperator, Expression, Expression)
    /// `-x`.
    case negation(Expression)
    /// `TERNARY(condition, then, else)`.
    case ternary(Predicate, Expression, Expression)
    /// `SUBQUERY(collection, $variable, predicate)`.
    case subquery(Expression, variable: String, Predicate)
    /// `CAST(x, 'type')`, and the place of the type.
    case cast(Expression, type: String, SourceRange = SourceRange(0..<0))
  }

  /// The kind of expression, with its operands.
  public let kind: Kind
  /// The bytes of the text from which it was parsed.
  public let range: SourceRange

  /// Makes an expression.
  ///
  /// - Parameter range: empty for an expression that was not parsed from text.
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
  /// The kinds of arguments.
  public enum Kind: Sendable, Hashable {
    /// `%@`: a value of any kind.
    case value
    /// `%K`.
    case keyPath
    /// `%ld` and similar.
    case integer
    /// `%f`.
    case double
    /// `%s`.
    case string
  }

  /// The kind of argument that it requires.
  public let kind: Kind
  /// The index of its argument, from 0.
  public let ordinal: Int

  /// Makes a placeholder for the argument with the index `ordinal`.
  public init(_ kind: Kind, ordinal: Int) {
    self.kind = kind
    self.ordinal = ordinal
  }
}

/// A component of a key path and its place in the text.
public struct KeyPathComponent: Sendable, Hashable {
  /// The kinds of components.
  public enum Kind: Sendable, Hashable {
    /// The name of a property, or SELF.
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

  /// Makes a component.
  ///
  /// - Parameter range: empty for a component that was not parsed from text.
  public init(_ kind: Kind, range: SourceRange = SourceRange(0..<0)) {
    self.kind = kind
    self.range = range
  }
}

/// The selection that brackets after an ordered collection make.
public indirect enum CollectionIndex: Sendable, Hashable {
  /// `[FIRST]`.
  case first
  /// `[LAST]`.
  case last
  /// `[SIZE]`: the number of elements.
  case size
  /// `[n]`: the element at a position from 0.
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
